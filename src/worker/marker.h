/* SPDX-License-Identifier: MIT
 *
 * Marker files, by which health checks without a service manager learn that the worker lives: the time of the
 * last sign, as milliseconds since the epoch and a newline, replaced by rename, mode 0600.
 */
#ifndef OCC_WORKER_MARKER_H
#define OCC_WORKER_MARKER_H

#include "lib/base/fault.h"

struct marker {
    const char *path; /* NULL: there is none */
    bool failing;     /* the last write failed, and that was told */
};

/* Writes the time. True also where there is no marker. `told` becomes true when this failure is the first in
 * a row, so that it is told once. */
bool marker_write(struct marker *marker, bool *told, struct fault *fault) MUST_USE;

/* Removes the file. One that is not there is fine. */
void marker_remove(const struct marker *marker);

#endif
