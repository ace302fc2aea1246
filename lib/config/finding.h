/* SPDX-License-Identifier: MIT
 *
 * What a run found wrong with what it was given: all of it, never just the first.
 *
 * Checks of settings and of the startup YAML add findings and go on; the program looks at the list once, at
 * the end. A finding is one line for an operator: where, a stable code, and what is expected there. It never
 * shows a value that may be a credential; whoever adds it sees to that.
 */
#ifndef OCC_CONFIG_FINDING_H
#define OCC_CONFIG_FINDING_H

#include "lib/base/fault.h"

enum finding_kind {
    FINDING_WARNING, /* works, but an operator should know */
    FINDING_USAGE,   /* the command line is wrong: exit status 2 */
    FINDING_PROBLEM, /* a setting or file is wrong: exit status 78 */
};

struct finding {
    enum finding_kind kind;
    const char *where;   /* "--mode", "OCC_CONFIG_PATH", "/etc/occ/occ.yaml:12:7 drivers.compute.id"; "" */
    const char *code;    /* stable, upper case, static */
    const char *message; /* one line of valid UTF-8; read it after `where`: "NODE_ENV: must be …" */
};

struct findings;

struct findings *findings_new(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* Adds a finding; `where` (may be NULL) and the message are copied and made one line. `code` must be static.
 * Beyond 1000 findings they are only counted. */
void findings_add(struct findings *findings, enum finding_kind kind, const char *where, const char *code,
                  const char *format, ...) PRINTF_LIKE(5, 6);

/* Adds a fault as a finding: FAULT_INVALID is usage, anything else a problem. A message that begins with
 * "WHERE: " loses that, as the finding has it already. */
void findings_add_fault(struct findings *findings, const char *where, const struct fault *fault);

/* How many there are to look at, how many of them or beyond them stop the program, and one of them, in the
 * order in which they were added. */
size_t findings_count(const struct findings *findings);
size_t findings_problems(const struct findings *findings);
const struct finding *findings_at(const struct findings *findings, size_t index)
    __attribute__((returns_nonnull));

/* 0 without any problem, 2 when the command line is wrong, else 78. */
int findings_exit_status(const struct findings *findings);

/* Sums the problems up: true without any; else the first one's code and text, with the number of the others.
 * The fault is FAULT_INVALID for usage, FAULT_CONFIGURATION else. */
bool findings_check(const struct findings *findings, struct fault *fault) MUST_USE;

/* One line each for people: "occ-worker: <where>: <message> [CODE]", warnings marked as such. */
void findings_print(const struct findings *findings, FILE *stream, const char *program);

#endif
