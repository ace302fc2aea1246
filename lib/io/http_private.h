/* SPDX-License-Identifier: MIT
 *
 * What the files of lib/io/http*.c share; nobody else includes this.
 */
#ifndef OCC_IO_HTTP_PRIVATE_H
#define OCC_IO_HTTP_PRIVATE_H

#include "lib/base/memory.h"
#include "lib/io/http.h"

#include <curl/curl.h>

struct http {
    struct http_options options; /* its texts hang on the client */
    CURLM *multi;                /* NULL until the first request and after a failed one */
    CURL *easy;
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

/* ---- http_fault.c */

/* The fault of a transfer that gave no whole answer. */
bool http_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                const struct http_request *request, struct fault *fault);

#endif
