/* SPDX-License-Identifier: MIT
 *
 * In a write the Driver's part is the last before the commit: what fails before it leaves the text as it was.
 * A Driver that fails may have done it all the same (an answer that was lost, a time that was over), so that
 * its failure is undone like that of a commit.
 */
#include "lib/base/build.h"

#include "lib/admit/configuration_change.h"

#include "lib/admit/document.h"
#include "lib/admit/place.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define ANY_LEVEL "info" /* where only it matters that the database takes the text */

struct write {
    const struct configuration_driver *driver;
    const void *context;
    const char *text; /* the Namespace of a creation, else the Configuration's ID */
    const struct configuration_request *request;
    struct configuration_admission *admitted;
};

/* Everything about the text is known before, but whether the database takes it. *digest is NULL where the
 * text is not changed. */
static bool accept_text(struct admission *admission, const struct configuration_request *request,
                        const char **digest, struct fault *fault)
{
    struct configuration_text text = {0};

    if (request->document &&
        !configuration_normalize(admission->connection, admission->memory, request->document, ANY_LEVEL,
                                 admission->watch, &text, fault))
        return false;
    *digest = text.digest;
    return true;
}

static void add_details(struct admission *admission, const struct configuration_request *request,
                        int64_t generation)
{
    json_add_number(admission->details, "generation", generation);
    if (request && request->document)
        json_add_number(admission->details, "documentBytes", (int64_t)request->length);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct write *write = argument;
    struct configuration_admission *admitted = write->admitted;
    struct subject_namespace owner;
    struct iam_question question;
    struct namespace_row *place;
    const char *bindings, *digest;

    if (!place_enter(admission, write->text, &place, fault))
        return false;
    question = configuration_question(place->id, NULL, "create");
    if (!admission_authorize(admission, &question, fault) || !place_open(place, false, fault) ||
        !configuration_bind(admission, place->id, "[]", write->request, &bindings, fault) ||
        !accept_text(admission, write->request, &digest, fault))
        return false;
    owner = (struct subject_namespace){place->id, place->name, place->existing_namespace};
    if (admitted->stored && /* of an attempt that lost a race in its commit */
        !configuration_remove_text(admission->caller, write->driver, &owner, admitted->id, fault))
        return false;
    identifier_new(admitted->id, "cfg_");
    admitted->generation = 1;
    admitted->namespace_ = mem_text(write->context, place->id);
    add_details(admission, write->request, 1);
    admitted->stored = false;
    if (!configuration_insert(admission->connection, admitted->id, place->id, bindings, digest,
                              admission->watch, fault) ||
        !admission_record(admission, place->id, "configuration", admitted->id, fault))
        return false;
    admitted->stored = true;
    return configuration_store_text(admission->caller, write->driver, &owner, admitted->id,
                                    write->request->document, write->request->length, fault);
}

/* Keeps what a failed commit would have to bring back. After an attempt that stored and was not committed the
 * Driver has ours: the former text is that attempt's, unless somebody has written since. */
static bool keep_former(struct admission *admission, const struct write *write,
                        const struct configuration_row *row, bool text_too, struct fault *fault)
{
    struct configuration_admission *admitted = write->admitted;
    const struct subject_namespace owner = configuration_owner(row);

    if (admitted->stored && admitted->earlier == row->generation)
        return true;
    text_copy(admitted->id, sizeof admitted->id, row->id);
    admitted->namespace_ = mem_text(write->context, row->namespace_id);
    admitted->earlier = row->generation;
    admitted->stored = false;
    admitted->former = NULL;
    if (!text_too || configuration_read_text(admission->caller, write->driver, write->context, &owner,
                                             row->id, &admitted->former, &admitted->former_length, fault))
        return true;
    /* One that is lost or spoilt must not stay so for that. */
    return fault->class == FAULT_NOT_FOUND || fault->class == FAULT_CONFLICT;
}

static bool check_generation(const struct configuration_row *row, uint64_t wanted, struct fault *fault)
{
    if (wanted == 0 || (uint64_t)row->generation == wanted)
        return true;
    return fault_set(fault, FAULT_CONFLICT, "CONFIGURATION_GENERATION_MOVED",
                     "The Configuration %s is at generation %lld, and not at %llu: somebody has updated it "
                     "since you looked.",
                     row->id, (long long)row->generation, (unsigned long long)wanted);
}

static bool update(struct admission *admission, void *argument, struct fault *fault)
{
    struct write *write = argument;
    const struct configuration_request *request = write->request;
    struct configuration_row *row;
    struct subject_namespace owner;
    struct iam_question question;
    const char *bindings, *digest;

    if (!configuration_require(admission->caller, admission->memory, write->text, CONFIGURATION_ALONE, &row,
                               fault))
        return false;
    question = configuration_question(row->namespace_id, row->id, "update");
    if (!admission_authorize(admission, &question, fault) ||
        !check_generation(row, request->generation, fault) ||
        !configuration_bind(admission, row->namespace_id, row->secret_bindings, request, &bindings, fault) ||
        !accept_text(admission, request, &digest, fault) ||
        !keep_former(admission, write, row, request->document != NULL, fault) ||
        !configuration_change(admission->connection, row->id, bindings, digest, admission->watch,
                              &write->admitted->generation, fault))
        return false;
    add_details(admission, request, write->admitted->generation);
    if (!admission_record(admission, row->namespace_id, "configuration", row->id, fault))
        return false;
    if (!request->document)
        return true;
    owner = configuration_owner(row);
    write->admitted->stored = true;
    return configuration_store_text(admission->caller, write->driver, &owner, row->id, request->document,
                                    request->length, fault);
}

static bool refuse_used(struct admission *admission, const struct configuration_row *row, struct fault *fault)
{
    const char *names;
    int64_t count;

    if (!configuration_users(admission->connection, admission->memory, row->id, admission->watch, &names,
                             &count, fault))
        return false;
    if (count == 0)
        return true;
    return fault_set(
        fault, FAULT_CONFLICT, "CONFIGURATION_IN_USE",
        "The Configuration %s is used by %lld Agent%s: %s%s. Delete %s first, or give %s another "
        "Configuration.",
        row->id, (long long)count, count == 1 ? "" : "s", names, count > 4 ? ", …" : "",
        count == 1 ? "it" : "them", count == 1 ? "it" : "them");
}

/* Whoever makes an Agent of it holds the row's key until the commit: what is counted is all there is. */
static bool delete (struct admission *admission, void *argument, struct fault *fault)
{
    struct write *write = argument;
    struct configuration_row *row;
    struct subject_namespace owner;
    struct iam_question question;

    if (!configuration_require(admission->caller, admission->memory, write->text, CONFIGURATION_ALONE, &row,
                               fault))
        return false;
    question = configuration_question(row->namespace_id, row->id, "delete");
    if (!admission_authorize(admission, &question, fault) || !refuse_used(admission, row, fault) ||
        !keep_former(admission, write, row, true, fault) ||
        !configuration_remove(admission->connection, row->id, admission->watch, fault))
        return false;
    write->admitted->generation = row->generation;
    add_details(admission, NULL, row->generation);
    owner = configuration_owner(row);
    if (!admission_record(admission, row->namespace_id, "configuration", row->id, fault))
        return false;
    write->admitted->stored = true;
    return configuration_remove_text(admission->caller, write->driver, &owner, row->id, fault);
}

/* An admission that was not committed although the Driver was asked to do its part is undone here, while
 * there is a connection to look by; else it is for configuration_settle(). */
static bool run(struct caller *caller, const char *action, admission_body body, struct write *write,
                struct fault *fault)
{
    struct fault ignored;
    bool committed;

    memset(write->admitted, 0, sizeof *write->admitted);
    if (admission_run(caller, action, body, write, fault))
        return true;
    if (write->admitted->stored && !pg_is_broken(caller->connection))
        (void)!configuration_settle(caller, write->driver, write->admitted, &committed, &ignored);
    return false;
}

bool configuration_create(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *namespace_text,
                          const struct configuration_request *request,
                          struct configuration_admission *admitted, struct fault *fault)
{
    struct write write = {driver, context, namespace_text, request, admitted};

    return document_check(request->document, request->length, fault) &&
           run(caller, "openclaw.configurations.create", create, &write, fault);
}

bool configuration_update(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *id,
                          const struct configuration_request *request,
                          struct configuration_admission *admitted, struct fault *fault)
{
    struct write write = {driver, context, id, request, admitted};

    return (!request->document || document_check(request->document, request->length, fault)) &&
           run(caller, "openclaw.configurations.update", update, &write, fault);
}

bool configuration_delete(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *id,
                          struct configuration_admission *admitted, struct fault *fault)
{
    struct write write = {driver, context, id, NULL, admitted};

    return run(caller, "openclaw.configurations.delete", delete, &write, fault);
}
