/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/survey.h"

#include "lib/base/memory.h"
#include "lib/store/work_sql.h"

/* Rows, not lanes: two rows of one lane count twice, and a reconciler that finds its lane taken says so. The
 * scan ends at the limit. What is due but waits for its lane is no reason for a turn: whoever holds the lane
 * looks again when it is done. */
/* clang-format off */
#define SURVEY_TURN                                                                                          \
    "select (select count(*) from (select from occ.controller_work w"                                        \
    " where w.state = 'queued' and w.available_at <= statement_timestamp() and w.attempt_count < $2::int"    \
    " and (select true from occ.controller_work c where c.state = 'claimed'"                                 \
    " and coalesce(c.agent_id, c.namespace_id) = coalesce(w.agent_id, w.namespace_id) limit 1) is null"      \
    " order by w.available_at, w.idempotency_key limit $1::int) eligible),"                                  \
    " (select " WORK_MS("w.available_at - statement_timestamp()") " + 1 from occ.controller_work w"          \
    " where w.state = 'queued' and w.available_at > statement_timestamp() and w.attempt_count < $2::int"     \
    " order by w.available_at, w.idempotency_key limit 1),"                                                  \
    " (select " WORK_MS("min(w.lease_expires_at) - statement_timestamp()") " + 1"                            \
    " from occ.controller_work w where w.state = 'claimed')"
/* clang-format on */

static const struct pg_statement turn_statement = {"survey", SURVEY_TURN, 2};

/* Beside the turn, the backlog: what is queued from the index alone, and the few claimed rows. Rows that have
 * used up their attempts while queued exist only after the limit was lowered, so that looking for them at
 * this pace is enough. */
/* clang-format off */
static const struct pg_statement health_statement = {
    "survey_health",
    SURVEY_TURN ", queued.number + claimed.number,"
    " greatest(0, coalesce(" WORK_MS("statement_timestamp() - least(queued.oldest, claimed.oldest)") ", 0)),"
    " queued.exhausted from"
    " (select count(*) as number, min(w.created_at) as oldest,"
    " coalesce(bool_or(w.attempt_count >= $2::int), false) as exhausted"
    " from occ.controller_work w where w.state = 'queued') queued,"
    " (select count(*) as number, min(w.created_at) as oldest"
    " from occ.controller_work w where w.state = 'claimed') claimed",
    2,
};
/* clang-format on */

static int64_t until(const struct pg_result *result, size_t column)
{
    int64_t left_ms;

    if (!pg_text(result, 0, column))
        return -1;
    left_ms = pg_number(result, 0, column);
    return left_ms > 0 ? left_ms : 0;
}

static void survey_read(const struct pg_result *result, bool counted, struct survey *survey)
{
    survey->eligible = (size_t)pg_number(result, 0, 0);
    survey->next_due_ms = survey->eligible > 0 ? 0 : until(result, 1);
    survey->next_expiry_ms = until(result, 2);
    survey->counted = counted;
    survey->pending = counted ? pg_number(result, 0, 3) : 0;
    survey->oldest_pending_age_ms = counted ? pg_number(result, 0, 4) : 0;
    survey->exhausted = counted && pg_true(result, 0, 5);
}

bool survey_take(struct pg *connection, size_t idle, unsigned max_attempts, bool count_backlog,
                 const struct watch *watch, struct survey *survey, struct fault *fault)
{
    const struct pg_statement *statement = count_backlog ? &health_statement : &turn_statement;
    struct pg_batch *batch = pg_batch_new(connection);
    char limit[24];
    char attempts[16];
    size_t index;
    bool taken;

    /* With nobody idle the limit is zero and nothing is looked for: who is busy looks for himself. */
    (void)snprintf(limit, sizeof limit, "%zu", idle);
    (void)snprintf(attempts, sizeof attempts, "%u", max_attempts);
    index = pg_batch_add(batch, statement, (const char *[]){limit, attempts});
    taken = pg_run(connection, batch, watch, fault);
    if (taken)
        survey_read(pg_batch_result(batch, index), count_backlog, survey);
    talloc_free(batch);
    return taken;
}
