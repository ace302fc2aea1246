/* SPDX-License-Identifier: MIT
 *
 * One call of occctl: its settings, its connection, and who asks.
 */
#ifndef OCC_CTL_CTL_H
#define OCC_CTL_CTL_H

#include "lib/admit/caller.h"
#include "lib/config/settings.h"
#include "src/ctl/output.h"

struct command;
struct drivers;

struct ctl {
    void *memory;
    const struct command *command;
    struct options *options;
    struct findings *findings;
    const char *const *operands;
    size_t operand_count;
    struct output output;
    enum settings_mode mode;
    struct settings_url url;
    struct pg *connection;
    struct caller *caller;
    struct drivers *drivers; /* those of src/ctl/drivers.h that are open */
    int timeout_ms;          /* of connecting and of each statement */
    int status; /* the exit status of a command that succeeded in itself: 0, or 5 when what it awaited failed
                 */
};

/* One command. `run` is called connected and authenticated. */
struct command {
    const char *name; /* "namespace create" */
    const char *operands;
    size_t operands_least, operands_most;
    const struct option_table *options; /* its own; NULL: none */
    const char *summary;                /* sentences */
    bool (*run)(struct ctl *ctl, struct fault *fault);
    bool in_namespace; /* takes --namespace */
    bool any_schema;   /* tries with another schema than this program's too */
};

#define CTL_EXIT_ENDED_OTHERWISE 5

/* Connects and authenticates, or does so again after the connection broke. */
bool ctl_connect(struct ctl *ctl, struct fault *fault) MUST_USE;

/* One line on stderr, "occctl: …". */
void ctl_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* The Namespace of --namespace (or OCC_NAMESPACE) as an identifier that the caller may read; NULL where none
 * is given. */
bool ctl_namespace(struct ctl *ctl, const char **id, struct fault *fault) MUST_USE;

/* The commands of each noun. */
extern const struct command installation_commands[];
extern const struct command namespace_commands[];
extern const struct command configuration_commands[];
extern const struct command agent_commands[];
extern const struct command work_commands[];
extern const struct command audit_commands[];
extern const struct command iam_identity_commands[];
extern const struct command iam_group_commands[];
extern const struct command iam_role_commands[];
extern const struct command iam_binding_commands[];
extern const struct command iam_restriction_commands[];
extern const struct command secret_commands[];
extern const struct command service_account_commands[];
extern const struct command service_key_commands[];
extern const struct command status_commands[];

#endif
