/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/tenant/spaces.h"

#define WORDS 160 /* of the cluster's on one condition */

/* What keeps a namespace (Kubernetes API, NamespaceCondition), the likeliest cause first: while discovery
 * fails nothing else can be told. */
static const char *const conditions[] = {
    "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining"};

static char *tell_condition(char *told, const cJSON *condition)
{
    const char *reason = json_text(condition, "reason");
    char words[WORDS];

    (void)text_copy(words, sizeof words, json_text(condition, "message"));
    text_make_line(words);
    return mem_append(told, "; %s (%.64s): %s", json_text(condition, "type"), reason ? reason : "", words);
}

bool kubernetes_space_leaving(const cJSON *space, struct fault *fault)
{
    TALLOC_CTX *scratch = mem_context(NULL);
    char *told = mem_text(scratch, "");
    const cJSON *finalizer;
    size_t index;

    for (index = 0; index < COUNT_OF(conditions); index++)
        if (kubernetes_condition_is_true(space, conditions[index]))
            told = tell_condition(told, kubernetes_condition(space, conditions[index]));
    cJSON_ArrayForEach(finalizer, json_array(json_object(space, "metadata"), "finalizers"))
    {
        if (cJSON_IsString(finalizer))
            told = mem_append(told, "; its finalizer %.64s", finalizer->valuestring);
    }
    fault_set(fault, FAULT_PENDING, "KUBERNETES_NAMESPACE_TERMINATING", "Namespace %s is being deleted%s",
              kubernetes_name(space), told);
    talloc_free(scratch);
    return false;
}
