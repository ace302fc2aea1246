/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/access.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static cJSON *review(const void *context, const struct kubernetes_access *access, const char *api_version)
{
    cJSON *body = json_new_object(context);
    cJSON *wanted;

    json_add_text(body, "apiVersion", api_version);
    json_add_text(body, "kind", kubernetes_access_review.kind);
    wanted = json_add_object(json_add_object(body, "spec"), "resourceAttributes");
    json_add_text(wanted, "verb", access->verb);
    json_add_text(wanted, "group", access->kind->group);
    json_add_text(wanted, "resource", access->kind->resource);
    if (access->space != NULL)
        json_add_text(wanted, "namespace", access->space);
    return body;
}

bool kubernetes_access_ask(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_access *access, bool *allowed, struct fault *fault)
{
    struct kubernetes_request request = {
        .method = "POST",
        .doing =
            mem_format(call->memory, "asking whether we may %s %s", access->verb, access->kind->resource),
        .access = "create selfsubjectaccessreviews.authorization.k8s.io",
    };
    struct kubernetes_answer answer;
    const char *api_version;

    if (!kubernetes_kind_resolve(client, call, &kubernetes_access_review, &api_version, fault))
        return false;
    request.path = mem_format(call->memory, "/apis/%s/%s", api_version, kubernetes_access_review.resource);
    request.body = review(call->memory, access, api_version);
    if (!kubernetes_client_send(client, call, &request, &answer, fault))
        return false;
    if (answer.meaning != KUBERNETES_DONE)
        return kubernetes_answer_fault(&answer, request.doing, request.access,
                                       kubernetes_client_place(client), fault);
    if (!json_boolean(json_object(answer.json, "status"), "allowed", allowed))
        return kubernetes_answer_invalid(request.doing, kubernetes_client_place(client),
                                         "a review that does not say whether it is allowed", fault);
    return true;
}

/* "35+" is what some vendors make of 35. */
static bool number_of(const char *text, unsigned *number)
{
    char digits[8];
    size_t length = text == NULL ? 0 : strspn(text, "0123456789");
    uint64_t value;

    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    if (!text_to_number(digits, 9999, &value))
        return false;
    *number = (unsigned)value;
    return true;
}

bool kubernetes_version(struct kubernetes_client *client, const struct driver_call *call, unsigned *major,
                        unsigned *minor, struct fault *fault)
{
    const struct kubernetes_request request = {
        .method = "GET",
        .path = "/version",
        .doing = "asking for the API server's version",
        .access = "get /version",
    };
    struct kubernetes_answer answer;
    unsigned first;
    unsigned second;

    if (!kubernetes_client_send(client, call, &request, &answer, fault))
        return false;
    if (answer.meaning != KUBERNETES_DONE)
        return kubernetes_answer_fault(&answer, request.doing, request.access,
                                       kubernetes_client_place(client), fault);
    if (!number_of(json_text(answer.json, "major"), &first) ||
        !number_of(json_text(answer.json, "minor"), &second))
        return kubernetes_answer_invalid(request.doing, kubernetes_client_place(client), "no version", fault);
    *major = first;
    *minor = second;
    return true;
}
