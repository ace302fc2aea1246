/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/configuration_change.h"

#include "lib/admit/document.h"
#include "lib/admit/driver.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/namespace_admission.h"
#include "lib/store/transaction.h"

#define READ_ACTION "openclaw.configurations.read"

static bool missing(const char *id, struct fault *fault)
{
    return fault_set(fault, FAULT_NOT_FOUND, "CONFIGURATION_NOT_FOUND",
                     "There is no Configuration with the ID \"%s\".", id);
}

bool configuration_require(struct caller *caller, const void *memory, const char *id,
                           enum configuration_lock lock, struct configuration_row **row, struct fault *fault)
{
    struct configuration_row *found;

    if (!configuration_find(caller->connection, memory, id, lock, caller->watch, &found, fault))
        return false;
    if (!found)
        return missing(id, fault);
    *row = found;
    return true;
}

struct iam_question configuration_question(const char *namespace_id, const char *id, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "configuration",
        .resource_id = id,
        .namespace_id = namespace_id,
    };
}

struct subject_namespace configuration_owner(const struct configuration_row *row)
{
    return (struct subject_namespace){row->namespace_id, row->namespace_name, row->existing_namespace};
}

/* ---- The Driver */

bool configuration_store_text(struct caller *caller, const struct configuration_driver *driver,
                              const struct subject_namespace *owner, const char *id, const char *document,
                              size_t length, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct driver_call call = driver_call_new(caller, scratch);
    const bool done = driver->operations->store(driver->self, &call, owner, id, document, length, fault);

    talloc_free(scratch);
    return done || driver_failed(fault);
}

bool configuration_remove_text(struct caller *caller, const struct configuration_driver *driver,
                               const struct subject_namespace *owner, const char *id, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct driver_call call = driver_call_new(caller, scratch);
    const bool done = driver->operations->remove(driver->self, &call, owner, id, fault);

    talloc_free(scratch);
    return done || driver_failed(fault);
}

bool configuration_read_text(struct caller *caller, const struct configuration_driver *driver,
                             const void *memory, const struct subject_namespace *owner, const char *id,
                             const char **document, size_t *length, struct fault *fault)
{
    const struct driver_call call = driver_call_new(caller, memory);

    if (driver->operations->read(driver->self, &call, owner, id, document, length, fault))
        return true;
    (void)driver_failed(fault);
    if (fault_is(fault, "CONFIGURATION_DOCUMENT_MISSING"))
        fault->class = FAULT_NOT_FOUND;
    return false;
}

/* ---- For people */

static bool may_read(struct caller *caller, const struct configuration_row *row, struct fault *fault)
{
    const struct iam_question question = configuration_question(row->namespace_id, row->id, "read");

    return caller_may(caller, READ_ACTION, &question, fault);
}

bool configuration_get(struct caller *caller, const void *context, const char *id, const cJSON **found,
                       struct fault *fault)
{
    struct configuration_row *row = NULL;
    const cJSON *document;

    if (!configuration_require(caller, context, id, CONFIGURATION_LOOK, &row, fault) ||
        !may_read(caller, row, fault) ||
        !configuration_document(caller->connection, context, id, caller->watch, &document, fault))
        return false;
    if (!document)
        return missing(id, fault);
    *found = document;
    return true;
}

/* A program that died between the Driver and the commit has left a text that is no generation's. A row of
 * which nobody has said the digest is taken at its word. */
static bool check_digest(const struct configuration_driver *driver, const struct configuration_row *row,
                         const char *digest, struct fault *fault)
{
    if (!row->digest || text_equal(row->digest, digest))
        return true;
    return fault_set(fault, FAULT_CONFLICT, "CONFIGURATION_DOCUMENT_MISMATCH",
                     "What %s keeps for the Configuration %s is not the text of its generation %lld: a write "
                     "of it was cut short, or somebody else has changed it. Look at it (occctl configuration "
                     "get --document), and update it.",
                     driver->id, row->id, (long long)row->generation);
}

static void doubt_text(const struct configuration_driver *driver, const struct configuration_row *row,
                       const char *document, size_t length, struct fault *doubt)
{
    char hex[HASH_DIGITS + 1];

    *doubt = (struct fault){.class = FAULT_NONE};
    hash_hex(document, length, HASH_DIGITS, hex);
    (void)!check_digest(driver, row, hex, doubt);
}

/* The row is held meanwhile, so that a text whose write is not committed yet is not shown. */
bool configuration_read(struct caller *caller, const struct configuration_driver *driver, const void *context,
                        const char *id, const char **document, size_t *length, struct fault *doubt,
                        struct fault *fault)
{
    struct configuration_row *row = NULL;
    struct subject_namespace owner;
    bool done;

    if (!configuration_require(caller, context, id, CONFIGURATION_LOOK, &row, fault) ||
        !may_read(caller, row, fault) || !transaction_begin(caller->connection, caller->watch, fault))
        return false;
    done = configuration_require(caller, context, id, CONFIGURATION_SHARE, &row, fault);
    if (done) {
        owner = configuration_owner(row);
        done = configuration_read_text(caller, driver, context, &owner, id, document, length, fault);
    }
    if (done)
        doubt_text(driver, row, *document, *length, doubt);
    transaction_rollback(caller->connection, caller->watch);
    return done;
}

bool configuration_list(struct caller *caller, const void *context, const char *namespace_id,
                        const cJSON **rows, struct fault *fault)
{
    const cJSON *all;

    return configuration_documents(caller->connection, context, namespace_id, caller->watch, &all, fault) &&
           caller_readable_documents(caller, context, "configuration", all, rows, fault);
}

/* ---- For deployments */

/* What the Driver keeps may have been changed by somebody else than this program. */
static bool check_kept(const struct configuration_driver *driver, const char *id, const char *document,
                       size_t length, struct fault *fault)
{
    struct fault wrong;

    if (document_check(document, length, &wrong))
        return true;
    return fault_set(fault, FAULT_CONFLICT, "CONFIGURATION_DOCUMENT_INVALID",
                     "What %s keeps for the Configuration %s is none any more; update it. %s [%s]",
                     driver->id, id, wrong.message, wrong.code);
}

bool configuration_snapshot(struct admission *admission, const struct configuration_driver *driver,
                            const char *namespace_id, const char *configuration_id, const char *log_level,
                            struct configuration_snapshot *snapshot, struct fault *fault)
{
    struct configuration_row *row = NULL;
    struct subject_namespace owner;
    struct configuration_text text;
    const char *document;
    size_t length;

    if (!configuration_require(admission->caller, admission->memory, configuration_id, CONFIGURATION_SHARE,
                               &row, fault))
        return false;
    if (!text_equal(row->namespace_id, namespace_id))
        return missing(configuration_id, fault);
    owner = configuration_owner(row);
    if (!configuration_read_text(admission->caller, driver, admission->memory, &owner, row->id, &document,
                                 &length, fault) ||
        !check_kept(driver, row->id, document, length, fault))
        return false;
    if (!configuration_normalize(admission->connection, admission->memory, document, log_level,
                                 admission->watch, &text, fault)) {
        if (fault_is(fault, "DOCUMENT_REFUSED"))
            fault->class = FAULT_CONFLICT;
        return false;
    }
    if (!check_digest(driver, row, text.digest, fault))
        return false;
    *snapshot = (struct configuration_snapshot){
        .kind = row->kind,
        .generation = row->generation,
        .secret_bindings = row->secret_bindings,
        .draft_spec = text.normal,
    };
    return true;
}
