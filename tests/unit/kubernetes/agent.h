/* SPDX-License-Identifier: MIT
 *
 * An embedded and a dedicated Agent for tests of what is wanted of them, and a way to look into objects.
 */
#ifndef OCC_TEST_AGENT_H
#define OCC_TEST_AGENT_H

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/startup.h"
#include "lib/kubernetes/agent/intent.h"
#include "tests/unit/config/installation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define NAMESPACE_ID "ns_0b7e2c1c-6d7a-4a53-9d40-5a1f6a0d9c11"
#define AGENT_ID "agt_3c1c7a52-2f0f-4f3f-8f4e-0e5c6f1b2d33"
#define REVISION_ID "rev_9d6b0a64-70a1-4c92-b7f0-3f1d2c4b5a66"
#define OTHER_REVISION_ID "rev_11111111-70a1-4c92-b7f0-3f1d2c4b5a66"
#define DOCUMENT "{\"n\": 1.10, \"logging\": {\"level\": \"info\"}}"

static const struct secret_place credential_place = {.secret_id = "sec_1"};
static const struct subject_binding bound[] = {
    {"GITHUB_TOKEN", {.secret_id = "sec_2"}},
    {"9lives", {.secret_id = "sec_3"}},
    {"HOME", {.secret_id = "sec_4"}},
    {"a.b-c", {.secret_id = "sec_5"}},
};

struct agent_case {
    void *context;
    struct kubernetes_settings *settings;
    struct kubernetes_tenant tenant;
    struct subject_agent agent;
    struct subject_revision revision;
    struct kubernetes_topology topology;
};

/* The settings of the startup YAML with line `number` replaced (0: none). */
static inline struct kubernetes_settings *settings_with(void *context, int number, const char *line)
{
    struct findings *findings = findings_new(context);
    const char *yaml = number ? installation_with(context, number, line) : installation_yaml;
    const struct startup *startup = startup_read(context, "test", secret_new(context, yaml, strlen(yaml)),
                                                 MODE_PRODUCTION, NULL, findings);

    findings_print(findings, stderr, "test");
    assert_int_equal(findings_count(findings), 0);
    return kubernetes_settings_read(context, startup->compute.configuration);
}

static inline void agent_turn(struct agent_case *made, const char *harness, const char *mode)
{
    made->revision.harness_id = harness;
    made->revision.harness_mode = mode;
    made->topology = kubernetes_topology_of(made->settings, &made->tenant, "ins_1", &made->revision);
}

/* Everything is freed with made->context. */
static inline struct agent_case *agent_new(const char *harness, const char *mode)
{
    void *context = talloc_new(NULL);
    struct agent_case *made = mem_new(context, struct agent_case);

    made->context = context;
    made->settings = settings_with(context, 0, NULL);
    made->agent = (struct subject_agent){
        .owner = {.id = NAMESPACE_ID, .name = "acme"},
        .id = AGENT_ID,
        .name = "helper",
        .service_principal_id = "sp_1",
    };
    made->tenant.subject = &made->agent.owner;
    kubernetes_data_space(NAMESPACE_ID, made->tenant.data);
    kubernetes_gateway_space(NAMESPACE_ID, made->tenant.gateways);
    made->revision = (struct subject_revision){
        .agent = &made->agent,
        .id = REVISION_ID,
        .number = 1,
        .first = true,
        .document = DOCUMENT,
        .harness_version = "1",
        .harness_auth = "{\"method\": \"api_key\", \"source\": {\"kind\": \"secret\", \"id\": \"sec_1\"}}",
        .harness_secret = &credential_place,
        .bindings = bound,
        .binding_count = COUNT_OF(bound),
    };
    agent_turn(made, harness, mode);
    return made;
}

/* The value at a way of names and indexes, parted by spaces: "spec containers 0 name"; NULL: there is none.
 */
static inline const cJSON *look(const cJSON *value, const char *way)
{
    char name[128];

    while (value && *way) {
        size_t length = strcspn(way, " ");

        assert_true(length < sizeof name);
        memcpy(name, way, length);
        name[length] = '\0';
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, (int)strtol(name, NULL, 10))
                                     : json_member(value, name);
        way += length + (way[length] == ' ');
    }
    return value;
}

static inline const char *text_of(const cJSON *value, const char *way)
{
    const char *text = cJSON_GetStringValue(look(value, way));

    return text ? text : "(none)";
}

#define assert_text(value, way, expected) assert_string_equal(text_of((value), (way)), (expected))

/* The same as JSON on one line; `made` is the test's Agent. */
#define assert_json(value, way, expected)                                                                    \
    assert_string_equal(look((value), (way)) ? json_write(made->context, look((value), (way))) : "(none)",   \
                        (expected))

/* Of a container's `env`: its entry; NULL: there is none of that name. */
static inline const cJSON *variable_of(const cJSON *environment, const char *name)
{
    const cJSON *entry, *found = NULL;

    cJSON_ArrayForEach(entry, environment)
    {
        if (text_equal(json_text(entry, "name"), name)) {
            assert_null(found); /* once at most */
            found = entry;
        }
    }
    return found;
}

#endif
