/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's world: what its operations make, one small file a thing.
 *
 * A revision is "prepared", "active", "stopped" or "retired". An Agent has one route: activating a revision
 * takes it from the one that had it. What a host must never ask for is done all the same and written down as
 * a "violation", which the tests look for.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#include <dirent.h>
#include <errno.h>

static const char *named(struct act *act, const char *kind, const char *id)
{
    /* Names of a Secret's place come from the database: they must not lead out of the folder. */
    if (!*id || *id == '.' || strchr(id, '/')) {
        errno = EINVAL;
        folder_failed(id);
    }
    return act->host->format(act->call, "world/%s/%s", kind, id);
}

static const char *quoted(struct act *act, const char *text)
{
    return text ? act->host->json_quote(act->call, text) : "null";
}

static void changed(struct act *act, int what)
{
    journal(act, "effect", "\"changed\":%s", what ? "true" : "false");
}

/* A thing that is there or not. */
static enum occ_result make(struct act *act, const char *kind, const char *id, const char *text)
{
    const char *name = named(act, kind, id);
    int lock;

    if (act->call->observe_only) {
        if (folder_has(act, name))
            return OCC_READY;
        (void)snprintf(act->answer->code, sizeof act->answer->code, "SCRIPTED_NOT_THERE");
        return OCC_PENDING;
    }
    lock = folder_lock(act);
    changed(act, !folder_has(act, name));
    folder_write(act, name, text, strlen(text));
    folder_unlock(lock);
    return OCC_READY;
}

static enum occ_result unmake(struct act *act, const char *kind, const char *id)
{
    const char *name = named(act, kind, id);
    int lock;

    if (act->call->observe_only) {
        if (!folder_has(act, name))
            return OCC_READY;
        (void)snprintf(act->answer->code, sizeof act->answer->code, "SCRIPTED_STILL_THERE");
        return OCC_PENDING;
    }
    lock = folder_lock(act);
    changed(act, folder_remove(act, name));
    folder_unlock(lock);
    return OCC_READY;
}

/* Calls `each` with what is written of every thing of a kind. */
static void for_all(struct act *act, const char *kind,
                    void (*each)(struct act *act, const char *id, const struct occ_json *thing))
{
    const char *folder = act->host->format(act->call, "world/%s", kind);
    DIR *listing = opendir(folder_path(act, folder));
    const struct dirent *entry;
    const char *text;
    size_t length;

    if (!listing)
        return;
    while ((entry = readdir(listing))) {
        if (strchr(entry->d_name, '.'))
            continue; /* itself, its parent, and files that are being written */
        text = folder_read(act, act->host->format(act->call, "%s/%s", folder, entry->d_name), &length);
        if (text)
            each(act, entry->d_name, act->host->json_read(act->call, text, length));
    }
    (void)closedir(listing);
}

static const char *said(struct act *act, const struct occ_json *thing, const char *name)
{
    return act->host->json_text(act->host->json_member(thing, name), "");
}

static void agent_of_namespace(struct act *act, const char *id, const struct occ_json *thing)
{
    if (strcmp(said(act, thing, "namespaceId"), act->namespace_id) == 0)
        journal(act, "violation", "\"why\":\"the Namespace is deleted while Agent %s is there\"", id);
}

enum occ_result world_ensure_namespace(struct act *act)
{
    return make(act, "namespace", act->namespace_id,
                act->host->format(act->call, "{\"id\":%s,\"name\":%s,\"existingNamespace\":%s}\n",
                                  quoted(act, act->namespace_id), quoted(act, act->namespace_name),
                                  quoted(act, act->namespace_->existing_namespace)));
}

enum occ_result world_delete_namespace(struct act *act)
{
    if (!act->call->observe_only)
        for_all(act, "agent", agent_of_namespace);
    return unmake(act, "namespace", act->namespace_id);
}

static const char *agent_text(struct act *act)
{
    return act->host->format(act->call,
                             "{\"id\":%s,\"namespaceId\":%s,\"name\":%s,\"servicePrincipalId\":%s}\n",
                             quoted(act, act->agent_id), quoted(act, act->namespace_id),
                             quoted(act, act->agent_name), quoted(act, act->agent->service_principal_id));
}

enum occ_result world_bind_agent(struct act *act)
{
    return make(act, "agent", act->agent_id, agent_text(act));
}

enum occ_result world_provision(struct act *act)
{
    return make(act, "credentials", act->agent_id, agent_text(act));
}

static void revision_of_agent(struct act *act, const char *id, const struct occ_json *thing)
{
    if (strcmp(said(act, thing, "agentId"), act->agent_id) == 0 &&
        strcmp(said(act, thing, "state"), "retired") != 0)
        journal(act, "violation",
                "\"why\":\"the Agent's credentials are deleted while revision %s is there\"", id);
}

enum occ_result world_delete_agent(struct act *act)
{
    if (!act->call->observe_only)
        for_all(act, "revision", revision_of_agent);
    (void)unmake(act, "credentials", act->agent_id);
    return unmake(act, "agent", act->agent_id);
}

/* ---- Revisions */

static const char *bindings_text(struct act *act)
{
    const struct occ_revision *revision = act->revision;
    const char *text = "";
    uint32_t index;

    for (index = 0; index < revision->binding_count; index++)
        text = act->host->format(act->call, "%s%s{\"name\":%s,\"secretId\":%s,\"backendName\":%s}", text,
                                 index ? "," : "", quoted(act, revision->bindings[index]->name),
                                 quoted(act, revision->bindings[index]->place->secret_id),
                                 quoted(act, revision->bindings[index]->place->backend_name));
    return text;
}

static void write_revision(struct act *act, const char *state)
{
    const struct occ_revision *revision = act->revision;
    const char *secret = revision->harness_secret ? revision->harness_secret->secret_id : NULL;
    const char *text = act->host->format(
        act->call,
        "{\"id\":%s,\"namespaceId\":%s,\"agentId\":%s,\"number\":%lld,\"first\":%s,\"state\":\"%s\","
        "\"configurationId\":%s,\"configurationGeneration\":%lld,\"document\":%s,\"harness\":{\"id\":%s,"
        "\"version\":%s,\"mode\":%s},\"harnessAuth\":%s,\"harnessSecretId\":%s,\"secretDriverId\":%s,"
        "\"sandboxDriverId\":%s,\"bindings\":[%s]}\n",
        quoted(act, revision->id), quoted(act, act->namespace_id), quoted(act, act->agent_id),
        (long long)revision->number, revision->first ? "true" : "false", state,
        quoted(act, revision->configuration_id), (long long)revision->configuration_generation,
        revision->document ? revision->document : "null", quoted(act, revision->harness_id),
        quoted(act, revision->harness_version), quoted(act, revision->harness_mode),
        revision->harness_auth ? revision->harness_auth : "null", quoted(act, secret),
        quoted(act, revision->secret_driver_id), quoted(act, revision->sandbox_driver_id),
        bindings_text(act));

    folder_write(act, named(act, "revision", act->revision_id), text, strlen(text));
}

/* The state that a revision is in; "": it was never prepared. */
static const char *state_of(struct act *act)
{
    size_t length;
    const char *text = folder_read(act, named(act, "revision", act->revision_id), &length);

    return text ? said(act, act->host->json_read(act->call, text, length), "state") : "";
}

/* From one state into another; into the one that it has, nothing is done. */
static void become(struct act *act, const char *from, const char *to)
{
    int differs = strcmp(from, to) != 0;

    if (differs)
        write_revision(act, to);
    journal(act, "effect", "\"changed\":%s,\"from\":\"%s\",\"to\":\"%s\"", differs ? "true" : "false", from,
            to);
}

static int is_rival(struct act *act, const char *id, const struct occ_json *thing)
{
    return strcmp(said(act, thing, "agentId"), act->agent_id) == 0 && strcmp(id, act->revision_id) != 0;
}

static int needs_stopped(const struct act *act)
{
    size_t length;
    const char *modes = folder_read(act, "needs-stopped", &length);

    return modes && strstr(modes, act->revision->harness_mode);
}

static void runs_beside(struct act *act, const char *id, const struct occ_json *thing)
{
    const char *state = said(act, thing, "state");

    if (is_rival(act, id, thing) && (strcmp(state, "prepared") == 0 || strcmp(state, "active") == 0))
        journal(act, "violation",
                "\"why\":\"revision %lld is prepared while %s, which should be stopped, is %s\"",
                (long long)act->number, id, state);
}

enum occ_result world_prepare(struct act *act)
{
    int lock = folder_lock(act);
    const char *state = state_of(act);

    if (strcmp(state, "retired") == 0)
        journal(act, "violation", "\"why\":\"a retired revision is prepared\"");
    if (needs_stopped(act))
        for_all(act, "revision", runs_beside);
    /* What serves is prepared. */
    become(act, state, strcmp(state, "active") == 0 ? "active" : "prepared");
    folder_unlock(lock);
    return OCC_READY;
}

static void loses_route(struct act *act, const char *id, const struct occ_json *thing)
{
    static const char active[] = "\"state\":\"active\"";
    const char *name = named(act, "revision", id);
    const char *text, *place;
    size_t length;

    if (!is_rival(act, id, thing) || strcmp(said(act, thing, "state"), "active") != 0)
        return;
    if (act->host->json_number(act->host->json_member(thing, "number"), 0) > act->number)
        journal(act, "violation", "\"why\":\"an older revision takes the route of %s\"", id);
    if (needs_stopped(act))
        journal(act, "violation", "\"why\":\"two revisions are active: %s too\"", id);
    text = folder_read(act, name, &length);
    place = text ? strstr(text, active) : NULL;
    if (!place)
        return;
    text = act->host->format(act->call, "%.*s\"state\":\"prepared\"%s", (int)(place - text), text,
                             place + sizeof active - 1);
    folder_write(act, name, text, strlen(text));
}

enum occ_result world_activate(struct act *act)
{
    int lock = folder_lock(act);
    const char *state = state_of(act);

    if (strcmp(state, "prepared") != 0 && strcmp(state, "active") != 0)
        journal(act, "violation", "\"why\":\"a revision is activated that is \\\"%s\\\"\"", state);
    for_all(act, "revision", loses_route);
    become(act, state, "active");
    folder_unlock(lock);
    return OCC_READY;
}

/* For what takes a revision back: one that was never prepared has nothing to be taken. */
static enum occ_result take_back(struct act *act, const char *to)
{
    int lock = folder_lock(act);
    const char *state = state_of(act);

    become(act, state, *state && strcmp(state, "retired") != 0 ? to : state);
    folder_unlock(lock);
    return OCC_READY;
}

enum occ_result world_deactivate(struct act *act)
{
    int lock = folder_lock(act);
    const char *state = state_of(act);

    become(act, state, strcmp(state, "active") == 0 ? "prepared" : state);
    folder_unlock(lock);
    return OCC_READY;
}

enum occ_result world_stop(struct act *act)
{
    return take_back(act, "stopped");
}

enum occ_result world_retire(struct act *act)
{
    return take_back(act, "retired");
}

/* ---- Bytes: Secrets' values, Configurations' documents */

static const char *bytes_kind(const struct act *act)
{
    return strncmp(act->operation, "secret.", 7) == 0 ? "secret" : "configuration";
}

enum occ_result world_keep(struct act *act)
{
    const char *name = named(act, bytes_kind(act), act->id);
    int lock = folder_lock(act);

    changed(act, 1);
    folder_write(act, name, act->bytes, act->length);
    folder_unlock(lock);
    if (act->kept) {
        (void)snprintf(act->kept->backend_namespace_name, sizeof act->kept->backend_namespace_name, "%s",
                       act->namespace_id);
        (void)snprintf(act->kept->backend_name, sizeof act->kept->backend_name, "%s", act->id);
        (void)snprintf(act->kept->backend_key, sizeof act->kept->backend_key, "value");
        (void)snprintf(act->kept->backend_uid, sizeof act->kept->backend_uid, "uid-%s", act->id);
    }
    return OCC_READY;
}

enum occ_result world_fetch(struct act *act)
{
    const char *kind = bytes_kind(act);
    const char *bytes = folder_read(act, named(act, kind, act->id), act->length_out);

    if (bytes) {
        *act->bytes_out = bytes;
        return OCC_READY;
    }
    (void)snprintf(act->answer->code, sizeof act->answer->code,
                   strcmp(kind, "secret") == 0 ? "SECRET_VALUE_MISSING" : "CONFIGURATION_DOCUMENT_MISSING");
    (void)snprintf(act->answer->message, sizeof act->answer->message, "there is nothing of this name");
    return OCC_PERMANENT;
}

enum occ_result world_drop(struct act *act)
{
    return unmake(act, bytes_kind(act), act->id);
}

/* ---- Sandboxes */

static const char *sandbox_id(const struct act *act)
{
    return act->revision_id ? act->revision_id : act->agent_id ? act->agent_id : act->namespace_id;
}

enum occ_result world_sandbox(struct act *act)
{
    return make(act, "sandbox", sandbox_id(act),
                act->host->format(act->call, "{\"namespaceId\":%s,\"agentId\":%s,\"revisionId\":%s}\n",
                                  quoted(act, act->namespace_id), quoted(act, act->agent_id),
                                  quoted(act, act->revision_id)));
}

enum occ_result world_clean_sandbox(struct act *act)
{
    return unmake(act, "sandbox", sandbox_id(act));
}
