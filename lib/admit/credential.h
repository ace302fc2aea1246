/* SPDX-License-Identifier: MIT
 *
 * Credentials that this platform makes: service keys and passwords. Both are random and known in clear only
 * to the file that they are handed over in; the database keeps hashes.
 *
 * A service key is "occ_sk_" and 32 random bytes in base64url without padding (RFC 4648 section 5): 50
 * characters. Its hash is the SHA-256 of these characters in lower-case hex: a slow hash guards nothing that
 * has 256 random bits, and each call of occctl would pay for it.
 *
 * A password is 24 random bytes in base64url. Its hash is argon2id (RFC 9106) by libsodium's
 * crypto_pwhash_str with CREDENTIAL_PASSWORD_OPERATIONS passes over CREDENTIAL_PASSWORD_MEMORY bytes in one
 * lane: libsodium's "interactive" limits, which lie above OWASP's recommendation (2 passes, 19 MiB) and let a
 * small machine verify a sign-in in about 0.1 s.
 */
#ifndef OCC_ADMIT_CREDENTIAL_H
#define OCC_ADMIT_CREDENTIAL_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"

#define SERVICE_KEY_PREFIX "occ_sk_"
#define SERVICE_KEY_LENGTH 50
#define SERVICE_KEY_HASH_SIZE 65 /* 64 hex digits and the zero */

#define CREDENTIAL_PASSWORD_OPERATIONS 2
#define CREDENTIAL_PASSWORD_MEMORY ((size_t)64 * 1024 * 1024)

/* A new service key; a new password. They hang on `context`. */
struct secret *credential_new_service_key(const void *context) __attribute__((returns_nonnull)) MUST_USE;
struct secret *credential_new_password(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* True when the text has the form of a service key. */
bool credential_is_service_key(const char *text, size_t length);

void credential_hash_service_key(const struct secret *key, char hash[SERVICE_KEY_HASH_SIZE]);

/* The hash hangs on `context`. Fault: FAULT_UNAVAILABLE PASSWORD_HASH_UNAVAILABLE when there is not memory
 * enough. */
bool credential_hash_password(const void *context, const struct secret *password, const char **hash,
                              struct fault *fault) MUST_USE;

#endif
