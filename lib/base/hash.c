/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/hash.h"

#include <sodium.h>

void hash_hex(const void *bytes, size_t length, size_t digits, char *hex)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char all[HASH_DIGITS + 1];

    crypto_hash_sha256(digest, bytes, length);
    sodium_bin2hex(all, sizeof all, digest, sizeof digest);
    memcpy(hex, all, digits);
    hex[digits] = '\0';
}

void hash_text(const char *text, size_t digits, char *hex)
{
    hash_hex(text, strlen(text), digits, hex);
}
