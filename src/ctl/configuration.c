/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/configuration.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "src/ctl/drivers.h"
#include "src/ctl/input.h"
#include "src/ctl/interrupt.h"

/* Without another question to IAM: whoever may write need not be somebody who may read. */
static bool print_admitted(struct ctl *ctl, const struct configuration_admission *admitted,
                           struct fault *fault)
{
    cJSON *document = json_new_object(ctl->memory);

    json_add_text(document, "id", admitted->id);
    json_add_text(document, "namespaceId", admitted->namespace_);
    json_add_number(document, "generation", admitted->generation);
    return output_document(&ctl->output, document, fault);
}

/* Where the connection broke during the commit: a new one tells how that ended. */
static bool settled(struct ctl *ctl, const struct configuration_driver *driver,
                    const struct configuration_admission *admitted, struct fault *fault)
{
    struct fault ignored;
    bool committed;

    if (!fault_is(fault, "OUTCOME_UNKNOWN") || text_is_empty(admitted->id))
        return false;
    if (!ctl_connect(ctl, &ignored) ||
        !configuration_settle(ctl->caller, driver, admitted, &committed, &ignored)) {
        ctl_say("The text that is kept for the Configuration %s may be another than its generation's: update "
                "it once the database is back.",
                admitted->id);
        return false;
    }
    if (committed)
        return true;
    return fault_set(fault, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE",
                     "The connection to the database broke before the commit: nothing was changed.");
}

/* `done` is whether the admission was; interrupt_begin() was called before it. */
static bool ended(struct ctl *ctl, const struct configuration_driver *driver, bool done,
                  const struct configuration_admission *admitted, struct fault *fault)
{
    return interrupt_end(ctl, done || settled(ctl, driver, admitted, fault), fault);
}

static bool read_document(struct ctl *ctl, const char *operand, struct configuration_request *request,
                          struct fault *fault)
{
    if (input_read(ctl->memory, operand, CONFIGURATION_DOCUMENT_LIMIT, &request->document, &request->length,
                   fault))
        return true;
    if (fault_is(fault, "INPUT_TOO_LARGE"))
        text_copy(fault->code, sizeof fault->code, "DOCUMENT_TOO_LARGE");
    return false;
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const char *place = options_text(ctl->options, "namespace");
    const struct configuration_driver *driver;
    struct configuration_admission admitted = {0};
    struct configuration_request request = {0};
    bool done;

    request.bindings = options_list(ctl->options, "bind", &request.binding_count);
    if (!place)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--namespace is needed; see --help");
    if (!drivers_configuration(ctl, &driver, fault) || !read_document(ctl, ctl->operands[0], &request, fault))
        return false;
    interrupt_begin(ctl);
    done = configuration_create(ctl->caller, ctl->memory, driver, place, &request, &admitted, fault);
    return ended(ctl, driver, done, &admitted, fault) && print_admitted(ctl, &admitted, fault);
}

static bool update(struct ctl *ctl, struct fault *fault)
{
    const struct configuration_driver *driver;
    struct configuration_admission admitted = {0};
    struct configuration_request request = {.generation = options_number(ctl->options, "generation")};
    bool done;

    request.bindings = options_list(ctl->options, "bind", &request.binding_count);
    request.unbound = options_list(ctl->options, "unbind", &request.unbound_count);
    if (ctl->operand_count < 2 && request.binding_count + request.unbound_count == 0)
        return fault_set(fault, FAULT_INVALID, "USAGE",
                         "FILE, --bind or --unbind is needed: what is to change?");
    if (!drivers_configuration(ctl, &driver, fault) ||
        (ctl->operand_count == 2 && !read_document(ctl, ctl->operands[1], &request, fault)))
        return false;
    interrupt_begin(ctl);
    done =
        configuration_update(ctl->caller, ctl->memory, driver, ctl->operands[0], &request, &admitted, fault);
    return ended(ctl, driver, done, &admitted, fault) && print_admitted(ctl, &admitted, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    const struct configuration_driver *driver;
    struct configuration_admission admitted = {0};
    bool done;

    if (!drivers_configuration(ctl, &driver, fault))
        return false;
    interrupt_begin(ctl);
    done = configuration_delete(ctl->caller, ctl->memory, driver, ctl->operands[0], &admitted, fault);
    return ended(ctl, driver, done, &admitted, fault);
}

static bool print_text(struct ctl *ctl, struct fault *fault)
{
    const struct configuration_driver *driver;
    const char *document;
    struct fault doubt;
    size_t length;

    if (!drivers_configuration(ctl, &driver, fault) ||
        !configuration_read(ctl->caller, driver, ctl->memory, ctl->operands[0], &document, &length, &doubt,
                            fault))
        return false;
    if (doubt.class != FAULT_NONE)
        ctl_say("%s [%s]", doubt.message, doubt.code);
    return output_bytes(document, length, fault);
}

static bool get(struct ctl *ctl, struct fault *fault)
{
    const cJSON *document;

    if (options_true(ctl->options, "document"))
        return print_text(ctl, fault);
    return configuration_get(ctl->caller, ctl->memory, ctl->operands[0], &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},
        {"NAMESPACE", "namespaceName", COLUMN_LONG},
        {"GENERATION", "generation", COLUMN_TEXT},
        {"AGENTS", "agents", COLUMN_TEXT},
        {"AGE", "ageMs", COLUMN_DURATION},
    };
    const char *namespace_id;
    const cJSON *rows;

    return ctl_namespace(ctl, &namespace_id, fault) &&
           configuration_list(ctl->caller, ctl->memory, namespace_id, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

#define BIND_OPTION                                                                                          \
    {                                                                                                        \
        .flag = "bind", .type = OPTION_TEXT, .many = true, .value = "NAME=SECRET",                           \
        .help = "Let the runtime find this Secret of the Namespace (ID or exact name) under the name; may "  \
                "be repeated. Needs secret:read on it.",                                                     \
    }

static const struct option create_options[] = {BIND_OPTION};
static const struct option_table create_table = {"Configuration", create_options, COUNT_OF(create_options)};
static const struct option update_options[] = {
    BIND_OPTION,
    {.flag = "unbind",
     .type = OPTION_TEXT,
     .many = true,
     .value = "NAME",
     .help = "Bind no Secret under this name any more; may be repeated."},
    {.flag = "generation",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = INT64_MAX,
     .value = "NUMBER",
     .help = "Refuse unless the Configuration is still at this generation."},
};
static const struct option_table update_table = {"Configuration", update_options, COUNT_OF(update_options)};
static const struct option get_options[] = {
    {.flag = "document",
     .type = OPTION_SWITCH,
     .help = "Print the document itself, byte by byte as it was given, and nothing else."},
};
static const struct option_table get_table = {"Output", get_options, COUNT_OF(get_options)};

const struct command configuration_commands[] = {
    {
        .name = "configuration create",
        .operands = "FILE",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .summary = "Keeps a native document of Agents, read from a file or (-) from standard input. Needs "
                   "configuration:create on the Namespace.",
        .run = create,
        .in_namespace = true,
    },
    {
        .name = "configuration list",
        .summary = "Shows the Configurations that you may read, of one Namespace or of all.",
        .run = list,
        .in_namespace = true,
    },
    {
        .name = "configuration get",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .options = &get_table,
        .summary = "Shows one Configuration, or its document. Needs configuration:read on it.",
        .run = get,
    },
    {
        .name = "configuration update",
        .operands = "ID [FILE]",
        .operands_least = 1,
        .operands_most = 2,
        .options = &update_table,
        .summary = "Replaces a document, or changes its bindings; the generation rises by one. Agents that "
                   "are deployed keep what was deployed. Needs configuration:update on it.",
        .run = update,
    },
    {
        .name = "configuration delete",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Deletes a Configuration that no Agent uses. Needs configuration:delete on it.",
        .run = delete,
    },
    {0},
};
