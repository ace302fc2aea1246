/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/name.h"

#include "lib/base/hash.h"

#define SLUG_LENGTH 32
#define HASH_LENGTH 12

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

void driver_name(char name[DRIVER_NAME_SIZE], const char *namespace_id)
{
    char hash[HASH_LENGTH + 1];
    char slug[SLUG_LENGTH + 1];

    make_slug(slug, namespace_id);
    hash_text(namespace_id, HASH_LENGTH, hash);
    (void)snprintf(name, DRIVER_NAME_SIZE, "oce-%s%s%s", slug, slug[0] == 0 ? "" : "-", hash);
}
