/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/work_sql.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static const struct {
    const char *name;
    const char *operation;
} kinds[] = {
    [WORK_NAMESPACE_ENSURE] = {"namespace_ensure", "namespace.ensure"},
    [WORK_NAMESPACE_DELETE] = {"namespace_delete", "namespace.delete"},
    [WORK_AGENT_STOP] = {"agent_stop", "agent.stop"},
    [WORK_AGENT_DELETE] = {"agent_delete", "agent.delete"},
    [WORK_AGENT_REVISION] = {"agent_revision", "agent_revision.reconcile"},
};

const char *work_kind_name(enum work_kind kind)
{
    return kinds[kind].name;
}

const char *work_kind_operation(enum work_kind kind)
{
    return kinds[kind].operation;
}

bool work_is_deployment(enum work_kind kind, const char *key)
{
    return kind == WORK_AGENT_REVISION && !work_is_maintenance(kind, key);
}

bool work_is_maintenance(enum work_kind kind, const char *key)
{
    return kind == WORK_AGENT_REVISION && strstr(key, ":maintenance:") != NULL;
}

static const char *optional(const void *context, const char *text)
{
    return text ? mem_text(context, text) : NULL;
}

static enum work_kind kind_of(const char *revision_id, const char *namespace_target, const char *agent_target)
{
    if (revision_id)
        return WORK_AGENT_REVISION;
    if (agent_target)
        return text_equal(agent_target, "deleted") ? WORK_AGENT_DELETE : WORK_AGENT_STOP;
    return text_equal(namespace_target, "deleted") ? WORK_NAMESPACE_DELETE : WORK_NAMESPACE_ENSURE;
}

void work_item_read(const void *context, const struct pg_result *result, size_t row, struct work_item *item)
{
    item->key = mem_text(context, pg_text(result, row, 0));
    item->namespace_id = mem_text(context, pg_text(result, row, 1));
    item->agent_id = optional(context, pg_text(result, row, 2));
    item->revision_id = optional(context, pg_text(result, row, 3));
    item->kind = kind_of(item->revision_id, pg_text(result, row, 4), pg_text(result, row, 5));
    item->actor_id = mem_text(context, pg_text(result, row, 6));
    item->attempt = (unsigned)pg_number(result, row, 7);
    item->age_ms = pg_number(result, row, 8);
    item->waited_ms = pg_number(result, row, 9);
}
