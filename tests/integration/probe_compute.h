/* SPDX-License-Identifier: MIT
 *
 * The reconcile_probe's Compute Driver, which does as its script says, and tells each operation on stdout.
 *
 * Each operation takes the next STEP, and the last one for ever:
 *     ready   pending=CODE[/RETRY_AFTER_MS]   retry=CODE   permanent=CODE   lost    what it returns
 *     slow=MS     waits (in one wait), then ready        short=N   N waits of 20 ms, then ready
 *     gate        waits for the order "open", then ready      hang   waits until it is ended
 *     gated+STEP  waits for the order "open", then STEP
 *     foreign     ready, but speaks of another Namespace      mute   ready, and names none
 *     stranger    ready, but speaks of another revision
 *     blind=MS    does not wait where it is heard: sleeps, then ready     late+MS   the same, then pending
 *     warn+STEP   warns, then STEP             broken+STEP   tells what is wrong with the runtime, then STEP
 * A step "OPERATION:STEP" is for that operation alone, which then takes only such steps (ensure, delete,
 * bind, provision, prepare, activate, deactivate, stop, retire, delete-credentials). Where there are no
 * others, the rest is ready.
 */
#ifndef OCC_TESTS_PROBE_COMPUTE_H
#define OCC_TESTS_PROBE_COMPUTE_H

#include "lib/driver/compute.h"

extern struct compute_operations script_operations;

void script_open_with(char **steps, size_t count, bool quiet);
/* Before that: what the Driver can do. */
void script_run_agents(void);
void script_need_stopped_predecessors(void);
void script_bind(bool deletes_credentials);
/* The order "open". */
void script_open(void);

/* The step boundaries of a pass: after each announcement, before and after each operation. At the one with
 * this number, counted from 1, the process kills itself. */
void script_die_at(int boundary);
void script_boundary(void);

/* Waits as a step says, and ends so. */
bool script_play(const char *step, const struct driver_call *call, struct fault *fault);

#endif
