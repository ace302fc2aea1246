/* SPDX-License-Identifier: MIT
 *
 * A Compute Driver to start from. It keeps a folder for each Namespace, and a revision is "running" when a
 * link names its document:
 *
 *     ROOT/ns_…/owner                              the Installation that it belongs to
 *     ROOT/ns_…/agt_…/revision-3.json              prepared
 *     ROOT/ns_…/agt_…/active -> revision-3.json    activated
 *
 * What makes it a good Driver: each operation looks at what is there and does only what is missing, so that
 * it may be repeated after a crash at any point; each step is one rename or one unlink; what is not ours is
 * never touched; and every refusal says what, where and why.
 */
#include <occ/driver.h>

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the Driver was opened with. It lives as long as the process, and one process opens a Driver once. */
struct example {
    char root[256];
};

/* One operation under way: the call, and the Driver's folder, opened for it. */
struct work {
    const struct occ_call *call;
    struct occ_answer *answer;
    int root;
};

/* ---- How operations end */

static enum occ_result refuse(struct occ_answer *answer, enum occ_result result, const char *code,
                              const char *what, const char *why)
{
    snprintf(answer->code, sizeof answer->code, "%s", code);
    snprintf(answer->message, sizeof answer->message, "%s: %s", what, why);
    return result;
}

/* The one place that knows what an errno means for the work. What passes by itself is pending, and costs no
 * attempt; what may pass is retryable; nothing here is permanent, as an administrator can mend all of it. */
static enum occ_result ended(const struct work *work, int error, const char *path)
{
    struct occ_answer *answer = work->answer;

    switch (error) {
    case 0:
        return OCC_READY;
    case ECANCELED:
        return OCC_CANCELLED;
    case ENOSPC:
    case EDQUOT:
        answer->retry_after_ms = 5000;
        return refuse(answer, OCC_PENDING, "EXAMPLE_DISK_FULL", path, strerror(error));
    case EACCES:
    case EPERM:
    case EROFS:
        return refuse(answer, OCC_RETRYABLE, "EXAMPLE_ACCESS_DENIED", path, strerror(error));
    default:
        return refuse(answer, OCC_RETRYABLE, "EXAMPLE_IO_FAILED", path, strerror(error));
    }
}

/* Opens what an operation needs, and says whom the answer is about. */
static enum occ_result begin(void *self, const struct occ_call *call, const char *namespace_id,
                             struct occ_answer *answer, struct work *work)
{
    const struct example *example = self;

    snprintf(answer->namespace_id, sizeof answer->namespace_id, "%s", namespace_id);
    *work = (struct work){.call = call, .answer = answer};
    work->root = open(example->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return ended(work, work->root < 0 ? errno : 0, example->root);
}

static enum occ_result end(struct work *work, enum occ_result result)
{
    close(work->root);
    return result;
}

/* ---- Namespaces */

/* Whether ROOT/ns_… is there, and ours. A folder that does not say so may be anybody's. */
static enum occ_result look(const struct work *work, const char *namespace_id, int *there)
{
    const char *path = work->call->host->format(work->call, "%s/owner", namespace_id);
    char owner[OCC_IDENTIFIER_SIZE];
    struct stat status;
    int error;

    *there = 0;
    if (fstatat(work->root, namespace_id, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return ended(work, errno == ENOENT ? 0 : errno, namespace_id);
    error = files_read(work->root, path, owner, sizeof owner);
    if (error && error != ENOENT && error != ENOTDIR)
        return ended(work, error, path);
    if (error || strcmp(owner, work->call->installation_id) != 0)
        return refuse(work->answer, OCC_PERMANENT, "OWNERSHIP_CONFLICT", namespace_id,
                      "the folder is not of this Installation");
    *there = 1;
    return OCC_READY;
}

/* The folder is made under another name and appears whole. */
static enum occ_result make(const struct work *work, const char *namespace_id)
{
    const struct occ_host *host = work->call->host;
    const char *making = host->format(work->call, ".making-%s", namespace_id);
    const char *owner = host->format(work->call, "%s/owner", making);
    int error = files_make_folder(work->root, making);

    if (!error)
        error = files_write(work->root, owner, work->call->installation_id);
    if (!error && renameat(work->root, making, work->root, namespace_id) != 0)
        error = errno;
    if (!error)
        host->log(work->call, OCC_LOG_INFO, "EXAMPLE_FOLDER_MADE", "%s was made", namespace_id);
    return ended(work, error, namespace_id);
}

static enum occ_result ensure_namespace(void *self, const struct occ_call *call,
                                        const struct occ_namespace *wanted, struct occ_answer *answer)
{
    struct work work;
    enum occ_result result = begin(self, call, wanted->id, answer, &work);
    int there;

    if (result != OCC_READY)
        return result;
    result = look(&work, wanted->id, &there);
    if (result == OCC_READY && !there)
        result = call->observe_only
                     ? refuse(answer, OCC_PENDING, "NAMESPACE_INCOMPLETE", wanted->id, "there is no folder")
                     : make(&work, wanted->id);
    return end(&work, result);
}

static int go_on(const void *subject)
{
    const struct occ_call *call = subject;

    return call->host->check(call) != OCC_CANCELLED;
}

static enum occ_result delete_namespace(void *self, const struct occ_call *call,
                                        const struct occ_namespace *unwanted, struct occ_answer *answer)
{
    const char *deleting = call->host->format(call, ".deleting-%s", unwanted->id);
    const char *making = call->host->format(call, ".making-%s", unwanted->id);
    struct work work;
    enum occ_result result = begin(self, call, unwanted->id, answer, &work);
    int there, error = 0;

    if (result != OCC_READY)
        return result;
    result = look(&work, unwanted->id, &there);
    if (result != OCC_READY)
        return end(&work, result);
    if (call->observe_only) {
        if (there || faccessat(work.root, deleting, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            result = refuse(answer, OCC_PENDING, "NAMESPACE_INCOMPLETE", unwanted->id, "it is still there");
        return end(&work, result);
    }
    /* First out of sight in one step, then away. What an earlier attempt left goes too. */
    error = files_remove_tree(work.root, deleting, go_on, call);
    if (!error && there && renameat(work.root, unwanted->id, work.root, deleting) != 0)
        error = errno;
    if (!error)
        error = files_remove_tree(work.root, deleting, go_on, call);
    if (!error)
        error = files_remove_tree(work.root, making, go_on, call);
    return end(&work, ended(&work, error, unwanted->id));
}

/* ---- Agents and their revisions */

static const char *agent_path(const struct occ_call *call, const struct occ_agent *agent)
{
    return call->host->format(call, "%s/%s", agent->namespace_->id, agent->id);
}

static enum occ_result begin_agent(void *self, const struct occ_call *call, const struct occ_agent *agent,
                                   struct occ_answer *answer, struct work *work)
{
    snprintf(answer->agent_id, sizeof answer->agent_id, "%s", agent->id);
    return begin(self, call, agent->namespace_->id, answer, work);
}

/* Only what can be said without side effects, before anything is admitted. */
static enum occ_result validate_harness_auth(void *self, const struct occ_call *call,
                                             const struct occ_harness *harness, struct occ_answer *answer)
{
    const struct occ_host *host = call->host;
    const struct occ_json *auth = host->json_read(call, harness->auth, strlen(harness->auth));
    const char *method = host->json_text(host->json_member(auth, "method"), "");

    (void)self;
    if (strcmp(method, "api_key") != 0)
        return refuse(answer, OCC_PERMANENT, "HARNESS_AUTH_UNSUPPORTED", method, "only api_key is supported");
    return OCC_READY;
}

static enum occ_result bind_agent(void *self, const struct occ_call *call, const struct occ_agent *agent,
                                  struct occ_answer *answer)
{
    const char *path = agent_path(call, agent);
    const char *namespace_id = agent->namespace_->id;
    struct work work;
    enum occ_result result = begin_agent(self, call, agent, answer, &work);
    int there;

    if (result != OCC_READY)
        return result;
    result = look(&work, namespace_id, &there);
    /* Another Compute Driver may have been selected when the Namespace was made. */
    if (result == OCC_READY && !there)
        result = refuse(answer, OCC_PERMANENT, "EXAMPLE_NAMESPACE_MISSING", namespace_id,
                        "this Driver has no such folder; deploy in a Namespace that it has made");
    if (result == OCC_READY)
        result = ended(&work, files_make_folder(work.root, path), path);
    return end(&work, result);
}

static enum occ_result delete_agent_credentials(void *self, const struct occ_call *call,
                                                const struct occ_agent *agent, struct occ_answer *answer)
{
    const char *path = agent_path(call, agent);
    struct work work;
    enum occ_result result = begin_agent(self, call, agent, answer, &work);

    if (result != OCC_READY)
        return result;
    return end(&work, ended(&work, files_remove_tree(work.root, path, go_on, call), path));
}

/* A revision's two names. */
struct names {
    const char *document; /* "revision-3.json" */
    const char *path;     /* the document's, below the root */
    const char *active;   /* the link's */
};

static enum occ_result begin_revision(void *self, const struct occ_call *call,
                                      const struct occ_revision *revision, struct occ_answer *answer,
                                      struct work *work, struct names *names)
{
    const struct occ_host *host = call->host;
    const char *agent = agent_path(call, revision->agent);

    names->document = host->format(call, "revision-%lld.json", (long long)revision->number);
    names->path = host->format(call, "%s/%s", agent, names->document);
    names->active = host->format(call, "%s/active", agent);
    snprintf(answer->revision_id, sizeof answer->revision_id, "%s", revision->id);
    return begin_agent(self, call, revision->agent, answer, work);
}

/* A revision never changes, so that a document which is there is the right one, and complete. */
static enum occ_result prepare_revision(void *self, const struct occ_call *call,
                                        const struct occ_revision *revision, struct occ_answer *answer)
{
    struct work work;
    struct names names;
    enum occ_result result = begin_revision(self, call, revision, answer, &work, &names);
    int error = 0;

    if (result != OCC_READY)
        return result;
    if (faccessat(work.root, names.path, F_OK, 0) != 0)
        error = errno == ENOENT ? files_write(work.root, names.path, revision->document) : errno;
    return end(&work, ended(&work, error, names.path));
}

static enum occ_result activate_revision(void *self, const struct occ_call *call,
                                         const struct occ_revision *revision, struct occ_answer *answer)
{
    struct work work;
    struct names names;
    enum occ_result result = begin_revision(self, call, revision, answer, &work, &names);

    if (result != OCC_READY)
        return result;
    return end(&work, ended(&work, files_link(work.root, names.active, names.document), names.active));
}

/* The link goes only while it names this revision: another one may be active by now. */
static int withdraw(const struct work *work, const struct names *names)
{
    char target[64];
    int error = files_read_link(work->root, names->active, target, sizeof target);

    if (error)
        return error == ENOENT ? 0 : error;
    return strcmp(target, names->document) == 0 ? files_remove(work->root, names->active) : 0;
}

/* Deactivated and stopped are the same here: nothing but the link makes it run. What it keeps stays. */
static enum occ_result stop_revision(void *self, const struct occ_call *call,
                                     const struct occ_revision *revision, struct occ_answer *answer)
{
    struct work work;
    struct names names;
    enum occ_result result = begin_revision(self, call, revision, answer, &work, &names);

    if (result != OCC_READY)
        return result;
    return end(&work, ended(&work, withdraw(&work, &names), names.active));
}

static enum occ_result retire_revision(void *self, const struct occ_call *call,
                                       const struct occ_revision *revision, struct occ_answer *answer)
{
    struct work work;
    struct names names;
    enum occ_result result = begin_revision(self, call, revision, answer, &work, &names);
    int error;

    if (result != OCC_READY)
        return result;
    /* In this order: a link never names a document that is gone. */
    error = withdraw(&work, &names);
    if (!error)
        error = files_remove(work.root, names.path);
    return end(&work, ended(&work, error, names.path));
}

/* ---- The Driver and its package */

static enum occ_result open_example(const struct occ_call *call, const struct occ_open *with, void **self,
                                    struct occ_answer *answer)
{
    static struct example example;
    const struct occ_host *host = call->host;
    const struct occ_json *configuration =
        host->json_read(call, with->configuration, strlen(with->configuration));
    const char *root = host->json_text(host->json_member(configuration, "root"), "");

    /* The schema below has seen that root is there and a text; what else must hold is said here. */
    if (root[0] != '/' || strlen(root) >= sizeof example.root)
        return refuse(answer, OCC_PERMANENT, "EXAMPLE_ROOT_INVALID", root, "root must be an absolute path");
    snprintf(example.root, sizeof example.root, "%s", root);
    *self = &example;
    return OCC_READY;
}

static enum occ_result preflight(void *self, const struct occ_call *call, struct occ_answer *answer)
{
    const struct example *example = self;
    struct stat status;

    (void)call;
    if (stat(example->root, &status) != 0)
        return refuse(answer, OCC_PERMANENT, "EXAMPLE_ROOT_UNUSABLE", example->root, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return refuse(answer, OCC_PERMANENT, "EXAMPLE_ROOT_UNUSABLE", example->root, "it is no folder");
    if (access(example->root, W_OK | X_OK) != 0)
        return refuse(answer, OCC_PERMANENT, "EXAMPLE_ROOT_UNUSABLE", example->root, strerror(errno));
    if (status.st_mode & S_IWOTH) {
        snprintf(answer->warnings[0].code, OCC_CODE_SIZE, "EXAMPLE_ROOT_WRITABLE");
        snprintf(answer->warnings[0].message, OCC_MESSAGE_SIZE, "every user may write to %s", example->root);
        answer->warning_count = 1;
    }
    return OCC_READY;
}

static const struct occ_setting settings[] = {
    {.name = "root", .type = OCC_SETTING_TEXT, .required = 1},
    {.name = NULL},
};

static const struct occ_compute compute = {
    .size = sizeof compute,
    .id = "compute-" PACKAGE,
    .implementation = PACKAGE "-1",
    .settings = settings,
    .open = open_example,
    .preflight = preflight,
    .ensure_namespace = ensure_namespace,
    .delete_namespace = delete_namespace,
    .validate_harness_auth = validate_harness_auth,
    .bind_agent = bind_agent,
    .prepare_revision = prepare_revision,
    .activate_revision = activate_revision,
    .deactivate_revision = stop_revision,
    .stop_revision = stop_revision,
    .retire_revision = retire_revision,
    .delete_agent_credentials = delete_agent_credentials,
};

const struct occ_driver_package *occ_driver_package(void)
{
    static const struct occ_driver_package package = {
        .interface = OCC_DRIVER_INTERFACE,
        .size = sizeof package,
        .name = PACKAGE,
        .version = "1.0.0",
        .compute = &compute,
    };

    return &package;
}
