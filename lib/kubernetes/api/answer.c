/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/answer.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define RETRY_AFTER_MOST_MS                                                                                  \
    30000                    /* a server that asks for hours must not make a claim wait for hours (K80) */
#define SERVER_WORD_SIZE 128 /* of what is passed on: a field's path, a quota's name */

/* ---- What a Status says */

static const cJSON *first_cause(const cJSON *status)
{
    return cJSON_GetArrayItem(json_array(json_object(status, "details"), "causes"), 0);
}

static bool has_cause(const cJSON *status, const char *reason)
{
    const cJSON *cause;

    cJSON_ArrayForEach(cause, json_array(json_object(status, "details"), "causes"))
    {
        if (text_equal(json_text(cause, "reason"), reason))
            return true;
    }
    return false;
}

static bool says(const cJSON *status, const char *words)
{
    const char *message = json_text(status, "message");

    return message != NULL && strstr(message, words) != NULL;
}

/* A server's word that may stand in a message: one printable line, bounded. */
static const char *server_word(const void *context, const char *word, size_t length)
{
    char *copy = mem_text_part(context, word, length < SERVER_WORD_SIZE ? length : SERVER_WORD_SIZE);

    text_make_line(copy);
    return copy;
}

/* Any namespace that goes away refuses what is to be made in it, by an admission rule. Servers since 1.16
 * tell the cause; the words are the same in all versions (K76). A namespace that is deleted twice is refused
 * with a conflict by some. */
static bool is_terminating(const cJSON *status)
{
    return has_cause(status, "NamespaceTerminating") || says(status, "because it is being terminated") ||
           says(status, "ensuring all content is removed from this namespace");
}

/* "pods "x" is forbidden: exceeded quota: NAME, requested: …" (K84). A quota that was just made is not
 * counted yet ("status unknown for quota: NAME, …"), and one that counts what the object does not state fails
 * ("failed quota: NAME: must specify …"): both pass, or are mended, without a change of ours. */
static const char *quota_of(const void *context, const cJSON *status)
{
    static const char *const words[] = {"exceeded quota: ", "status unknown for quota: ", "failed quota: "};
    const char *message = json_text(status, "message");

    for (size_t i = 0; message != NULL && i < COUNT_OF(words); i++) {
        const char *name = strstr(message, words[i]);

        if (name != NULL) {
            name += strlen(words[i]);
            return server_word(context, name, strcspn(name, ",: \""));
        }
    }
    return NULL;
}

static bool tells_immutable(const char *message)
{
    return message != NULL &&
           (strstr(message, "is immutable") != NULL || strstr(message, "may not change once set") != NULL);
}

static bool is_immutable(const cJSON *status)
{
    const cJSON *causes = json_array(json_object(status, "details"), "causes");
    const cJSON *cause;

    if (cJSON_GetArraySize(causes) == 0)
        return tells_immutable(json_text(status, "message"));
    cJSON_ArrayForEach(cause, causes)
    {
        if (tells_immutable(json_text(cause, "message")))
            return true;
    }
    return false;
}

/* ---- From a response to its meaning */

static bool is_status(const cJSON *json)
{
    return text_equal(json_text(json, "kind"), "Status") && text_equal(json_text(json, "apiVersion"), "v1");
}

/* What a server's root says to a path that nothing serves: a plain text of Go's own. */
static bool is_unknown_path(const struct http_response *response)
{
    static const char words[] = "404 page not found";

    return strncmp(response->content_type, "text/plain", 10) == 0 &&
           response->body_length >= sizeof words - 1 && memcmp(response->body, words, sizeof words - 1) == 0;
}

static enum kubernetes_meaning meaning_of_missing(const cJSON *status)
{
    /* "the server could not find the requested resource" names nothing. */
    return text_is_empty(json_text(json_object(status, "details"), "name")) ? KUBERNETES_NO_API
                                                                            : KUBERNETES_MISSING;
}

static enum kubernetes_meaning meaning_of_conflict(const cJSON *status)
{
    if (is_terminating(status))
        return KUBERNETES_TERMINATING;
    return text_equal(json_text(status, "reason"), "AlreadyExists") ? KUBERNETES_EXISTS : KUBERNETES_CONFLICT;
}

static enum kubernetes_meaning meaning_of_refusal(const struct kubernetes_answer *answer)
{
    if (is_terminating(answer->json))
        return KUBERNETES_TERMINATING;
    return answer->quota != NULL ? KUBERNETES_QUOTA : KUBERNETES_DENIED;
}

static enum kubernetes_meaning meaning_of_status(const struct kubernetes_answer *answer)
{
    switch (answer->status) {
    case 403:
        return meaning_of_refusal(answer);
    case 404:
        return meaning_of_missing(answer->json);
    case 409:
        return meaning_of_conflict(answer->json);
    case 410:
        return KUBERNETES_EXPIRED;
    default: /* of 4xx: 400, 405, 406, 413, 415, 422 and what an admission webhook thinks of */
        return KUBERNETES_REJECTED;
    }
}

static enum kubernetes_meaning meaning_of(const struct http_response *response,
                                          const struct kubernetes_answer *answer)
{
    /* Load balancers and authenticating proxies before an API server say these in words of their own. */
    if (answer->status >= 500)
        return KUBERNETES_FAILED;
    if (answer->status == 429)
        return KUBERNETES_BUSY;
    if (answer->status == 401)
        return KUBERNETES_UNAUTHENTICATED;
    if (answer->status == 404 && is_unknown_path(response))
        return KUBERNETES_NO_API;
    if (answer->json == NULL || answer->status < 200 || (answer->status >= 300 && answer->status < 400))
        return KUBERNETES_NONSENSE;
    if (answer->status < 300)
        return KUBERNETES_DONE;
    return is_status(answer->json) ? meaning_of_status(answer) : KUBERNETES_NONSENSE;
}

static uint32_t retry_after(const struct http_response *response, const cJSON *json)
{
    int64_t asked_ms = response->retry_after_ms;

    if (asked_ms == 0 && json_number(json_object(json, "details"), "retryAfterSeconds", &asked_ms))
        asked_ms = asked_ms > 0 && asked_ms <= RETRY_AFTER_MOST_MS / 1000 ? asked_ms * 1000
                   : asked_ms > 0                                         ? RETRY_AFTER_MOST_MS
                                                                          : 0;
    return asked_ms < RETRY_AFTER_MOST_MS ? (uint32_t)asked_ms : RETRY_AFTER_MOST_MS;
}

void kubernetes_answer_read(const void *context, const struct http_response *response, bool secret,
                            struct kubernetes_answer *answer)
{
    const cJSON *json = secret ? json_read_secret(context, response->body, response->body_length)
                               : json_read(context, response->body, response->body_length);
    const char *field;

    *answer = (struct kubernetes_answer){.status = response->status, .field = ""};
    if (cJSON_IsObject(json))
        answer->json = json;
    if (response->status == 403)
        answer->quota = quota_of(context, answer->json);
    answer->meaning = meaning_of(response, answer);
    if (answer->meaning == KUBERNETES_BUSY || answer->meaning == KUBERNETES_FAILED)
        answer->retry_after_ms = retry_after(response, answer->json);
    if (answer->meaning == KUBERNETES_DENIED)
        answer->admission = !says(answer->json, "\" cannot ");
    if (answer->meaning != KUBERNETES_REJECTED)
        return;
    answer->immutable = is_immutable(answer->json);
    field = json_text(first_cause(answer->json), "field");
    if (!text_is_empty(field) && !text_equal(field, "<nil>"))
        answer->field = server_word(context, field, strlen(field));
}

/* ---- From a meaning to a fault */

bool kubernetes_answer_invalid(const char *doing, const char *place, const char *what, struct fault *fault)
{
    (void)fault_set(fault, FAULT_RETRYABLE, "KUBERNETES_ANSWER_INVALID",
                    "%s: what listens at %s answered, but not as an API server of Kubernetes does: %s", doing,
                    place, what);
    return fault_depends(fault, "kubernetes", "unavailable");
}

static bool unavailable(const struct kubernetes_answer *answer, const char *doing, const char *place,
                        struct fault *fault)
{
    const char *what = answer->meaning == KUBERNETES_BUSY ? "is overloaded" : "cannot answer now";
    const char *whose =
        answer->json == NULL ? "; the words are not an API server's but perhaps a proxy's" : "";

    (void)fault_set(fault, FAULT_PENDING, "KUBERNETES_API_UNAVAILABLE",
                    "%s: the API server at %s %s (status %d%s)", doing, place, what, answer->status, whose);
    fault->retry_after_ms = answer->retry_after_ms;
    return fault_depends(fault, "kubernetes", "unavailable");
}

static bool denied(const struct kubernetes_answer *answer, const char *doing, const char *access,
                   const char *place, struct fault *fault)
{
    if (answer->admission)
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_ACCESS_DENIED",
                         "%s: an admission rule of the cluster at %s refuses it (%s); its audit log says why",
                         doing, place, access);
    return fault_set(fault, FAULT_PENDING, "KUBERNETES_ACCESS_DENIED",
                     "%s: the API server at %s does not allow it; what must be granted: %s", doing, place,
                     access);
}

static bool rejected(const struct kubernetes_answer *answer, const char *doing, const char *place,
                     struct fault *fault)
{
    const char *of = answer->field[0] != 0 ? " because of " : "";

    if (answer->immutable)
        return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_FIELD_IMMUTABLE",
                         "%s: the API server at %s refuses it%s%s: that cannot be changed any more", doing,
                         place, of, answer->field);
    return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_REJECTED",
                     "%s: the API server at %s rejects it%s%s (status %d)", doing, place, of, answer->field,
                     answer->status);
}

bool kubernetes_answer_fault(const struct kubernetes_answer *answer, const char *doing, const char *access,
                             const char *place, struct fault *fault)
{
    char what[64];

    switch (answer->meaning) {
    case KUBERNETES_BUSY:
    case KUBERNETES_FAILED:
        return unavailable(answer, doing, place, fault);
    case KUBERNETES_DENIED:
        return denied(answer, doing, access, place, fault);
    case KUBERNETES_REJECTED:
        return rejected(answer, doing, place, fault);
    case KUBERNETES_TERMINATING:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_NAMESPACE_TERMINATING",
                         "%s: the namespace is being deleted, says the API server at %s", doing, place);
    case KUBERNETES_QUOTA:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_QUOTA_EXCEEDED",
                         "%s: ResourceQuota %s leaves no room for it, says the API server at %s", doing,
                         text_is_empty(answer->quota) ? "of the namespace" : answer->quota, place);
    case KUBERNETES_EXISTS:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT",
                         "%s: there is one already, says the API server at %s", doing, place);
    case KUBERNETES_CONFLICT:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT",
                         "%s: somebody else changed it meanwhile, says the API server at %s", doing, place);
    case KUBERNETES_EXPIRED:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT",
                         "%s: it changed faster than it could be read from the API server at %s", doing,
                         place);
    case KUBERNETES_NO_API:
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_API_NOT_SERVED",
                         "%s: the API server at %s does not serve this kind of object", doing, place);
    case KUBERNETES_MISSING:
        return fault_set(fault, FAULT_RETRYABLE, "KUBERNETES_OBJECT_MISSING",
                         "%s: it does not exist, says the API server at %s", doing, place);
    case KUBERNETES_NONSENSE:
        (void)snprintf(what, sizeof what, "status %d without a readable body", answer->status);
        return kubernetes_answer_invalid(doing, place, what, fault);
    case KUBERNETES_UNAUTHENTICATED: /* the client has told it */
    case KUBERNETES_DONE:
        break;
    }
    return kubernetes_answer_invalid(doing, place, "a success where none can be", fault);
}
