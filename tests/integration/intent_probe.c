/* SPDX-License-Identifier: MIT
 *
 * Prints what Kubernetes is to have for an Agent's revision (lib/kubernetes/agent/intent.h), and compares
 * that with what it has.
 *
 *     intent_probe STARTUP_YAML
 *
 * A command is one JSON object a line on stdin, with "namespace", "agent" and "revision" as driver_probe has
 * them, and "selected": the revision that the gateway's Service routes to. It is answered with {"objects":
 * [...]}, each as it would be created; Secrets have made-up values. A command with "live", the objects as the
 * server has them and in the same order, is answered with {"differences": [...]}: a merge patch, or null.
 */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/startup.h"
#include "lib/kubernetes/agent/intent.h"
#include "tests/integration/probe_subject.h"

#define WANTED_MOST 32

struct list {
    struct kubernetes_wanted items[WANTED_MOST];
    size_t count;
};

static void add(struct list *list, struct kubernetes_wanted wanted)
{
    if (list->count == WANTED_MOST)
        abort();
    list->items[list->count++] = wanted;
}

/* The caller's part of a Secret. */
static void add_secret(const void *memory, struct list *list, const struct kubernetes_topology *topology,
                       const char *space, const char *name, bool revision, const char *const *keys)
{
    cJSON *data = json_new_object(memory);

    while (*keys)
        json_add_text(data, *keys++, "c2VjcmV0"); /* "secret" */
    add(list, kubernetes_intend_secret(memory, topology, space, name, revision, data));
}

static void add_secrets(const void *memory, struct list *list, const struct kubernetes_topology *topology)
{
    static const char *const password[] = {KUBERNETES_KEY_PASSWORD, NULL};
    static const char *const token[] = {KUBERNETES_KEY_APP_SERVER_TOKEN, NULL};
    static const char *const both[] = {KUBERNETES_KEY_MODEL_CREDENTIAL, KUBERNETES_KEY_APP_SERVER_TOKEN,
                                       NULL};
    const struct subject_revision *revision = topology->revision;
    const char **names = mem_array(memory, const char *, revision->binding_count + 1);
    size_t index;

    for (index = 0; index < revision->binding_count; index++)
        names[index] = revision->bindings[index].name;
    add_secret(memory, list, topology, topology->gateway_space,
               kubernetes_of_agent(memory, KUBERNETES_GATEWAY_PASSWORD, topology), false, password);
    add_secret(memory, list, topology, topology->tenant->gateways,
               kubernetes_of_agent(memory, topology->settings->transport_secret_prefix, topology), false,
               token);
    add_secret(memory, list, topology, topology->tenant->data,
               kubernetes_of_revision(memory, KUBERNETES_HARNESS_SECRETS, topology), true, both);
    if (revision->binding_count > 0)
        add_secret(memory, list, topology, topology->tenant->data,
                   kubernetes_of_revision(memory, KUBERNETES_HARNESS_BINDINGS, topology), true, names);
}

static void collect(const void *memory, struct list *list, const struct kubernetes_topology *topology,
                    const char *selected)
{
    add_secrets(memory, list, topology);
    add(list, kubernetes_intend_gateway_account(memory, topology));
    add(list, kubernetes_intend_gateway_claim(memory, topology));
    add(list, kubernetes_intend_gateway_policy(memory, topology));
    add(list, kubernetes_intend_gateway_service(memory, topology, selected));
    if (topology->settings->routing_name)
        add(list, kubernetes_intend_route(memory, topology));
    add(list, kubernetes_intend_snapshot(memory, topology, topology->gateway_space));
    if (topology->dedicated) {
        add(list, kubernetes_intend_snapshot(memory, topology, topology->tenant->data));
        add(list, kubernetes_intend_harness_account(memory, topology));
        add(list, kubernetes_intend_harness_claim(memory, topology));
        add(list, kubernetes_intend_harness_egress(memory, topology));
        add(list, kubernetes_intend_harness_ingress(memory, topology));
        add(list, kubernetes_intend_harness_service(memory, topology));
        add(list, kubernetes_intend_harness(memory, topology));
    }
    add(list, kubernetes_intend_gateway(memory, topology));
}

/* As kubernetes_ensure() and kubernetes_create() make it. */
static void complete(const void *memory, struct kubernetes_wanted *wanted)
{
    const struct kubernetes_kind *kind = wanted->reference.kind;
    cJSON *metadata;

    kubernetes_owner_mark(wanted->intent, &wanted->owner);
    metadata = cJSON_GetObjectItemCaseSensitive(wanted->intent, "metadata");
    json_add_text(metadata, "name", wanted->reference.name);
    json_add_text(metadata, "namespace", wanted->reference.space);
    json_add_text(wanted->intent, "kind", kind->kind);
    json_add_text(wanted->intent, "apiVersion",
                  *kind->group ? mem_format(memory, "%s/%s", kind->group, kind->versions[0])
                               : kind->versions[0]);
}

static cJSON *answer(const void *memory, struct list *list, const cJSON *live)
{
    cJSON *told = json_new_object(memory);
    cJSON *entries = json_add_array(told, live ? "differences" : "objects");
    size_t index;

    for (index = 0; index < list->count; index++) {
        struct kubernetes_wanted *wanted = &list->items[index];

        if (live) {
            kubernetes_owner_mark(wanted->intent, &wanted->owner);
            json_append_copy(entries, kubernetes_difference(memory, cJSON_GetArrayItem(live, (int)index),
                                                            wanted->intent, &wanted->comparison));
        } else {
            complete(memory, wanted);
            json_append_copy(entries, wanted->intent);
        }
    }
    return told;
}

static void obey(const struct kubernetes_settings *settings, const char *line)
{
    TALLOC_CTX *memory = talloc_new(NULL);
    const cJSON *command = json_read(memory, line, strcspn(line, "\n"));
    const struct probe_subject *subject = probe_subject_read(memory, command);
    const char *selected = json_text(command, "selected");
    struct kubernetes_tenant tenant = {.subject = &subject->owner};
    struct kubernetes_topology topology;
    struct list list = {.count = 0};

    kubernetes_data_space(subject->owner.id, tenant.data);
    kubernetes_gateway_space(subject->owner.id, tenant.gateways);
    topology = kubernetes_topology_of(settings, &tenant, "ins_1", &subject->revision);
    collect(memory, &list, &topology, selected ? selected : KUBERNETES_REVISION_NONE);
    (void)puts(json_write(memory, answer(memory, &list, json_array(command, "live"))));
    (void)fflush(stdout);
    talloc_free(memory);
}

int main(int argc, char **argv)
{
    TALLOC_CTX *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    const struct startup *startup;
    const struct kubernetes_settings *settings;
    char *line = NULL;
    size_t size = 0;

    if (argc != 2)
        return 2;
    startup = startup_of_file(context, argv[1], argv[1], MODE_PRODUCTION, NULL, findings);
    if (findings_count(findings) > 0) {
        findings_print(findings, stderr, "intent_probe");
        return 1;
    }
    settings = kubernetes_settings_read(context, startup->compute.configuration);
    while (getline(&line, &size, stdin) > 0)
        obey(settings, line);
    free(line);
    talloc_free(context);
    return 0;
}
