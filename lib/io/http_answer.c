/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include "lib/base/secret.h"

#include <strings.h>

#define HEADERS_LIMIT 65536 /* of all header lines of one answer together */

/* A body may be a secret. One that came whole is its reader's to wipe, and is wiped here all the same; one
 * that did not, nobody else gets. */
static int wipe(struct http_answer *answer)
{
    secret_wipe(answer->body, answer->body_length);
    return 0;
}

struct http_answer *http_answer_new(const void *context, size_t body_limit)
{
    struct http_answer *answer = mem_new(context, struct http_answer);

    answer->body_limit = body_limit;
    answer->body_room = 1024;
    answer->body = mem_array(answer, char, answer->body_room);
    talloc_set_destructor(answer, wipe);
    answer->response.content_type = "";
    answer->response.api_version = "";
    answer->response.server = "";
    return answer;
}

/* What is outgrown is overwritten. */
static void grow(struct http_answer *answer, size_t length)
{
    char *former = answer->body;

    while (answer->body_room <= answer->body_length + length)
        answer->body_room *= 2;
    answer->body = mem_array(answer, char, answer->body_room);
    memcpy(answer->body, former, answer->body_length);
    secret_wipe(former, answer->body_length);
    talloc_free(former);
}

size_t http_answer_body(char *bytes, size_t size, size_t count, void *subject)
{
    struct http_answer *answer = subject;
    size_t length = size * count;

    if (length > answer->body_limit - answer->body_length) {
        answer->too_large = true;
        return 0; /* less than all: curl ends the transfer */
    }
    if (answer->body_room <= answer->body_length + length)
        grow(answer, length);
    memcpy(answer->body + answer->body_length, bytes, length);
    answer->body_length += length;
    answer->body[answer->body_length] = '\0';
    return length;
}

static void start_again(struct http_answer *answer)
{
    answer->header_length = 0;
    answer->headers_ended = false;
    answer->response.content_type = "";
    answer->response.api_version = "";
    answer->response.server = "";
}

/* The value of the header line when it is `name`'s, without the space around it; else NULL. */
static const char *value_of(const struct http_answer *answer, const char *name, const char *line,
                            size_t length)
{
    size_t name_length = strlen(name);

    if (length <= name_length || strncasecmp(line, name, name_length) != 0 || line[name_length] != ':')
        return NULL;
    line += name_length + 1;
    length -= name_length + 1;
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    while (length > 0 && (unsigned char)line[length - 1] <= ' ')
        length--;
    if (memchr(line, '\0', length))
        return NULL;
    return mem_text_part(answer, line, length);
}

size_t http_answer_header(char *bytes, size_t size, size_t count, void *subject)
{
    struct http_answer *answer = subject;
    size_t length = size * count;
    const char *value;

    /* A status line starts an answer; there may be informational ones (1xx) before the last. */
    if (length > 5 && strncmp(bytes, "HTTP/", 5) == 0)
        start_again(answer);
    answer->header_length += length;
    if (answer->header_length > HEADERS_LIMIT) {
        answer->bad_header = true;
        return 0;
    }
    if (length > 0 && (bytes[0] == '\r' || bytes[0] == '\n'))
        answer->headers_ended = true;
    if ((value = value_of(answer, "Content-Type", bytes, length)))
        answer->response.content_type = value;
    else if ((value = value_of(answer, "Api-Version", bytes, length)))
        answer->response.api_version = value;
    else if ((value = value_of(answer, "Server", bytes, length)))
        answer->response.server = value;
    return length;
}
