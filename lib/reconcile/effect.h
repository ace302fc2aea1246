/* SPDX-License-Identifier: MIT
 *
 * One operation of the Compute Driver, under the claim that a trip has just confirmed (rights.h): the claim
 * is renewed meanwhile, the host is heard, and an operation that takes too long is ended. For lib/reconcile
 * only.
 *
 * What the Driver says is believed only where it names what it was asked about: the Namespace, and for an
 * operation about an Agent or a revision those too. Another one, or a success that names nothing, is a
 * permanent INVALID_DRIVER_OBSERVATION. Its warnings become one record each
 * (compute.warning), and are told in the evidence of the pass.
 *
 * Each returns true when the thing is as asked. False with the Driver's fault, or with what became of the
 * claim meanwhile (FAULT_CLAIM_LOST, FAULT_CANCELLED): effect_verdict() makes the end of the pass out of it.
 * With `observe_only` the Driver changes nothing and only tells whether it is so already.
 */
#ifndef OCC_RECONCILE_EFFECT_H
#define OCC_RECONCILE_EFFECT_H

#include "lib/driver/compute.h"
#include "lib/reconcile/pass.h"

bool effect_namespace(struct pass *pass, compute_namespace_operation operation,
                      const struct subject_namespace *subject, bool observe_only,
                      struct fault *fault) MUST_USE;
bool effect_agent(struct pass *pass, compute_agent_operation operation, const struct subject_agent *subject,
                  bool observe_only, struct fault *fault) MUST_USE;
bool effect_revision(struct pass *pass, compute_revision_operation operation,
                     const struct subject_revision *subject, bool observe_only, struct fault *fault) MUST_USE;

/* verdict_of_fault() for an operation's fault: its evidence also tells what the Driver says is wrong with the
 * runtime ("failure": {component, check, checkedAt, code}), where it said so in that operation. */
struct verdict effect_verdict(const struct pass *pass, const struct fault *fault);

/* `evidence` (a JSON object or NULL) with what the Driver warned of in this pass, if anything: "warnings":
 * [{code, message}]. */
const char *effect_evidence(const struct pass *pass, const char *evidence);

/* ---- For another Driver's operation (an authority's decision): what it is called with, and its wait.
 * `limit_ms`: what it may take. The end is pass_effect_end(). */
struct driver_call effect_call(struct pass *pass, int64_t limit_ms);

#endif
