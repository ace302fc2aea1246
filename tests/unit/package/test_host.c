/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/host.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/driver/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <unistd.h>

static const struct package package = {.name = "example", .path = "/x/example.so", .version = "1"};

/* A watch that ends the operation at its `limit`th turn. */
struct count {
    unsigned turns, limit;
};

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    struct count *own = subject;

    (void)ready;
    (void)count;
    if (++own->turns < own->limit)
        return true;
    return fault_set(fault, FAULT_CLAIM_LOST, "CLAIM_LOST", "it is gone");
}

struct fixture {
    void *context;
    struct count count;
    struct watch watch;
    struct driver_call call;
    struct package_driver driver;
    struct host_call host;
};

static int begin(void **state)
{
    struct fixture *fixture = mem_new(NULL, struct fixture);

    fixture->context = fixture;
    fixture->count.limit = UINT32_MAX;
    fixture->watch = (struct watch){&fixture->count, NULL, turn};
    fixture->call = (struct driver_call){
        .memory = fixture, .watch = &fixture->watch, .deadline_ms = clock_now_ms() + 60000};
    fixture->driver = (struct package_driver){
        .package = &package, .capability = PACKAGE_COMPUTE, .id = "compute-example", .resources = fixture};
    host_begin(&fixture->host, &fixture->driver, &fixture->call, "prepare_revision");
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    host_end(&fixture->host);
    return talloc_free(fixture);
}

static void an_answer_is_judged(void **state)
{
    struct fixture *fixture = *state;
    struct host_call *host = &fixture->host;
    struct compute_observation seen;
    struct fault fault;

    assert_int_equal(host->call.size, sizeof(struct occ_call));
    assert_int_equal(host->call.host->size, sizeof(struct occ_host));
    assert_string_equal(host->call.installation_id, "");
    (void)text_copy(host->answer.namespace_id, sizeof host->answer.namespace_id, "ns_1");
    assert_true(host_judge(host, OCC_READY, &seen, &fault));
    assert_string_equal(seen.namespace_id, "ns_1");
    assert_false(host_judge(host, OCC_PENDING, &seen, &fault));
    assert_int_equal(fault.class, FAULT_PERMANENT);
    assert_string_equal(fault.code, "INVALID_DRIVER_OBSERVATION");
    assert_string_equal(
        fault.message, "The Driver compute-example (package example) answered prepare_revision with no code");
    (void)text_copy(host->answer.code, sizeof host->answer.code, "EXAMPLE");
    assert_false(host_judge(host, OCC_PENDING, &seen, &fault));
    assert_int_equal(fault.class, FAULT_PENDING);
    /* At a start nobody looks again. */
    host->at_start = true;
    assert_false(host_judge(host, OCC_PENDING, &seen, &fault));
    assert_int_equal(fault.class, FAULT_UNAVAILABLE);
    assert_false(host_judge(host, OCC_PERMANENT, &seen, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_false(host_judge(host, OCC_CANCELLED, &seen, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "INVALID_DRIVER_OBSERVATION");
}

/* A Driver that says "ready" after its claim was lost has said nothing. */
static void the_watch_has_the_last_word(void **state)
{
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    struct compute_observation seen;
    struct fault fault;

    fixture->count.limit = 1;
    assert_int_equal(call->host->wait(call, -1, 0, clock_now_ms() + 10000), OCC_CANCELLED);
    assert_int_equal(fixture->count.turns, 1);
    /* And nothing waits any more. */
    assert_int_equal(call->host->wait(call, -1, 0, clock_now_ms() + 10000), OCC_CANCELLED);
    assert_int_equal(call->host->check(call), OCC_CANCELLED);
    assert_int_equal(fixture->count.turns, 1);
    assert_false(host_judge(&fixture->host, OCC_READY, &seen, &fault));
    assert_int_equal(fault.class, FAULT_CLAIM_LOST);
    assert_string_equal(fault.code, "CLAIM_LOST");
    assert_string_equal(seen.namespace_id, "");
}

static void waiting(void **state)
{
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    const struct occ_host *host = call->host;
    struct fault fault;
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(host->check(call), OCC_READY);
    assert_int_equal(host->wait(call, pipes[0], POLLIN, clock_now_ms() + 20), OCC_PENDING);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(host->wait(call, pipes[0], POLLIN, clock_now_ms() + 10000), OCC_READY);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    fixture->call.deadline_ms = clock_now_ms() + 20;
    /* As long as it may, it is the time that is over; longer than that, it is the call. */
    assert_int_equal(host->wait(call, -1, 0, fixture->call.deadline_ms), OCC_PENDING);
    assert_int_equal(host->wait(call, -1, 0, INT64_MAX), OCC_CANCELLED);
    assert_int_equal(host->check(call), OCC_CANCELLED);
    assert_false(host_judge(&fixture->host, OCC_CANCELLED, NULL, &fault));
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_string_equal(fault.code, "DRIVER_DEADLINE_EXCEEDED");
    /* What it says instead of that counts. */
    assert_true(host_judge(&fixture->host, OCC_READY, NULL, &fault));
}

static void memory_is_zeroed_and_the_calls(void **state)
{
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    const char *bytes = call->host->allocate(call, 100);
    size_t index;

    for (index = 0; index < 100; index++)
        assert_int_equal(bytes[index], 0);
    assert_non_null(call->host->allocate(call, 0));
    assert_string_equal(call->host->format(call, "%s-%d", "a", 7), "a-7");
    assert_ptr_equal(talloc_parent(bytes), fixture->host.memory);
}

/* A pool's memory is there when what was in it is freed, so that one can look. */
static void what_services_give_is_wiped(void **state)
{
    static const char value[] = "a-value-that-must-not-stay-anywhere";
    static const char escaped[] = "a-value%2Fthat-must-not-stay-anywhere";
    struct fixture *fixture = *state;
    const size_t size = 16384;
    void *pool = talloc_pool(NULL, size);
    struct driver_call of_pool = fixture->call;
    struct host_call host;
    const struct occ_call *call = &host.call;

    of_pool.memory = pool;
    host_begin(&host, &fixture->driver, &of_pool, "store");
    (void)call->host->format(call, "%s", value);
    (void)call->host->json_quote(call, value);
    (void)call->host->http_escape(call, "a-value/that-must-not-stay-anywhere");
    assert_non_null(memmem(pool, size, value, sizeof value - 1));
    assert_non_null(memmem(pool, size, escaped, sizeof escaped - 1));
    host_end(&host);
    assert_null(memmem(pool, size, value, sizeof value - 1));
    assert_null(memmem(pool, size, escaped, sizeof escaped - 1));
    talloc_free(pool);
}

static void documents_are_read(void **state)
{
    static const char text[] = "{\"a\":[1,\"two\",true,null,1.5,1e300],\"b\":{\"c\":\"d\"}}";
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    const struct occ_host *host = call->host;
    const struct occ_json *root = host->json_read(call, text, sizeof text - 1);
    const struct occ_json *list = host->json_member(root, "a");

    assert_int_equal(host->json_kind(root), OCC_JSON_OBJECT);
    assert_int_equal(host->json_kind(list), OCC_JSON_LIST);
    assert_int_equal(host->json_count(list), 6);
    assert_int_equal(host->json_count(root), 0);
    assert_int_equal(host->json_number(host->json_item(list, 0), 9), 1);
    assert_string_equal(host->json_text(host->json_item(list, 1), "-"), "two");
    assert_int_equal(host->json_boolean(host->json_item(list, 2), 0), 1);
    assert_int_equal(host->json_kind(host->json_item(list, 3)), OCC_JSON_NULL);
    assert_int_equal(host->json_number(host->json_item(list, 4), 9), 0);
    assert_int_equal(host->json_number(host->json_item(list, 5), 9), 0);
    assert_int_equal(host->json_number(host->json_item(list, 1), 9), 9);
    assert_string_equal(host->json_text(host->json_member(host->json_member(root, "b"), "c"), "-"), "d");
    /* Nothing leads to nothing. */
    assert_null(host->json_item(list, 6));
    assert_int_equal(host->json_kind(host->json_item(host->json_member(NULL, "x"), 3)), OCC_JSON_NONE);
    assert_string_equal(host->json_text(host->json_member(list, "x"), "-"), "-");
    assert_null(host->json_read(call, "{\"a\":1,\"a\":2}", 13));
    assert_string_equal(host->json_quote(call, "a\"\n"), "\"a\\\"\\n\"");
}

/* A structure of a Driver that knows fewer members. */
static void structures_are_read_as_far_as_they_go(void **state)
{
    struct occ_http_request request, known;

    (void)state;
    memset(&request, 0x41, sizeof request);
    request.size = offsetof(struct occ_http_request, content_type);
    request.method = "GET";
    request.path = "/";
    HOST_TAKE(known, &request);
    assert_string_equal(known.path, "/");
    assert_null(known.content_type);
    assert_int_equal(known.timeout_ms, 0);
}

static void wrong_calls_are_told(void **state)
{
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    struct occ_http_options options = {.size = sizeof options,
                                       .base_url = "http://localhost",
                                       .dependency = "example",
                                       .unavailable_code = "EXAMPLE_UNAVAILABLE",
                                       .body_limit = 1000,
                                       .connect_timeout_ms = 1000};
    struct occ_answer answer = {.size = sizeof answer};
    struct occ_http *client;
    unsigned index;

    options.unavailable_code = "no code";
    assert_int_equal(call->host->http_open(call, &options, &client, &answer), OCC_PERMANENT);
    assert_string_equal(answer.code, "DRIVER_CALL_INVALID");
    options.unavailable_code = "EXAMPLE_UNAVAILABLE";
    for (index = 0; index < 16; index++)
        assert_int_equal(call->host->http_open(call, &options, &client, &answer), OCC_READY);
    assert_int_equal(call->host->http_open(call, &options, &client, &answer), OCC_PERMANENT);
    assert_non_null(strstr(answer.message, "16 clients"));
    {
        const struct occ_http_request request = {.size = sizeof request, .method = "FETCH", .path = "/"};
        const struct occ_http_request get = {.size = sizeof get, .method = "GET", .path = "/"};
        struct occ_http_response response = {.size = sizeof response};

        assert_int_equal(call->host->http_send(call, client, &request, &response, &answer), OCC_PERMANENT);
        assert_non_null(strstr(answer.message, "http_send knows GET"));
        response.size = 0;
        assert_int_equal(call->host->http_send(call, client, &get, &response, &answer), OCC_PERMANENT);
        assert_non_null(strstr(answer.message, "a response that says its size"));
    }
}

static bool read_secret(void *self, const struct driver_call *call, const struct secret_place *place,
                        const struct secret **value, struct fault *fault)
{
    (void)self;
    if (!text_equal(place->secret_id, "sec_1"))
        return fault_set(fault, FAULT_PERMANENT, "SECRET_VALUE_MISSING", "there is none");
    *value = secret_new(call->memory, "s3", 2);
    return true;
}

static void secrets_are_read_from_the_selected_driver(void **state)
{
    static const struct secret_operations operations = {.read = read_secret};
    const struct secret_driver secrets = {"secret-example", &operations, NULL};
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    struct occ_secret_place place = {.size = sizeof place,
                                     .secret_id = "sec_1",
                                     .driver_id = "secret-example",
                                     .namespace_id = "ns_1",
                                     .backend_namespace_name = "a",
                                     .backend_name = "b",
                                     .backend_key = "c"};
    struct occ_answer answer = {.size = sizeof answer};
    const char *bytes;
    size_t length;

    assert_int_equal(call->host->secret_read(call, &place, &bytes, &length, &answer), OCC_PERMANENT);
    assert_string_equal(answer.code, "SECRET_DRIVER_MISMATCH");
    fixture->call.secrets = &secrets;
    assert_int_equal(call->host->secret_read(call, &place, &bytes, &length, &answer), OCC_READY);
    assert_int_equal(length, 2);
    assert_memory_equal(bytes, "s3", 3);
    place.secret_id = "sec_2";
    assert_int_equal(call->host->secret_read(call, &place, &bytes, &length, &answer), OCC_PERMANENT);
    assert_string_equal(answer.code, "SECRET_VALUE_MISSING");
    place.driver_id = "secret-other";
    assert_int_equal(call->host->secret_read(call, &place, &bytes, &length, &answer), OCC_PERMANENT);
    assert_string_equal(answer.code, "SECRET_DRIVER_MISMATCH");
    fixture->driver.capability = PACKAGE_IAM;
    assert_int_equal(call->host->secret_read(call, &place, &bytes, &length, &answer), OCC_PERMANENT);
    assert_string_equal(answer.code, "DRIVER_CALL_INVALID");
}

/* By index, as the interface has it: a walk that began anew at each would take minutes here. */
static void long_lists_are_walked(void **state)
{
    struct fixture *fixture = *state;
    const struct occ_call *call = &fixture->host.call;
    const struct occ_host *host = call->host;
    const size_t pairs = 100000;
    char *text = mem_array(fixture, char, pairs * 6 + 2);
    const struct occ_json *list;
    int64_t sum = 0;
    size_t index, inner;

    for (index = 0; index < pairs; index++)
        memcpy(text + index * 6, index ? ",[1,2]" : "[[1,2]", 6);
    text[pairs * 6] = ']';
    list = host->json_read(call, text, pairs * 6 + 1);
    for (index = 0; index < host->json_count(list); index++) {
        const struct occ_json *pair = host->json_item(list, index);

        for (inner = 0; inner < host->json_count(pair); inner++)
            sum += host->json_number(host->json_item(pair, inner), 0);
    }
    assert_int_equal(index, pairs);
    assert_int_equal(sum, 3 * pairs);
    assert_int_equal(host->json_number(host->json_item(host->json_item(list, 5), 1), 0), 2);
    assert_int_equal(host->json_number(host->json_item(host->json_item(list, 5), 0), 0), 1);
    assert_null(host->json_item(list, pairs));
    assert_null(host->json_item(host->json_read(call, "[]", 2), 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(an_answer_is_judged),
        TEST(the_watch_has_the_last_word),
        TEST(waiting),
        TEST(memory_is_zeroed_and_the_calls),
        TEST(what_services_give_is_wiped),
        TEST(documents_are_read),
        TEST(long_lists_are_walked),
        TEST(structures_are_read_as_far_as_they_go),
        TEST(wrong_calls_are_told),
        TEST(secrets_are_read_from_the_selected_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
