/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/credential.h"

#include "lib/base/hash.h"
#include "lib/base/memory.h"

#include <sodium.h>

#define SERVICE_KEY_BYTES 32
#define PASSWORD_BYTES 24
#define PREFIX_LENGTH (sizeof SERVICE_KEY_PREFIX - 1)

static void require_sodium(void)
{
    /* Fails only without a source of randomness; a key from a bad one must never be written. */
    if (sodium_init() < 0)
        abort();
}

static struct secret *random_text(const void *context, const char *prefix, size_t count)
{
    unsigned char bytes[SERVICE_KEY_BYTES];
    char text[PREFIX_LENGTH +
              sodium_base64_ENCODED_LEN(SERVICE_KEY_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    size_t length = strlen(prefix);
    struct secret *secret;

    require_sodium();
    randombytes_buf(bytes, count);
    memcpy(text, prefix, length);
    sodium_bin2base64(text + length, sizeof text - length, bytes, count,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    secret = secret_new(context, text, strlen(text));
    secret_wipe(bytes, sizeof bytes);
    secret_wipe(text, sizeof text);
    return secret;
}

struct secret *credential_new_service_key(const void *context)
{
    return random_text(context, SERVICE_KEY_PREFIX, SERVICE_KEY_BYTES);
}

struct secret *credential_new_password(const void *context)
{
    return random_text(context, "", PASSWORD_BYTES);
}

bool credential_is_service_key(const char *text, size_t length)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    return length == SERVICE_KEY_LENGTH && memcmp(text, SERVICE_KEY_PREFIX, PREFIX_LENGTH) == 0 &&
           strspn(text + PREFIX_LENGTH, alphabet) == SERVICE_KEY_LENGTH - PREFIX_LENGTH;
}

void credential_hash_service_key(const struct secret *key, char hash[SERVICE_KEY_HASH_SIZE])
{
    hash_hex(secret_expose(key), secret_length(key), HASH_DIGITS, hash);
}

bool credential_hash_password(const void *context, const struct secret *password, const char **hash,
                              struct fault *fault)
{
    char text[crypto_pwhash_STRBYTES];

    require_sodium();
    if (crypto_pwhash_str_alg(text, secret_expose(password), secret_length(password),
                              CREDENTIAL_PASSWORD_OPERATIONS, CREDENTIAL_PASSWORD_MEMORY,
                              crypto_pwhash_ALG_ARGON2ID13) != 0)
        return fault_set(fault, FAULT_UNAVAILABLE, "PASSWORD_HASH_UNAVAILABLE",
                         "There is not enough memory for the password's hash: %zu MiB are needed.",
                         CREDENTIAL_PASSWORD_MEMORY >> 20);
    *hash = mem_text(context, text);
    return true;
}
