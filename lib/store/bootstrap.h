/* SPDX-License-Identifier: MIT
 *
 * The rows of a bootstrap: written once, all in one transaction, and looked at again by every later run.
 */
#ifndef OCC_STORE_BOOTSTRAP_H
#define OCC_STORE_BOOTSTRAP_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"

#define BOOTSTRAP_NAMESPACE "default"
#define BOOTSTRAP_ROLE "administrator"
/* Who vouches for people who sign in to this Installation itself; their subject is the user's id. */
#define BOOTSTRAP_ISSUER "local"
#define SERVICE_KEY_DAYS 30

/* What is written; all identifiers are new. */
struct bootstrap_plan {
    char installation_id[IDENTIFIER_SIZE];
    char namespace_id[IDENTIFIER_SIZE];
    char user_id[UUID_SIZE];
    char account_id[UUID_SIZE];
    char administrator_id[UUID_SIZE]; /* the person's identity */
    char
        service_principal_id[UUID_SIZE]; /* the program's identity, which also admits the default Namespace */
    char role_id[UUID_SIZE];
    char key_id[UUID_SIZE];
    const char *installation_name;
    const char *email;
    const char *password_hash; /* argon2id */
    const char *key_name;
    const char *key_hash; /* SHA-256, lower-case hex */
};

/* What a later run finds. Texts are NULL where there is nothing. */
struct bootstrap_state {
    const char *installation_id; /* NULL: not bootstrapped */
    const char *installation_name;
    const char *remains;  /* without an Installation: what is there all the same ("2 identities, 1 role") */
    bool has_user;        /* somebody with the asked e-mail address */
    bool has_password;    /* who can sign in with a password */
    bool has_identity;    /* and is known to IAM */
    bool has_service_key; /* any service key of a service principal of the Installation */
    bool has_namespace;   /* the default Namespace, be it a tombstone */
    bool has_audit;       /* the evidence of the bootstrap */
    bool key_known;       /* the asked key hash */
};

/* Waits for any other bootstrap of this database to end; the lock goes with the transaction. Fault:
 * FAULT_RETRYABLE DATABASE_CONFLICT when that takes longer than the session's lock_timeout. */
bool bootstrap_lock(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;

/* `key_hash`: of the key in the file that is already there, or NULL. Hangs on `context`. */
bool bootstrap_inspect(struct pg *connection, const void *context, const char *email, const char *key_hash,
                       const struct watch *watch, struct bootstrap_state *state,
                       struct fault *fault) MUST_USE;

/* Writes all rows, in the caller's transaction. *key_expires_at hangs on `context`. */
bool bootstrap_write(struct pg *connection, const void *context, const struct bootstrap_plan *plan,
                     const struct watch *watch, const char **key_expires_at, struct fault *fault) MUST_USE;

#endif
