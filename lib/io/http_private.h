/* SPDX-License-Identifier: MIT
 *
 * What the files of lib/io/http*.c share; nobody else includes this.
 */
#ifndef OCC_IO_HTTP_PRIVATE_H
#define OCC_IO_HTTP_PRIVATE_H

#include "lib/base/memory.h"
#include "lib/io/http.h"

#include <curl/curl.h>

/* Sets an option; the only ways to fail are a lack of memory and a libcurl without the feature. */
#define HTTP_SET(easy, option, value)                                                                        \
    do {                                                                                                     \
        CURLcode set = curl_easy_setopt((easy), (option), (value));                                          \
        if (set == CURLE_OUT_OF_MEMORY)                                                                      \
            mem_exhausted();                                                                                 \
        if (set != CURLE_OK)                                                                                 \
            abort();                                                                                         \
    } while (0)

#define HTTP_TRIED_SIZE 128

/* What was given by http_tls, copied, and the URL that makes curl verify another name than the host's. */
struct http_material {
    char *ca;
    struct secret *certificate;
    struct secret *key;
    char *server_name;
    char *host_header;             /* NULL without a server_name, as the next two */
    char *url;                     /* base_url with the server_name in its host's place */
    struct curl_slist *connect_to; /* the real host and port */
};

struct http {
    struct http_options options; /* its texts hang on the client */
    struct http_material *tls;   /* NULL: ca_file, or no TLS */
    CURLM *multi;                /* NULL until the first request and after a failed one */
    CURL *easy;
    char tried[HTTP_TRIED_SIZE]; /* the addresses that the request was tried at, "a, b"; "" where the URL has
                                    it */
};

/* One answer while it comes in. */
struct http_answer {
    struct http_response response;
    char *body;
    size_t body_length;
    size_t body_room;
    size_t body_limit;
    size_t header_length;
    bool too_large;
    bool headers_ended; /* curl takes an answer that ends in the middle of its headers for a whole one */
    bool bad_header;
    char words[CURL_ERROR_SIZE]; /* curl's own, read to tell kinds apart, never passed on */
};

/* ---- http_answer.c */

struct http_answer *http_answer_new(const void *context, size_t body_limit) __attribute__((returns_nonnull));
size_t http_answer_body(char *bytes, size_t size, size_t count, void *subject);
size_t http_answer_header(char *bytes, size_t size, size_t count, void *subject);

/* ---- http_tls.c */

struct http_material *http_material_new(const void *context, const char *base_url, const struct http_tls *tls)
    __attribute__((returns_nonnull));
bool http_material_is(const struct http_material *material, const struct http_tls *tls);
void http_material_apply(const struct http_material *material, CURL *easy);

/* ---- http_tls_fault.c */

/* Whether the transfer failed for TLS; then the fault is set. */
bool http_tls_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                    struct fault *fault);

/* ---- http_tried.c */

/* curl's CURLOPT_OPENSOCKETFUNCTION: notes the address in the client, which is `subject`. */
curl_socket_t http_open_socket(void *subject, curlsocktype purpose, struct curl_sockaddr *address);

/* ---- http_fault.c */

/* Sets a fault about the server; `what` follows its place. Returns false. */
bool http_fault_about(const struct http *client, const char *code, const char *cause, const char *what,
                      struct fault *fault);

/* The fault of a transfer that gave no whole answer. */
bool http_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                const struct http_request *request, struct fault *fault);

#endif
