/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/harness_selection.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define CODEX "{\"agentRuntime\":{\"id\":\"codex\"}}"
#define OPENCLAW "{\"agentRuntime\":{\"id\":\"openclaw\"}}"
#define AUTO "{\"agentRuntime\":{\"id\":\"auto\"}}"
#define DEFAULTS(members) "{\"agents\":{\"defaults\":{" members "}}}"
#define BOTH(defaults, providers)                                                                            \
    "{\"agents\":{\"defaults\":{" defaults "}},\"models\":{\"providers\":{" providers "}}}"

static bool provision(void *self, const struct driver_call *call, const struct subject_revision *revision,
                      const char **endpoint, struct compute_observation *seen, struct fault *fault)
{
    (void)self;
    (void)call;
    (void)revision;
    (void)endpoint;
    (void)seen;
    return fault_set(fault, FAULT_BUG, "NEVER_CALLED", "Selecting provisions nothing.");
}

static const struct sandbox_operations provisioning = {.provision_harness = provision};
static const struct sandbox_operations bare = {0};
static const struct sandbox_driver full = {"full", SANDBOX_ALL, &provisioning, NULL};
static const struct sandbox_driver partial = {"partial", SANDBOX_NETWORKING | SANDBOX_PROCESS, &provisioning,
                                              NULL};
static const struct sandbox_driver idle = {"idle", SANDBOX_ALL, &bare, NULL};

struct example {
    const char *document;
    const char *id;         /* that is selected */
    const char *refusal[4]; /* or words of the refusal */
};

/* The mode in which the pair exists is the id's; a sandbox is there, so that only the choice can fail. */
static void check(const struct example *example)
{
    const struct harness *harness = NULL;
    struct fault fault = {0};
    bool dedicated = text_equal(example->id, "codex");
    bool done;
    size_t word;

    done = harness_select(example->document, strlen(example->document), dedicated ? "dedicated" : "embedded",
                          &full, &harness, &fault);
    if (example->id && !done)
        fail_msg("%s: %s", example->document, fault.message);
    if (example->id) {
        assert_string_equal(harness->id, example->id);
        assert_string_equal(harness->mode, dedicated ? "dedicated" : "embedded");
    } else {
        assert_false(done);
        assert_null(harness);
        assert_int_equal(fault.class, FAULT_CONFLICT);
        assert_string_equal(fault.code, example->refusal[0]);
        for (word = 1; word < COUNT_OF(example->refusal) && example->refusal[word]; word++) {
            if (!strstr(fault.message, example->refusal[word]))
                fail_msg("%s is not in: %s", example->refusal[word], fault.message);
        }
    }
}

#define CHECK_ALL(examples)                                                                                  \
    for (size_t index = 0; index < COUNT_OF(examples); index++)                                              \
    check(&(examples)[index])

static void test_the_nearest_entry_counts(void **state)
{
    static const struct example examples[] = {
        /* Exact entry of the agent's own map. */
        {.document = DEFAULTS("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":" CODEX "}"),
         .id = "codex"},
        /* A provider's entry of the model. */
        {.document =
             BOTH("\"model\":\"openai/gpt\"", "\"openai\":{\"models\":[{\"id\":\"other\"},{\"id\":\"gpt\","
                                              "\"agentRuntime\":{\"id\":\"codex\"}}]}"),
         .id = "codex"},
        {.document = BOTH("\"model\":\"openai/gpt\"", "\"openai\":{\"models\":[{\"id\":\"openai/gpt\","
                                                      "\"agentRuntime\":{\"id\":\"codex\"}}]}"),
         .id = "codex"},
        /* An asterisk. */
        {.document = DEFAULTS("\"model\":\"openai/gpt\",\"models\":{\"openai/*\":" CODEX "}"), .id = "codex"},
        /* The provider. */
        {.document = BOTH("\"model\":\"openai/gpt\"", "\"openai\":" CODEX), .id = "codex"},
        {.document = BOTH("\"model\":\"OpenAI/gpt\"", "\"openai\":" CODEX), .id = "codex"},
        /* Each beats what is further away. */
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":" CODEX "}", "\"openai\":" OPENCLAW),
         .id = "codex"},
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":" OPENCLAW ",\"openai/*\":" CODEX "}",
                  "\"openai\":" CODEX),
         .id = "openclaw"},
        {.document = BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/*\":" OPENCLAW "}",
                          "\"openai\":{\"models\":[{\"id\":\"gpt\",\"agentRuntime\":{\"id\":\"codex\"}}]}"),
         .id = "codex"},
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/*\":" CODEX "}", "\"openai\":" OPENCLAW),
         .id = "codex"},
        {.document = BOTH("\"model\":\"openai/gpt\"", "\"openai\":{\"agentRuntime\":{\"id\":\"openclaw\"},"
                                                      "\"models\":[{\"id\":\"gpt\",\"agentRuntime\":{\"id\":"
                                                      "\"codex\"}}]}"),
         .id = "codex"},
        /* "auto" is a policy that chooses nothing, and what is further away does not count. */
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":" AUTO "}", "\"openai\":" CODEX),
         .id = "openclaw"},
        /* Other models, other providers and empty policies say nothing. */
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt-2\":" CODEX ",\"openai/gp\":" CODEX "}",
                  "\"anthropic\":" CODEX),
         .id = "openclaw"},
        {.document = BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":{\"agentRuntime\":{}}}",
                          "\"openai\":" CODEX),
         .id = "codex"},
        {.document =
             BOTH("\"model\":\"openai/gpt\",\"models\":{\"openai/gpt\":{\"agentRuntime\":{\"id\":\"\"}}}",
                  "\"openai\":" CODEX),
         .id = "codex"},
        /* A model's own name may hold a slash. */
        {.document = DEFAULTS("\"model\":\"router/openai/gpt\",\"models\":{\"router/openai/gpt\":" CODEX "}"),
         .id = "codex"},
    };

    (void)state;
    CHECK_ALL(examples);
}

static void test_how_models_are_named(void **state)
{
    static const struct example examples[] = {
        {.document = DEFAULTS("\"model\":{\"primary\":\"a/b\"},\"models\":{\"a/b\":" CODEX "}"),
         .id = "codex"},
        {.document = DEFAULTS("\"model\":{\"fallbacks\":[\"a/b\"]},\"models\":{\"a/b\":" CODEX "}"),
         .id = "codex"},
        {.document =
             DEFAULTS("\"model\":\"fast\",\"models\":{\"a/b\":{\"alias\":\"Fast\",\"agentRuntime\":{\"id\":"
                      "\"codex\"}},\"a/c\":" OPENCLAW "}"),
         .id = "codex"},
        {.document = DEFAULTS("\"model\":\"a/b@work\",\"models\":{\"a/b\":" CODEX "}"), .id = "codex"},
        {.document = DEFAULTS("\"model\":\"a/b@20250101\",\"models\":{\"a/b@20250101\":" CODEX
                              ",\"a/b\":" OPENCLAW "}"),
         .id = "codex"},
        {.document =
             DEFAULTS("\"model\":\"fast@work\",\"models\":{\"a/b\":{\"alias\":\"fast\",\"agentRuntime\":"
                      "{\"id\":\"codex\"}},\"a/c\":" OPENCLAW "}"),
         .id = "codex"},
        /* What is no name names nothing. */
        {.document = DEFAULTS("\"model\":7,\"models\":{\"a/b\":" CODEX "}"), .id = "codex"},
        {.document = DEFAULTS("\"model\":\"\""), .id = "openclaw"},
    };

    (void)state;
    CHECK_ALL(examples);
}

static void test_nothing_is_openclaw(void **state)
{
    static const struct example examples[] = {
        {.document = "{}", .id = "openclaw"},
        {.document = "{\"agents\":[],\"models\":7}", .id = "openclaw"},
        {.document = "{\"agents\":{\"defaults\":null,\"list\":7},\"models\":{\"providers\":[]}}",
         .id = "openclaw"},
        {.document = DEFAULTS("\"model\":\"openai/gpt\""), .id = "openclaw"},
        /* Legacy, and looked at by nobody. */
        {.document = DEFAULTS("\"agentRuntime\":{\"id\":\"codex\"}"), .id = "openclaw"},
        {.document = "{\"agents\":{\"list\":[{\"id\":\"main\",\"agentRuntime\":{\"id\":\"codex\"}}]}}",
         .id = "openclaw"},
    };

    (void)state;
    CHECK_ALL(examples);
}

static void test_where_no_model_tells_everything_counts(void **state)
{
    static const struct example examples[] = {
        {.document = "{\"models\":{\"providers\":{\"openai\":" CODEX "}}}", .id = "codex"},
        {.document = "{\"models\":{\"providers\":{\"openai\":{\"models\":[" CODEX "]}}}}", .id = "codex"},
        {.document = DEFAULTS("\"models\":{\"a/b\":" CODEX ",\"a/c\":" CODEX ",\"a/d\":{}}"), .id = "codex"},
        {.document = "{\"agents\":{\"list\":[{\"models\":{\"a/b\":" CODEX "}}]}}", .id = "codex"},
        {.document = BOTH("\"model\":\"gpt\"", "\"openai\":" CODEX), .id = "codex"},
        {.document = BOTH("\"models\":{\"a/b\":" CODEX "}", "\"x/y\":" OPENCLAW),
         .refusal = {"HARNESS_CONFLICT", "/agents/defaults/models/a~1b/agentRuntime/id is \"codex\"",
                     "/models/providers/x~1y/agentRuntime/id is \"openclaw\""}},
        {.document = BOTH("\"model\":{\"primary\":\"gpt\",\"fallbacks\":[\"anthropic/claude\"]}",
                          "\"openai\":" CODEX ",\"anthropic\":" OPENCLAW),
         .refusal = {"HARNESS_CONFLICT", "/models/providers/openai/agentRuntime/id",
                     "/models/providers/anthropic/agentRuntime/id"}},
    };

    (void)state;
    CHECK_ALL(examples);
}

static void test_all_models_agree(void **state)
{
    static const struct example examples[] = {
        {.document = BOTH("\"model\":{\"primary\":\"openai/gpt\",\"fallbacks\":[\"openai/mini\",\"x/y\"]},"
                          "\"models\":{\"x/y\":" CODEX "}",
                          "\"openai\":" CODEX),
         .id = "codex"},
        {.document = BOTH("\"model\":{\"primary\":\"openai/gpt\",\"fallbacks\":[\"x/y\"]}",
                          "\"openai\":" CODEX ",\"x\":" OPENCLAW),
         .refusal = {"HARNESS_CONFLICT", "/models/providers/openai/agentRuntime/id is \"codex\"",
                     "/models/providers/x/agentRuntime/id is \"openclaw\""}},
        /* One that is chosen, and one that is not. */
        {.document = BOTH("\"model\":{\"primary\":\"openai/gpt\",\"fallbacks\":[\"x/y\",\"x/z\"]}",
                          "\"openai\":" CODEX),
         .refusal = {"HARNESS_CONFLICT", "/models/providers/openai/agentRuntime/id is \"codex\"",
                     "/agents/defaults/model/fallbacks/0 is \"openclaw\" (by default)"}},
        {.document =
             BOTH("\"model\":{\"primary\":\"x/y\",\"fallbacks\":[\"openai/gpt\"]}", "\"openai\":" CODEX),
         .refusal = {"HARNESS_CONFLICT", "/agents/defaults/model/primary is \"openclaw\" (by default)",
                     "/models/providers/openai/agentRuntime/id is \"codex\""}},
        {.document =
             BOTH("\"model\":{\"primary\":\"x/y\",\"fallbacks\":[\"openai/gpt\"]}", "\"openai\":" OPENCLAW),
         .id = "openclaw"},
        /* Every agent of the list counts; its own entries come before the defaults'. */
        {.document =
             "{\"agents\":{\"defaults\":{\"models\":{\"a/b\":" OPENCLAW "}},\"list\":[{\"model\":\"a/b\","
             "\"models\":{\"a/b\":" CODEX "}}]}}",
         .id = "codex"},
        {.document =
             "{\"agents\":{\"defaults\":{\"model\":\"a/b\",\"models\":{\"a/b\":" CODEX "}},\"list\":[{\"id\":"
             "\"main\"},{\"model\":{\"primary\":\"a/c\"}}]}}",
         .refusal = {"HARNESS_CONFLICT", "/agents/defaults/models/a~1b/agentRuntime/id",
                     "/agents/list/1/model/primary is \"openclaw\" (by default)"}},
        {.document = "{\"agents\":{\"defaults\":{\"model\":\"a/b\",\"models\":{\"a/b\":" CODEX
                     "}},\"list\":[{\"models\":"
                     "{\"a/b\":" OPENCLAW "}}]}}",
         .refusal = {"HARNESS_CONFLICT", "/agents/defaults/models/a~1b/agentRuntime/id",
                     "/agents/list/0/models/a~1b/agentRuntime/id"}},
    };

    (void)state;
    CHECK_ALL(examples);
}

static void test_what_is_not_known(void **state)
{
    static const struct example examples[] = {
        {.document =
             DEFAULTS("\"model\":\"a/b\",\"models\":{\"a/b\":{\"agentRuntime\":{\"id\":\"claude-cli\"}}}"),
         .refusal = {"HARNESS_UNSUPPORTED",
                     "\"claude-cli\" (from /agents/defaults/models/a~1b/agentRuntime/id)",
                     "embedded openclaw, dedicated codex, dedicated openclaw with a full Sandbox Driver"}},
        {.document = DEFAULTS("\"model\":\"a/b\",\"models\":{\"a/b\":{\"agentRuntime\":{\"id\":\"Codex\"}}}"),
         .refusal = {"HARNESS_UNSUPPORTED", "is not known"}},
        {.document = DEFAULTS("\"model\":\"a/~b\",\"models\":{\"a/~b\":{\"agentRuntime\":{\"id\":7}}}"),
         .refusal = {"HARNESS_UNSUPPORTED", "/agents/defaults/models/a~1~0b/agentRuntime/id must be a text"}},
        {.document = BOTH("\"model\":\"a/b\"", "\"a\":{\"agentRuntime\":\"codex\"}"),
         .refusal = {"HARNESS_UNSUPPORTED", "/models/providers/a/agentRuntime must be an object"}},
        {.document = BOTH("\"model\":\"a/b\"", "\"a\":{\"agentRuntime\":null}"),
         .refusal = {"HARNESS_UNSUPPORTED", "/models/providers/a/agentRuntime must be an object"}},
    };

    (void)state;
    CHECK_ALL(examples);
}

struct pair {
    const char *document;
    const char *mode;
    const struct sandbox_driver *sandbox;
    const char *words; /* of the refusal; NULL: it is supported */
};

static void test_modes_and_sandboxes(void **state)
{
    static const char codex[] = DEFAULTS("\"model\":\"a/b\",\"models\":{\"a/b\":" CODEX "}");
    static const char plain[] = DEFAULTS("\"model\":\"a/b\"");
    static const struct pair pairs[] = {
        {codex, "dedicated", NULL, NULL},
        {codex, "dedicated", &partial, NULL},
        {codex, "embedded", &full,
         "\"codex\" (from /agents/defaults/models/a~1b/agentRuntime/id) does not run embedded"},
        {plain, "embedded", NULL, NULL},
        {plain, "dedicated", NULL,
         "\"openclaw\" (by default for /agents/defaults/model) runs dedicated only in a sandbox"},
        {"{}", "dedicated", NULL,
         "\"openclaw\" (by default) runs dedicated only in a sandbox, and no Sandbox Driver"},
        {plain, "dedicated", &partial,
         "the Sandbox Driver partial lacks one of networking, filesystem and process"},
        {plain, "dedicated", &idle, "the Sandbox Driver idle provisions no Harness"},
        {plain, "dedicated", &full, NULL},
    };
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(pairs); index++) {
        const struct harness *harness;
        struct fault fault;
        bool done = harness_select(pairs[index].document, strlen(pairs[index].document), pairs[index].mode,
                                   pairs[index].sandbox, &harness, &fault);

        assert_int_equal(done, !pairs[index].words);
        if (done) {
            assert_ptr_equal(harness, harness_find(harness->id, pairs[index].mode));
        } else {
            assert_string_equal(fault.code, "HARNESS_UNSUPPORTED");
            if (!strstr(fault.message, pairs[index].words))
                fail_msg("%s is not in: %s", pairs[index].words, fault.message);
        }
    }
}

/* Names in a document may be as long as the document: what decides is told all the same. */
static void test_long_names(void **state)
{
    void *memory = talloc_new(NULL);
    const size_t length = 100000;
    char *name = mem_array(memory, char, length + 1);
    const char *text;
    const struct harness *harness;
    struct fault fault;

    (void)state;
    memset(name, '/', length);
    text = mem_format(
        memory,
        "{\"agents\":{\"defaults\":{\"model\":\"a%s\",\"models\":{\"a%s\":{\"agentRuntime\":{\"id\":"
        "\"b%s\"}}}}}}",
        name, name, name);
    assert_false(harness_select(text, strlen(text), "embedded", NULL, &harness, &fault));
    assert_string_equal(fault.code, "HARNESS_UNSUPPORTED");
    assert_non_null(strstr(fault.message, "(from /agents/defaults/models/a~1~1"));
    assert_non_null(strstr(fault.message, "...) is not known; supported are: embedded openclaw"));
    talloc_free(memory);
}

/* Each model is looked for among all entries: what would be a minute of it, under locks, is refused. */
static void test_very_many_models(void **state)
{
    void *memory = talloc_new(NULL);
    char *text = mem_text(memory, "{\"agents\":{\"defaults\":{\"models\":{");
    const struct harness *harness;
    struct fault fault;
    int index;

    (void)state;
    for (index = 0; index < 30000; index++)
        text = mem_append(text, "%s\"a/%d\":{}", index ? "," : "", index);
    text = mem_append(text, "}},\"list\":[");
    for (index = 0; index < 60000; index++)
        text = mem_append(text, "%s{\"model\":\"a/x\"}", index ? "," : "");
    text = mem_append(text, "]}}");
    assert_false(harness_select(text, strlen(text), "embedded", NULL, &harness, &fault));
    assert_string_equal(fault.code, "HARNESS_SEARCH_TOO_LARGE");
    talloc_free(memory);
}

/* jsonb writes numbers out; cJSON takes none of them. */
static void test_long_numbers(void **state)
{
    static const char head[] = "{\"a\":[-1.5e-3,0,7E+2],\"b\":\"-1\\\"2\",\"n\":",
                      tail[] = ",\"models\":{\"providers\":{\"x\":" CODEX "}}}";
    void *memory = talloc_new(NULL);
    char digits[401];
    const struct harness *harness;
    struct fault fault;
    const char *text;

    (void)state;
    memset(digits, '9', sizeof digits);
    digits[sizeof digits - 1] = '\0';
    text = mem_format(memory, "%s%s.%s%s", head, digits, digits, tail);
    assert_true(harness_select(text, strlen(text), "dedicated", NULL, &harness, &fault));
    assert_string_equal(harness->id, "codex");
    assert_false(harness_select(text, strlen(text) - 1, "dedicated", NULL, &harness, &fault));
    assert_string_equal(fault.code, "CONFIGURATION_DOCUMENT_INVALID");
    talloc_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nearest_entry_counts),
        cmocka_unit_test(test_how_models_are_named),
        cmocka_unit_test(test_nothing_is_openclaw),
        cmocka_unit_test(test_where_no_model_tells_everything_counts),
        cmocka_unit_test(test_all_models_agree),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_modes_and_sandboxes),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_very_many_models),
        cmocka_unit_test(test_long_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
