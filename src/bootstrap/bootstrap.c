/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/bootstrap/bootstrap.h"

#include "lib/admit/credential.h"
#include "lib/admit/key_file.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/iam/soundness.h"
#include "lib/io/files.h"
#include "lib/store/bootstrap.h"
#include "lib/store/transaction.h"

#include <sys/stat.h>

static bool mismatch(struct fault *fault, const char *code, const char *message)
{
    return fault_set(fault, FAULT_CONFLICT, code, "%s", message);
}

/* A key file that is still there from an earlier run must be this Installation's. */
static bool verify_key_file(const struct bootstrap_request *request, const struct key_file *file,
                            const struct bootstrap_state *state, struct fault *fault)
{
    if (!file)
        return true;
    if (!text_equal(file->installation_id, state->installation_id))
        return fault_set(fault, FAULT_CONFLICT, "SERVICE_KEY_MISMATCH",
                         "%s: %s belongs to the Installation %s, and this database describes %s.",
                         request->key_setting, request->key_path, file->installation_id,
                         state->installation_id);
    if (!state->key_known)
        return fault_set(fault, FAULT_CONFLICT, "SERVICE_KEY_MISMATCH",
                         "%s: the key in %s is not known to this Installation.", request->key_setting,
                         request->key_path);
    return true;
}

static bool verify(struct pg *connection, const void *context, const struct bootstrap_request *request,
                   const struct key_file *file, const struct bootstrap_state *state, struct fault *fault)
{
    struct iam_defect *defects;
    size_t count;

    if (!text_equal(state->installation_name, request->installation_name))
        return fault_set(fault, FAULT_CONFLICT, "INSTALLATION_NAME_MISMATCH",
                         "The Installation %s is named \"%s\", not \"%s\".", state->installation_id,
                         state->installation_name, request->installation_name);
    if (!state->has_audit)
        return mismatch(fault, "INSTALLATION_INCOMPLETE", "The evidence of the bootstrap is missing.");
    if (!state->has_user)
        return fault_set(fault, FAULT_CONFLICT, "ADMINISTRATOR_MISMATCH",
                         "The Installation %s has no user with the e-mail address %s.",
                         state->installation_id, request->email);
    if (!state->has_password || !state->has_identity)
        return fault_set(fault, FAULT_CONFLICT, "INSTALLATION_INCOMPLETE", "The administrator %s has no %s.",
                         request->email, state->has_password ? "identity" : "password");
    if (!state->has_service_key)
        return mismatch(fault, "INSTALLATION_INCOMPLETE",
                        "The Installation has no service principal with a service key.");
    if (!state->has_namespace)
        return mismatch(fault, "INSTALLATION_INCOMPLETE",
                        "The Namespace \"" BOOTSTRAP_NAMESPACE "\" is missing.");
    if (!verify_key_file(request, file, state, fault))
        return false;
    if (!iam_check_soundness(connection, context, NULL, &defects, &count, fault))
        return false;
    if (count > 0)
        return mismatch(fault, defects[0].code, defects[0].message);
    return true;
}

static bool exists(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0;
}

/* Both are looked at before anything is made, so that a file in the way leaves nothing half done;
 * file_create_private() is what guarantees it. */
static bool outputs_are_free(const struct bootstrap_request *request, struct fault *fault)
{
    if (exists(request->password_path))
        return fault_set(fault, FAULT_CONFIGURATION, "OUTPUT_FILE_REFUSED", "%s: %s exists already.",
                         request->password_setting, request->password_path);
    if (exists(request->key_path))
        return fault_set(fault, FAULT_CONFIGURATION, "OUTPUT_FILE_REFUSED", "%s: %s exists already.",
                         request->key_setting, request->key_path);
    return true;
}

static void name_everything(struct bootstrap_plan *plan)
{
    identifier_new(plan->installation_id, "ins_");
    identifier_new(plan->namespace_id, "ns_");
    uuid_new(plan->user_id);
    uuid_new(plan->account_id);
    uuid_new(plan->administrator_id);
    uuid_new(plan->service_principal_id);
    uuid_new(plan->role_id);
    uuid_new(plan->key_id);
}

static bool write_files(const struct bootstrap_request *request, const struct bootstrap_plan *plan,
                        const struct secret *password, const struct secret *key, const char *expires_at,
                        struct bootstrap_report *report, struct fault *fault)
{
    const struct key_file file = {
        .id = plan->key_id,
        .service_principal_id = plan->service_principal_id,
        .name = plan->key_name,
        .expires_at = expires_at,
        .installation_id = plan->installation_id,
        .key = key,
    };

    if (!file_create_private(request->password_setting, "OUTPUT_FILE_REFUSED", request->password_path,
                             secret_expose(password), secret_length(password), fault)) {
        report->wrote_password = exists(request->password_path);
        return false;
    }
    report->wrote_password = true;
    if (!key_file_write(request->key_setting, request->key_path, &file, fault)) {
        report->wrote_key = exists(request->key_path);
        return false;
    }
    report->wrote_key = true;
    return true;
}

/* The rows first, so that a row that is refused leaves no files; the files before the commit, so that nobody
 * ever has an Installation that nobody can enter. */
static bool create(struct pg *connection, const void *context, const struct bootstrap_request *request,
                   struct bootstrap_report *report, struct fault *fault)
{
    struct bootstrap_plan *plan = mem_new(context, struct bootstrap_plan);
    struct secret *password = credential_new_password(plan), *key = credential_new_service_key(plan);
    char key_hash[SERVICE_KEY_HASH_SIZE];

    if (!outputs_are_free(request, fault))
        return false;
    name_everything(plan);
    credential_hash_service_key(key, key_hash);
    plan->installation_name = request->installation_name;
    plan->email = request->email;
    plan->key_name = "bootstrap";
    plan->key_hash = key_hash;
    if (!credential_hash_password(plan, password, &plan->password_hash, fault) ||
        !bootstrap_write(connection, plan, plan, NULL, &report->key_expires_at, fault) ||
        !write_files(request, plan, password, key, report->key_expires_at, report, fault))
        return false;
    if (!transaction_commit(connection, NULL, fault)) {
        if (pg_outcome_unknown(connection))
            (void)fault_set(
                fault, FAULT_UNAVAILABLE, "BOOTSTRAP_OUTCOME_UNKNOWN",
                "The connection broke during the commit, so that it is not known whether the "
                "Installation was created: keep the files and run occ-bootstrap again, which tells.");
        return false;
    }
    report->installation_id = plan->installation_id;
    report->namespace_id = plan->namespace_id;
    report->service_principal_id = plan->service_principal_id;
    report->key_id = plan->key_id;
    return true;
}

/* The key file of an earlier run, where there is one. */
static bool read_earlier_key(const void *context, const struct bootstrap_request *request,
                             struct key_file **file, struct fault *fault)
{
    *file = NULL;
    if (!exists(request->key_path))
        return true;
    if (key_file_read(context, request->key_setting, request->key_path, file, fault))
        return true;
    fault->class = FAULT_CONFLICT;
    return false;
}

static bool decide(struct pg *connection, const void *context, const struct bootstrap_request *request,
                   struct bootstrap_report *report, struct fault *fault)
{
    struct bootstrap_state state;
    struct key_file *file = NULL;
    char key_hash[SERVICE_KEY_HASH_SIZE];
    struct fault unreadable;
    bool readable = read_earlier_key(context, request, &file, &unreadable);

    if (file)
        credential_hash_service_key(file->key, key_hash);
    if (!bootstrap_lock(connection, NULL, fault) ||
        !bootstrap_inspect(connection, context, request->email, file ? key_hash : NULL, NULL, &state, fault))
        return false;
    if (state.installation_id) {
        report->already = true;
        report->installation_id = state.installation_id;
        if (!readable) {
            *fault = unreadable;
            return false;
        }
        return verify(connection, context, request, file, &state, fault);
    }
    if (state.remains)
        return fault_set(
            fault, FAULT_CONFLICT, "INSTALLATION_HALF_DONE",
            "The database has no Installation, and yet it holds %s: restore it, or start with an empty one.",
            state.remains);
    return create(connection, context, request, report, fault);
}

bool bootstrap_run(struct pg *connection, const void *context, const struct bootstrap_request *request,
                   struct bootstrap_report *report, struct fault *fault)
{
    bool done;

    memset(report, 0, sizeof *report);
    if (!transaction_begin(connection, NULL, fault))
        return false;
    done = decide(connection, context, request, report, fault);
    if (!done || report->already)
        transaction_rollback(connection, NULL);
    return done;
}
