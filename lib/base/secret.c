/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/secret.h"

#include "lib/base/memory.h"

#include <sys/resource.h>

struct secret {
    size_t length;
    char *bytes;
};

void secret_forbid_core(void)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
}

void secret_wipe(void *memory, size_t length)
{
    explicit_bzero(memory, length);
}

static int secret_destroy(struct secret *secret)
{
    secret_wipe(secret->bytes, secret->length);
    return 0;
}

struct secret *secret_new(const void *context, const char *bytes, size_t length)
{
    struct secret *secret = mem_new(context, struct secret);

    secret->length = length;
    secret->bytes = mem_array(secret, char, length + 1);
    if (length)
        memcpy(secret->bytes, bytes, length);
    talloc_set_destructor(secret, secret_destroy);
    return secret;
}

const char *secret_expose(const struct secret *secret)
{
    return secret->bytes;
}

size_t secret_length(const struct secret *secret)
{
    return secret->length;
}
