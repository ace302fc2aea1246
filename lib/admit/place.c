/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/place.h"

#include "lib/base/text.h"

bool place_missing(const char *text, const struct namespace_row *tombstone, struct fault *fault)
{
    if (tombstone)
        return fault_set(fault, FAULT_NOT_FOUND, "NAMESPACE_NOT_FOUND",
                         "The Namespace \"%s\" (%s) was deleted at %s.", tombstone->name, tombstone->id,
                         tombstone->deleted_at);
    return fault_set(fault, FAULT_NOT_FOUND, "NAMESPACE_NOT_FOUND",
                     "There is no Namespace with the ID or exact name \"%s\".", text);
}

static bool enter(struct admission *admission, const char *text, enum namespace_lock lock,
                  struct namespace_row **place, struct fault *fault)
{
    struct namespace_row *row;

    if (!namespace_find(admission->connection, admission->memory, text, lock, admission->watch, &row, fault))
        return false;
    if (!row)
        return place_missing(text, NULL, fault);
    *place = row;
    return true;
}

bool place_enter(struct admission *admission, const char *text, struct namespace_row **place,
                 struct fault *fault)
{
    return enter(admission, text, NAMESPACE_SHARE, place, fault);
}

bool place_enter_alone(struct admission *admission, const char *text, struct namespace_row **place,
                       struct fault *fault)
{
    return enter(admission, text, NAMESPACE_ALONE, place, fault);
}

bool place_open(const struct namespace_row *place, bool ready, struct fault *fault)
{
    static const struct {
        const char *status;
        const char *instead;
    } ways[] = {
        {"provisioning", "wait until it is ready (see: occctl work list)"},
        {"failed", "its infrastructure could not be made; delete it, and create another under a new name"},
        {"deleting", "it is being deleted"},
    };
    size_t index;

    if (place->deleted_at)
        return place_missing(place->name, place, fault);
    if (text_equal(place->status, "ready") || (!ready && text_equal(place->status, "provisioning")))
        return true;
    for (index = 0; index < COUNT_OF(ways); index++) {
        if (text_equal(ways[index].status, place->status))
            return fault_set(fault, FAULT_CONFLICT, ready ? "NAMESPACE_NOT_READY" : "NAMESPACE_NOT_OPEN",
                             "The Namespace \"%s\" (%s) is %s: %s.", place->name, place->id, place->status,
                             ways[index].instead);
    }
    return fault_set(fault, FAULT_BUG, "DATABASE_ANSWER_UNKNOWN",
                     "The Namespace %s has a status that this program does not know.", place->id);
}

bool place_needed(const char *namespace_text, const char *text, const char *prefix, const char *what,
                  struct fault *fault)
{
    if (namespace_text || identifier_is(text, prefix))
        return true;
    return fault_set(fault, FAULT_INVALID, "NAMESPACE_REQUIRED",
                     "%s's name means one of a Namespace: --namespace (or OCC_NAMESPACE) must say which.",
                     what);
}

bool place_look(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                const char *prefix, const char *what, struct namespace_row **place, struct fault *fault)
{
    *place = NULL;
    if (!place_needed(namespace_text, text, prefix, what, fault))
        return false;
    if (!namespace_text)
        return true;
    if (!namespace_find(caller->connection, context, namespace_text, NAMESPACE_LOOK, caller->watch, place,
                        fault))
        return false;
    return *place || place_missing(namespace_text, NULL, fault);
}
