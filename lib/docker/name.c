/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/name.h"

#include <sodium.h>

#define SLUG_LENGTH 32
#define HASH_BYTES 6

static void make_slug(char slug[SLUG_LENGTH + 1], const char *text)
{
    size_t length = 0;

    for (; *text != 0 && length < SLUG_LENGTH; text++) {
        char character = *text;

        if (character >= 'A' && character <= 'Z')
            character = (char)(character - 'A' + 'a');
        if ((character >= 'a' && character <= 'z') || (character >= '0' && character <= '9'))
            slug[length++] = character;
        else if (length > 0 && slug[length - 1] != '-')
            slug[length++] = '-';
    }
    while (length > 0 && slug[length - 1] == '-')
        length--;
    slug[length] = 0;
}

void docker_network_name(char name[DOCKER_NETWORK_NAME_SIZE], const char *namespace_id)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hash[2 * HASH_BYTES + 1];
    char slug[SLUG_LENGTH + 1];

    make_slug(slug, namespace_id);
    crypto_hash_sha256(digest, (const unsigned char *)namespace_id, strlen(namespace_id));
    sodium_bin2hex(hash, sizeof hash, digest, HASH_BYTES);
    (void)snprintf(name, DOCKER_NETWORK_NAME_SIZE, "oce-%s%s%s", slug, slug[0] == 0 ? "" : "-", hash);
}
