/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/stored_secret.h"
#include "src/ctl/drivers.h"
#include "src/ctl/input.h"
#include "src/ctl/interrupt.h"

/* What the command line gives: a value, or a place. */
static bool read_value(struct ctl *ctl, const char *path, struct stored_secret_request *request,
                       struct fault *fault)
{
    const struct secret *given;
    const char *bytes;
    size_t length;

    if (!drivers_secret(ctl, &request->driver, fault) ||
        !input_read_secret(ctl->memory, path, STORED_SECRET_VALUE_LIMIT, &given, fault))
        return false;
    bytes = secret_expose(given);
    length = secret_length(given);
    if (length == 0) {
        request->value = given; /* is refused with its own words */
        return true;
    }
    if (bytes[length - 1] == '\n' && options_true(ctl->options, "trim-newline")) {
        length--;
        if (length > 0 && bytes[length - 1] == '\r')
            length--;
        given = secret_new(ctl->memory, bytes, length);
    } else if (bytes[length - 1] == '\n') {
        ctl_say("The value ends with a line break, which belongs to it; --trim-newline cuts one off.");
    }
    request->value = given;
    return true;
}

static bool read_place(struct ctl *ctl, struct stored_secret_place *place,
                       struct stored_secret_request *request, struct fault *fault)
{
    place->backend_namespace_name = options_text(ctl->options, "backend-namespace");
    place->backend_name = options_text(ctl->options, "backend-name");
    place->backend_key = options_text(ctl->options, "backend-key");
    place->backend_uid = options_text(ctl->options, "backend-uid");
    if (!place->backend_namespace_name || !place->backend_name || !place->backend_key)
        return fault_set(fault, FAULT_INVALID, "USAGE",
                         "--value-file is needed, or --backend-namespace, --backend-name and --backend-key "
                         "of a value that is there already; see --help");
    request->place = place;
    return drivers_secret_id(ctl, &place->driver_id, fault);
}

static bool read_request(struct ctl *ctl, struct stored_secret_place *place,
                         struct stored_secret_request *request, struct fault *fault)
{
    static const char *const parts[] = {"backend-namespace", "backend-name", "backend-key", "backend-uid"};
    const char *path = options_text(ctl->options, "value-file");
    size_t index;

    for (index = 0; path && index < COUNT_OF(parts); index++) {
        if (options_text(ctl->options, parts[index]))
            return fault_set(fault, FAULT_INVALID, "USAGE",
                             "--%s is where a value is already, and --value-file is a new one: give one of "
                             "them",
                             parts[index]);
    }
    return path ? read_value(ctl, path, request, fault) : read_place(ctl, place, request, fault);
}

typedef bool (*change_operation)(struct caller *caller, const void *context, const char *namespace_text,
                                 const char *text, const struct stored_secret_request *request,
                                 struct stored_secret_admission *admitted, struct fault *fault);

static bool change(struct ctl *ctl, change_operation operation, struct fault *fault)
{
    struct stored_secret_place place = {.driver_id = NULL};
    struct stored_secret_request request = {.driver = NULL};
    struct stored_secret_admission admitted = {.left = NULL};
    bool done;

    if (!read_request(ctl, &place, &request, fault))
        return false;
    interrupt_begin(ctl);
    done = operation(ctl->caller, ctl->memory, options_text(ctl->options, "namespace"), ctl->operands[0],
                     &request, &admitted, fault);
    if (!done && admitted.left)
        ctl_say("%s", admitted.left);
    return interrupt_end(ctl, done, fault) && output_document(&ctl->output, admitted.document, fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    return change(ctl, stored_secret_create, fault);
}

static bool update(struct ctl *ctl, struct fault *fault)
{
    return change(ctl, stored_secret_update, fault);
}

/* Without a Driver what has no value of ours can be deleted all the same. */
static bool delete (struct ctl *ctl, struct fault *fault)
{
    const struct secret_driver *driver = NULL;
    struct fault unopened;
    bool opened = drivers_secret(ctl, &driver, &unopened), done;

    interrupt_begin(ctl);
    done = stored_secret_delete(ctl->caller, options_text(ctl->options, "namespace"), ctl->operands[0],
                                opened ? driver : NULL, options_true(ctl->options, "keep-value"), fault);
    if (interrupt_end(ctl, done, fault))
        return true;
    if (!opened && fault_is(fault, "SECRET_DRIVER_UNAVAILABLE"))
        ctl_say("%s [%s]", unopened.message, unopened.code);
    return false;
}

static bool get(struct ctl *ctl, struct fault *fault)
{
    const cJSON *found;

    return stored_secret_get(ctl->caller, ctl->memory, options_text(ctl->options, "namespace"),
                             ctl->operands[0], &found, fault) &&
           output_document(&ctl->output, found, fault);
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"DRIVER", "driverId", COLUMN_TEXT},
        {"REGISTERED", "registered", COLUMN_TEXT},
        {"AGE", "ageMs", COLUMN_DURATION},
        {"ID", "id", COLUMN_TEXT},
        {"NAMESPACE", "namespaceId", COLUMN_TEXT},
    };
    const char *namespace_id;
    const cJSON *rows;

    return ctl_namespace(ctl, &namespace_id, fault) &&
           stored_secret_select(ctl->caller, ctl->memory, namespace_id, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static const struct option value_options[] = {
    {.flag = "value-file",
     .type = OPTION_TEXT,
     .value = "FILE",
     .help = "Where the value is: a file that nobody else may read, or - for stdin. At most 1 MiB, byte by "
             "byte as it is."},
    {.flag = "trim-newline",
     .type = OPTION_SWITCH,
     .help = "Cut one line break off the value's end, which editors and echo put there."},
    {.flag = "backend-namespace",
     .type = OPTION_TEXT,
     .value = "NAME",
     .help = "Register a value that is with the Secret Driver already instead: the namespace that it is in. "
             "Needs installation:administer as well."},
    {.flag = "backend-name", .type = OPTION_TEXT, .value = "NAME", .help = "The object that holds it."},
    {.flag = "backend-key", .type = OPTION_TEXT, .value = "KEY", .help = "The key under which it is there."},
    {.flag = "backend-uid",
     .type = OPTION_TEXT,
     .value = "UID",
     .help = "The object's UID: another object of the same name is not taken for it."},
};
static const struct option_table value_table = {"Value", value_options, COUNT_OF(value_options)};
static const struct option delete_options[] = {
    {.flag = "keep-value",
     .type = OPTION_SWITCH,
     .help = "Leave the value where it is, with a Driver that is not there any more."},
};
static const struct option_table delete_table = {"Deletion", delete_options, COUNT_OF(delete_options)};

const struct command secret_commands[] = {
    {
        .name = "secret create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &value_table,
        .in_namespace = true,
        .summary = "Keeps a value with the Secret Driver, for the Agents of a Namespace. It is never shown "
                   "again. Needs secret:create on the Namespace.",
        .run = create,
    },
    {
        .name = "secret list",
        .in_namespace = true,
        .summary = "Shows the Secrets that you may read, never their values.",
        .run = list,
    },
    {
        .name = "secret get",
        .operands = "SECRET",
        .operands_least = 1,
        .operands_most = 1,
        .in_namespace = true,
        .summary = "Shows one Secret, named by ID or exact name: where its value is, never the value. Needs "
                   "secret:read on it.",
        .run = get,
    },
    {
        .name = "secret update",
        .operands = "SECRET",
        .operands_least = 1,
        .operands_most = 1,
        .options = &value_table,
        .in_namespace = true,
        .summary =
            "Replaces a Secret's value, or the place of one that was registered. What runs already gets "
            "it with its next deployment. Needs secret:update on it.",
        .run = update,
    },
    {
        .name = "secret delete",
        .operands = "SECRET",
        .operands_least = 1,
        .operands_most = 1,
        .options = &delete_table,
        .in_namespace = true,
        .summary = "Deletes a Secret that nothing names any more, and its value unless it was registered. "
                   "Needs secret:delete on it.",
        .run = delete,
    },
    {0},
};
