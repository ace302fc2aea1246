/* SPDX-License-Identifier: MIT
 *
 * Against "openssl s_server" with a certificate for 127.0.0.1 alone, made for this run.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/io/http.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void *context;
static char folder[] = "/tmp/occ-tls-XXXXXX";
static pid_t server;
static int port;

static const char *in_folder(const char *name)
{
    return mem_format(context, "%s/%s", folder, name);
}

static pid_t start(const char *const *arguments)
{
    pid_t parent = getpid();
    pid_t child = fork();
    int null;

    if (child != 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    if (getppid() == parent)
        (void)execvp(arguments[0], (char *const *)(uintptr_t)arguments);
    _exit(127);
}

static bool make_certificate(const char *key, const char *certificate)
{
    const char *arguments[] = {
        "openssl", "req", "-x509", "-newkey",       "rsa:2048", "-nodes",
        "-days",   "2",   "-subj", "/CN=127.0.0.1", "-addext",  "subjectAltName=IP:127.0.0.1",
        "-keyout", key,   "-out",  certificate,     NULL};
    int status;

    return waitpid(start(arguments), &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return -1;
    (void)close(fd);
    return ntohs(address.sin_port);
}

static bool get(const char *url, const char *ca_file, const struct http_response **response,
                struct fault *fault)
{
    struct http_options options = {
        .base_url = url,
        .dependency = "kubernetes",
        .unavailable_code = "KUBERNETES_API_UNAVAILABLE",
        .ca_file = ca_file,
        .body_limit = 65536,
        .connect_timeout_ms = 5000,
    };
    struct http_request request = {.method = "GET", .path = "/", .timeout_ms = 10000};
    struct http *client;

    return http_open(context, &options, &client, fault) &&
           http_send(client, context, &request, NULL, response, fault);
}

static const char *url_of(const char *host)
{
    return mem_format(context, "https://%s:%d", host, port);
}

static int start_server(void **state)
{
    int64_t end_ms = clock_now_ms() + 20000;
    const struct http_response *response;
    const char *accept;
    struct fault fault;

    (void)state;
    context = talloc_new(NULL);
    port = free_port();
    if (!mkdtemp(folder) || port < 0 || !make_certificate(in_folder("key"), in_folder("ca")) ||
        !make_certificate(in_folder("other-key"), in_folder("other-ca")))
        return -1;
    accept = mem_format(context, "127.0.0.1:%d", port);
    server = start((const char *[]){"openssl", "s_server", "-accept", accept, "-www", "-cert",
                                    in_folder("ca"), "-key", in_folder("key"), NULL});
    while (!get(url_of("127.0.0.1"), in_folder("ca"), &response, &fault)) {
        if (clock_now_ms() >= end_ms || waitpid(server, NULL, WNOHANG) != 0)
            return -1;
        (void)poll(NULL, 0, 10);
    }
    return 0;
}

static int stop_server(void **state)
{
    static const char *const names[] = {"key", "ca", "other-key", "other-ca"};

    (void)state;
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)unlink(in_folder(names[i]));
    (void)talloc_free(context);
    return rmdir(folder);
}

static void a_trusted_server_is_heard(void **state)
{
    const struct http_response *response;
    struct fault fault = {0};

    (void)state;
    if (!get(url_of("127.0.0.1"), in_folder("ca"), &response, &fault))
        fail_msg("%s", fault.message);
    assert_int_equal(response->status, 200);
    assert_true(response->body_length > 0);
}

static void is_not_trusted(const char *url, const char *ca_file, const char *cause, const char *why)
{
    const struct http_response *response;
    struct fault fault = {0};

    assert_false(get(url, ca_file, &response, &fault));
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_string_equal(fault.code, "HTTP_TLS_FAILED");
    assert_string_equal(fault.dependency, "kubernetes");
    assert_string_equal(fault.cause, cause);
    if (!strstr(fault.message, why))
        fail_msg("%s instead of %s", fault.message, why);
}

static void others_are_not(void **state)
{
    (void)state;
    is_not_trusted(url_of("127.0.0.1"), in_folder("other-ca"), "untrusted", "no trusted certificate vouches");
    is_not_trusted(url_of("localhost"), in_folder("ca"), "other-name", "is for another name");
    is_not_trusted(url_of("127.0.0.1"), in_folder("absent"), "unusable", "certificates are not usable");
    is_not_trusted(url_of("127.0.0.1"), in_folder("key"), "unusable", "certificates are not usable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_is_heard),
        cmocka_unit_test(others_are_not),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
