/* SPDX-License-Identifier: MIT
 *
 * A Namespace on a Docker Engine: exactly one bridge network that carries its labels, and nothing of it once
 * it is deleted. Both operations look at what is there and do what is missing; so a repetition after a crash
 * at any point, or beside another one, ends the same (K71, K78, K110).
 */
#ifndef OCC_DOCKER_TENANT_H
#define OCC_DOCKER_TENANT_H

#include "lib/docker/engine.h"
#include "lib/docker/labels.h"

/* True when the network is there. With call->observe_only it is only looked for, and FAULT_PENDING
 * DOCKER_NETWORK_MISSING tells that it is not.
 *
 * Faults: FAULT_PERMANENT OWNERSHIP_CONFLICT (a network of that name is not the Namespace's: left alone),
 * DOCKER_NETWORK_UNSUITABLE (it is ours, but no bridge); FAULT_PENDING DOCKER_NETWORK_DUPLICATED (more than
 * one, and more than one is in use), DOCKER_NETWORK_CONTENDED (others keep creating and removing it);
 * FAULT_RETRYABLE DOCKER_ADDRESS_POOL_EXHAUSTED; or the Engine's. */
bool docker_tenant_ensure(struct docker_engine *engine, const struct driver_call *call,
                          const struct docker_owner *owner, struct fault *fault) MUST_USE;

/* True when neither networks nor containers nor volumes of the Namespace are left; removes them. With
 * call->observe_only it only looks. FAULT_PENDING DOCKER_NAMESPACE_PRESENT tells how much is left: of a look,
 * or after a removal that did not hold.
 *
 * Faults: FAULT_PERMANENT OWNERSHIP_CONFLICT, before anything is removed; FAULT_PENDING DOCKER_NETWORK_IN_USE
 * (names the containers that are not ours; they and the network stay), DOCKER_VOLUME_IN_USE,
 * DOCKER_REMOVAL_IN_PROGRESS; or the Engine's. */
bool docker_tenant_delete(struct docker_engine *engine, const struct driver_call *call,
                          const struct docker_owner *owner, struct fault *fault) MUST_USE;

#endif
