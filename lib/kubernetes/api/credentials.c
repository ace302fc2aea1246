/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/credentials.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/pem.h"
#include "lib/kubernetes/api/credential_file.h"
#include "lib/kubernetes/api/kubeconfig.h"

#define CODE "KUBERNETES_AUTHENTICATION_INVALID"
#define KUBECONFIG_MOST 1048576
#define CERTIFICATES_MOST 1048576
#define KEY_MOST 65536
#define TOKEN_MOST 65536

/* One set of credentials, and what it was read from. */
struct loaded {
    struct kubernetes_credentials credentials;
    struct credential_files *files;
};

struct kubernetes_credentials_source {
    const struct kubernetes_authentication *authentication;
    struct loaded *loaded; /* NULL until they could be read */
};

/* One reading. */
struct loading {
    const struct kubernetes_authentication *authentication;
    struct loaded *loaded; /* what it makes; all hangs there */
    const char *setting;   /* the setting whose path is read: "….kubeconfigPath" */
    bool is_passing;       /* the failure may be that of a file in the middle of a change */
    struct fault *fault;
};

struct kubernetes_credentials_source *
kubernetes_credentials_source_new(const void *context, const struct kubernetes_authentication *authentication)
{
    struct kubernetes_credentials_source *source = mem_new(context, struct kubernetes_credentials_source);

    source->authentication = authentication;
    return source;
}

/* ---- What is in the files */

static bool wrong(struct loading *loading, const char *where, const char *what)
{
    return fault_set(loading->fault, FAULT_CONFIGURATION, CODE, "%s: %s %s", loading->setting, where, what);
}

static bool read_file(struct loading *loading, const char *path, enum file_trust trust, size_t limit,
                      struct secret **content)
{
    struct loaded *loaded = loading->loaded;

    loading->is_passing = true;
    if (!credential_files_read(loaded->files, loaded, loading->setting, path, trust, limit, content,
                               loading->fault))
        return false;
    loading->is_passing = false;
    return true;
}

/* The content of a part, which the kubeconfig has or names. NULL where it is not given. */
static bool read_part(struct loading *loading, const struct kubeconfig_part *part, enum file_trust trust,
                      size_t limit, struct secret **content)
{
    *content = NULL;
    if (part->path)
        return read_file(loading, part->path, trust, limit, content);
    if (part->content)
        *content = talloc_steal(loading->loaded, part->content);
    return true;
}

static bool take_ca(struct loading *loading, const char *where, const struct secret *ca)
{
    const char *why = pem_wrong_certificates(ca);

    loading->is_passing = why;
    if (why)
        return wrong(loading, where, why);
    loading->loaded->credentials.ca = secret_expose(ca);
    return true;
}

static bool is_space(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

/* Within a header only visible ASCII can stand, and in a token (RFC 6750 section 2.1) no space. */
static const char *why_no_token(const char *token, size_t length)
{
    if (length == 0)
        return "is empty";
    if (memchr(token, '\n', length) || memchr(token, '\r', length))
        return "holds several lines; a token is one";
    for (size_t index = 0; index < length; index++) {
        if (token[index] <= ' ' || token[index] >= 0x7f)
            return "holds what cannot be part of a token: a space or no ASCII";
    }
    return NULL;
}

static bool take_token(struct loading *loading, const char *where, const struct secret *content)
{
    const char *token = secret_expose(content);
    size_t length = secret_length(content);
    const char *why;

    while (length > 0 && is_space(*token)) {
        token++;
        length--;
    }
    while (length > 0 && is_space(token[length - 1]))
        length--;
    why = why_no_token(token, length);
    loading->is_passing = why;
    if (why)
        return wrong(loading, where, why);
    loading->loaded->credentials.token = secret_new(loading->loaded, token, length);
    return true;
}

/* A certificate that is out of date is refused here, as a server refuses it by 401 and tells no reason. */
static bool check_dates(struct loading *loading, const char *where, const struct secret *certificate)
{
    int64_t now = clock_epoch_ms() / 1000;
    char moment[CLOCK_TEXT_SIZE];
    char what[96];
    int64_t from;
    int64_t until;

    pem_validity(certificate, &from, &until);
    if (now >= from && now <= until)
        return true;
    clock_text_of((now < from ? from : until) * 1000, moment);
    (void)snprintf(what, sizeof what, "holds a client certificate that %s %s",
                   now < from ? "is not valid before" : "has expired at", moment);
    return wrong(loading, where, what);
}

static bool take_certificate(struct loading *loading, const struct kubeconfig *kubeconfig,
                             const struct secret *certificate, const struct secret *key)
{
    const char *why = pem_wrong_certificates(certificate);

    loading->is_passing = true;
    if (why)
        return wrong(loading, kubeconfig->certificate.where, why);
    why = pem_wrong_key(key);
    if (why)
        return wrong(loading, kubeconfig->key.where, why);
    if (!pem_key_fits(certificate, key))
        return wrong(loading, kubeconfig->key.where, "holds a key that is not the client certificate's");
    if (!check_dates(loading, kubeconfig->certificate.where, certificate))
        return false;
    loading->is_passing = false;
    loading->loaded->credentials.certificate = certificate;
    loading->loaded->credentials.key = key;
    return true;
}

/* ---- From a kubeconfig */

static bool take_kubeconfig(struct loading *loading, const struct kubeconfig *kubeconfig)
{
    struct kubernetes_credentials *credentials = &loading->loaded->credentials;
    struct secret *ca;
    struct secret *certificate;
    struct secret *key;
    struct secret *token;

    credentials->server = kubeconfig->server;
    credentials->place = kubeconfig->place;
    credentials->server_name = kubeconfig->server_name;
    if (!read_part(loading, &kubeconfig->ca, FILE_TRUSTED, CERTIFICATES_MOST, &ca) ||
        !take_ca(loading, kubeconfig->ca.where, ca))
        return false;
    if (!read_part(loading, &kubeconfig->certificate, FILE_TRUSTED, CERTIFICATES_MOST, &certificate) ||
        !read_part(loading, &kubeconfig->key, FILE_GROUP, KEY_MOST, &key) ||
        (certificate && !take_certificate(loading, kubeconfig, certificate, key)))
        return false;
    return read_part(loading, &kubeconfig->token, FILE_GROUP, TOKEN_MOST, &token) &&
           (!token || take_token(loading, kubeconfig->token.where, token));
}

static bool load_kubeconfig(struct loading *loading)
{
    const struct kubernetes_authentication *authentication = loading->authentication;
    struct kubeconfig_source source = {
        .setting = authentication->setting,
        .path = authentication->kubeconfig_path,
        .context = authentication->context,
    };
    struct kubeconfig *kubeconfig;
    struct secret *content;

    loading->setting = mem_format(loading->loaded, "%s.kubeconfigPath", authentication->setting);
    return read_file(loading, source.path, FILE_GROUP, KUBECONFIG_MOST, &content) &&
           kubeconfig_read(loading->loaded, &source, content, &kubeconfig, &loading->is_passing,
                           loading->fault) &&
           take_kubeconfig(loading, kubeconfig);
}

/* ---- In a cluster */

static bool take_address(struct loading *loading)
{
    const struct kubernetes_authentication *authentication = loading->authentication;
    struct kubernetes_credentials *credentials = &loading->loaded->credentials;
    const char *host = authentication->service_host;
    const char *port = authentication->service_port;
    const char *missing = host ? "KUBERNETES_SERVICE_PORT" : "KUBERNETES_SERVICE_HOST";
    bool is_ipv6 = host && strchr(host, ':');

    if (!host || !port)
        return fault_set(loading->fault, FAULT_CONFIGURATION, CODE,
                         "%s: inCluster, but %s is not set: this process runs in no Pod of a cluster",
                         loading->setting, missing);
    if (kubeconfig_server(loading->loaded,
                          mem_format(loading->loaded, "https://%s%s%s:%s", is_ipv6 ? "[" : "", host,
                                     is_ipv6 ? "]" : "", port),
                          &credentials->server, &credentials->place))
        return fault_set(loading->fault, FAULT_CONFIGURATION, CODE,
                         "%s: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no host and port",
                         loading->setting);
    return true;
}

/* Kubernetes makes these files readable for everybody in the Pod, which is the worker's alone. */
static bool load_in_cluster(struct loading *loading)
{
    const char *folder = loading->authentication->service_account_folder;
    const char *ca_path = mem_format(loading->loaded, "%s/ca.crt", folder);
    const char *token_path = mem_format(loading->loaded, "%s/token", folder);
    struct secret *ca;
    struct secret *token;

    loading->setting = mem_format(loading->loaded, "%s.mode", loading->authentication->setting);
    return take_address(loading) && read_file(loading, ca_path, FILE_TRUSTED, CERTIFICATES_MOST, &ca) &&
           take_ca(loading, ca_path, ca) &&
           read_file(loading, token_path, FILE_TRUSTED, TOKEN_MOST, &token) &&
           take_token(loading, token_path, token);
}

/* ---- The source */

static bool load(struct kubernetes_credentials_source *source, struct loaded **loaded, bool *is_passing,
                 struct fault *fault)
{
    struct loading loading = {.authentication = source->authentication, .fault = fault};
    bool done;

    loading.loaded = mem_new(source, struct loaded);
    loading.loaded->files = mem_new(loading.loaded, struct credential_files);
    done = source->authentication->in_cluster ? load_in_cluster(&loading) : load_kubeconfig(&loading);
    *is_passing = loading.is_passing;
    if (done)
        *loaded = loading.loaded;
    else
        talloc_free(loading.loaded);
    return done;
}

static bool same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static bool same_secret(const struct secret *one, const struct secret *other)
{
    return same_text(one ? secret_expose(one) : NULL, other ? secret_expose(other) : NULL);
}

static bool same(const struct kubernetes_credentials *one, const struct kubernetes_credentials *other)
{
    return same_text(one->server, other->server) && same_text(one->ca, other->ca) &&
           same_text(one->server_name, other->server_name) &&
           same_secret(one->certificate, other->certificate) && same_secret(one->key, other->key) &&
           same_secret(one->token, other->token);
}

bool kubernetes_credentials_read(struct kubernetes_credentials_source *source, bool again,
                                 const struct kubernetes_credentials **credentials, bool *changed,
                                 struct fault *fault)
{
    struct loaded *former = source->loaded;
    struct loaded *loaded = former;
    struct fault failure;
    bool is_passing;

    if (!former || again || credential_files_have_changed(former->files)) {
        if (!load(source, &loaded, &is_passing, &failure)) {
            /* Once the server has refused the former ones, it helps more to hear why there are no others. */
            if (!former || again || !is_passing) {
                *fault = failure;
                return false;
            }
            loaded = former;
        } else if (former && same(&former->credentials, &loaded->credentials)) {
            talloc_free(former->files);
            former->files = talloc_steal(former, loaded->files);
            talloc_free(loaded);
            loaded = former;
        }
    }
    *changed = loaded != former;
    if (*changed)
        talloc_free(former);
    source->loaded = loaded;
    *credentials = &loaded->credentials;
    return true;
}
