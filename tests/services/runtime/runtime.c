/* SPDX-License-Identifier: MIT
 *
 * Starts, behaves as the document says, and listens. The document chooses with
 *
 *   {"test": {"behaviour": "...", "role": "gateway" or "agent"}}
 *
 * and without a role for both:
 *   crash         ends by SIGSEGV at once
 *   exit-3        ends with status 3 at once
 *   not-alive     answers, but never says that it is alive: its startup probe fails
 *   never-ready   is alive and never ready
 *   slow-ready    is ready three seconds after its start
 *   slow-stop     takes SIGTERM, and goes on for eight seconds
 *   fill-memory   takes memory until it is killed
 */
#include "lib/base/build.h"

#include "tests/services/runtime/runtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOW_STOP_SECONDS 8

static bool slow_stop;

const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "re");
    char *bytes = NULL;
    size_t got, size = 0;

    *length = 0;
    if (!file)
        return NULL;
    do {
        bytes = realloc(bytes, size += 65536);
        if (!bytes)
            abort();
        got = fread(bytes + *length, 1, size - *length - 1, file);
        *length += got;
    } while (got > 0);
    bytes[*length] = '\0';
    if (ferror(file)) {
        free(bytes);
        bytes = NULL;
    }
    (void)fclose(file);
    return bytes;
}

/* The text of a member, wherever in the document it is: this is no reader of JSON, and a test's document
 * needs none. */
static void read_member(const char *document, const char *name, char *value, size_t size)
{
    const char *at = strstr(document, name);
    size_t length;

    value[0] = '\0';
    if (!at)
        return;
    at += strlen(name);
    at += strspn(at, ": ");
    if (*at++ != '"')
        return;
    length = strcspn(at, "\"");
    if (length >= size)
        return;
    memcpy(value, at, length);
    value[length] = '\0';
}

static void read_behaviour(struct runtime *runtime)
{
    char role[16];
    const char *test;
    size_t length;
    char *document = read_file(variable("OPENCLAW_CONFIG_PATH"), &length);

    if (!document)
        return;
    test = strstr(document, "\"test\"");
    if (test) {
        read_member(test, "\"behaviour\"", runtime->behaviour, sizeof runtime->behaviour);
        read_member(test, "\"role\"", role, sizeof role);
        if (*role && strcmp(role, variable("OPENCLAW_WORKLOAD_ROLE")) != 0)
            runtime->behaviour[0] = '\0';
    }
    free(document);
}

/* Every start leaves a byte in the state folder, so that a test sees that it lasts. */
static unsigned count_start(void)
{
    char path[256];
    struct stat state = {0};
    int file;

    (void)snprintf(path, sizeof path, "%s/starts-%s", variable("OPENCLAW_STATE_DIR"),
                   variable("OPENCLAW_WORKLOAD_ROLE"));
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, ".", 1) != 1 || fstat(file, &state) != 0)
        (void)fprintf(stderr, "runtime: %s: %s\n", path, strerror(errno));
    if (file >= 0)
        (void)close(file);
    return (unsigned)state.st_size;
}

static bool behaves(const struct runtime *runtime, const char *behaviour)
{
    return strcmp(runtime->behaviour, behaviour) == 0;
}

static void act(const struct runtime *runtime)
{
    if (behaves(runtime, "crash")) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
        _exit(139); /* the first process of a container has no default actions */
    }
    if (behaves(runtime, "exit-3"))
        _exit(3);
    while (behaves(runtime, "fill-memory")) {
        char *memory = malloc(1 << 20);

        if (memory)
            memset(memory, 1, 1 << 20);
    }
    slow_stop = behaves(runtime, "slow-stop");
}

static void on_stop(int number)
{
    (void)number;
    if (!slow_stop)
        _exit(0);
    (void)alarm(SLOW_STOP_SECONDS);
}

static void on_alarm(int number)
{
    (void)number;
    _exit(0);
}

static int listen_on(int port)
{
    const int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0) {
        perror("runtime: listening");
        exit(1);
    }
    return listener;
}

int main(void)
{
    struct runtime runtime = {.started_ms = now_ms()};
    int listener, connection;

    runtime.gateway = strcmp(variable("OPENCLAW_WORKLOAD_ROLE"), "gateway") == 0;
    runtime.dedicated = strcmp(variable("OPENCLAW_EXECUTION_MODE"), "dedicated") == 0;
    runtime.port =
        (int)strtol(variable(runtime.gateway ? "OPENCLAW_GATEWAY_PORT" : "OPENCLAW_HARNESS_PORT"), NULL, 10);
    (void)signal(SIGTERM, on_stop);
    (void)signal(SIGALRM, on_alarm);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN);
    runtime.starts = count_start();
    read_behaviour(&runtime);
    act(&runtime);
    listener = listen_on(runtime.port);
    (void)printf("runtime: %s %s listens on %d\n", variable("OPENCLAW_WORKLOAD_ROLE"),
                 variable("OPENCLAW_AGENT_REVISION_ID"), runtime.port);
    (void)fflush(stdout);
    for (;;) {
        connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            continue;
        if (fork() == 0) {
            serve(&runtime, connection);
            _exit(0);
        }
        (void)close(connection);
    }
}
