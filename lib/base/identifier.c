/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/identifier.h"

#include <errno.h>
#include <sys/random.h>

void uuid_new(char uuid[UUID_SIZE])
{
    unsigned char bytes[16];
    size_t have = 0, index, at = 0;

    while (have < sizeof bytes) {
        ssize_t got = getrandom(bytes + have, sizeof bytes - have, 0);

        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            abort(); /* without random numbers no claim is safe */
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    for (index = 0; index < sizeof bytes; index++) {
        if (index == 4 || index == 6 || index == 8 || index == 10)
            uuid[at++] = '-';
        (void)snprintf(uuid + at, UUID_SIZE - at, "%02x", bytes[index]);
        at += 2;
    }
}

void identifier_new(char identifier[IDENTIFIER_SIZE], const char *prefix)
{
    char uuid[UUID_SIZE];

    uuid_new(uuid);
    (void)snprintf(identifier, IDENTIFIER_SIZE, "%.10s%s", prefix, uuid);
}

bool identifier_is(const char *text, const char *prefix)
{
    size_t length = strlen(prefix), index;

    if (!text || strncmp(text, prefix, length) != 0 || strlen(text) != length + UUID_SIZE - 1)
        return false;
    text += length;
    for (index = 0; index < UUID_SIZE - 1; index++) {
        bool dash = index == 8 || index == 13 || index == 18 || index == 23;

        if (dash ? text[index] != '-' : !strchr("0123456789abcdef", text[index]))
            return false;
    }
    return text[14] == '4' && strchr("89ab", text[19]);
}
