/* SPDX-License-Identifier: MIT
 *
 * `occ-worker --probe`: whether another occ-worker is ready or alive, as its marker file tells (marker.h),
 * for those who look after it by a command, such as a kubelet. It needs the marker's path and the settings
 * that say when a marker is stale, as the worker has them, and nothing else.
 */
#ifndef OCC_WORKER_PROBE_H
#define OCC_WORKER_PROBE_H

#include "lib/config/option.h"

/* How old a marker may be: 120 s, 240 poll intervals, 6 leases or 2 database timeouts, whichever is longest.
 */
int64_t probe_stale_ms(const struct options *options);

/* Looks at the marker of `which` ("readiness", "liveness") and gives the exit status: 0 when it is fresh,
 * else 1 with one line on stderr. */
int probe_run(const struct options *options, const char *which);

#endif
