/* SPDX-License-Identifier: MIT
 *
 * One request: GET of
 *   /healthz      alive
 *   /readyz       ready; else 503 with why not
 *   /inspect      what is there (inspect.c)
 *   /app-server   of a Harness: whether the transport token is the right one
 *   /             of a gateway: the revision's identifier
 */
#include "lib/base/build.h"

#include "tests/services/runtime/runtime.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SLOW_READY_MS 3000

static void limit(int connection)
{
    const struct timeval wait = {.tv_sec = 2};

    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

/* What has come when the other side ends, or the header of a request is whole. */
static void receive(int connection, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;

    text[0] = '\0';
    do {
        got = read(connection, text + length, size - 1 - length);
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
    } while (got > 0 && length < size - 1 && !strstr(text, "\r\n\r\n"));
}

/* ---- The way to the Harness */

static int connect_to(const char *endpoint)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL, *each;
    char host[256];
    const char *colon = strrchr(endpoint, ':');
    int connection = -1;

    if (!colon || (size_t)(colon - endpoint) >= sizeof host)
        return -1;
    memcpy(host, endpoint, (size_t)(colon - endpoint));
    host[colon - endpoint] = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return -1;
    for (each = found; each && connection < 0; each = each->ai_next) {
        connection = socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
        if (connection < 0)
            continue;
        limit(connection);
        if (connect(connection, each->ai_addr, each->ai_addrlen) != 0) {
            (void)close(connection);
            connection = -1;
        }
    }
    freeaddrinfo(found);
    return connection;
}

static const char *harness_trouble(void)
{
    char text[1024];
    const int connection = connect_to(variable("OPENCLAW_HARNESS_ENDPOINT"));
    const char *trouble = "the Harness refuses the transport token\n";

    if (connection < 0)
        return "the Harness is not reached\n";
    (void)dprintf(connection, "GET /app-server HTTP/1.1\r\nHost: harness\r\nAuthorization: Bearer %s\r\n\r\n",
                  variable("OPENCLAW_APP_SERVER_TOKEN"));
    receive(connection, text, sizeof text);
    (void)close(connection);
    if (!*text)
        return "the Harness does not answer\n";
    return strncmp(text, "HTTP/1.1 200", 12) == 0 ? "" : trouble;
}

/* ---- Readiness */

static bool is_filled(const char *path)
{
    struct stat state;

    return stat(path, &state) == 0 && state.st_size > 0 && access(path, R_OK) == 0;
}

static bool needs_credential(void)
{
    const char *method = variable("OPENCLAW_MODEL_AUTH_METHOD");

    return strcmp(method, "api_key") == 0 || strcmp(method, "codex_pat") == 0;
}

const char *not_ready(const struct runtime *runtime)
{
    const bool harness = !runtime->gateway || !runtime->dedicated;

    if (strcmp(runtime->behaviour, "never-ready") == 0)
        return "the document says never\n";
    if (strcmp(runtime->behaviour, "slow-ready") == 0 && now_ms() - runtime->started_ms < SLOW_READY_MS)
        return "the document says later\n";
    if (!is_filled(variable("OPENCLAW_CONFIG_PATH")))
        return "there is no document\n";
    if (access(variable("OPENCLAW_STATE_DIR"), W_OK) != 0)
        return "the state folder cannot be written\n";
    if (harness && !is_filled(variable("OPENCLAW_SERVICE_PRINCIPAL_TOKEN_FILE")))
        return "there is no token of the ServiceAccount\n";
    if (harness && needs_credential() && !*variable("OPENCLAW_MODEL_CREDENTIAL"))
        return "there is no credential for the model\n";
    if (runtime->gateway && !*variable("OPENCLAW_GATEWAY_PASSWORD"))
        return "there is no password\n";
    return runtime->gateway && runtime->dedicated ? harness_trouble() : "";
}

/* ---- Answers */

static void answer(int connection, int status, const char *type, const char *body)
{
    (void)dprintf(connection,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                  status, status == 200 ? "OK" : "Refused", type, strlen(body), body);
}

static void answer_description(const struct runtime *runtime, int connection)
{
    char *body = NULL;
    size_t length;
    FILE *out = open_memstream(&body, &length);

    if (!out)
        return;
    describe(runtime, out);
    if (fclose(out) == 0)
        answer(connection, 200, "application/json", body);
    free(body);
}

static bool has_token(const char *request)
{
    static const char name[] = "\r\nAuthorization: Bearer ";
    const char *token = variable("OPENCLAW_APP_SERVER_TOKEN");
    const char *shown = strstr(request, name);

    if (!shown || !*token)
        return false;
    shown += sizeof name - 1;
    return strncmp(shown, token, strlen(token)) == 0 && shown[strlen(token)] == '\r';
}

static bool asks(const char *request, const char *path)
{
    const size_t length = strlen(path);

    return strncmp(request, "GET ", 4) == 0 && strncmp(request + 4, path, length) == 0 &&
           (request[4 + length] == ' ' || request[4 + length] == '?');
}

void serve(const struct runtime *runtime, int connection)
{
    char request[8192];
    const char *trouble;

    limit(connection);
    receive(connection, request, sizeof request);
    if (asks(request, "/healthz")) {
        if (strcmp(runtime->behaviour, "not-alive") == 0)
            answer(connection, 503, "text/plain", "the document says no\n");
        else
            answer(connection, 200, "text/plain", "alive\n");
    } else if (asks(request, "/readyz")) {
        trouble = not_ready(runtime);
        answer(connection, *trouble ? 503 : 200, "text/plain", *trouble ? trouble : "ready\n");
    } else if (asks(request, "/inspect")) {
        answer_description(runtime, connection);
    } else if (!runtime->gateway && asks(request, "/app-server")) {
        answer(connection, has_token(request) ? 200 : 401, "text/plain", "");
    } else if (runtime->gateway && asks(request, "/")) {
        answer(connection, 200, "text/plain", variable("OPENCLAW_AGENT_REVISION_ID"));
    } else {
        answer(connection, 404, "text/plain", "nothing\n");
    }
    (void)shutdown(connection, SHUT_WR);
    (void)read(connection, request, sizeof request); /* so that the answer is not cut by a reset */
    (void)close(connection);
}
