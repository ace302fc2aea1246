/* SPDX-License-Identifier: MIT
 *
 * A deletion that failed stays what it is, a deletion: repeating it queues the same work again.
 */
#ifndef OCC_ADMIT_DELETION_H
#define OCC_ADMIT_DELETION_H

#include "lib/admit/admission.h"

/* In an admission that has authorized `question` (the deletion's own permission) for its caller: queues the
 * failed deletion of `work_id` again. *changed is false where it is queued or running already. Another caller
 * than the one who began it takes over only when that one may not do it any more. The caller writes the one
 * audit event of a change; a takeover is in the evidence.
 *
 * Faults: FAULT_CONFLICT DELETION_HELD; WORK_NOT_RETRYABLE for work that is no deletion or is done;
 * FAULT_NOT_FOUND WORK_NOT_FOUND. */
bool deletion_repeat(struct admission *admission, const char *work_id, const struct iam_question *question,
                     bool *changed, struct fault *fault) MUST_USE;

/* What a retry leaves behind. */
struct retry_admission {
    bool changed;
    const char *namespace_id;
};

/* occctl work retry: exactly the repetition of a failed deletion, of a Namespace or an Agent. Other failed
 * work is refused with what to do instead. */
bool work_retry(struct caller *caller, const void *context, const char *work_id,
                struct retry_admission *admitted, struct fault *fault) MUST_USE;

#endif
