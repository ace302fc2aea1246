/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include "lib/base/clock.h"
#include "lib/base/secret.h"

#define GRACE_MS 1000 /* how much later than curl's own timeout the wait ends, should curl miss it */

/* ---- The client */

static void close_handles(struct http *client)
{
    if (client->easy) {
        (void)curl_multi_remove_handle(client->multi, client->easy);
        curl_easy_cleanup(client->easy);
    }
    if (client->multi)
        (void)curl_multi_cleanup(client->multi);
    client->easy = NULL;
    client->multi = NULL;
}

static int http_free(struct http *client)
{
    close_handles(client);
    return 0;
}

static const char *copied(const void *context, const char *text)
{
    return text ? mem_text(context, text) : NULL;
}

bool http_open(const void *context, const struct http_options *options, struct http **client,
               struct fault *fault)
{
    bool tls = strncmp(options->base_url, "https://", 8) == 0;
    struct http *made;

    if (!tls && strncmp(options->base_url, "http://", 7) != 0)
        return fault_set(fault, FAULT_CONFIGURATION, options->unavailable_code,
                         "%s: only http and https are possible", options->dependency);
    if (tls && !options->ca_file && !(options->tls && options->tls->ca))
        return fault_set(fault, FAULT_CONFIGURATION, options->unavailable_code,
                         "%s: https needs trusted certificates", options->dependency);
    made = mem_new(context, struct http);
    talloc_set_destructor(made, http_free);
    made->options = *options;
    made->options.unix_socket = copied(made, options->unix_socket);
    made->options.base_url = copied(made, options->base_url);
    made->options.dependency = copied(made, options->dependency);
    made->options.unavailable_code = copied(made, options->unavailable_code);
    made->options.ca_file = copied(made, options->ca_file);
    if (tls && options->tls)
        made->tls = http_material_new(made, options->base_url, options->tls);
    made->options.tls = NULL;
    *client = made;
    return true;
}

void http_set_tls(struct http *client, const struct http_tls *tls)
{
    struct http_material *former = client->tls;

    if (former && http_material_is(former, tls))
        return;
    close_handles(client); /* with the TLS session, which would spare the server its certificate */
    client->tls = http_material_new(client, client->options.base_url, tls);
    talloc_free(former);
}

static void set_always(struct http *client)
{
    CURL *easy = client->easy;

    HTTP_SET(easy, CURLOPT_NOSIGNAL, 1L);
    HTTP_SET(easy, CURLOPT_QUICK_EXIT, 1L); /* else closing waits for a name server that is silent */
    HTTP_SET(easy, CURLOPT_PROXY, "");
    HTTP_SET(easy, CURLOPT_NOPROXY, "*");
    HTTP_SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    HTTP_SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    HTTP_SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    HTTP_SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    HTTP_SET(easy, CURLOPT_PATH_AS_IS, 1L);
    HTTP_SET(easy, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
    HTTP_SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    HTTP_SET(easy, CURLOPT_TCP_KEEPIDLE, 10L);
    HTTP_SET(easy, CURLOPT_TCP_KEEPINTVL, 5L);
    HTTP_SET(easy, CURLOPT_OPENSOCKETFUNCTION, http_open_socket);
    HTTP_SET(easy, CURLOPT_OPENSOCKETDATA, client);
    HTTP_SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    HTTP_SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    HTTP_SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    HTTP_SET(easy, CURLOPT_CAINFO, client->tls ? NULL : client->options.ca_file);
    HTTP_SET(easy, CURLOPT_CAPATH, NULL);
    HTTP_SET(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L); /* a ca_file may have changed since */
    if (client->tls)
        http_material_apply(client->tls, easy);
    HTTP_SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->options.connect_timeout_ms);
    HTTP_SET(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)client->options.body_limit);
    if (client->options.unix_socket)
        HTTP_SET(easy, CURLOPT_UNIX_SOCKET_PATH, client->options.unix_socket);
    HTTP_SET(easy, CURLOPT_WRITEFUNCTION, http_answer_body);
    HTTP_SET(easy, CURLOPT_HEADERFUNCTION, http_answer_header);
}

/* curl's global state belongs to the process that uses it: it does not survive a fork (K46). */
static void open_handles(struct http *client)
{
    static bool initialised;

    if (!initialised && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        mem_exhausted();
    initialised = true;
    if (client->easy) {
        curl_easy_reset(client->easy); /* which keeps the connection */
    } else {
        client->multi = curl_multi_init();
        client->easy = curl_easy_init();
        if (!client->multi || !client->easy)
            mem_exhausted();
        (void)curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 1L);
    }
    set_always(client);
}

/* ---- One request */

struct unread {
    const char *at;
    size_t left;
};

static size_t read_body(char *room, size_t size, size_t count, void *subject)
{
    struct unread *unread = subject;
    size_t length = size * count < unread->left ? size * count : unread->left;

    memcpy(room, unread->at, length);
    unread->at += length;
    unread->left -= length;
    return length;
}

static bool is_idempotent(const char *method)
{
    return strcmp(method, "POST") != 0 && strcmp(method, "PATCH") != 0;
}

/* When a kept connection turns out to be closed, curl sends the request once more on a fresh one (RFC 9112
 * section 9.3.1 allows that where no answer began). It may do so for a body that it can rewind; a body that
 * comes from a callback without a seek function it cannot, and that keeps what is not idempotent from being
 * sent twice. Without a body nothing would stop it, so http_send gives such a request a new connection. */
static void set_body(CURL *easy, const struct http_request *request, struct unread *unread)
{
    bool idempotent = is_idempotent(request->method);
    const char *body = request->body ? request->body : "";

    unread->at = body;
    unread->left = strlen(body);
    if (!request->body && idempotent && strcmp(request->method, "PUT") != 0) {
        HTTP_SET(easy, CURLOPT_NOBODY, strcmp(request->method, "HEAD") == 0 ? 1L : 0L);
        if (strcmp(request->method, "HEAD") != 0)
            HTTP_SET(easy, CURLOPT_HTTPGET, 1L);
    } else {
        HTTP_SET(easy, CURLOPT_POST, 1L);
        HTTP_SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)unread->left);
        if (idempotent || !request->body) {
            HTTP_SET(easy, CURLOPT_POSTFIELDS, body);
        } else {
            HTTP_SET(easy, CURLOPT_READFUNCTION, read_body);
            HTTP_SET(easy, CURLOPT_READDATA, unread);
        }
    }
    HTTP_SET(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char *line = mem_format(NULL, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(*headers, line);

    secret_wipe(line, strlen(line));
    talloc_free(line);
    if (!longer)
        mem_exhausted();
    *headers = longer;
}

static struct curl_slist *make_headers(const struct http *client, const struct http_request *request)
{
    struct curl_slist *headers = NULL;
    char *bearer;

    add_header(&headers, "Accept", "application/json");
    if (request->body)
        add_header(&headers, "Content-Type",
                   request->content_type ? request->content_type : "application/json");
    else
        headers = curl_slist_append(headers, "Content-Type:");
    headers = headers ? curl_slist_append(headers, "Expect:") : NULL;
    if (!headers)
        mem_exhausted();
    if (client->tls && client->tls->host_header)
        add_header(&headers, "Host", client->tls->host_header);
    if (request->authorization)
        add_header(&headers, "Authorization", request->authorization);
    if (request->bearer) {
        bearer = mem_format(NULL, "Bearer %s", secret_expose(request->bearer));
        add_header(&headers, "Authorization", bearer);
        secret_wipe(bearer, strlen(bearer));
        talloc_free(bearer);
    }
    return headers;
}

static void free_headers(struct curl_slist *headers)
{
    for (struct curl_slist *each = headers; each; each = each->next)
        secret_wipe(each->data, strlen(each->data));
    curl_slist_free_all(headers);
}

/* Polls curl's descriptors and the watch's. What curl says of others' descriptors leaves out errors and
 * hang-ups, so those are asked again. */
static bool wait_turn(struct http *client, const struct watch *watch, int64_t deadline_ms,
                      struct fault *fault)
{
    struct pollfd room[WATCH_DESCRIPTORS];
    struct curl_waitfd extra[WATCH_DESCRIPTORS];
    int64_t wake_ms = deadline_ms;
    size_t count = watch_prepare(watch, room, &wake_ms);

    for (size_t i = 0; i < count; i++) {
        short events = (short)((room[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
                               (room[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0));

        extra[i] = (struct curl_waitfd){.fd = room[i].fd, .events = events};
    }
    if (curl_multi_poll(client->multi, extra, (unsigned)count, clock_poll_timeout(wake_ms), NULL) != CURLM_OK)
        mem_exhausted();
    if (count > 0 && poll(room, (nfds_t)count, 0) <= 0) {
        for (size_t i = 0; i < count; i++)
            room[i].revents = 0;
    }
    return watch_turn(watch, room, count, fault);
}

/* Drives the transfer to its end. False: the watch ended it. */
static bool transfer(struct http *client, const struct watch *watch, int64_t deadline_ms, CURLcode *result,
                     struct fault *fault)
{
    if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
        mem_exhausted();
    for (;;) {
        int running = 0;
        int left = 0;
        CURLMsg *message;

        if (curl_multi_perform(client->multi, &running) != CURLM_OK)
            mem_exhausted();
        while ((message = curl_multi_info_read(client->multi, &left))) {
            if (message->msg == CURLMSG_DONE) {
                *result = message->data.result;
                return true;
            }
        }
        if (clock_now_ms() >= deadline_ms) {
            *result = CURLE_OPERATION_TIMEDOUT;
            return true;
        }
        if (!wait_turn(client, watch, deadline_ms, fault))
            return false;
    }
}

static bool has_known_status(CURL *easy)
{
    long status = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 100 && status <= 599;
}

static const struct http_response *complete(CURL *easy, struct http_answer *answer)
{
    long status = 0;
    curl_off_t retry_after = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    answer->response.status = (int)status;
    answer->response.body = answer->body;
    answer->response.body_length = answer->body_length;
    if (retry_after > 0)
        answer->response.retry_after_ms =
            retry_after > UINT32_MAX / 1000 ? UINT32_MAX : (uint32_t)retry_after * 1000;
    return &answer->response;
}

static bool has_line_break(const char *text)
{
    return text && strpbrk(text, "\r\n");
}

static bool is_sound(const struct http_request *request)
{
    return request->path[0] == '/' && !strpbrk(request->path, "\r\n \t#") &&
           !has_line_break(request->authorization) && !(request->authorization && request->bearer) &&
           (!request->bearer || !has_line_break(secret_expose(request->bearer))) &&
           !has_line_break(request->content_type) && !has_line_break(request->method);
}

static const char *base_url(const struct http *client)
{
    return client->tls && client->tls->url ? client->tls->url : client->options.base_url;
}

bool http_send(struct http *client, const void *context, const struct http_request *request,
               const struct watch *watch, const struct http_response **response, struct fault *fault)
{
    int timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : 1;
    struct http_answer *answer;
    struct curl_slist *headers;
    struct unread unread;
    CURLcode result = CURLE_OK;
    char *url;
    bool done;

    if (!is_sound(request))
        return fault_set(fault, FAULT_BUG, "HTTP_REQUEST_INVALID", "%s: a request that cannot be sent",
                         client->options.dependency);
    answer = http_answer_new(context, client->options.body_limit);
    url = mem_format(answer, "%s%s", base_url(client), request->path);
    headers = make_headers(client, request);
    if (!is_idempotent(request->method) && !request->body)
        close_handles(client);
    open_handles(client);
    HTTP_SET(client->easy, CURLOPT_URL, url);
    HTTP_SET(client->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    HTTP_SET(client->easy, CURLOPT_HTTPHEADER, headers);
    HTTP_SET(client->easy, CURLOPT_WRITEDATA, answer);
    HTTP_SET(client->easy, CURLOPT_HEADERDATA, answer);
    HTTP_SET(client->easy, CURLOPT_ERRORBUFFER, answer->words);
    set_body(client->easy, request, &unread);
    client->tried[0] = '\0';
    done = transfer(client, watch, clock_now_ms() + timeout_ms + GRACE_MS, &result, fault);
    if (done && result == CURLE_OK && !answer->headers_ended)
        result = CURLE_PARTIAL_FILE;
    if (done && result == CURLE_OK && !has_known_status(client->easy))
        result = CURLE_WEIRD_SERVER_REPLY;
    if (done && result == CURLE_OK) {
        (void)curl_multi_remove_handle(client->multi, client->easy);
        *response = complete(client->easy, answer);
        curl_easy_reset(client->easy); /* it points to what is freed now */
    } else {
        if (done)
            (void)http_fault(client, answer, result, request, fault);
        close_handles(client); /* after a failure nobody knows what the connection still holds */
    }
    free_headers(headers);
    if (done && result == CURLE_OK)
        return true;
    talloc_free(answer);
    return false;
}

/* ---- Escaping */

const char *http_escape(const void *context, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *escaped = mem_array(context, char, 3 * strlen(text) + 1);
    size_t length = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
            strchr("-._~", (char)c)) {
            escaped[length++] = (char)c;
        } else {
            escaped[length++] = '%';
            escaped[length++] = digits[c >> 4];
            escaped[length++] = digits[c & 15];
        }
    }
    escaped[length] = '\0';
    return escaped;
}
