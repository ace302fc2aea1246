/* SPDX-License-Identifier: MIT
 *
 * Drives lib/kubernetes/api by commands on stdin, one JSON object a line, and answers each with one on
 * stdout.
 *
 *     kubernetes_probe kubeconfig FILE CONTEXT
 *     kubernetes_probe cluster HOST PORT FOLDER       (as a Pod: "" for what the environment does not tell)
 *
 * A command: {"operation", "kind", "space", "name", …}, with "timeoutMs" (60000), "watchMs" (the watch ends
 * the operation after that) and "met" ("start", "pass": how a Driver would tell the fault). Operations:
 *
 *     get, list ("selector"), create ("intent"), merge ("seen", "patch"), delete ("uid"), resolve, served,
 *     access ("verb"), version, place
 *
 * An answer: {"ok", "class", "code", "message", "dependency", "cause", "retryAfterMs", "exit", "turns",
 * "elapsedMs"} and "object" (null where there is none), "objects", "raced", "apiVersion", "served",
 * "allowed", "major" and "minor", "place".
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/api/access.h"
#include "lib/kubernetes/api/resource.h"
#include "tests/integration/probe_answer.h"

static const struct kubernetes_kind *const kinds[] = {
    &kubernetes_namespace,
    &kubernetes_resource_quota,
    &kubernetes_limit_range,
    &kubernetes_network_policy,
    &kubernetes_service_account,
    &kubernetes_config_map,
    &kubernetes_secret,
    &kubernetes_service,
    &kubernetes_claim,
    &kubernetes_deployment,
    &kubernetes_pod,
    &kubernetes_endpoint_slice,
    &kubernetes_http_route,
    &kubernetes_access_review,
};

/* ---- One operation */

struct asked {
    struct kubernetes_client *client;
    const struct driver_call *call;
    const cJSON *command;
    struct kubernetes_reference reference;
    cJSON *told;
};

static const struct kubernetes_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_equal(kinds[i]->kind, name))
            return kinds[i];
    }
    return NULL;
}

static bool get(const struct asked *asked, struct fault *fault)
{
    const cJSON *object;

    if (!kubernetes_get(asked->client, asked->call, &asked->reference, &object, fault))
        return false;
    json_add_copy(asked->told, "object", object);
    return true;
}

static bool list(const struct asked *asked, struct fault *fault)
{
    const cJSON *objects;

    if (!kubernetes_list(asked->client, asked->call, asked->reference.kind, asked->reference.space,
                         json_text(asked->command, "selector"), &objects, fault))
        return false;
    json_add_copy(asked->told, "objects", objects);
    return true;
}

static bool create(const struct asked *asked, struct fault *fault)
{
    const cJSON *created;

    if (!kubernetes_create(asked->client, asked->call, &asked->reference,
                           json_object(asked->command, "intent"), &created, fault))
        return false;
    json_add_copy(asked->told, "object", created);
    return true;
}

static bool merge(const struct asked *asked, struct fault *fault)
{
    enum kubernetes_patched outcome;
    const cJSON *patched;

    if (!kubernetes_merge(asked->client, asked->call, &asked->reference, json_object(asked->command, "seen"),
                          json_object(asked->command, "patch"), &outcome, &patched, fault))
        return false;
    json_add_boolean(asked->told, "raced", outcome == KUBERNETES_PATCH_RACED);
    json_add_copy(asked->told, "object", patched);
    return true;
}

static bool ask_kind(const struct asked *asked, bool resolve, struct fault *fault)
{
    const char *api_version;
    bool served;

    if (resolve) {
        if (!kubernetes_kind_resolve(asked->client, asked->call, asked->reference.kind, &api_version, fault))
            return false;
        json_add_text(asked->told, "apiVersion", api_version);
        return true;
    }
    if (!kubernetes_kind_is_served(asked->client, asked->call, asked->reference.kind, &served, fault))
        return false;
    json_add_boolean(asked->told, "served", served);
    return true;
}

static bool ask_access(const struct asked *asked, struct fault *fault)
{
    const struct kubernetes_access access = {
        .kind = asked->reference.kind,
        .verb = json_text(asked->command, "verb"),
        .space = asked->reference.space,
    };
    bool allowed;

    if (!kubernetes_access_ask(asked->client, asked->call, &access, &allowed, fault))
        return false;
    json_add_boolean(asked->told, "allowed", allowed);
    return true;
}

static bool ask_version(const struct asked *asked, struct fault *fault)
{
    unsigned major;
    unsigned minor;

    if (!kubernetes_version(asked->client, asked->call, &major, &minor, fault))
        return false;
    json_add_number(asked->told, "major", major);
    json_add_number(asked->told, "minor", minor);
    return true;
}

static bool operate(const struct asked *asked, struct fault *fault)
{
    const char *operation = json_text(asked->command, "operation");

    if (text_equal(operation, "version"))
        return ask_version(asked, fault);
    if (text_equal(operation, "place")) {
        json_add_text(asked->told, "place", kubernetes_client_place(asked->client));
        return true;
    }
    if (asked->reference.kind == NULL)
        return fault_set(fault, FAULT_BUG, "PROBE_KIND", "there is no such kind");
    if (text_equal(operation, "get"))
        return get(asked, fault);
    if (text_equal(operation, "list"))
        return list(asked, fault);
    if (text_equal(operation, "create"))
        return create(asked, fault);
    if (text_equal(operation, "merge"))
        return merge(asked, fault);
    if (text_equal(operation, "delete"))
        return kubernetes_delete(asked->client, asked->call, &asked->reference,
                                 json_text(asked->command, "uid"), fault);
    if (text_equal(operation, "resolve") || text_equal(operation, "served"))
        return ask_kind(asked, text_equal(operation, "resolve"), fault);
    if (text_equal(operation, "access"))
        return ask_access(asked, fault);
    return fault_set(fault, FAULT_BUG, "PROBE_OPERATION", "there is no such operation");
}

/* ---- Commands */

static void run(struct kubernetes_client *client, const char *line)
{
    TALLOC_CTX *memory = talloc_new(NULL);
    const cJSON *command = json_read(memory, line, strlen(line));
    const int64_t begun_ms = clock_now_ms();
    int64_t timeout_ms = 60000;
    int64_t watch_ms = 0;
    struct driver_call call = {.memory = memory, .installation_id = "ins_probe"};
    const struct asked asked = {
        .client = client,
        .call = &call,
        .command = command,
        .reference = {.kind = kind_of(json_text(command, "kind")),
                      .space = json_text(command, "space"),
                      .name = json_text(command, "name")},
        .told = json_new_object(memory),
    };
    struct fault fault = {0};
    bool ok;

    (void)json_number(command, "timeoutMs", &timeout_ms);
    (void)json_number(command, "watchMs", &watch_ms);
    call.watch = &probe_watch;
    call.deadline_ms = begun_ms + timeout_ms;
    probe_watch_begin(begun_ms, watch_ms);
    ok = operate(&asked, &fault);
    if (!ok && text_equal(json_text(command, "met"), "start"))
        (void)kubernetes_fault_at_start(&fault);
    if (!ok && text_equal(json_text(command, "met"), "pass"))
        (void)kubernetes_fault_in_pass(&fault);
    probe_tell(asked.told, ok, &fault, clock_now_ms() - begun_ms);
    probe_answer(asked.told);
    talloc_free(memory);
}

static const char *given(const char *word)
{
    return *word == 0 ? NULL : word;
}

int main(int count, char **words)
{
    TALLOC_CTX *context = talloc_new(NULL);
    struct kubernetes_authentication authentication = {.setting = "authentication"};
    struct kubernetes_client *client;
    char *line = NULL;
    size_t room = 0;

    if (count == 4 && strcmp(words[1], "kubeconfig") == 0) {
        authentication.kubeconfig_path = words[2];
        authentication.context = words[3];
    } else if (count == 5 && strcmp(words[1], "cluster") == 0) {
        authentication.in_cluster = true;
        authentication.service_host = given(words[2]);
        authentication.service_port = given(words[3]);
        authentication.service_account_folder = words[4];
    } else {
        return 2;
    }
    client = kubernetes_client_new(context, &authentication);
    while (getline(&line, &room, stdin) >= 0)
        run(client, line);
    free(line);
    talloc_free(context);
    return 0;
}
