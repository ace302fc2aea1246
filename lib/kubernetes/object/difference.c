/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/difference.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/format.h"

/* Where the comparison is. Items of an array have its path and no name. */
struct place {
    const void *context;
    const char *const *exact_paths;
    const char *path;   /* "spec.hard.cpu" */
    const char *name;   /* "cpu" */
    const char *object; /* the name of the object around it: "hard" */
    bool exact;         /* at or below one of the exact paths */
};

static struct place below(const struct place *place, const char *member)
{
    struct place inner = *place;
    const char *const *path;

    inner.path = place->path[0] == '\0' ? mem_text(place->context, member)
                                        : mem_format(place->context, "%s.%s", place->path, member);
    inner.name = member;
    inner.object = place->name;
    for (path = place->exact_paths; path && *path && !inner.exact; path++)
        inner.exact = text_equal(*path, inner.path);
    return inner;
}

/* Elsewhere "1e3" and "1000" are different texts: as a label, as the value of a variable, as data. */
static bool is_amount(const struct place *place)
{
    static const char *const objects[] = {"hard", "requests", "limits", "default", "defaultRequest"};
    size_t index;

    for (index = 0; index < COUNT_OF(objects); index++)
        if (text_equal(place->object, objects[index]))
            return true;
    return text_equal(place->object, "emptyDir") && text_equal(place->name, "sizeLimit");
}

static bool same_texts(const struct place *place, const char *live, const char *intent)
{
    long double one, other;

    if (text_equal(live, intent))
        return true;
    if (!is_amount(place) || !format_quantity_value(live, &one) || !format_quantity_value(intent, &other))
        return false;
    return one <= other && one >= other;
}

/* Whether a value that is not there is as intended. An object without members may mean something
 * ("emptyDir"), but not where all members are ours. */
static bool asks_for_nothing(const struct place *place, const cJSON *intent)
{
    const cJSON *member;

    if (cJSON_IsNull(intent))
        return true;
    if (cJSON_IsArray(intent))
        return intent->child == NULL;
    if (!cJSON_IsObject(intent) || (!place->exact && intent->child == NULL))
        return false;
    cJSON_ArrayForEach(member, intent)
    {
        const struct place inner = below(place, member->string);

        if (!asks_for_nothing(&inner, member))
            return false;
    }
    return true;
}

static cJSON *compare_objects(const struct place *place, const cJSON *live, const cJSON *intent);
static bool same(const struct place *place, const cJSON *live, const cJSON *intent);

static bool same_arrays(const struct place *place, const cJSON *live, const cJSON *intent)
{
    struct place item = *place;
    const cJSON *other = live->child;
    const cJSON *one;

    item.name = "";
    item.object = "";
    cJSON_ArrayForEach(one, intent)
    {
        if (!other || !same(&item, other, one))
            return false;
        other = other->next;
    }
    return other == NULL;
}

static bool same(const struct place *place, const cJSON *live, const cJSON *intent)
{
    if (!live || cJSON_IsNull(live))
        return asks_for_nothing(place, intent);
    if (cJSON_IsObject(intent))
        return cJSON_IsObject(live) && compare_objects(place, live, intent) == NULL;
    if (cJSON_IsArray(intent))
        return cJSON_IsArray(live) && same_arrays(place, live, intent);
    if (cJSON_IsString(intent))
        return cJSON_IsString(live) && same_texts(place, live->valuestring, intent->valuestring);
    return cJSON_Compare(live, intent, true);
}

/* The patch that makes one object so, or NULL. */
static cJSON *compare_objects(const struct place *place, const cJSON *live, const cJSON *intent)
{
    cJSON *patch = json_new_secret_object(place->context); /* the object may be a Secret */
    const cJSON *member;

    cJSON_ArrayForEach(member, intent)
    {
        const cJSON *now = json_member(live, member->string);
        const struct place inner = below(place, member->string);

        if (cJSON_IsObject(member) && cJSON_IsObject(now)) {
            const cJSON *inside = compare_objects(&inner, now, member);

            if (inside)
                json_add_copy(patch, member->string, inside);
        } else if (!same(&inner, now, member)) {
            json_add_copy(patch, member->string, member);
        }
    }
    if (place->exact)
        cJSON_ArrayForEach(member, live)
        {
            if (!cJSON_IsNull(member) && !json_member(intent, member->string))
                json_add_text(patch, member->string, NULL);
        }
    return patch->child ? patch : NULL;
}

const cJSON *kubernetes_difference(const void *context, const cJSON *live, const cJSON *intent,
                                   const struct kubernetes_comparison *comparison)
{
    TALLOC_CTX *scratch = mem_context(context);
    const struct place top = {
        .context = scratch, .exact_paths = comparison->exact, .path = "", .name = "", .object = ""};
    const cJSON *patch = compare_objects(&top, live, intent);
    cJSON *found = NULL;
    const cJSON *member;

    if (patch) {
        found = json_new_secret_object(context);
        cJSON_ArrayForEach(member, patch)
        {
            json_add_copy(found, member->string, member);
        }
    }
    talloc_free(scratch);
    return found;
}
