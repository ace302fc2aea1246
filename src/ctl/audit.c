/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/audit_list.h"

#include "lib/admit/policy.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "src/ctl/ctl.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define FOLLOW_EVERY_MS 500
#define CONNECT_EVERY_MS 1000

static const struct column columns[] = {
    {"TIME", "occurredAt", COLUMN_TEXT},
    {"ACTION", "action", COLUMN_TEXT},
    {"OUTCOME", "outcome", COLUMN_STATE},
    {"CODE", "details.reasonCode", COLUMN_TEXT},
    {"RESOURCE", "resourceId", COLUMN_TEXT},
    {"ACTOR", "actorId", COLUMN_TEXT},
    {"PERMISSION", "details.decision.permission", COLUMN_TEXT},
    {"MESSAGE", "details.message", COLUMN_LONG},
};

/* Events that were shown (or are not to be shown) and that audit_recent() may still return. */
struct seen {
    char **ids;
    size_t count;
};

static bool is_seen(const struct seen *seen, const char *id)
{
    size_t index;

    for (index = seen->count; index > 0; index--) {
        if (text_equal(seen->ids[index - 1], id))
            return true;
    }
    return false;
}

static void remember(struct seen *seen, const char *id)
{
    if (seen->count % 64 == 0)
        seen->ids = mem_grow(NULL, seen->ids, char *, seen->count + 64);
    seen->ids[seen->count++] = mem_text(seen->ids, id);
}

/* What is not among the recent any more cannot come again. */
static void forget_old(struct seen *seen, const cJSON *recent)
{
    struct seen kept = {0};
    const cJSON *event;

    cJSON_ArrayForEach(event, recent)
    {
        remember(&kept, json_text(event, "id"));
    }
    talloc_free(seen->ids);
    *seen = kept;
}

/* A line of the table without its titles, or one document. */
static bool print_event(struct ctl *ctl, const cJSON *event, struct fault *fault)
{
    char *text, *second;
    cJSON *rows;
    bool done;

    if (ctl->output.form != OUTPUT_TABLE)
        return output_document(&ctl->output, event, fault);
    rows = json_new_object(NULL);
    json_add_copy(rows, "event", event);
    text = output_table(mem_text(NULL, ""), &ctl->output, rows, columns, COUNT_OF(columns));
    second = strchr(text, '\n');
    done = second && fputs(second + 1, stdout) != EOF && fflush(stdout) == 0;
    if (!done)
        (void)fault_set(fault, FAULT_UNAVAILABLE, "OUTPUT_FAILED", "Standard output cannot be written.");
    talloc_free(text);
    talloc_free(rows);
    return done;
}

static bool print_new(struct ctl *ctl, const struct audit_filter *filter, struct seen *seen,
                      struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const cJSON *recent, *event;
    bool done = audit_recent(ctl->connection, scratch, filter, NULL, &recent, fault);

    if (done) {
        cJSON_ArrayForEach(event, recent)
        {
            if (done && !is_seen(seen, json_text(event, "id")))
                done = print_event(ctl, event, fault);
        }
        if (done)
            forget_old(seen, recent);
    }
    talloc_free(scratch);
    return done;
}

/* Waits, and sees meanwhile whether whoever reads a pipe has left: without an event nothing would tell. */
static bool is_read(int wait_ms, struct fault *fault)
{
    struct pollfd output = {.fd = STDOUT_FILENO};

    if (poll(&output, 1, wait_ms) <= 0 || !(output.revents & (POLLERR | POLLNVAL)))
        return true;
    (void)raise(SIGPIPE); /* as a write would */
    return fault_set(fault, FAULT_UNAVAILABLE, "OUTPUT_FAILED", "Nobody reads standard output any more.");
}

/* Until it is interrupted, the output is gone, or the right is lost; a database that goes away is waited for.
 */
static bool follow(struct ctl *ctl, const struct audit_filter *filter, struct seen *seen, struct fault *fault)
{
    bool told = false;

    for (;;) {
        bool fine = ctl->connection && !pg_is_broken(ctl->connection);

        if (!fine)
            fine = ctl_connect(ctl, fault) && policy_may_read(ctl->caller, "openclaw.audit.read", fault);
        if (fine) {
            told = false;
            fine = print_new(ctl, filter, seen, fault);
        }
        if (!fine && (fault->class != FAULT_UNAVAILABLE || fault_is(fault, "OUTPUT_FAILED")))
            return false;
        if (!fine && !told)
            ctl_say("%s; waiting for it [%s]", fault->message, fault->code);
        told = told || !fine;
        if (!is_read(fine ? FOLLOW_EVERY_MS : CONNECT_EVERY_MS, fault))
            return false;
    }
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    struct audit_filter filter = {
        .kind = options_text(ctl->options, "kind"),
        .actor_id = options_text(ctl->options, "actor"),
        .action = options_text(ctl->options, "action"),
        .work_id = options_text(ctl->options, "work"),
    };
    const cJSON *rows, *recent = NULL, *event;
    struct seen seen = {0};
    bool following = options_true(ctl->options, "follow");

    if (!policy_may_read(ctl->caller, "openclaw.audit.read", fault) ||
        !ctl_namespace(ctl, &filter.namespace_id, fault))
        return false;
    /* What is recent now, and older than the newest so many, is not to be shown later either. */
    if (following && !audit_recent(ctl->connection, ctl->memory, &filter, NULL, &recent, fault))
        return false;
    if (!audit_list(ctl->connection, ctl->memory, &filter, (unsigned)options_number(ctl->options, "limit"),
                    NULL, &rows, fault))
        return false;
    if (!following)
        return output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
    ctl->output.streaming = true;
    cJSON_ArrayForEach(event, recent)
    {
        remember(&seen, json_text(event, "id"));
    }
    if (ctl->output.form == OUTPUT_TABLE &&
        !output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault))
        return false;
    cJSON_ArrayForEach(event, rows)
    {
        if (ctl->output.form != OUTPUT_TABLE && !print_event(ctl, event, fault))
            return false;
        if (!is_seen(&seen, json_text(event, "id")))
            remember(&seen, json_text(event, "id"));
    }
    return follow(ctl, &filter, &seen, fault);
}

static const struct option list_options[] = {
    {.flag = "follow",
     .letter = 'f',
     .type = OPTION_SWITCH,
     .help = "Go on showing events as they are written."},
    {.flag = "kind",
     .type = OPTION_CHOICE,
     .choices = "bootstrap|mutation|authorization_denial",
     .value = "KIND",
     .help = "Only events of this kind."},
    {.flag = "action", .type = OPTION_TEXT, .value = "ACTION", .help = "Only events of exactly this action."},
    {.flag = "actor", .type = OPTION_TEXT, .value = "ID", .help = "Only what this identity did."},
    {.flag = "work", .type = OPTION_TEXT, .value = "ID", .help = "Only the evidence of this item of work."},
    {.flag = "limit",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = 100000,
     .value = "NUMBER",
     .fallback = "100",
     .help = "The newest so many; they are shown oldest first."},
};
static const struct option_table list_table = {"Selection", list_options, COUNT_OF(list_options)};

const struct command audit_commands[] = {
    {
        .name = "audit list",
        .options = &list_table,
        .in_namespace = true,
        .summary =
            "Shows who did what, and how it ended. Needs installation:administer, and namespace:read with "
            "--namespace.",
        .run = list,
    },
    {0},
};
