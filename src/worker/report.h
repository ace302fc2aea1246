/* SPDX-License-Identifier: MIT
 *
 * What preflight found: put together from its messages by the supervisor, which believes it and prints it.
 */
#ifndef OCC_WORKER_REPORT_H
#define OCC_WORKER_REPORT_H

#include "lib/config/finding.h"
#include "src/worker/message.h"

struct report_entry {
    enum report_level level;
    struct fault fault; /* class, code, message, dependency, cause */
};

struct report_fact {
    char name[FACT_NAME_SIZE];
    char value[FACT_VALUE_SIZE];
};

#define REPORT_ENTRIES 1024
#define REPORT_FACTS 64

struct report {
    struct report_fact facts[REPORT_FACTS];
    size_t fact_count;
    struct report_entry *entries;
    size_t entry_count;
    bool open;     /* the last entry's text goes on in the next message */
    bool complete; /* the verdict came, and counts what arrived */
};

struct report *report_new(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* Takes a FACT, FINDING or VERDICT. */
void report_take(struct report *report, const struct message *message);

/* Adds what the supervisor itself found. */
void report_add_fault(struct report *report, enum report_level level, const struct fault *fault);
void report_add_findings(struct report *report, const struct findings *findings);

/* The value of a fact, "" when it is not there. */
const char *report_fact(const struct report *report, const char *name);

/* The first problem of the gravest kind: a configuration problem before an unavailable dependency, before
 * others. NULL: there is none. */
const struct fault *report_problem(const struct report *report);
size_t report_problems(const struct report *report);

/* 0 when it is complete and without problems, else the exit status of report_problem(); 70 when it is
 * neither.
 */
int report_exit_status(const struct report *report);

/* For --check. */
void report_print(const struct report *report, FILE *stream);
void report_print_json(const struct report *report, FILE *stream);

#endif
