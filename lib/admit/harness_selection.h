/* SPDX-License-Identifier: MIT
 *
 * Which Harness an Agent's native document asks for, and whether this Installation can run it.
 *
 * The document is OpenClaw's. There the runtime is chosen after the model (docs.openclaw.ai, "Agent
 * runtimes"): models are named "provider/model" by agents.defaults.model and agents.list[].model, each a text
 * or {"primary","fallbacks"}, and `agentRuntime.id` counts where it stands nearest to such a model:
 *
 *   1. agents.list[].models["provider/model"], then agents.defaults.models["provider/model"]
 *   2. models.providers.<provider>.models[] with that id
 *   3. the same maps as in 1 for "provider/" and an asterisk
 *   4. models.providers.<provider>
 *
 * "auto" and "default" choose nothing. Runtimes of whole agents (agents.defaults.agentRuntime) are legacy,
 * and OpenClaw does not look at them; neither do we. Where no model is named, or one that cannot be told to
 * be of a provider, everything that the document says of runtimes counts.
 *
 * A revision has one Harness, so all that counts must agree; what is chosen nowhere is "openclaw".
 */
#ifndef OCC_ADMIT_HARNESS_SELECTION_H
#define OCC_ADMIT_HARNESS_SELECTION_H

#include "lib/base/fault.h"
#include "lib/driver/harness.h"
#include "lib/driver/sandbox.h"

#define HARNESS_DEFAULT "openclaw"

/* The Harness of a document of `length` bytes in an execution mode ("embedded", "dedicated"); `sandbox` is
 * the selected Sandbox Driver, NULL: none. *harness is of the compiled-in table.
 *
 * Faults name the JSON pointers that decide: FAULT_CONFLICT HARNESS_CONFLICT where two places disagree,
 * HARNESS_UNSUPPORTED for an id that is not known, for one that does not run in this mode, and for one that
 * the mode allows only with another Sandbox Driver; HARNESS_SEARCH_TOO_LARGE where models and entries for
 * them are too many to be compared. CONFIGURATION_DOCUMENT_INVALID for what is no document.
 */
bool harness_select(const char *document, size_t length, const char *mode,
                    const struct sandbox_driver *sandbox, const struct harness **harness,
                    struct fault *fault) MUST_USE;

#endif
