/* SPDX-License-Identifier: MIT
 *
 * The selector of an Agent's Service names its revision always, so that an address of any other one is never
 * routed to, whatever runs. Who switches it reads it, decides, and writes against the version that was read;
 * who comes second reads again.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define ROUNDS 5 /* of reading again within one pass */

enum aim {
    AIM_KEEP,
    AIM_TAKE,
    AIM_LEAVE, /* where it leads to the task's revision */
    AIM_CLOSE, /* wherever it leads */
};

static const char *selected_of(const cJSON *service)
{
    const char *selected =
        json_text(json_object(json_object(service, "spec"), "selector"), KUBERNETES_LABEL_REVISION);

    return selected ? selected : KUBERNETES_REVISION_NONE;
}

/* Where it should lead, by where it leads. */
static const char *aimed_at(const struct kubernetes_task *task, enum aim aim, const char *selected)
{
    switch (aim) {
    case AIM_TAKE:
        return task->revision->id;
    case AIM_LEAVE:
        return text_equal(selected, task->revision->id) ? KUBERNETES_REVISION_NONE : selected;
    case AIM_CLOSE:
        return KUBERNETES_REVISION_NONE;
    default:
        return selected;
    }
}

static bool incomplete(const struct kubernetes_task *task, const struct kubernetes_reference *reference,
                       struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "REVISION_INCOMPLETE", "%s does not lead where it should",
                     kubernetes_reference_words(task->call->memory, reference));
}

static bool create(struct kubernetes_task *task, const struct kubernetes_wanted *wanted, bool *done,
                   struct fault *fault)
{
    const cJSON *created;

    if (task->call->observe_only)
        return incomplete(task, &wanted->reference, fault);
    if (!kubernetes_create(task->compute->client, task->call, &wanted->reference, wanted->intent, &created,
                           fault))
        return false;
    *done = created != NULL;
    return true;
}

static bool change(struct kubernetes_task *task, const struct kubernetes_wanted *wanted, const cJSON *live,
                   bool *done, struct fault *fault)
{
    const cJSON *patch = kubernetes_difference(task->call->memory, live, wanted->intent, &wanted->comparison);
    enum kubernetes_patched outcome;
    const cJSON *patched;

    *done = !patch;
    if (!patch)
        return true;
    if (task->call->observe_only)
        return incomplete(task, &wanted->reference, fault);
    if (!kubernetes_merge(task->compute->client, task->call, &wanted->reference, live, patch, &outcome,
                          &patched, fault))
        return false;
    *done = outcome == KUBERNETES_PATCHED;
    return true;
}

/* Leaving asks nothing of what is not ours, or not there: it leads nowhere of ours. And it changes the
 * selector alone, as it is no time to mend what else may differ. */
static bool leave(struct kubernetes_task *task, struct kubernetes_wanted *wanted, enum aim aim,
                  const cJSON *live, bool *done, struct fault *fault)
{
    cJSON *intent = json_new_object(task->call->memory);

    *done = true;
    if (!live || kubernetes_owner_mismatch(live, &wanted->owner) || kubernetes_is_terminating(live) ||
        text_equal(selected_of(live), aimed_at(task, aim, selected_of(live))))
        return true;
    json_add_text(json_add_object(json_add_object(intent, "spec"), "selector"), KUBERNETES_LABEL_REVISION,
                  KUBERNETES_REVISION_NONE);
    wanted->intent = intent;
    wanted->comparison = (struct kubernetes_comparison){NULL};
    return change(task, wanted, live, done, fault);
}

static bool round_of(struct kubernetes_task *task, const struct kubernetes_topology *topology, enum aim aim,
                     bool *done, struct fault *fault)
{
    const void *memory = task->call->memory;
    struct kubernetes_wanted wanted =
        kubernetes_intend_gateway_service(memory, topology, KUBERNETES_REVISION_NONE);
    const cJSON *live;

    if (!kubernetes_get(task->compute->client, task->call, &wanted.reference, &live, fault))
        return false;
    if (aim == AIM_LEAVE || aim == AIM_CLOSE)
        return leave(task, &wanted, aim, live, done, fault);
    wanted = kubernetes_intend_gateway_service(memory, topology, aimed_at(task, aim, selected_of(live)));
    kubernetes_owner_mark(wanted.intent, &wanted.owner);
    if (!live)
        return create(task, &wanted, done, fault);
    if (!kubernetes_owner_check(live, &wanted.reference, &wanted.owner, fault))
        return false;
    if (kubernetes_is_terminating(live))
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_OBJECT_TERMINATING", "%s is being deleted",
                         kubernetes_reference_words(memory, &wanted.reference));
    return change(task, &wanted, live, done, fault);
}

static bool lead(struct kubernetes_task *task, const struct kubernetes_topology *topology, enum aim aim,
                 struct fault *fault)
{
    bool done = false;

    for (int round = 0; round < ROUNDS && !done; round++) {
        if (!round_of(task, topology, aim, &done, fault))
            return false;
    }
    return done || fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT",
                             "Others keep changing the gateway's Service of %s", task->agent->id);
}

/* Where the gateways of the Agent's revisions in the other execution mode are. */
static struct kubernetes_topology other_place(const struct kubernetes_task *task)
{
    struct kubernetes_topology other = task->topology;

    other.gateway_space = other.dedicated ? task->tenant.data : task->tenant.gateways;
    return other;
}

bool kubernetes_route_provide(struct kubernetes_task *task, struct fault *fault)
{
    return lead(task, &task->topology, AIM_KEEP, fault);
}

bool kubernetes_route_take(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_topology other = other_place(task);

    return lead(task, &other, AIM_CLOSE, fault) && lead(task, &task->topology, AIM_TAKE, fault);
}

bool kubernetes_route_leave(struct kubernetes_task *task, struct fault *fault)
{
    return lead(task, &task->topology, AIM_LEAVE, fault);
}

/* ---- HTTPRoute */

/* It is asked for before anything is made, so that no revision becomes the active one that nobody can reach.
 */
bool kubernetes_route_is_possible(struct kubernetes_task *task, struct fault *fault)
{
    bool served;

    if (!task->compute->settings->routing_name)
        return true;
    if (!kubernetes_kind_is_served(task->compute->client, task->call, &kubernetes_http_route, &served, fault))
        return false;
    return served || fault_set(fault, FAULT_PENDING, "KUBERNETES_API_NOT_SERVED",
                               "The API server at %s serves no HTTPRoute of gateway.networking.k8s.io, which "
                               "gatewayRouting needs: install the Gateway API's definitions",
                               kubernetes_client_place(task->compute->client));
}

/* Where two routes have one path the older one wins (Gateway API, "HTTPRoute", conflicts), and that is the
 * one of an earlier revision in the other execution mode. */
static bool remove_other(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_topology other = other_place(task);
    const struct kubernetes_wanted unwanted = kubernetes_intend_route(task->call->memory, &other);

    return kubernetes_task_remove(task, &unwanted.reference, &unwanted.owner, fault);
}

bool kubernetes_route_publish(struct kubernetes_task *task, struct fault *fault)
{
    struct kubernetes_wanted wanted;

    if (!task->compute->settings->routing_name)
        return true;
    if (!kubernetes_route_is_possible(task, fault) || !remove_other(task, fault))
        return false;
    wanted = kubernetes_intend_route(task->call->memory, &task->topology);
    return kubernetes_task_ensure(task, &wanted, NULL, fault);
}
