/* SPDX-License-Identifier: MIT
 *
 * How the probes that drive a Driver, or its client, tell the end of an operation, and the watch that can end
 * one before.
 */
#ifndef OCC_TESTS_PROBE_ANSWER_H
#define OCC_TESTS_PROBE_ANSWER_H

#include "lib/io/json.h"
#include "lib/io/watch.h"

/* Counts its turns, one each 20 ms at least, and ends the operation as PROBE_CANCELLED. */
extern const struct watch probe_watch;

/* For the next operation, which begins at `begun_ms` (clock_now_ms): ended after `watch_ms`; 0: never. */
void probe_watch_begin(int64_t begun_ms, int64_t watch_ms);

/* Adds "ok", "class", "code", "message", "dependency", "cause", "retryAfterMs", "exit", "turns" and
 * "elapsedMs". `fault` is not looked at where `ok`. */
void probe_tell(cJSON *told, bool ok, const struct fault *fault, int64_t elapsed_ms);

/* Writes the answer on stdout, as one line. */
void probe_answer(const cJSON *told);

#endif
