/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/namespace.h"

#include "lib/store/namespace_admission.h"
#include "src/ctl/drivers.h"
#include "src/ctl/wait.h"

/* The id is given rather than the name, as a name could be another Namespace's id. */
static bool print_one(struct ctl *ctl, const char *id, struct fault *fault)
{
    const cJSON *document;

    return namespace_get(ctl->caller, ctl->memory, id, &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool describe(struct ctl *ctl, const void *context, const char *id, const char **text,
                     struct fault *fault)
{
    const cJSON *rows;

    if (!namespace_documents(ctl->connection, context, &id, 1, NULL, &rows, fault))
        return false;
    *text = json_text(rows->child, "status");
    return true;
}

static bool finish(struct ctl *ctl, const struct namespace_admission *admitted, const char *wanted,
                   struct fault *fault)
{
    const struct wait_goal goal = {
        .what = "Namespace", .id = admitted->id, .wanted = wanted, .describe = describe};

    if (options_true(ctl->options, "wait") &&
        !wait_for_work(ctl, admitted->work_id, admitted->name, &goal, fault))
        return false;
    if (print_one(ctl, admitted->id, fault))
        return true;
    /* The answer is lost and not the request: nobody should repeat it. */
    ctl_say("\"%s\" was admitted as the work %s; only what became of it cannot be shown.", admitted->name,
            admitted->work_id);
    return false;
}

/* Whether the Compute Driver that the worker has selected can adopt a namespace is known before anything is
 * admitted: afterwards it could only fail. */
static bool check_adoption(struct ctl *ctl, struct fault *fault)
{
    const struct compute_driver *driver;

    if (!drivers_compute(ctl, &driver, fault))
        return false;
    if (!driver->supports_existing_namespaces)
        return fault_set(
            fault, FAULT_INVALID, "EXISTING_NAMESPACE_UNSUPPORTED",
            "--existing-namespace: the Compute Driver %s makes every Namespace itself and adopts none.",
            driver->id);
    return true;
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const char *existing = options_text(ctl->options, "existing-namespace");
    struct namespace_admission admitted;

    if (!wait_is_sound(ctl, fault) || (existing && !check_adoption(ctl, fault)))
        return false;
    return namespace_create(ctl->caller, ctl->memory, ctl->operands[0], existing, &admitted, fault) &&
           finish(ctl, &admitted, "ready", fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    struct namespace_admission admitted;

    if (!wait_is_sound(ctl, fault) ||
        !namespace_delete(ctl->caller, ctl->memory, ctl->operands[0], &admitted, fault))
        return false;
    if (!admitted.changed)
        ctl_say("The deletion of \"%s\" is under way already.", admitted.name);
    return finish(ctl, &admitted, "deleted", fault);
}

static bool get(struct ctl *ctl, struct fault *fault)
{
    return print_one(ctl, ctl->operands[0], fault);
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},      {"STATUS", "status", COLUMN_STATE},
        {"AGE", "ageMs", COLUMN_DURATION},  {"WORK", "work.state", COLUMN_STATE},
        {"CODE", "work.code", COLUMN_TEXT}, {"ID", "id", COLUMN_TEXT},
    };
    const cJSON *rows;

    return namespace_list(ctl->caller, ctl->memory, options_true(ctl->options, "deleted"), &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

bool ctl_namespace(struct ctl *ctl, const char **id, struct fault *fault)
{
    const char *text = options_text(ctl->options, "namespace");

    *id = NULL;
    return !text || namespace_resolve(ctl->caller, ctl->memory, text, id, fault);
}

static const struct option create_options[] = {
    {.flag = "existing-namespace",
     .type = OPTION_TEXT,
     .value = "NAME",
     .help = "Adopt this namespace of the cluster instead of making one; needs installation:administer as "
             "well, and a "
             "Compute Driver that can."},
    WAIT_OPTIONS,
};
static const struct option_table create_table = {"Creation", create_options, COUNT_OF(create_options)};
static const struct option delete_options[] = {WAIT_OPTIONS};
static const struct option_table delete_table = {"Deletion", delete_options, COUNT_OF(delete_options)};
static const struct option list_options[] = {
    {.flag = "deleted", .type = OPTION_SWITCH, .help = "Show Namespaces that were deleted as well."},
};
static const struct option_table list_table = {"Selection", list_options, COUNT_OF(list_options)};

const struct command namespace_commands[] = {
    {
        .name = "namespace create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .summary = "Asks for a Namespace: the worker makes its infrastructure. Needs namespace:create on the "
                   "Installation.",
        .run = create,
    },
    {
        .name = "namespace list",
        .options = &list_table,
        .summary = "Shows the Namespaces that you may read.",
        .run = list,
    },
    {
        .name = "namespace get",
        .operands = "NAMESPACE",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Shows one Namespace, named by ID or exact name, and its latest work. Needs "
                   "namespace:read on it.",
        .run = get,
    },
    {
        .name = "namespace delete",
        .operands = "NAMESPACE",
        .operands_least = 1,
        .operands_most = 1,
        .options = &delete_table,
        .summary =
            "Deletes a Namespace that owns nothing any more. A deletion that failed is started again. Needs "
            "namespace:delete "
            "on it.",
        .run = delete,
    },
    {0},
};
