/* SPDX-License-Identifier: MIT
 *
 * Events for operators: one JSON object a line on stderr, written with one write, at most 4 KiB.
 *
 * Only programs and lib/reconcile log; other libraries return faults. Fields are typed scalars that the call
 * site chose; there is no way to log a structure, and a `struct secret` does not fit. Texts are cut at 256
 * bytes and made one line of valid UTF-8. Writing never blocks: a line for which stderr has no room is
 * dropped and counted, and the next line that fits tells the number ("dropped").
 *
 *     log_event(LOG_INFO, "worker.started", log_text("mode", mode), log_number("reconcilers", count));
 */
#ifndef OCC_BASE_LOG_H
#define OCC_BASE_LOG_H

#include "lib/base/build.h"

struct fault;

enum log_severity { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

enum log_field_type { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_NUMBER, LOG_FIELD_BOOLEAN, LOG_FIELD_ABSENT };

struct log_field {
    enum log_field_type type;
    const char *name;
    const char *text;
    int64_t number;
};

/* A field; a text that is NULL or empty leaves the field out. */
struct log_field log_text(const char *name, const char *text);
struct log_field log_number(const char *name, int64_t number);
struct log_field log_boolean(const char *name, bool value);

#define log_event(severity, event, ...)                                                                      \
    log_write((severity), (event),                                                                           \
              (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){LOG_FIELD_END, 0, 0, 0}})

void log_write(enum log_severity severity, const char *event, const struct log_field *fields);

/* One event that tells a fault: code, message, dependency, cause. */
void log_fault(enum log_severity severity, const char *event, const struct fault *fault);

/* The service's name in each line ("occ-worker"), and the least severity that is written (default: LOG_INFO).
 * Makes stderr's own description non-blocking only for this process where it can. */
void log_open(const char *service);
void log_set_level(enum log_severity least);

/* "debug", "info", "warn" or "error" to a severity; false for anything else. */
bool log_level_from_text(const char *text, enum log_severity *level) MUST_USE;
const char *log_level_text(enum log_severity level) __attribute__((returns_nonnull));

/* Formats one line as log_write() would write it, without a newline, into `line` of `size` bytes (at most
 * 4096 are used). Returns its length. For tests and for writers to other places. */
size_t log_format(char *line, size_t size, enum log_severity severity, const char *event,
                  const struct log_field *fields);

#endif
