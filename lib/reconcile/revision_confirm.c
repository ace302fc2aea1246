/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

#include "lib/base/memory.h"

/* ---- Trip 1 */

struct reading {
    struct revision_work *work;
    struct subject_places places;
    size_t list_index;
    size_t target_index;
};

static void fill_reading(struct pg_batch *batch, void *subject)
{
    struct reading *reading = subject;
    const struct pass *pass = reading->work->pass;
    const struct compute_driver *compute = pass->reconciler->options->compute;

    reading->target_index = revision_target_add(batch, pass->item.key, pass->token);
    subject_agent_add(batch, pass, &reading->places);
    subject_revision_add(batch, pass, NULL, &reading->places);
    reading->list_index = revision_list_add(batch, pass->item.key, pass->token, REVISIONS_LIVE, compute->id,
                                            compute->implementation);
}

static bool read_reading(const struct pg_batch *batch, void *subject, int64_t *lease_ms)
{
    struct reading *reading = subject;
    struct revision_work *work = reading->work;
    const void *memory = work->pass->memory;

    if (!revision_target_read(pg_batch_result(batch, reading->target_index), memory, &work->target))
        return false;
    *lease_ms = work->target.lease_ms;
    work->agent = subject_agent_read(batch, memory, &reading->places);
    work->revision = subject_revision_read(batch, memory, &reading->places, work->agent, &work->references);
    revision_list_read(pg_batch_result(batch, reading->list_index), memory, &work->predecessors,
                       &work->predecessor_count);
    return true;
}

/* What the revision froze decides what its actor, and the Agent by itself, must be allowed. The Secret behind
 * a service account is the account's: who may read that needs no right of the Secret, as in the admission. */
static void add_questions(struct revision_work *work)
{
    const struct work_item *item = &work->pass->item;
    const struct subject_references *references = &work->references;
    const char *principal = work->agent->service_principal_id;

    rights_add(work->rights,
               &(struct iam_question){item->actor_id, "deploy", "agent", item->agent_id, item->namespace_id});
    rights_add(work->rights, &(struct iam_question){item->actor_id, "read", "configuration",
                                                    work->revision->configuration_id, item->namespace_id});
    if (references->service_account_id)
        rights_add(work->rights, &(struct iam_question){item->actor_id, "read", "service_account",
                                                        references->service_account_id, item->namespace_id});
    for (size_t i = 0; i < references->count; i++) {
        const char *secret = references->secrets[i].id;

        if (!references->secrets[i].name && references->service_account_id)
            continue;
        rights_add(work->rights,
                   &(struct iam_question){item->actor_id, "operate", "secret", secret, item->namespace_id});
        rights_add(work->rights,
                   &(struct iam_question){principal, "operate", "secret", secret, item->namespace_id});
    }
}

bool revision_read(struct revision_work *work, struct verdict *verdict)
{
    struct reading reading = {.work = work};
    const struct rights_target place = {fill_reading, read_reading, &reading};

    /* Nobody is asked yet: what to ask is in the answer. */
    if (!rights_confirm(rights_new(work->pass), &place, verdict))
        return false;
    work->was_active = work->target.active;
    work->rights = rights_new(work->pass);
    if (work->agent && work->revision)
        add_questions(work);
    return true;
}

/* ---- The trips after it */

static void fill(struct pg_batch *batch, void *subject)
{
    struct revision_work *work = subject;
    const struct pass *pass = work->pass;
    const char *active = work->target.active_id;

    /* A batch that is sent again may have been committed: what came of it is read, and not repeated. */
    work->trip.decisive = work->trip.publishes;
    if (work->trip.publishes)
        (void)revision_publish_add(batch, pass->item.key, pass->token, pass->item.agent_id,
                                   active[0] ? active : NULL);
    work->trip.publishes = false;
    work->trip.target_index = revision_target_add(batch, pass->item.key, pass->token);
    if (work->trip.another_id)
        subject_revision_add(batch, pass, work->trip.another_id, &work->trip.places);
}

static bool read(const struct pg_batch *batch, void *subject, int64_t *lease_ms)
{
    struct revision_work *work = subject;

    if (!revision_target_read(pg_batch_result(batch, work->trip.target_index), work->pass->memory,
                              &work->target))
        return false;
    *lease_ms = work->target.lease_ms;
    if (work->trip.another_id)
        work->trip.another =
            subject_revision_read(batch, work->trip.memory, &work->trip.places, work->agent, NULL);
    return true;
}

bool revision_ask(struct revision_work *work, struct verdict *verdict)
{
    const struct rights_target place = {fill, read, work};

    return rights_confirm(work->rights, &place, verdict);
}

bool revision_ask_claim(struct revision_work *work, struct verdict *verdict)
{
    const struct rights_target place = {fill, read, work};

    return rights_confirm(rights_new(work->pass), &place, verdict);
}

bool revision_ask_with(struct revision_work *work, bool (*ask)(struct revision_work *, struct verdict *),
                       const char *id, const void *memory, const struct subject_revision **revision,
                       struct verdict *verdict)
{
    bool asked;

    work->trip.another_id = id;
    work->trip.another = NULL;
    work->trip.memory = memory;
    asked = ask(work, verdict);
    work->trip.another_id = NULL;
    *revision = work->trip.another;
    return asked;
}

bool revision_is_wanted(const struct revision_work *work, struct verdict *verdict)
{
    const struct revision_target *target = &work->target;
    /* A candidate that a stop has captured does not come back when a later deployment wants the Agent to run:
     * that deployment is another revision. */
    bool stopped = !target->wants_running || (target->captured && !target->active && !work->maintenance);

    if (!target->exists || !work->agent || !work->revision) {
        *verdict = verdict_of(OUTCOME_FAIL, "INVALID_REVISION_OWNER");
    } else if (target->deleting) {
        *verdict = verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    } else if (stopped) {
        *verdict = verdict_of(OUTCOME_CLOSE, "REVISION_STOPPED");
    } else if (target->superseded || (work->maintenance && !target->active)) {
        *verdict = verdict_of(OUTCOME_CLOSE, "REVISION_SUPERSEDED");
        verdict->lifecycle = work->maintenance ? NULL : "supersede";
    } else {
        return true;
    }
    return false;
}

bool revision_confirm(struct revision_work *work, struct verdict *verdict)
{
    return revision_ask(work, verdict) && revision_is_wanted(work, verdict) &&
           rights_allow(work->rights, verdict);
}
