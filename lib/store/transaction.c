/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/transaction.h"

#include "lib/base/memory.h"

/* Never prepared: behind a pooler each may meet another server connection, and BEGIN is what pins one. */
static const struct pg_statement begin_statement = {NULL, "begin isolation level read committed", 0};
static const struct pg_statement commit_statement = {NULL, "commit", 0};
static const struct pg_statement rollback_statement = {NULL, "rollback", 0};

static bool run_alone(struct pg *connection, const struct pg_statement *statement, const struct watch *watch,
                      struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, statement, NULL, watch, &result, fault);

    talloc_free(scratch);
    return done;
}

bool transaction_begin(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    return run_alone(connection, &begin_statement, watch, fault);
}

bool transaction_commit(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    return run_alone(connection, &commit_statement, watch, fault);
}

void transaction_rollback(struct pg *connection, const struct watch *watch)
{
    struct fault ignored;

    if (!pg_is_broken(connection))
        (void)!run_alone(connection, &rollback_statement, watch, &ignored);
}
