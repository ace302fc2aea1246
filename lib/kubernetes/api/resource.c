/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/resource.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PAGE 250
#define OBJECTS_MOST 10000
#define PAGES_MOST 200 /* five times what full ones need */
#define LISTS_MOST 3   /* how often one is begun */

/* ---- Words and paths */

static const char *object_words(const void *context, const char *kind, const char *space, const char *name)
{
    return mem_format(context, "%s %s%s%s", kind, space != NULL ? space : "", space != NULL ? "/" : "", name);
}

const char *kubernetes_reference_words(const void *context, const struct kubernetes_reference *reference)
{
    return object_words(context, reference->kind->kind, reference->space, reference->name);
}

/* "get networkpolicies.networking.k8s.io in namespace oce-…", as an operator grants it. */
static const char *access_words(const void *context, const char *verb, const struct kubernetes_kind *kind,
                                const char *space)
{
    return mem_format(context, "%s %s%s%s%s%s", verb, kind->resource, *kind->group != 0 ? "." : "",
                      kind->group, space != NULL ? " in namespace " : "", space != NULL ? space : "");
}

/* Kubernetes API, "Resource URIs": /api/v1/namespaces/SPACE/configmaps/NAME, /apis/apps/v1/…; `name` NULL:
 * all of them. */
static const char *path_of(const void *context, const char *api_version, const struct kubernetes_kind *kind,
                           const char *space, const char *name)
{
    char *path = mem_format(context, "/%s/%s", *kind->group == 0 ? "api" : "apis", api_version);

    if (space != NULL)
        path = mem_append(path, "/namespaces/%s", http_escape(context, space));
    path = mem_append(path, "/%s", kind->resource);
    if (name != NULL)
        path = mem_append(path, "/%s", http_escape(context, name));
    return path;
}

/* ---- One request on a kind */

/* What is asked, but for the version that the server has. */
struct ask {
    const char *method;
    const char *verb;  /* of RBAC: "list" where the method is GET */
    const char *doing; /* "reading Namespace oce-…" */
    const struct kubernetes_kind *kind;
    const char *space;
    const char *name;  /* in the path; NULL: the collection */
    const char *query; /* with its question mark; NULL: none */
    cJSON *body;       /* or NULL; where it is to be of the kind its apiVersion is set here */
    bool typed;        /* it is */
    bool is_patch;     /* a merge patch (RFC 7386) */
};

static bool send_version(struct kubernetes_client *client, const struct driver_call *call,
                         const struct ask *ask, const char *api_version, struct kubernetes_answer *answer,
                         struct fault *fault)
{
    const char *path = path_of(call->memory, api_version, ask->kind, ask->space, ask->name);
    const struct kubernetes_request request = {
        .method = ask->method,
        .path = ask->query == NULL ? path : mem_format(call->memory, "%s%s", path, ask->query),
        .body = ask->body,
        .is_patch = ask->is_patch,
        .doing = ask->doing,
        .access = access_words(call->memory, ask->verb, ask->kind, ask->space),
        .secret = ask->kind == &kubernetes_secret,
    };

    if (ask->typed)
        json_add_text(ask->body, "apiVersion", api_version);
    return kubernetes_client_send(client, call, &request, answer, fault);
}

/* Where the version is not served any more, the one that is now is taken: a server was upgraded under us. */
static bool send(struct kubernetes_client *client, const struct driver_call *call, const struct ask *ask,
                 struct kubernetes_answer *answer, struct fault *fault)
{
    const char *first;
    const char *second;

    if (!kubernetes_kind_resolve(client, call, ask->kind, &first, fault) ||
        !send_version(client, call, ask, first, answer, fault))
        return false;
    if (answer->meaning != KUBERNETES_NO_API)
        return true;
    kubernetes_kind_forget(client, ask->kind);
    return kubernetes_kind_resolve(client, call, ask->kind, &second, fault) &&
           (text_equal(first, second) || send_version(client, call, ask, second, answer, fault));
}

static bool unexpected(struct kubernetes_client *client, const struct driver_call *call,
                       const struct ask *ask, const struct kubernetes_answer *answer, struct fault *fault)
{
    return kubernetes_answer_fault(answer, ask->doing,
                                   access_words(call->memory, ask->verb, ask->kind, ask->space),
                                   kubernetes_client_place(client), fault);
}

static bool invalid(struct kubernetes_client *client, const struct ask *ask, const char *what,
                    struct fault *fault)
{
    return kubernetes_answer_invalid(ask->doing, kubernetes_client_place(client), what, fault);
}

/* An object as asked for: its kind, its name, a UID and a version to guard the next write with. */
static bool take_object(struct kubernetes_client *client, const struct ask *ask, const char *name,
                        const struct kubernetes_answer *answer, const cJSON **object, struct fault *fault)
{
    const cJSON *metadata = json_object(answer->json, "metadata");

    if (!text_equal(json_text(answer->json, "kind"), ask->kind->kind))
        return invalid(client, ask, "an object of another kind", fault);
    if (!text_equal(json_text(metadata, "name"), name) ||
        (ask->space != NULL && !text_equal(json_text(metadata, "namespace"), ask->space)))
        return invalid(client, ask, "an object of another name", fault);
    if (text_is_empty(json_text(metadata, "uid")) || text_is_empty(json_text(metadata, "resourceVersion")))
        return invalid(client, ask, "an object without UID or resourceVersion", fault);
    *object = answer->json;
    return true;
}

bool kubernetes_get(struct kubernetes_client *client, const struct driver_call *call,
                    const struct kubernetes_reference *reference, const cJSON **object, struct fault *fault)
{
    const struct ask ask = {
        .method = "GET",
        .verb = "get",
        .doing = mem_format(call->memory, "reading %s", kubernetes_reference_words(call->memory, reference)),
        .kind = reference->kind,
        .space = reference->space,
        .name = reference->name,
    };
    struct kubernetes_answer answer;

    if (!send(client, call, &ask, &answer, fault))
        return false;
    if (answer.meaning == KUBERNETES_MISSING) {
        *object = NULL;
        return true;
    }
    if (answer.meaning != KUBERNETES_DONE)
        return unexpected(client, call, &ask, &answer, fault);
    return take_object(client, &ask, reference->name, &answer, object, fault);
}

/* ---- Lists */

struct list {
    struct ask ask;
    const char *selector; /* escaped, as a query's part; "" */
    const cJSON *first;   /* the first page's objects; NULL before it */
    cJSON *all;           /* of all pages so far, where there are several; else NULL */
    int count;            /* of objects */
    int pages;
    const char *next; /* the continuation; "" at the end */
};

/* The only page's items are given out as they are. */
static void add_items(const void *context, struct list *list, const cJSON *items)
{
    const cJSON *item;

    if (list->first == NULL) {
        list->first = items;
        return;
    }
    if (list->all == NULL) {
        list->all =
            list->ask.kind == &kubernetes_secret ? json_new_secret_array(context) : json_new_array(context);
        cJSON_ArrayForEach(item, list->first)
        {
            json_append_copy(list->all, item);
        }
    }
    cJSON_ArrayForEach(item, items)
    {
        json_append_copy(list->all, item);
    }
}

/* The items of a list carry neither kind nor apiVersion. A page without items need not be the last
 * (Kubernetes API, ListOptions: "limit"). */
static bool take_page(struct kubernetes_client *client, const struct driver_call *call, struct list *list,
                      const cJSON *page, struct fault *fault)
{
    const char *kind = mem_format(call->memory, "%sList", list->ask.kind->kind);
    const char *next = json_text(json_object(page, "metadata"), "continue");
    const cJSON *items = json_array(page, "items");
    const cJSON *item;

    if (!text_equal(json_text(page, "kind"), kind) || items == NULL)
        return invalid(client, &list->ask, "a list of another kind", fault);
    cJSON_ArrayForEach(item, items)
    {
        if (*kubernetes_name(item) == 0 || *kubernetes_uid(item) == 0)
            return invalid(client, &list->ask, "a list of objects without name or UID", fault);
    }
    list->count += cJSON_GetArraySize(items);
    list->pages++;
    list->next = next != NULL ? next : "";
    if (list->count > OBJECTS_MOST || list->pages > PAGES_MOST)
        return invalid(client, &list->ask, "a list without an end", fault);
    add_items(call->memory, list, items);
    return true;
}

/* *expired: the server does not know the list's state any more (K79). */
static bool read_list(struct kubernetes_client *client, const struct driver_call *call, struct list *list,
                      bool *expired, struct fault *fault)
{
    struct kubernetes_answer answer;

    *expired = false;
    do {
        list->ask.query = *list->next == 0
                              ? mem_format(call->memory, "?limit=%d%s", PAGE, list->selector)
                              : mem_format(call->memory, "?limit=%d%s&continue=%s", PAGE, list->selector,
                                           http_escape(call->memory, list->next));
        if (!send(client, call, &list->ask, &answer, fault))
            return false;
        if (answer.meaning == KUBERNETES_EXPIRED) {
            *expired = true;
            return true;
        }
        if (answer.meaning != KUBERNETES_DONE)
            return unexpected(client, call, &list->ask, &answer, fault);
        if (!take_page(client, call, list, answer.json, fault))
            return false;
    } while (*list->next != 0);
    return true;
}

bool kubernetes_list(struct kubernetes_client *client, const struct driver_call *call,
                     const struct kubernetes_kind *kind, const char *space, const char *selector,
                     const cJSON **objects, struct fault *fault)
{
    const struct ask ask = {
        .method = "GET",
        .verb = "list",
        .doing = mem_format(call->memory, "listing %s%s%s", kind->resource, space != NULL ? " in " : "",
                            space != NULL ? space : ""),
        .kind = kind,
        .space = space,
    };
    const char *query =
        selector == NULL ? ""
                         : mem_format(call->memory, "&labelSelector=%s", http_escape(call->memory, selector));

    for (int begun = 0; begun < LISTS_MOST; begun++) {
        struct list list = {.ask = ask, .selector = query, .next = ""};
        bool expired;

        if (!read_list(client, call, &list, &expired, fault))
            return false;
        if (!expired) {
            *objects = list.all != NULL ? list.all : list.first;
            return true;
        }
    }
    return unexpected(client, call, &ask, &(struct kubernetes_answer){.meaning = KUBERNETES_EXPIRED}, fault);
}

/* ---- Writing */

static cJSON *new_object(const void *context, const struct kubernetes_kind *kind)
{
    return kind == &kubernetes_secret ? json_new_secret_object(context) : json_new_object(context);
}

/* null in an intent means that a member is not there; a server would make an empty text of it in a map of
 * texts, such as labels. */
static void drop_nulls(cJSON *value)
{
    cJSON *child = value->child;

    while (child != NULL) {
        cJSON *next = child->next;

        if (cJSON_IsNull(child) && cJSON_IsObject(value))
            cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
        else
            drop_nulls(child);
        child = next;
    }
}

/* A new object: the intent with what names it, in the order in which people write it. */
static cJSON *body_of(const void *context, const struct kubernetes_reference *reference, const cJSON *intent)
{
    cJSON *body = new_object(context, reference->kind);
    cJSON *metadata;
    const cJSON *member;

    json_add_text(body, "apiVersion", "");
    json_add_text(body, "kind", reference->kind->kind);
    metadata = json_add_object(body, "metadata");
    json_add_text(metadata, "name", reference->name);
    if (reference->space != NULL)
        json_add_text(metadata, "namespace", reference->space);
    cJSON_ArrayForEach(member, json_object(intent, "metadata"))
    {
        if (!text_equal(member->string, "name") && !text_equal(member->string, "namespace"))
            json_add_copy(metadata, member->string, member);
    }
    cJSON_ArrayForEach(member, intent)
    {
        if (!text_equal(member->string, "metadata") && !text_equal(member->string, "kind") &&
            !text_equal(member->string, "apiVersion"))
            json_add_copy(body, member->string, member);
    }
    drop_nulls(body);
    return body;
}

/* What does not exist is the namespace that it would be in. */
static bool no_space(struct kubernetes_client *client, const struct ask *ask, struct fault *fault)
{
    return fault_set(fault, FAULT_RETRYABLE, "KUBERNETES_OBJECT_MISSING",
                     "%s: namespace %s does not exist, says the API server at %s", ask->doing, ask->space,
                     kubernetes_client_place(client));
}

bool kubernetes_create(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const cJSON *intent,
                       const cJSON **created, struct fault *fault)
{
    const struct ask ask = {
        .method = "POST",
        .verb = "create",
        .doing = mem_format(call->memory, "creating %s", kubernetes_reference_words(call->memory, reference)),
        .kind = reference->kind,
        .space = reference->space,
        .body = body_of(call->memory, reference, intent),
        .typed = true,
    };
    struct kubernetes_answer answer;

    if (!send(client, call, &ask, &answer, fault))
        return false;
    if (answer.meaning == KUBERNETES_EXISTS) {
        *created = NULL;
        return true;
    }
    if (answer.meaning == KUBERNETES_MISSING && ask.space != NULL)
        return no_space(client, &ask, fault);
    if (answer.meaning != KUBERNETES_DONE)
        return unexpected(client, call, &ask, &answer, fault);
    return take_object(client, &ask, reference->name, &answer, created, fault);
}

/* The patch with what it is guarded by: a server refuses it with a conflict when either is another one. */
static cJSON *guarded(const void *context, const struct kubernetes_kind *kind, const cJSON *patch,
                      const cJSON *seen)
{
    const cJSON *metadata = json_object(seen, "metadata");
    cJSON *body = new_object(context, kind);
    cJSON *guard = json_add_object(body, "metadata");
    const cJSON *member;

    cJSON_ArrayForEach(member, json_object(patch, "metadata"))
    {
        json_add_copy(guard, member->string, member);
    }
    json_add_text(guard, "uid", json_text(metadata, "uid"));
    json_add_text(guard, "resourceVersion", json_text(metadata, "resourceVersion"));
    cJSON_ArrayForEach(member, patch)
    {
        if (!text_equal(member->string, "metadata"))
            json_add_copy(body, member->string, member);
    }
    return body;
}

bool kubernetes_merge(struct kubernetes_client *client, const struct driver_call *call,
                      const struct kubernetes_reference *reference, const cJSON *seen, const cJSON *patch,
                      enum kubernetes_patched *outcome, const cJSON **patched, struct fault *fault)
{
    const struct ask ask = {
        .method = "PATCH",
        .verb = "patch",
        .doing = mem_format(call->memory, "changing %s", kubernetes_reference_words(call->memory, reference)),
        .kind = reference->kind,
        .space = reference->space,
        .name = reference->name,
        .body = guarded(call->memory, reference->kind, patch, seen),
        .is_patch = true,
    };
    struct kubernetes_answer answer;

    if (!send(client, call, &ask, &answer, fault))
        return false;
    /* Validation may see another UID before the guard does. */
    if (answer.meaning == KUBERNETES_CONFLICT || answer.meaning == KUBERNETES_MISSING ||
        (answer.meaning == KUBERNETES_REJECTED && text_equal(answer.field, "metadata.uid"))) {
        *outcome = KUBERNETES_PATCH_RACED;
        *patched = NULL;
        return true;
    }
    if (answer.meaning != KUBERNETES_DONE)
        return unexpected(client, call, &ask, &answer, fault);
    if (!take_object(client, &ask, reference->name, &answer, patched, fault))
        return false;
    *outcome = KUBERNETES_PATCHED;
    return true;
}

bool kubernetes_delete(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const char *uid, struct fault *fault)
{
    cJSON *options = json_new_object(call->memory);
    const struct ask ask = {
        .method = "DELETE",
        .verb = "delete",
        .doing = mem_format(call->memory, "deleting %s", kubernetes_reference_words(call->memory, reference)),
        .kind = reference->kind,
        .space = reference->space,
        .name = reference->name,
        .body = options,
    };
    struct kubernetes_answer answer;

    json_add_text(options, "kind", "DeleteOptions");
    json_add_text(options, "apiVersion", "v1");
    json_add_text(options, "propagationPolicy", "Background");
    json_add_text(json_add_object(options, "preconditions"), "uid", uid);
    if (!send(client, call, &ask, &answer, fault))
        return false;
    switch (answer.meaning) {
    case KUBERNETES_DONE: /* with the object as it goes, or with a Status */
        return text_equal(json_text(answer.json, "kind"), "Status") ||
               text_equal(json_text(answer.json, "kind"), ask.kind->kind) ||
               invalid(client, &ask, "an object of another kind", fault);
    case KUBERNETES_MISSING:
    case KUBERNETES_CONFLICT:    /* another UID has the name by now */
    case KUBERNETES_TERMINATING: /* a namespace that is on its way out already */
        return true;
    default:
        return unexpected(client, call, &ask, &answer, fault);
    }
}

/* ---- What an object says of itself */

static const char *metadata_text(const cJSON *object, const char *name)
{
    return json_text(json_object(object, "metadata"), name);
}

const char *kubernetes_uid(const cJSON *object)
{
    const char *uid = metadata_text(object, "uid");

    return uid != NULL ? uid : "";
}

const char *kubernetes_name(const cJSON *object)
{
    const char *name = metadata_text(object, "name");

    return name != NULL ? name : "";
}

const char *kubernetes_label(const cJSON *object, const char *key)
{
    return json_text(json_object(json_object(object, "metadata"), "labels"), key);
}

const char *kubernetes_annotation(const cJSON *object, const char *key)
{
    return json_text(json_object(json_object(object, "metadata"), "annotations"), key);
}

bool kubernetes_is_terminating(const cJSON *object)
{
    return !text_is_empty(metadata_text(object, "deletionTimestamp"));
}

const cJSON *kubernetes_condition(const cJSON *object, const char *type)
{
    const cJSON *condition;

    cJSON_ArrayForEach(condition, json_array(json_object(object, "status"), "conditions"))
    {
        if (text_equal(json_text(condition, "type"), type))
            return condition;
    }
    return NULL;
}

bool kubernetes_condition_is_true(const cJSON *object, const char *type)
{
    return text_equal(json_text(kubernetes_condition(object, type), "status"), "True");
}
