/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/answer.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct sample {
    int status;
    const char *body;
    enum docker_meaning meaning;
};

#define SAYS(text) "{\"message\":\"" text "\"}\n"
#define PODMAN(cause, text, status)                                                                          \
    "{\"cause\":\"" cause "\",\"message\":\"" text "\",\"response\":" status "}"

static enum docker_meaning meaning_of(int status, const char *body)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct http_response response = {
        .status = status,
        .body = body,
        .body_length = strlen(body),
        .content_type = "application/json",
        .api_version = "",
        .server = "",
    };
    struct docker_answer answer;

    docker_answer_read(context, &response, &answer);
    assert_int_equal(answer.status, status);
    talloc_free(context);
    return answer.meaning;
}

static void check(const struct sample *samples, size_t count)
{
    size_t index;

    for (index = 0; index < count; index++) {
        const enum docker_meaning found = meaning_of(samples[index].status, samples[index].body);

        if (found != samples[index].meaning)
            fail_msg("%d %s means %d, expected %d", samples[index].status, samples[index].body, (int)found,
                     (int)samples[index].meaning);
    }
}

/* K69: one cause, many statuses; never "not found", never a bad request. */
static void an_exhausted_pool_is_known_by_its_text(void **state)
{
    static const struct sample samples[] = {
        {500,
         SAYS("failed to parse pool request for address space \\\"LocalDefault\\\" pool \\\"\\\" subpool "
              "\\\"\\\": could not find an available predefined network"),
         DOCKER_POOL_EXHAUSTED},
        {404,
         SAYS(
             "could not find an available, non-overlapping IPv4 address pool among the defaults to assign to "
             "the network"),
         DOCKER_POOL_EXHAUSTED},
        {400, SAYS("all predefined address pools have been fully subnetted"), DOCKER_POOL_EXHAUSTED},
        {403, SAYS("Pool overlaps with other one on this address space"), DOCKER_POOL_EXHAUSTED},
        {403, SAYS("invalid pool request: Pool overlaps with other one on this address space"),
         DOCKER_POOL_EXHAUSTED},
        {403,
         SAYS(
             "cannot create network 2f (br-2f): conflicts with network 1a (br-1a): networks have overlapping "
             "IPv4"),
         DOCKER_POOL_EXHAUSTED},
        {500,
         PODMAN("could not find free subnet from subnet pools",
                "could not find free subnet from subnet pools", "500"),
         DOCKER_POOL_EXHAUSTED},
        {500,
         PODMAN("subnet 10.77.0.0/24 is already used on the host or by another config",
                "subnet 10.77.0.0/24 is already used on the host or by another config", "500"),
         DOCKER_POOL_EXHAUSTED},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

/* K70, K108 */
static void what_is_in_use_or_going_is_not_an_error(void **state)
{
    static const struct sample samples[] = {
        {403, SAYS("error while removing network: network oce-x id 95504a886c2d has active endpoints"),
         DOCKER_IN_USE},
        {403, SAYS("network oce-x has active endpoints"), DOCKER_IN_USE},
        {409,
         SAYS("error while removing network: network oce-x has active endpoints (name:\\\"c1\\\" "
              "id:\\\"8304\\\")"),
         DOCKER_IN_USE},
        {500,
         PODMAN("network is being used",
                "\\\"oce-x\\\" has associated containers with it. Use -f to forcibly delete containers and "
                "pods: "
                "network is being used",
                "500"),
         DOCKER_IN_USE},
        {409, SAYS("remove vv: volume is in use - [fcb69da5441e]"), DOCKER_IN_USE},
        {409,
         PODMAN("volume is being used",
                "volume vv is being used by the following container(s): 003ae9: volume is being used", "409"),
         DOCKER_IN_USE},
        {409, SAYS("removal of container 8304ed0ad58a is already in progress"), DOCKER_GOING},
        {500, SAYS("container b342a3ca is not connected to network oce-x"), DOCKER_DISCONNECTED},
        {404,
         PODMAN("network not found",
                "container 41d402 is not connected to CNI network \\\"oce-x\\\": network not found", "404"),
         DOCKER_DISCONNECTED},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

/* K71, K109 */
static void names_taken_and_things_gone(void **state)
{
    static const struct sample samples[] = {
        {409, SAYS("network with name oce-x already exists"), DOCKER_EXISTS},
        {409, SAYS("a conflict in words of a version to come"), DOCKER_EXISTS},
        {500,
         PODMAN("network already exists", "network name oce-x already used: network already exists", "500"),
         DOCKER_EXISTS},
        {500, SAYS("the network name oce-x is already used"), DOCKER_EXISTS},
        {404, SAYS("network nope not found"), DOCKER_MISSING},
        {404, SAYS("No such network: nope"), DOCKER_MISSING},
        {404, SAYS("No such container: c1"), DOCKER_MISSING},
        {404, SAYS("get v1: no such volume"), DOCKER_MISSING},
        {404, SAYS("endpoint nope not found"), DOCKER_MISSING},
        {404,
         PODMAN("network not found", "unable to find network with name or ID nope: network not found", "404"),
         DOCKER_MISSING},
        {404,
         PODMAN("no such container", "no container with name or ID \\\"c1\\\" found: no such container",
                "404"),
         DOCKER_MISSING},
        {404, PODMAN("no such volume", "no volume with name \\\"v1\\\" found: no such volume", "404"),
         DOCKER_MISSING},
        /* The same status about something else. */
        {404, SAYS("page not found"), DOCKER_FAILED},
        {404, SAYS("plugin \\\"bridge\\\" not found"), DOCKER_FAILED},
        {500, SAYS("error while removing network: interface br-1a not found"), DOCKER_FAILED},
        {403, SAYS("network nope not found"), DOCKER_DENIED},
        {404, "Not Found\n", DOCKER_NONSENSE},
        {404, "", DOCKER_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

static void versions_refusals_and_failures(void **state)
{
    static const struct sample samples[] = {
        /* K72 */
        {400,
         SAYS("client version 1.24 is too old. Minimum supported API version is 1.44, please upgrade your "
              "client "
              "to a newer version"),
         DOCKER_VERSION},
        {400, SAYS("client version 1.44 is too new. Maximum supported API version is 1.41"), DOCKER_VERSION},
        {403, SAYS("authorization denied by plugin opa: not on Fridays"), DOCKER_DENIED},
        {401, SAYS("unauthorized"), DOCKER_DENIED},
        {403, SAYS("operation is not permitted on predefined bridge network "), DOCKER_DENIED},
        {400, SAYS("invalid request"), DOCKER_REJECTED},
        {422, SAYS("invalid request"), DOCKER_REJECTED},
        {429, "", DOCKER_BUSY},
        {503, "<html>try later</html>", DOCKER_BUSY},
        {500, SAYS("invalid name: "), DOCKER_FAILED},
        {500, "", DOCKER_FAILED},
        {502, "<html>bad gateway</html>", DOCKER_FAILED},
        {500, SAYS("Failed to Setup IP tables: iptables failed"), DOCKER_FAILED},
        {418, SAYS("teapot"), DOCKER_FAILED},
        {500, "{\"message\":7}", DOCKER_FAILED},
        {400, "<html>no Engine</html>", DOCKER_NONSENSE},
        {403, "{\"message\":", DOCKER_NONSENSE},
        {301, "", DOCKER_NONSENSE},
        {101, "", DOCKER_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

static void a_success_has_json_or_nothing(void **state)
{
    static const struct sample samples[] = {
        {204, "", DOCKER_DONE},
        {200, "", DOCKER_DONE},
        {200, "\n", DOCKER_DONE},
        {200, "[]\n", DOCKER_DONE},
        {201, "{\"Id\":\"8df4\",\"Warning\":\"\"}", DOCKER_DONE},
        /* An error's text in a success is no error. */
        {200, SAYS("network nope not found"), DOCKER_DONE},
        {200, "<html>hello</html>", DOCKER_NONSENSE},
        {200, "[{\"Id\":", DOCKER_NONSENSE},
        {200, "[] []", DOCKER_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

struct told {
    enum docker_meaning meaning;
    enum fault_class class;
    const char *code;
};

/* K108: permanence is kept for what will be refused again. */
static void each_meaning_has_its_fault(void **state)
{
    static const struct told all[] = {
        {DOCKER_IN_USE, FAULT_PENDING, "DOCKER_RESOURCE_IN_USE"},
        {DOCKER_GOING, FAULT_PENDING, "DOCKER_REMOVAL_IN_PROGRESS"},
        {DOCKER_POOL_EXHAUSTED, FAULT_RETRYABLE, "DOCKER_ADDRESS_POOL_EXHAUSTED"},
        {DOCKER_VERSION, FAULT_RETRYABLE, "DOCKER_API_UNSUPPORTED"},
        {DOCKER_DENIED, FAULT_RETRYABLE, "DOCKER_ACCESS_DENIED"},
        {DOCKER_REJECTED, FAULT_PERMANENT, "DOCKER_REQUEST_REJECTED"},
        {DOCKER_BUSY, FAULT_RETRYABLE, "DOCKER_ENGINE_UNAVAILABLE"},
        {DOCKER_NONSENSE, FAULT_RETRYABLE, "DOCKER_ANSWER_INVALID"},
        {DOCKER_FAILED, FAULT_RETRYABLE, "DOCKER_ENGINE_FAILED"},
        {DOCKER_MISSING, FAULT_RETRYABLE, "DOCKER_ENGINE_FAILED"},
        {DOCKER_EXISTS, FAULT_RETRYABLE, "DOCKER_ENGINE_FAILED"},
        {DOCKER_DISCONNECTED, FAULT_RETRYABLE, "DOCKER_ENGINE_FAILED"},
    };
    struct fault fault;
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(all); index++) {
        const struct docker_answer answer = {
            .meaning = all[index].meaning, .status = 499, .retry_after_ms = 3000};

        assert_false(docker_answer_fault(&answer, "creating network oce-x", "/run/x.sock", &fault));
        assert_int_equal(fault.class, all[index].class);
        assert_string_equal(fault.code, all[index].code);
        assert_non_null(strstr(fault.message, "creating network oce-x"));
        assert_non_null(strstr(fault.message, "/run/x.sock"));
        assert_int_equal(fault.retry_after_ms, all[index].meaning == DOCKER_BUSY ? 3000 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exhausted_pool_is_known_by_its_text),
        cmocka_unit_test(what_is_in_use_or_going_is_not_an_error),
        cmocka_unit_test(names_taken_and_things_gone),
        cmocka_unit_test(versions_refusals_and_failures),
        cmocka_unit_test(a_success_has_json_or_nothing),
        cmocka_unit_test(each_meaning_has_its_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
