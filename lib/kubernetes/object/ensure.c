/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/ensure.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"

/* How often a lost race is read again within one pass; the next pass goes on from there (K77). */
#define ROUNDS 4
#define FIRST_PAUSE_MS 50

/* Whoever else writes the same object at the same time gets a moment to finish. */
static bool pause_before(const struct driver_call *call, int round, struct fault *fault)
{
    int64_t end_ms = clock_now_ms() + (FIRST_PAUSE_MS << (round - 1));
    bool ready;

    if (call->deadline_ms < end_ms)
        end_ms = call->deadline_ms;
    return watch_wait(call->watch, NULL, 0, end_ms, &ready, fault);
}

static bool incomplete(const struct driver_call *call, const struct kubernetes_reference *reference,
                       const char *what, struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "NAMESPACE_INCOMPLETE", "%s %s",
                     kubernetes_reference_words(call->memory, reference), what);
}

/* ---- There */

static bool create(struct kubernetes_client *client, const struct driver_call *call,
                   const struct kubernetes_wanted *wanted, const cJSON **object, struct fault *fault)
{
    if (call->observe_only)
        return incomplete(call, &wanted->reference, "is not there", fault);
    return kubernetes_create(client, call, &wanted->reference, wanted->intent, object, fault);
}

static bool change(struct kubernetes_client *client, const struct driver_call *call,
                   const struct kubernetes_wanted *wanted, const cJSON *difference, const cJSON **object,
                   struct fault *fault)
{
    enum kubernetes_patched outcome; /* *object says the same: it is NULL when raced */

    if (call->observe_only)
        return incomplete(call, &wanted->reference, "is not as it should be", fault);
    return kubernetes_merge(client, call, &wanted->reference, *object, difference, &outcome, object, fault);
}

/* *object is as wanted then, or NULL: somebody else was faster, so it is to be read again. */
static bool settle(struct kubernetes_client *client, const struct driver_call *call,
                   const struct kubernetes_wanted *wanted, const cJSON **object, struct fault *fault)
{
    const struct kubernetes_reference *reference = &wanted->reference;
    const cJSON *difference;

    if (!kubernetes_get(client, call, reference, object, fault))
        return false;
    if (!*object)
        return create(client, call, wanted, object, fault);
    if (!kubernetes_owner_check(*object, reference, &wanted->owner, fault))
        return false;
    if (kubernetes_is_terminating(*object))
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_OBJECT_TERMINATING",
                         "%s is being deleted: its name is not free yet",
                         kubernetes_reference_words(call->memory, reference));
    if (wanted->keep)
        return true;
    difference = kubernetes_difference(call->memory, *object, wanted->intent, &wanted->comparison);
    return !difference || change(client, call, wanted, difference, object, fault);
}

bool kubernetes_ensure(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_wanted *wanted, const cJSON **live, struct fault *fault)
{
    const cJSON *object;
    int round;

    kubernetes_owner_mark(wanted->intent, &wanted->owner);
    for (round = 0; round < ROUNDS; round++) {
        if (round > 0 && !pause_before(call, round, fault))
            return false;
        if (!settle(client, call, wanted, &object, fault))
            return false;
        if (object) {
            if (live)
                *live = object;
            return true;
        }
    }
    return fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT", "%s is written by others at the same time",
                     kubernetes_reference_words(call->memory, &wanted->reference));
}

/* ---- Gone */

/* Forgives a denial in a namespace that is not there. Else returns false with that fault, or with what kept
 * us from looking: a claim that was lost meanwhile is no denial. */
static bool forgive(struct kubernetes_client *client, const struct driver_call *call, const char *space,
                    struct fault *fault)
{
    const struct kubernetes_reference reference = {&kubernetes_namespace, NULL, space};
    const cJSON *object;
    struct fault why;

    if (!space || !fault_is(fault, "KUBERNETES_ACCESS_DENIED"))
        return false;
    if (!kubernetes_get(client, call, &reference, &object, &why)) {
        if (!fault_is(&why, "KUBERNETES_ACCESS_DENIED"))
            *fault = why;
        return false;
    }
    if (object)
        return false;
    *fault = (struct fault){.class = FAULT_NONE};
    return true;
}

bool kubernetes_get_leaving(struct kubernetes_client *client, const struct driver_call *call,
                            const struct kubernetes_reference *reference, const cJSON **object,
                            struct fault *fault)
{
    if (kubernetes_get(client, call, reference, object, fault))
        return true;
    *object = NULL;
    return forgive(client, call, reference->space, fault);
}

bool kubernetes_remove(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const struct kubernetes_owner *owner,
                       bool *gone, struct fault *fault)
{
    const cJSON *object;

    if (!kubernetes_get_leaving(client, call, reference, &object, fault))
        return false;
    if (object && !kubernetes_owner_check(object, reference, owner, fault))
        return false;
    if (object && !call->observe_only && !kubernetes_is_terminating(object)) {
        /* The server's "done" may mean "begun". */
        if (!kubernetes_delete(client, call, reference, kubernetes_uid(object), fault) ||
            !kubernetes_get_leaving(client, call, reference, &object, fault))
            return false;
    }
    *gone = object == NULL;
    return true;
}
