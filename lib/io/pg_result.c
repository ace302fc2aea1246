/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pg_private.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* A statement's shape is fixed by its text, so a wrong one is a mistake of ours that no caller can handle. */
NORETURN static void wrong_shape(const char *what, size_t row, size_t column)
{
    char line[256];
    int length = snprintf(line, sizeof line,
                          "{\"severity\":\"ERROR\",\"event\":\"worker.error\",\"code\":\"RESULT_SHAPE\","
                          "\"message\":\"%s at row %zu, column %zu\"}\n",
                          what, row, column);
    ssize_t written = write(STDERR_FILENO, line, length > 0 ? (size_t)length : 0);

    (void)written;
    _exit(70);
}

size_t pg_rows(const struct pg_result *result)
{
    return (size_t)PQntuples(result->raw);
}

size_t pg_affected(const struct pg_result *result)
{
    const char *count = PQcmdTuples(result->raw);

    return (size_t)strtoull(count, NULL, 10);
}

const char *pg_text(const struct pg_result *result, size_t row, size_t column)
{
    if (row >= (size_t)PQntuples(result->raw) || column >= (size_t)PQnfields(result->raw))
        wrong_shape("no such value", row, column);
    if (PQgetisnull(result->raw, (int)row, (int)column))
        return NULL;
    return PQgetvalue(result->raw, (int)row, (int)column);
}

int64_t pg_number(const struct pg_result *result, size_t row, size_t column)
{
    const char *text = pg_text(result, row, column);
    char *end;
    long long number;

    if (!text)
        wrong_shape("a null in place of a number", row, column);
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        wrong_shape("not an integer", row, column);
    return (int64_t)number;
}

bool pg_true(const struct pg_result *result, size_t row, size_t column)
{
    const char *text = pg_text(result, row, column);

    if (!text)
        return false;
    if (strcmp(text, "t") != 0 && strcmp(text, "f") != 0)
        wrong_shape("not a boolean", row, column);
    return text[0] == 't';
}
