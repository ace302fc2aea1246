/* SPDX-License-Identifier: MIT
 *
 * The tests' runtime image: what a gateway and a Harness are to the outside, and no model behind it.
 */
#ifndef OCC_TEST_RUNTIME_H
#define OCC_TEST_RUNTIME_H

#include "lib/base/build.h"

struct runtime {
    bool gateway;   /* else it is a dedicated Harness */
    bool dedicated; /* of a dedicated Agent */
    int port;
    char behaviour[32]; /* of the document, "" for none */
    int64_t started_ms;
    unsigned starts; /* of this state folder, with this one */
};

/* A variable; "" for one that is not set. */
const char *variable(const char *name);
int64_t now_ms(void);
/* Reads a file to its end; NULL where it cannot be read. The caller frees it. */
char *read_file(const char *path, size_t *length);

/* "" when the runtime may say that it is ready, else why it may not. */
const char *not_ready(const struct runtime *runtime);

/* What is there, as JSON without any value that is secret. */
void describe(const struct runtime *runtime, FILE *out);

/* Answers one request of a connection. */
void serve(const struct runtime *runtime, int connection);

#endif
