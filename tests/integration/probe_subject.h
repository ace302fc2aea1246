/* SPDX-License-Identifier: MIT
 *
 * What a command of driver_probe speaks of, read from its JSON. Everything hangs on `memory` or borrows from
 * the command; what is not told is what a test would not look at.
 */
#ifndef OCC_TESTS_PROBE_SUBJECT_H
#define OCC_TESTS_PROBE_SUBJECT_H

#include "lib/driver/subject.h"
#include "lib/io/json.h"

struct probe_subject {
    struct subject_namespace owner;
    struct subject_agent agent;
    struct subject_revision revision;
    struct subject_harness harness;
    struct secret_place place;
};

struct probe_subject *probe_subject_read(const void *memory, const cJSON *command)
    __attribute__((returns_nonnull));

/* A value as the commands have it, in base64; NULL where it is none. */
const struct secret *probe_value_read(const void *memory, const cJSON *command);
const char *probe_value_write(const void *memory, const struct secret *value);

#endif
