/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/work.h"

#include "lib/admit/deletion.h"
#include "lib/store/work_list.h"
#include "src/ctl/ctl.h"
#include "src/ctl/wait.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},        {"NAMESPACE", "namespaceName", COLUMN_LONG},
        {"STATE", "state", COLUMN_STATE}, {"ATTEMPT", "attempt", COLUMN_TEXT},
        {"CODE", "code", COLUMN_TEXT},    {"AGE", "ageMs", COLUMN_DURATION},
        {"WHY", "why", COLUMN_LONG},      {"NEXT", "nextAttemptInMs", COLUMN_DURATION},
    };
    struct work_selection selection = {
        .state = options_text(ctl->options, "state"),
        .kind = options_text(ctl->options, "kind"),
        .limit = (unsigned)options_number(ctl->options, "limit"),
    };
    const cJSON *rows;

    return ctl_namespace(ctl, &selection.namespace_id, fault) &&
           work_select(ctl->caller, ctl->memory, &selection, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool print_one(struct ctl *ctl, const char *id, struct fault *fault)
{
    const cJSON *document;

    return work_get(ctl->caller, ctl->memory, id, &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool get(struct ctl *ctl, struct fault *fault)
{
    return print_one(ctl, ctl->operands[0], fault);
}

/* The work that deletes an Agent goes with it. */
static bool print_retried(struct ctl *ctl, const char *id, struct fault *fault)
{
    const cJSON *work;
    cJSON *document;

    if (!work_find(ctl->connection, ctl->memory, id, NULL, &work, fault))
        return false;
    if (work)
        return print_one(ctl, id, fault);
    document = json_new_object(ctl->memory);
    json_add_text(document, "id", id);
    json_add_text(document, "state", "succeeded");
    json_add_text(document, "code", "AGENT_DELETED");
    return output_document(&ctl->output, document, fault);
}

static bool retry(struct ctl *ctl, struct fault *fault)
{
    const char *id = ctl->operands[0];
    struct retry_admission admitted;

    if (!wait_is_sound(ctl, fault) || !work_retry(ctl->caller, ctl->memory, id, &admitted, fault))
        return false;
    if (!admitted.changed)
        ctl_say("The deletion is under way already.");
    if (options_true(ctl->options, "wait") && !wait_for_work(ctl, id, id, NULL, fault))
        return false;
    return print_retried(ctl, id, fault);
}

static const struct option list_options[] = {
    {.flag = "state",
     .type = OPTION_CHOICE,
     .choices = "pending|queued|claimed|succeeded|failed_permanent",
     .value = "STATE",
     .help = "Only work in this state; pending is queued and claimed."},
    {.flag = "kind",
     .type = OPTION_CHOICE,
     .choices = "namespace_ensure|namespace_delete|agent_stop|agent_delete|agent_revision",
     .value = "KIND",
     .help = "Only work of this kind."},
    {.flag = "limit",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = 100000,
     .value = "NUMBER",
     .fallback = "100",
     .help = "The newest so many; they are shown oldest first."},
};
static const struct option_table list_table = {"Selection", list_options, COUNT_OF(list_options)};
static const struct option retry_options[] = {WAIT_OPTIONS};
static const struct option_table retry_table = {"Waiting", retry_options, COUNT_OF(retry_options)};

const struct command work_commands[] = {
    {
        .name = "work list",
        .options = &list_table,
        .in_namespace = true,
        .summary = "Shows the queue: what is done, what is not, why not, and when it is tried next. Shows "
                   "the work of "
                   "Namespaces that "
                   "you may read.",
        .run = list,
    },
    {
        .name = "work get",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Shows one item of work. Needs namespace:read on its Namespace.",
        .run = get,
    },
    {
        .name = "work retry",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .options = &retry_table,
        .summary = "Queues a failed deletion again. Needs namespace:delete, or agent:delete for an Agent's. "
                   "Other failed "
                   "work is not "
                   "retried; the refusal says what to do instead.",
        .run = retry,
    },
    {0},
};
