/* SPDX-License-Identifier: MIT
 *
 * Claims of dead children, until the dispatcher says that it has dealt with them. While there is no
 * dispatcher they are kept; a new one gets all of them. Beyond DEATHS_MOST the oldest is forgotten: its lease
 * is the backstop.
 */
#ifndef OCC_WORKER_DEATHS_H
#define OCC_WORKER_DEATHS_H

#include "src/worker/message.h"

#define DEATHS_MOST 256

struct death {
    struct message_release release;
    bool sent;
    int64_t died_ms;
    int64_t duration_ms; /* of the pass that ended so; -1: it had not begun */
};

struct deaths {
    struct death list[DEATHS_MOST];
    size_t count;
};

void deaths_add(struct deaths *deaths, const struct message_release *release, int64_t died_ms,
                int64_t duration_ms);

/* The next one that was not sent to this dispatcher yet; NULL: none. The caller sends it and sets `sent`. */
struct death *deaths_unsent(struct deaths *deaths);

/* The one with this token, or NULL. */
const struct death *deaths_find(const struct deaths *deaths, const char *token);

void deaths_remove(struct deaths *deaths, const char *token);

/* The dispatcher has gone: all must be sent again. */
void deaths_rewind(struct deaths *deaths);

#endif
