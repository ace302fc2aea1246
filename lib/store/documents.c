/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/documents.h"

#include "lib/base/memory.h"

bool documents_query(struct pg *connection, const void *context, const struct pg_statement *statement,
                     const char *const *parameters, const struct watch *watch, const cJSON **rows,
                     struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    const cJSON *parsed;
    char *text;
    size_t row;

    if (!pg_query(connection, scratch, statement, parameters, watch, &result, fault)) {
        talloc_free(scratch);
        return false;
    }
    text = mem_text(scratch, "[");
    for (row = 0; row < pg_rows(result); row++)
        text = mem_append(text, "%s%s", row ? "," : "", pg_text(result, row, 0));
    text = mem_append(text, "]");
    parsed = json_read(context, text, strlen(text));
    talloc_free(scratch);
    if (!parsed)
        return fault_set(fault, FAULT_BUG, "DATABASE_DOCUMENT_INVALID",
                         "PostgreSQL returned a document which this program cannot read.");
    *rows = parsed;
    return true;
}

bool documents_one(struct pg *connection, const void *context, const struct pg_statement *statement,
                   const char *const *parameters, const struct watch *watch, const cJSON **row,
                   struct fault *fault)
{
    const cJSON *rows;

    if (!documents_query(connection, context, statement, parameters, watch, &rows, fault))
        return false;
    *row = rows->child;
    return true;
}

bool documents_change(struct pg *connection, const struct pg_statement *statement,
                      const char *const *parameters, const struct watch *watch, bool *changed,
                      struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, statement, parameters, watch, &result, fault);

    if (done)
        *changed = pg_affected(result) > 0;
    talloc_free(scratch);
    return done;
}

char *documents_array(const void *context, const char *const *texts, size_t count)
{
    char *array = mem_text(context, "{");
    size_t index;

    for (index = 0; index < count; index++)
        array = mem_append(array, "%s\"%s\"", index ? "," : "", texts[index]);
    return mem_append(array, "}");
}
