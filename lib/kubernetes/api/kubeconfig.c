/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/kubeconfig.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/yaml.h"

#include <sodium.h>

#define CODE "KUBERNETES_AUTHENTICATION_INVALID"
#define NAMES_SHOWN 8 /* of contexts, in a message */

struct reading {
    const struct kubeconfig_source *source;
    const void *scratch; /* until the end of the reading */
    struct kubeconfig *kubeconfig;
    struct fault *fault;
};

/* Where a field stands: a cluster, user or context, and its words for a message. */
struct entry {
    const struct yaml_node *node;
    const char *words; /* "cluster \"prod\"" */
};

static bool wrong(const struct reading *reading, const char *format, ...) PRINTF_LIKE(2, 3);

static bool wrong(const struct reading *reading, const char *format, ...)
{
    va_list arguments;
    const char *what;

    va_start(arguments, format);
    what = mem_format_list(reading->scratch, format, arguments);
    va_end(arguments);
    return fault_set(reading->fault, FAULT_CONFIGURATION, CODE, "%s.kubeconfigPath: %s: %s",
                     reading->source->setting, reading->source->path, what);
}

/* A name as a message may show it. */
static const char *shown(const struct reading *reading, const char *name)
{
    if (!text_is_printable(name) || text_characters(name) > 64)
        return "(a name that cannot be shown)";
    return mem_format(reading->scratch, "\"%s\"", name);
}

/* ---- Fields */

/* Whether a field says anything: not absent, null, "", [] or {}. */
static bool is_given(const struct yaml_node *node, const char *field)
{
    const struct yaml_node *value = yaml_field(node, field);

    if (!value || value->kind == YAML_KIND_NULL)
        return false;
    if (value->kind == YAML_KIND_MAP || value->kind == YAML_KIND_LIST)
        return value->count > 0;
    return !text_is_empty(value->text);
}

/* The text of a field; NULL where it says nothing. */
static bool read_text(const struct reading *reading, const struct entry *entry, const char *field,
                      const char **text)
{
    *text = NULL;
    if (!is_given(entry->node, field))
        return true;
    *text = yaml_text(yaml_field(entry->node, field));
    return *text ? true : wrong(reading, "%s of %s must be text", field, entry->words);
}

static bool decode(const struct reading *reading, const struct entry *entry, const char *field,
                   const char *text, struct secret **content)
{
    size_t room = strlen(text) / 4 * 3 + 3;
    unsigned char *bytes = mem_array(NULL, unsigned char, room);
    size_t length = 0;
    bool decoded = sodium_base642bin(bytes, room, text, strlen(text), " \t\r\n", &length, NULL,
                                     sodium_base64_VARIANT_ORIGINAL) == 0;

    if (decoded && length > 0)
        *content = secret_new(reading->kubeconfig, (const char *)bytes, length);
    secret_wipe(bytes, room);
    talloc_free(bytes);
    return decoded && length > 0 ? true : wrong(reading, "%s of %s is no base64", field, entry->words);
}

static char *path_beside(const struct reading *reading, const char *path)
{
    const char *kubeconfig = reading->source->path;
    size_t folder = (size_t)(strrchr(kubeconfig, '/') + 1 - kubeconfig);

    if (*path == '/')
        return mem_text(reading->kubeconfig, path);
    return mem_format(reading->kubeconfig, "%.*s%s", (int)folder, kubeconfig, path);
}

static void put_path(const struct reading *reading, const char *path, struct kubeconfig_part *part)
{
    part->path = path_beside(reading, path);
    part->where = part->path;
}

static const char *where_within(const struct reading *reading, const struct entry *entry, const char *field)
{
    return mem_format(reading->kubeconfig, "%s: %s of %s", reading->source->path, field, entry->words);
}

/* What stands as "FIELD-data" in base64, which counts when both are given, or as a path in FIELD. */
static bool read_part(const struct reading *reading, const struct entry *entry, const char *field,
                      struct kubeconfig_part *part)
{
    const char *data_field = mem_format(reading->scratch, "%s-data", field);
    const char *data;
    const char *path;

    if (!read_text(reading, entry, data_field, &data) || !read_text(reading, entry, field, &path))
        return false;
    if (data) {
        part->where = where_within(reading, entry, data_field);
        return decode(reading, entry, data_field, data, &part->content);
    }
    if (path)
        put_path(reading, path, part);
    return true;
}

/* ---- Clusters, users, contexts */

/* What there is instead in a section: "only \"prod\", \"test\"". */
static const char *names_of(const struct reading *reading, const struct yaml_node *section)
{
    char *names = mem_text(reading->scratch, "only");
    size_t count = section && section->kind == YAML_KIND_LIST ? section->count : 0;
    size_t index;

    for (index = 0; index < count && index < NAMES_SHOWN; index++) {
        const char *name = yaml_text(yaml_field(section->items[index], "name"));

        names = mem_append(names, "%s%s", index > 0 ? ", " : " ", name ? shown(reading, name) : "(no name)");
    }
    if (count > NAMES_SHOWN)
        names = mem_append(names, " and %zu more", count - NAMES_SHOWN);
    return count > 0 ? names : "nor any other";
}

/* The entry of a name in a section ("clusters") whose items hold it as `kind` ("cluster"). */
static bool find(const struct reading *reading, const struct yaml_node *root, const char *section_name,
                 const char *kind, const char *name, struct entry *entry)
{
    const struct yaml_node *section = yaml_field(root, section_name);
    const struct yaml_node *found = NULL;
    size_t count = section && section->kind == YAML_KIND_LIST ? section->count : 0;

    if (section && section->kind != YAML_KIND_LIST && section->kind != YAML_KIND_NULL)
        return wrong(reading, "%s must be a list", section_name);
    entry->words = mem_format(reading->scratch, "%s %s", kind, shown(reading, name));
    for (size_t index = 0; index < count; index++) {
        if (!text_equal(yaml_text(yaml_field(section->items[index], "name")), name))
            continue;
        if (found)
            return wrong(reading, "%s stands twice", entry->words);
        found = section->items[index];
    }
    if (!found)
        return wrong(reading, "there is no %s, %s", entry->words, names_of(reading, section));
    entry->node = yaml_field(found, kind);
    if (!entry->node || entry->node->kind == YAML_KIND_NULL)
        return wrong(reading, "%s is empty", entry->words);
    return entry->node->kind == YAML_KIND_MAP ? true : wrong(reading, "%s must be a map", entry->words);
}

/* ---- A cluster: where the server is and by what it is known */

static bool check_verification(const struct reading *reading, const struct entry *cluster)
{
    const struct yaml_node *skip = yaml_field(cluster->node, "insecure-skip-tls-verify");

    if (skip && skip->kind != YAML_KIND_NULL && skip->kind != YAML_KIND_BOOLEAN)
        return wrong(reading, "insecure-skip-tls-verify of %s must be true or false", cluster->words);
    if (skip && skip->kind == YAML_KIND_BOOLEAN && (*skip->text == 't' || *skip->text == 'T'))
        return wrong(reading, "%s has insecure-skip-tls-verify: true; the server is always verified",
                     cluster->words);
    if (is_given(cluster->node, "proxy-url"))
        return wrong(reading, "%s has a proxy-url; no proxy is used", cluster->words);
    return true;
}

static bool read_cluster(const struct reading *reading, const struct entry *cluster)
{
    struct kubeconfig *kubeconfig = reading->kubeconfig;
    const char *url;
    const char *name;
    const char *why;

    if (!check_verification(reading, cluster) || !read_text(reading, cluster, "server", &url) ||
        !read_text(reading, cluster, "tls-server-name", &name))
        return false;
    if (!url)
        return wrong(reading, "%s has no server", cluster->words);
    why = kubeconfig_server(kubeconfig, url, &kubeconfig->server, &kubeconfig->place);
    if (why)
        return wrong(reading, "server of %s %s", cluster->words, why);
    if (name && !kubeconfig_is_server_name(name))
        return wrong(reading, "tls-server-name of %s is no name of a host", cluster->words);
    kubeconfig->server_name = name ? mem_text(kubeconfig, name) : NULL;
    if (!read_part(reading, cluster, "certificate-authority", &kubeconfig->ca))
        return false;
    if (!kubeconfig->ca.where)
        return wrong(reading,
                     "%s has no trusted certificates: it needs certificate-authority or "
                     "certificate-authority-data, as none of the system's are used",
                     cluster->words);
    return true;
}

/* ---- A user: who we are */

struct refusal {
    const char *field;
    const char *why;
};

/* What would make us somebody else, or needs a program or a protocol that is not here. */
static bool check_user(const struct reading *reading, const struct entry *user)
{
    static const struct refusal refusals[] = {
        {"exec", "an exec plugin, and none is ever run"},
        {"auth-provider", "an auth-provider, which is not possible"},
        {"username", "a user name and password, which is not possible"},
        {"password", "a user name and password, which is not possible"},
        {"as", "an impersonation (as), which is not possible"},
        {"as-uid", "an impersonation (as-uid), which is not possible"},
        {"as-groups", "an impersonation (as-groups), which is not possible"},
        {"as-user-extra", "an impersonation (as-user-extra), which is not possible"},
    };

    for (size_t index = 0; index < COUNT_OF(refusals); index++) {
        if (is_given(user->node, refusals[index].field))
            return wrong(reading, "%s has %s; give it a client certificate, a token or a tokenFile",
                         user->words, refusals[index].why);
    }
    return true;
}

/* A tokenFile counts before a token, as it is the one that is rotated. */
static bool read_token(const struct reading *reading, const struct entry *user)
{
    struct kubeconfig_part *token = &reading->kubeconfig->token;
    const char *text;
    const char *path;

    if (!read_text(reading, user, "token", &text) || !read_text(reading, user, "tokenFile", &path))
        return false;
    if (path) {
        put_path(reading, path, token);
    } else if (text) {
        token->where = where_within(reading, user, "token");
        token->content = secret_new(reading->kubeconfig, text, strlen(text));
    }
    return true;
}

static bool read_user(const struct reading *reading, const struct entry *user)
{
    struct kubeconfig *kubeconfig = reading->kubeconfig;

    if (!check_user(reading, user) ||
        !read_part(reading, user, "client-certificate", &kubeconfig->certificate) ||
        !read_part(reading, user, "client-key", &kubeconfig->key) || !read_token(reading, user))
        return false;
    if (kubeconfig->certificate.where && !kubeconfig->key.where)
        return wrong(reading, "%s has a client certificate without its key (client-key, client-key-data)",
                     user->words);
    if (kubeconfig->key.where && !kubeconfig->certificate.where)
        return wrong(reading,
                     "%s has a key without its client certificate (client-certificate, "
                     "client-certificate-data)",
                     user->words);
    if (!kubeconfig->certificate.where && !kubeconfig->token.where)
        return wrong(reading,
                     "%s has no credential: it needs a client certificate and its key, a token or a "
                     "tokenFile",
                     user->words);
    return true;
}

/* ---- The whole */

static bool read_root(const struct reading *reading, const struct yaml_node *root)
{
    const char *kind = yaml_text(yaml_field(root, "kind"));
    struct entry context;
    struct entry cluster;
    struct entry user;
    const char *cluster_name;
    const char *user_name;

    if (root->kind != YAML_KIND_MAP || (kind && strcmp(kind, "Config") != 0))
        return wrong(reading, "is no kubeconfig (kind: Config)");
    if (!find(reading, root, "contexts", "context", reading->source->context, &context) ||
        !read_text(reading, &context, "cluster", &cluster_name) ||
        !read_text(reading, &context, "user", &user_name))
        return false;
    if (!cluster_name || !user_name)
        return wrong(reading, "%s names no %s", context.words, cluster_name ? "user" : "cluster");
    return find(reading, root, "clusters", "cluster", cluster_name, &cluster) &&
           read_cluster(reading, &cluster) && find(reading, root, "users", "user", user_name, &user) &&
           read_user(reading, &user);
}

static bool syntax_fault(const struct kubeconfig_source *source, const struct findings *findings,
                         struct fault *fault)
{
    const struct finding *first = findings_at(findings, 0);

    return fault_set(fault, FAULT_CONFIGURATION, CODE, "%s.kubeconfigPath: %s: %s", source->setting,
                     first->where, first->message);
}

bool kubeconfig_read(const void *context, const struct kubeconfig_source *source,
                     const struct secret *content, struct kubeconfig **read, bool *is_syntax,
                     struct fault *fault)
{
    TALLOC_CTX *scratch = mem_context(context);
    struct findings *findings = findings_new(scratch);
    struct yaml_node *root =
        yaml_read(scratch, source->path, secret_expose(content), secret_length(content), findings);
    struct reading reading = {.source = source, .scratch = scratch, .fault = fault};
    bool done;

    *is_syntax = findings_count(findings) > 0 || !root;
    reading.kubeconfig = mem_new(context, struct kubeconfig);
    if (*is_syntax)
        done = syntax_fault(source, findings, fault);
    else
        done = read_root(&reading, root);
    if (done)
        *read = reading.kubeconfig;
    else
        talloc_free(reading.kubeconfig);
    talloc_free(scratch);
    return done;
}
