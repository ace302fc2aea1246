/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/deletion.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/row.h"

static const struct pg_statement find_statement = {
    NULL,
    "select namespace_id, agent_id, revision_id, actor_id, coalesce(namespace_target, agent_target), state"
    " from occ.controller_work where idempotency_key = $1::text",
    1,
};

bool deletion_find(struct pg *connection, const void *context, const char *work_id, const struct watch *watch,
                   struct deletion_work **found, struct fault *fault)
{
    const struct pg_result *result;
    struct deletion_work *work;

    if (!row_find(connection, context, &find_statement, (const char *const[]){work_id}, watch, &result,
                  fault))
        return false;
    if (!result) {
        *found = NULL;
        return true;
    }
    work = mem_new(context, struct deletion_work);
    work->namespace_id = pg_text(result, 0, 0);
    work->agent_id = pg_text(result, 0, 1);
    work->revision_id = pg_text(result, 0, 2);
    work->actor_id = pg_text(result, 0, 3);
    work->target = pg_text(result, 0, 4);
    work->state = pg_text(result, 0, 5);
    *found = work;
    return true;
}

static const struct pg_statement requeue_statement = {
    NULL,
    "select occ.requeue_deletion($1::text, $2::text, $3::boolean)",
    3,
};

bool deletion_requeue(struct pg *connection, const char *work_id, const char *actor_id, bool takeover,
                      const struct watch *watch, enum deletion_answer *answer, struct fault *fault)
{
    static const char *const names[] = {"requeued",     "pending",      "succeeded", "other_actor",
                                        "not_deletion", "not_deleting", "missing"};
    const char *const parameters[] = {work_id, actor_id, takeover ? "true" : "false"};
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, &requeue_statement, parameters, watch, &result, fault);
    size_t index;

    for (index = 0; done && index < COUNT_OF(names); index++) {
        if (text_equal(names[index], pg_text(result, 0, 0)))
            break;
    }
    if (done && index == COUNT_OF(names))
        done = fault_set(fault, FAULT_BUG, "DATABASE_ANSWER_UNKNOWN",
                         "The schema answered a requeue with a word that this program does not know.");
    if (done)
        *answer = (enum deletion_answer)index;
    talloc_free(scratch);
    return done;
}
