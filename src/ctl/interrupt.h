/* SPDX-License-Identifier: MIT
 *
 * Ctrl-C (SIGINT, SIGTERM, SIGHUP) while a Driver stores or removes for a command. To end there at once would
 * leave what the Driver has done without the row and the evidence that belong to it: the Driver's wait is
 * ended instead, and what it did is undone as after any other failure.
 */
#ifndef OCC_CTL_INTERRUPT_H
#define OCC_CTL_INTERRUPT_H

#include "src/ctl/ctl.h"

/* From now on the first signal ends the wait of the Driver that is asked, by FAULT_CANCELLED INTERRUPTED;
 * what is then asked to undo it is left alone. A second one ends occctl at once, and so does the first after
 * INTERRUPT_GRACE_S, for a Driver that hears nothing. */
void interrupt_begin(struct ctl *ctl);

#define INTERRUPT_GRACE_S 3

/* Signals do again what they did. `done` is whether the command did what it should, and is returned; where
 * one came and it did not, `fault` is told and occctl ends as by the signal. */
bool interrupt_end(struct ctl *ctl, bool done, const struct fault *fault);

#endif
