/* SPDX-License-Identifier: MIT
 *
 * What went wrong, told once.
 *
 * A function that can fail returns bool (or an enum of expected outcomes) and takes a `struct fault *` last.
 * The fault is set exactly once, where the failure is understood, and passed on unchanged. Messages are for
 * operators: they name the setting, object or path, never a credential, never an answer's body, never SQL.
 */
#ifndef OCC_BASE_FAULT_H
#define OCC_BASE_FAULT_H

#include "lib/base/build.h"

enum fault_class {
    FAULT_NONE = 0,
    FAULT_PENDING,       /* not wrong, not finished: look again later, no attempt is spent */
    FAULT_RETRYABLE,     /* failed, may succeed later: an attempt is spent */
    FAULT_PERMANENT,     /* will fail again until somebody changes something */
    FAULT_CLAIM_LOST,    /* the claim is no longer ours: publish nothing */
    FAULT_CANCELLED,     /* the host said stop: hand back */
    FAULT_CONFIGURATION, /* a setting must change: exit status 78 */
    FAULT_UNAVAILABLE,   /* a dependency does not answer: exit status 69 */
    FAULT_INVALID,       /* a value from the caller is not acceptable: exit status 2 */
    FAULT_DENIED,        /* not authenticated or not allowed: exit status 1 */
    FAULT_NOT_FOUND,     /* exit status 3 */
    FAULT_CONFLICT,      /* exists, in use, or in another state: exit status 4 */
    FAULT_BUG,           /* our own mistake, such as an unexpected result shape: exit status 70 */
};

#define FAULT_CODE_SIZE 65 /* reason codes have at most 64 characters */
#define FAULT_MESSAGE_SIZE 512

struct fault {
    enum fault_class class;
    char code[FAULT_CODE_SIZE];       /* stable, upper case: DOCKER_ENGINE_UNAVAILABLE */
    char message[FAULT_MESSAGE_SIZE]; /* one line of valid UTF-8, cut when longer */
    char origin[8];                   /* the origin's own short code where it has one: an SQLSTATE; else "" */
    char dependency[24];              /* "postgresql", "docker" where a dependency failed; else "" */
    char cause[16];                   /* "unreachable", "timeout", "unavailable" beside dependency, or what
                                         lib/io/http.h tells of TLS; else "" */
    uint32_t retry_after_ms;          /* what a server asked for; 0: nothing */
};

/* Fills `fault` and returns false, so that a failing function can `return fault_set(...)`. */
bool fault_set(struct fault *fault, enum fault_class class, const char *code, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Adds which dependency failed and how ("unreachable", "timeout", "unavailable"); returns false too. */
bool fault_depends(struct fault *fault, const char *dependency, const char *cause);

/* True when the fault's code is `code`. */
bool fault_is(const struct fault *fault, const char *code);

/* The process exit status that tells this fault: 1 2 3 4 69 70 78 as in the list above, 75 for what can be
 * tried again (pending, retryable, lost or cancelled), 1 for a permanent one. */
int fault_exit_status(const struct fault *fault);

#endif
