/* SPDX-License-Identifier: MIT
 *
 * Against a server of our own: a child process on a unix socket that does what the path says, one connection
 * after another.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/io/http.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_LIMIT 65536
#define HALF "half-of-a-secret"

/* ---- The server */

struct request {
    char text[65536];
    size_t length;
};

static unsigned connections;
static unsigned requests;

static void say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static bool read_request(int fd, struct request *request)
{
    request->length = 0;
    for (;;) {
        ssize_t got =
            recv(fd, request->text + request->length, sizeof request->text - 1 - request->length, 0);
        const char *end;
        const char *sized;

        if (got <= 0)
            return false;
        request->length += (size_t)got;
        request->text[request->length] = '\0';
        end = strstr(request->text, "\r\n\r\n");
        if (!end)
            continue;
        sized = strstr(request->text, "Content-Length: ");
        if (!sized || strlen(end + 4) >= strtoul(sized + 16, NULL, 10))
            return true;
    }
}

static void say_body(int fd, const char *headers, const char *body)
{
    char head[512];

    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n", headers,
                   strlen(body));
    say(fd, head);
    say(fd, body);
}

static void wait_for_close(int fd)
{
    char byte;

    while (recv(fd, &byte, 1, 0) > 0)
        ;
}

static void say_for_ever(int fd, const char *text)
{
    while (send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
        ;
}

static void say_counts(int fd)
{
    char body[64];

    (void)snprintf(body, sizeof body, "%u %u", connections, requests);
    say_body(fd, "", body);
}

/* What a path says once on the wire; the server closes afterwards. */
static const struct {
    const char *path;
    const char *answer;
} fixed[] = {
    {"/empty", ""},
    {"/garbage", "I am no HTTP server\r\n\r\nat all\r\n"},
    {"/number", "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"},
    {"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" HALF},
    {"/cut-headers", "HTTP/1.1 200 OK\r\nContent-Le"},
    {"/bad-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\nhello\r\n0\r\n\r\n"},
    {"/cut-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"},
    {"/announced", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nx"},
    {"/until-close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"},
};

/* Does what the path says; false: close the connection. */
static bool serve(int fd, const struct request *request)
{
    char path[64] = "";

    if (sscanf(request->text, "%*s %63s", path) != 1)
        return false;
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        if (strcmp(path, fixed[i].path) == 0) {
            say(fd, fixed[i].answer);
            return false;
        }
    }
    if (strcmp(path, "/hello") == 0)
        say_body(fd,
                 "Content-Type: application/json\r\napi-version:  1.44 \r\nServer: Docker/29\r\nRetry-After: "
                 "7\r\n",
                 "{}");
    else if (strcmp(path, "/echo") == 0)
        say_body(fd, "", request->text);
    else if (strcmp(path, "/counts") == 0)
        say_counts(fd);
    else if (strcmp(path, "/no-content") == 0)
        say(fd, "HTTP/1.1 204 No Content\r\n\r\n");
    else if (strcmp(path, "/continue") == 0)
        say(fd,
            "HTTP/1.1 100 Continue\r\nServer: first\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    else if (strcmp(path, "/redirect") == 0)
        say(fd, "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n");
    else if (strcmp(path, "/chunked") == 0)
        say(fd, "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n "
                "world\r\n0\r\n\r\n");
    else if (strcmp(path, "/zero") == 0)
        (void)!send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\0b", 41, MSG_NOSIGNAL);
    else if (strcmp(path, "/stall") == 0)
        wait_for_close(fd);
    else if (strcmp(path, "/endless") == 0)
        say(fd, "HTTP/1.1 200 OK\r\n\r\n"), say_for_ever(fd, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    else if (strcmp(path, "/headers") == 0)
        say(fd, "HTTP/1.1 200 OK\r\n"), say_for_ever(fd, "X-Header: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    else
        say(fd, "HTTP/1.1 500 What\r\nContent-Length: 0\r\n\r\n");
    return true;
}

/* After "/stale" the connection stays open until the next request came, which it leaves unanswered: the race
 * of a server that closes an idle connection. */
static void serve_connection(int fd)
{
    static struct request request;
    bool stale = false;

    while (read_request(fd, &request)) {
        requests++;
        if (stale)
            return;
        if (strstr(request.text, " /stale ")) {
            say_body(fd, "", "stale");
            stale = true;
        } else if (!serve(fd, &request)) {
            return;
        }
    }
}

static pid_t server;
static char folder[] = "/tmp/occ-http-XXXXXX";
static char socket_path[64];

NORETURN static void run_server(int listener, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0)
            _exit(1);
        connections++;
        serve_connection(fd);
        (void)close(fd);
    }
}

static int start_server(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pid_t parent = getpid();
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(socket_path, sizeof socket_path, "%s/s", folder);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0)
        return -1;
    server = fork();
    if (server == 0)
        run_server(listener, parent);
    (void)close(listener);
    return server > 0 ? 0 : -1;
}

static int stop_server(void **state)
{
    (void)state;
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    (void)unlink(socket_path);
    return rmdir(folder);
}

/* ---- The client */

static void *context;
static struct http *client;

static struct http_options options_for(const char *path)
{
    return (struct http_options){
        .unix_socket = path,
        .base_url = "http://localhost",
        .dependency = "docker",
        .unavailable_code = "DOCKER_ENGINE_UNAVAILABLE",
        .body_limit = BODY_LIMIT,
        .connect_timeout_ms = 2000,
    };
}

static int set_up(void **state)
{
    struct http_options options = options_for(socket_path);
    struct fault fault;

    (void)state;
    context = talloc_new(NULL);
    return http_open(context, &options, &client, &fault) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static const struct http_response *sent(const struct http_request *request)
{
    const struct http_response *response = NULL;
    struct fault fault = {0};

    if (!http_send(client, context, request, NULL, &response, &fault))
        fail_msg("%s %s: %s %s", request->method, request->path, fault.code, fault.message);
    return response;
}

static const struct http_response *get(const char *path)
{
    return sent(&(struct http_request){.method = "GET", .path = path, .timeout_ms = 5000});
}

static struct fault refused(const char *method, const char *path, int timeout_ms, const struct watch *watch)
{
    struct http_request request = {.method = method, .path = path, .timeout_ms = timeout_ms};
    const struct http_response *response = NULL;
    struct fault fault = {0};

    if (http_send(client, context, &request, watch, &response, &fault))
        fail_msg("%s %s was answered with %d", method, path, response->status);
    assert_null(response);
    return fault;
}

static void counts(unsigned *connection_count, unsigned *request_count)
{
    assert_int_equal(sscanf(get("/counts")->body, "%u %u", connection_count, request_count), 2);
}

static void answers_are_read(void **state)
{
    const struct http_response *response = get("/hello");

    (void)state;
    assert_int_equal(response->status, 200);
    assert_string_equal(response->body, "{}");
    assert_string_equal(response->content_type, "application/json");
    assert_string_equal(response->api_version, "1.44");
    assert_string_equal(response->server, "Docker/29");
    assert_int_equal(response->retry_after_ms, 7000);
    response = get("/chunked");
    assert_int_equal(response->status, 404);
    assert_string_equal(response->body, "hello world");
    assert_string_equal(response->api_version, "");
    assert_int_equal(response->retry_after_ms, 0);
    assert_int_equal(get("/no-content")->status, 204);
    assert_string_equal(get("/until-close")->body, "all of it");
    response = get("/zero");
    assert_int_equal(response->body_length, 3);
    assert_memory_equal(response->body, "a\0b", 4);
}

static void informational_answers_are_passed_over(void **state)
{
    const struct http_response *response = get("/continue");

    (void)state;
    assert_int_equal(response->status, 200);
    assert_string_equal(response->body, "ok");
    assert_string_equal(response->server, "");
}

static void redirects_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(get("/redirect")->status, 302);
}

static void requests_say_what_was_asked(void **state)
{
    struct http_request request = {.method = "POST",
                                   .path = "/echo",
                                   .body = "{\"a\":1}",
                                   .authorization = "Bearer s3cret",
                                   .timeout_ms = 5000};
    const struct http_response *response;

    (void)state;
    response = sent(&request);
    assert_memory_equal(response->body, "POST /echo HTTP/1.1\r\n", 21);
    assert_non_null(strstr(response->body, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(response->body, "\r\nAuthorization: Bearer s3cret\r\n"));
    assert_non_null(strstr(response->body, "\r\nContent-Length: 7\r\n"));
    assert_null(strstr(response->body, "Expect:"));
    assert_non_null(strstr(response->body, "\r\n\r\n{\"a\":1}"));
    request = (struct http_request){
        .method = "PUT", .path = "/echo", .body = "x", .content_type = "text/plain", .timeout_ms = 5000};
    response = sent(&request);
    assert_memory_equal(response->body, "PUT ", 4);
    assert_non_null(strstr(response->body, "\r\nContent-Type: text/plain\r\n"));
    assert_null(strstr(response->body, "Authorization"));
    request = (struct http_request){.method = "POST", .path = "/echo", .timeout_ms = 5000};
    response = sent(&request);
    assert_non_null(strstr(response->body, "\r\nContent-Length: 0\r\n"));
    assert_null(strstr(response->body, "Content-Type"));
    request.method = "DELETE";
    response = sent(&request);
    assert_memory_equal(response->body, "DELETE ", 7);
}

static void injected_lines_are_not_sent(void **state)
{
    struct http_request request = {
        .method = "GET", .path = "/hello", .authorization = "Bearer x\r\nHost: y", .timeout_ms = 1000};
    const struct http_response *response;
    struct fault fault;

    (void)state;
    assert_false(http_send(client, context, &request, NULL, &response, &fault));
    assert_string_equal(fault.code, "HTTP_REQUEST_INVALID");
    assert_string_equal(refused("GET", "/a b", 1000, NULL).code, "HTTP_REQUEST_INVALID");
}

static void the_connection_is_kept(void **state)
{
    unsigned first;
    unsigned last;
    unsigned ignored;

    (void)state;
    counts(&first, &ignored);
    (void)get("/hello");
    (void)get("/chunked");
    counts(&last, &ignored);
    assert_int_equal(first, last);
}

static void a_stale_connection_is_replaced(void **state)
{
    unsigned before;
    unsigned after;
    unsigned ignored;

    (void)state;
    counts(&before, &ignored);
    assert_string_equal(get("/stale")->body, "stale");
    assert_string_equal(get("/hello")->body,
                        "{}"); /* swallowed by the old connection, answered by a new one */
    counts(&after, &ignored);
    assert_int_equal(after, before + 1);
}

static void what_is_not_idempotent_is_sent_once(void **state)
{
    struct http_request request = {.method = "POST", .path = "/hello", .body = "{}", .timeout_ms = 5000};
    const struct http_response *response;
    struct fault fault;
    unsigned before;
    unsigned after;
    unsigned ignored;

    (void)state;
    counts(&ignored, &before);
    (void)get("/stale");
    assert_false(http_send(client, context, &request, NULL, &response, &fault));
    assert_string_equal(fault.cause, "unavailable");
    counts(&ignored, &after);
    assert_int_equal(after, before + 3); /* stale, the POST once, counts */
    (void)get("/stale");
    request.body = NULL;
    response = sent(&request);
    counts(&ignored, &after);
    assert_int_equal(after, before + 6);
}

static void cut_answers_are_unavailable(void **state)
{
    static const char *const paths[] = {"/empty", "/cut", "/cut-headers", "/cut-chunk"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct fault fault = refused("GET", paths[i], 5000, NULL);

        assert_int_equal(fault.class, FAULT_RETRYABLE);
        assert_string_equal(fault.code, "DOCKER_ENGINE_UNAVAILABLE");
        assert_string_equal(fault.cause, "unavailable");
        assert_string_equal(fault.dependency, "docker");
        assert_string_equal(get("/hello")->body, "{}");
    }
}

#define POOL 65536

/* Whether a body is found in the memory of its answer. A pool keeps what lay in it when that has gone. */
static bool is_left(const void *pool, const char *body)
{
    return memmem(pool, POOL, body, strlen(body)) != NULL;
}

static void bodies_are_overwritten_when_they_go(void **state)
{
    struct http_request request = {.method = "GET", .path = "/cut", .timeout_ms = 5000};
    const struct http_response *response;
    void *pool = talloc_pool(NULL, POOL);
    struct fault fault;

    (void)state;
    assert_false(http_send(client, pool, &request, NULL, &response, &fault));
    assert_false(is_left(pool, HALF));
    request.path = "/until-close";
    assert_true(http_send(client, pool, &request, NULL, &response, &fault));
    assert_true(is_left(pool, "all of it"));
    talloc_free_children(pool);
    assert_false(is_left(pool, "all of it"));
    talloc_free(pool);
}

static void nonsense_is_told(void **state)
{
    static const char *const paths[] = {"/garbage", "/number", "/bad-chunk", "/headers"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_string_equal(refused("GET", paths[i], 5000, NULL).code, "HTTP_ANSWER_INVALID");
        assert_string_equal(get("/hello")->body, "{}");
    }
}

static void bodies_are_bounded_while_they_come(void **state)
{
    (void)state;
    assert_string_equal(refused("GET", "/endless", 5000, NULL).code, "HTTP_ANSWER_TOO_LARGE");
    assert_string_equal(refused("GET", "/announced", 5000, NULL).code, "HTTP_ANSWER_TOO_LARGE");
    assert_string_equal(get("/hello")->body, "{}");
}

/* K74 */
static void a_silent_server_is_a_timeout(void **state)
{
    int64_t start_ms = clock_now_ms();
    struct fault fault = refused("GET", "/stall", 200, NULL);

    (void)state;
    assert_in_range(clock_now_ms() - start_ms, 150, 3000);
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_string_equal(fault.cause, "timeout");
    assert_non_null(strstr(fault.message, "stage answer"));
    assert_string_equal(get("/hello")->body, "{}");
}

/* K73 */
static void a_missing_socket_is_named(void **state)
{
    struct http_options options = options_for("/tmp/occ-nothing/docker.sock");
    struct fault fault;

    (void)state;
    assert_true(http_open(context, &options, &client, &fault));
    fault = refused("GET", "/hello", 1000, NULL);
    assert_string_equal(fault.cause, "unreachable");
    assert_non_null(strstr(fault.message, "/tmp/occ-nothing/docker.sock does not exist"));
    options = options_for("/etc/passwd");
    assert_true(http_open(context, &options, &client, &fault));
    fault = refused("GET", "/hello", 1000, NULL);
    assert_string_equal(fault.cause, "unreachable");
    assert_non_null(strstr(fault.message, "is not a socket"));
}

static void a_closed_port_is_refused(void **state)
{
    struct http_options options = options_for(NULL);
    struct fault fault;

    (void)state;
    options.base_url = "http://127.0.0.1:1";
    assert_true(http_open(context, &options, &client, &fault));
    fault = refused("GET", "/hello", 1000, NULL);
    assert_string_equal(fault.cause, "unreachable");
    assert_non_null(strstr(fault.message, "http://127.0.0.1:1 refused the connection"));
    assert_null(strstr(fault.message, "tried"));
}

/* K121: a name alone does not tell which of its addresses may not be reached. */
static void the_addresses_of_a_name_are_told(void **state)
{
    struct http_options options = options_for(NULL);

    (void)state;
    options.base_url = "http://localhost:1";
    assert_true(http_open(context, &options, &client, &(struct fault){0}));
    for (int tries = 0; tries < 2; tries++) {
        struct fault fault = refused("GET", "/hello", 1000, NULL);
        const char *told = strstr(fault.message, "http://localhost:1 refused the connection (tried ");

        if (!told || !strstr(told, "127.0.0.1") || strlen(told) > 120)
            fail_msg("%s", fault.message);
    }
}

static void the_environment_names_no_proxy(void **state)
{
    (void)state;
    assert_int_equal(setenv("http_proxy", "http://no.such.invalid:9", 1), 0);
    assert_int_equal(setenv("ALL_PROXY", "http://no.such.invalid:9", 1), 0);
    a_closed_port_is_refused(state); /* it was asked itself, not the proxy */
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("ALL_PROXY"), 0);
}

static void other_schemes_are_refused(void **state)
{
    struct http_options options = options_for(NULL);
    struct fault fault;

    (void)state;
    options.base_url = "file:///etc";
    assert_false(http_open(context, &options, &client, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    options.base_url = "https://127.0.0.1:1"; /* without a CA file */
    assert_false(http_open(context, &options, &client, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
}

/* ---- The watch */

struct looking {
    int fd;
    int turns;
    int64_t every_ms;
    int64_t next_ms;
    int64_t end_ms;
    bool woken;
};

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    struct looking *looking = subject;

    if (looking->every_ms && looking->next_ms < *wake_ms)
        *wake_ms = looking->next_ms;
    if (looking->fd < 0)
        return 0;
    room[0] = (struct pollfd){.fd = looking->fd, .events = POLLIN};
    return 1;
}

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    struct looking *looking = subject;

    looking->turns++;
    looking->next_ms = clock_now_ms() + looking->every_ms;
    if (count == 1 && ready[0].revents) {
        looking->woken = true;
        return fault_set(fault, FAULT_CANCELLED, "STOP", "stop");
    }
    if (looking->end_ms && clock_now_ms() >= looking->end_ms)
        return fault_set(fault, FAULT_CLAIM_LOST, "CLAIM_LOST", "lost");
    return true;
}

static void the_watch_has_turns_and_ends_it(void **state)
{
    struct looking looking = {.fd = -1, .every_ms = 20, .end_ms = clock_now_ms() + 300};
    struct watch watch = {.subject = &looking, .prepare = prepare, .turn = turn};
    struct fault fault = refused("GET", "/stall", 5000, &watch);

    (void)state;
    assert_string_equal(fault.code, "CLAIM_LOST");
    assert_in_range(looking.turns, 5, 100);
    assert_string_equal(get("/hello")->body, "{}");
}

static void the_watchs_descriptor_wakes_it(void **state)
{
    struct looking looking = {.fd = -1};
    struct watch watch = {.subject = &looking, .prepare = prepare, .turn = turn};
    int pair[2];
    pid_t writer;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    writer = fork();
    if (writer == 0) { /* closes its end a moment later: a hang-up is an event as well */
        (void)close(pair[0]);
        (void)poll(NULL, 0, 50);
        _exit(0);
    }
    (void)close(pair[1]);
    looking.fd = pair[0];
    assert_string_equal(refused("GET", "/stall", 5000, &watch).code, "STOP");
    assert_true(looking.woken);
    assert_in_range(looking.turns, 1, 10);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    (void)close(pair[0]);
}

static void segments_are_escaped(void **state)
{
    (void)state;
    assert_string_equal(http_escape(context, "az-._~09"), "az-._~09");
    assert_string_equal(http_escape(context, "a/b c?%\xc3\xa9"), "a%2Fb%20c%3F%25%C3%A9");
    assert_string_equal(http_escape(context, ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(answers_are_read),
        TEST(informational_answers_are_passed_over),
        TEST(redirects_are_not_followed),
        TEST(requests_say_what_was_asked),
        TEST(injected_lines_are_not_sent),
        TEST(the_connection_is_kept),
        TEST(a_stale_connection_is_replaced),
        TEST(what_is_not_idempotent_is_sent_once),
        TEST(cut_answers_are_unavailable),
        TEST(bodies_are_overwritten_when_they_go),
        TEST(nonsense_is_told),
        TEST(bodies_are_bounded_while_they_come),
        TEST(a_silent_server_is_a_timeout),
        TEST(a_missing_socket_is_named),
        TEST(a_closed_port_is_refused),
        TEST(the_addresses_of_a_name_are_told),
        TEST(the_environment_names_no_proxy),
        TEST(other_schemes_are_refused),
        TEST(the_watch_has_turns_and_ends_it),
        TEST(the_watchs_descriptor_wakes_it),
        TEST(segments_are_escaped),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
