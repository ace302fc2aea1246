/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/kubeconfig.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SETTING "drivers.compute.configuration.authentication"
#define FILE_PATH "/etc/occ/kubeconfig"
#define CLUSTER "server: \"https://10.0.0.1:6443\", certificate-authority: ca.crt"
#define USER "token: sesame"

static const struct kubeconfig_source source = {
    .setting = SETTING,
    .path = FILE_PATH,
    .context = "main",
};

static void *context;

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static bool read_text_as(const char *text, struct kubeconfig **kubeconfig, bool *is_syntax,
                         struct fault *fault)
{
    struct secret *content = secret_new(context, text, strlen(text));

    return kubeconfig_read(context, &source, content, kubeconfig, is_syntax, fault);
}

static const char *with(const char *cluster, const char *user)
{
    return mem_format(context,
                      "apiVersion: v1\n"
                      "kind: Config\n"
                      "current-context: elsewhere\n"
                      "clusters:\n"
                      "- {name: elsewhere, cluster: {server: \"http://10.0.0.9\"}}\n"
                      "- {name: prod, cluster: {%s}}\n"
                      "users:\n"
                      "- {name: somebody, user: {exec: {command: aws}}}\n"
                      "- {name: admin, user: {%s}}\n"
                      "contexts:\n"
                      "- {name: elsewhere, context: {cluster: elsewhere, user: somebody}}\n"
                      "- {name: main, context: {cluster: prod, user: admin, namespace: default}}\n",
                      cluster, user);
}

static const struct kubeconfig *good(const char *text)
{
    struct kubeconfig *kubeconfig;
    struct fault fault;
    bool is_syntax;

    if (!read_text_as(text, &kubeconfig, &is_syntax, &fault))
        fail_msg("%s", fault.message);
    assert_false(is_syntax);
    return kubeconfig;
}

/* The message names the setting and the file, says why, and shows nothing that is secret. */
static void is_refused(const char *text, bool syntax, const char *why)
{
    static const char begin[] = SETTING ".kubeconfigPath: " FILE_PATH ":";
    struct kubeconfig *kubeconfig = NULL;
    struct fault fault;
    bool is_syntax;

    if (read_text_as(text, &kubeconfig, &is_syntax, &fault))
        fail_msg("accepted instead of: %s", why);
    assert_null(kubeconfig);
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "KUBERNETES_AUTHENTICATION_INVALID");
    if (strncmp(fault.message, begin, strlen(begin)) != 0 || !strstr(fault.message, why) ||
        strstr(fault.message, "sesame"))
        fail_msg("\"%s\" instead of \"%s\"", fault.message, why);
    assert_int_equal(is_syntax, syntax);
}

/* ---- What is read */

static void a_context_names_cluster_and_user(void **state)
{
    const struct kubeconfig *kubeconfig = good(with(CLUSTER, USER));

    (void)state;
    assert_string_equal(kubeconfig->server, "https://10.0.0.1:6443");
    assert_string_equal(kubeconfig->place, "10.0.0.1:6443");
    assert_null(kubeconfig->server_name);
    assert_string_equal(kubeconfig->ca.path, "/etc/occ/ca.crt");
    assert_string_equal(kubeconfig->ca.where, "/etc/occ/ca.crt");
    assert_null(kubeconfig->certificate.where);
    assert_null(kubeconfig->key.where);
    assert_null(kubeconfig->token.path);
    assert_string_equal(secret_expose(kubeconfig->token.content), "sesame");
}

static void what_is_in_it_counts_before_a_path(void **state)
{
    const struct kubeconfig *kubeconfig =
        good(with("server: \"https://[fd00::1]:6443/\", tls-server-name: kubernetes, "
                  "certificate-authority: ca.crt, certificate-authority-data: \"Y2E=\"",
                  "client-certificate: /elsewhere/a.crt, client-certificate-data: \"Y2Vy dA==\", "
                  "client-key: a.key, client-key-data: a2V5"));

    (void)state;
    assert_string_equal(kubeconfig->server, "https://[fd00::1]:6443");
    assert_string_equal(kubeconfig->place, "[fd00::1]:6443");
    assert_string_equal(kubeconfig->server_name, "kubernetes");
    assert_null(kubeconfig->ca.path);
    assert_string_equal(secret_expose(kubeconfig->ca.content), "ca");
    assert_string_equal(secret_expose(kubeconfig->certificate.content), "cert");
    assert_string_equal(secret_expose(kubeconfig->key.content), "key");
    assert_string_equal(kubeconfig->key.where, FILE_PATH ": client-key-data of user \"admin\"");
}

static void paths_begin_in_its_folder(void **state)
{
    const struct kubeconfig *kubeconfig =
        good(with(CLUSTER, "client-certificate: pki/a.crt, client-key: ../a.key, tokenFile: /run/token, "
                           "token: sesame"));

    (void)state;
    assert_string_equal(kubeconfig->certificate.path, "/etc/occ/pki/a.crt");
    assert_string_equal(kubeconfig->key.path, "/etc/occ/../a.key");
    /* A tokenFile counts before a token, as it is the one that is rotated. */
    assert_string_equal(kubeconfig->token.path, "/run/token");
    assert_null(kubeconfig->token.content);
}

static void what_says_nothing_does_not_matter(void **state)
{
    (void)state;
    (void)good(with(CLUSTER ", insecure-skip-tls-verify: false, proxy-url: \"\", disable-compression: true, "
                            "extensions: [{name: x, extension: {a: 1}}]",
                    USER ", exec: null, auth-provider: , username: \"\", password: \"\", as: \"\", "
                         "as-groups: [], as-user-extra: {}, client-certificate: \"\", something: new"));
}

static void a_server_is_known_by_a_name_or_an_address(void **state)
{
    (void)state;
    assert_string_equal(good(with(CLUSTER ", tls-server-name: 10.0.0.1", USER))->server_name, "10.0.0.1");
    assert_string_equal(good(with(CLUSTER ", tls-server-name: \"fd00::1\"", USER))->server_name, "fd00::1");
}

static void json_is_read_too(void **state)
{
    const struct kubeconfig *kubeconfig = good(
        "{\"apiVersion\": \"v1\", \"kind\": \"Config\", \"preferences\": {}, \"current-context\": \"\",\n"
        "\t\"clusters\": [{\"name\": \"a\", \"cluster\": {\"server\": \"https:\\/\\/kube.example\",\n"
        "\t\t\"certificate-authority-data\": \"Y2E=\"}}],\n"
        "\t\"users\": [{\"name\": \"b\", \"user\": {\"token\": \"sesame\"}}],\n"
        "\t\"contexts\": [{\"name\": \"main\", \"context\": {\"cluster\": \"a\", \"user\": \"b\"}}]}\n");

    (void)state;
    assert_string_equal(kubeconfig->server, "https://kube.example:443");
    assert_string_equal(kubeconfig->place, "kube.example:443");
    assert_string_equal(secret_expose(kubeconfig->token.content), "sesame");
}

/* kubectl writes inline certificates on one line of JSON, far longer than a key may be. */
static void long_values_are_read(void **state)
{
    char *data = mem_array(context, char, 8001);
    const char *cluster;

    (void)state;
    memset(data, 'Y', 8000);
    cluster = mem_format(context, "\"server\": \"https://a\", \"certificate-authority-data\": \"%s\"", data);
    assert_int_equal(secret_length(good(with(cluster, USER))->ca.content), 6000);
    cluster = mem_format(context, "server: \"https://a\", certificate-authority-data: %s", data);
    assert_int_equal(secret_length(good(with(cluster, USER))->ca.content), 6000);
}

/* ---- What is refused */

static void what_is_no_kubeconfig(void **state)
{
    (void)state;
    is_refused("", true, "is empty");
    is_refused("a: [", true, FILE_PATH ":1:");
    is_refused("a: b\n---\nb: c\n", true, "only one document");
    is_refused("kind: Config\nkind: Config\n", true, "stands twice");
    is_refused("kind: &a Config\n", true, "anchors");
    is_refused("[]", false, "is no kubeconfig");
    is_refused("sesame", false, "is no kubeconfig");
    is_refused("kind: Secret\n", false, "is no kubeconfig");
    is_refused("contexts: here\n", false, "contexts must be a list");
}

static void what_a_context_lacks(void **state)
{
    (void)state;
    is_refused("kind: Config\n", false, "there is no context \"main\", nor any other");
    is_refused("contexts: [{name: a, context: {}}, {name: \"b\\a\", context: {}}, {name: [c]}]", false,
               "there is no context \"main\", only \"a\", (a name that cannot be shown), (no name)");
    is_refused("contexts: [{name: 1}, {name: 2}, {name: 3}, {name: 4}, {name: 5}, {name: 6}, {name: 7},"
               " {name: 8}, {name: 9}, {name: 10}]",
               false, "\"8\" and 2 more");
    is_refused("contexts: [{name: a234567890123456789012345678901234567890123456789012345678901234}]", false,
               "only \"a234567890123456789012345678901234567890123456789012345678901234\"");
    is_refused("contexts: [{name: a2345678901234567890123456789012345678901234567890123456789012345}]", false,
               "only (a name that cannot be shown)");
    is_refused("contexts: [{name: main}]", false, "context \"main\" is empty");
    is_refused("contexts: [{name: main, context: []}]", false, "context \"main\" must be a map");
    is_refused("contexts: [{name: main, context: {user: a}}]", false, "context \"main\" names no cluster");
    is_refused("contexts: [{name: main, context: {cluster: a}}]", false, "context \"main\" names no user");
    is_refused("contexts: [{name: main, context: {cluster: a, user: {}}}]", false, "names no user");
    is_refused("contexts: [{name: main, context: {cluster: a, user: [b]}}]", false,
               "user of context \"main\" must be text");
    is_refused("contexts: [{name: main, context: {a: b}}, {name: main, context: {}}]", false,
               "context \"main\" stands twice");
    is_refused("clusters: [{name: b, cluster: {a: b}}]\n"
               "contexts: [{name: main, context: {cluster: a, user: a}}]",
               false, "there is no cluster \"a\", only \"b\"");
    is_refused("clusters: [{name: a, cluster: {" CLUSTER "}}]\n"
               "contexts: [{name: main, context: {cluster: a, user: a}}]",
               false, "there is no user \"a\", nor any other");
}

struct refusal {
    const char *fields;
    const char *why;
};

static void what_a_cluster_must_not_say(void **state)
{
    static const struct refusal refusals[] = {
        {"certificate-authority: ca.crt", "cluster \"prod\" has no server"},
        {"server: [a]", "server of cluster \"prod\" must be text"},
        {"server: \"http://10.0.0.1:8080\", certificate-authority: ca.crt", "is plain http"},
        {"server: \"10.0.0.1:6443\", certificate-authority: ca.crt", "must begin with https://"},
        {"server: \"https://me:sesame@10.0.0.1\", certificate-authority: ca.crt", "must not hold a user"},
        {CLUSTER ", insecure-skip-tls-verify: true",
         "cluster \"prod\" has insecure-skip-tls-verify: true; the server is always verified"},
        {CLUSTER ", insecure-skip-tls-verify: True", "insecure-skip-tls-verify: true"},
        {CLUSTER ", insecure-skip-tls-verify: \"true\"", "must be true or false"},
        {CLUSTER ", insecure-skip-tls-verify: yes", "must be true or false"},
        {CLUSTER ", proxy-url: \"http://proxy:3128\"", "cluster \"prod\" has a proxy-url"},
        {CLUSTER ", tls-server-name: \"a b\"", "tls-server-name of cluster \"prod\" is no name"},
        {CLUSTER ", tls-server-name: a/b", "tls-server-name of cluster \"prod\" is no name"},
        {CLUSTER ", tls-server-name: \"a:6443\"", "tls-server-name of cluster \"prod\" is no name"},
        {CLUSTER ", tls-server-name: \"[::1]\"", "tls-server-name of cluster \"prod\" is no name"},
        {CLUSTER ", tls-server-name: \"::1::\"", "tls-server-name of cluster \"prod\" is no name"},
        {"server: \"https://10.0.0.1\"", "cluster \"prod\" has no trusted certificates"},
        {"server: \"https://10.0.0.1\", certificate-authority: \"\"", "has no trusted certificates"},
        {"server: \"https://10.0.0.1\", certificate-authority-data: \"%%\"",
         "certificate-authority-data of cluster \"prod\" is no base64"},
        {"server: \"https://10.0.0.1\", certificate-authority-data: \"Y2E\"", "is no base64"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        is_refused(with(refusals[i].fields, USER), false, refusals[i].why);
}

static void what_a_user_must_not_say(void **state)
{
    static const struct refusal refusals[] = {
        {USER ", exec: {command: aws}", "user \"admin\" has an exec plugin, and none is ever run"},
        {USER ", exec: aws", "has an exec plugin"},
        {USER ", auth-provider: {name: oidc}", "has an auth-provider"},
        {"username: me, password: sesame", "has a user name and password"},
        {USER ", password: sesame", "has a user name and password"},
        {USER ", as: root", "has an impersonation (as)"},
        {USER ", as-uid: \"7\"", "has an impersonation (as-uid)"},
        {USER ", as-groups: [\"system:masters\"]", "has an impersonation (as-groups)"},
        {USER ", as-user-extra: {scopes: [a]}", "has an impersonation (as-user-extra)"},
        {"something: new", "user \"admin\" has no credential"},
        {"token: \"\"", "user \"admin\" has no credential"},
        {"token: [sesame]", "token of user \"admin\" must be text"},
        {"client-certificate: a.crt", "has a client certificate without its key"},
        {"client-certificate: a.crt, " USER, "has a client certificate without its key"},
        {"client-key: a.key, " USER, "has a key without its client certificate"},
        {"client-certificate: a.crt, client-key-data: \"sesame!\"",
         "client-key-data of user \"admin\" is no base64"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        is_refused(with(CLUSTER, refusals[i].fields), false, refusals[i].why);
}

/* ---- The server's URL */

static void servers_are_taken_apart(void **state)
{
    static const struct {
        const char *url, *server, *place, *why;
    } cases[] = {
        {"https://a", "https://a:443", "a:443", NULL},
        {"HTTPS://a.example:6443/", "https://a.example:6443", "a.example:6443", NULL},
        {"https://a/k8s/clusters/c-1//", "https://a:443/k8s/clusters/c-1", "a:443", NULL},
        {"https://[::1]", "https://[::1]:443", "[::1]:443", NULL},
        {"https://[fe80::1]:1/x", "https://[fe80::1]:1/x", "[fe80::1]:1", NULL},
        {"https://[::ffff:10.0.0.1]", "https://[::ffff:10.0.0.1]:443", "[::ffff:10.0.0.1]:443", NULL},
        {"https://10.0.0.1:065", NULL, NULL, "a port that is none"},
        {"https://", NULL, NULL, "names no host"},
        {"https:///a", NULL, NULL, "names no host"},
        {"https://[]", NULL, NULL, "names no host"},
        {"https://[1:2]", NULL, NULL, "names no host"},
        {"https://[::1::]", NULL, NULL, "names no host"},
        {"https://[10.0.0.1]", NULL, NULL, "names no host"},
        {"https://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", NULL, NULL, "names no host"},
        {"https://[::1", NULL, NULL, "names no host"},
        {"https://::1", NULL, NULL, "names no host"},
        {"https://a:", NULL, NULL, "a port that is none"},
        {"https://a:0", NULL, NULL, "a port that is none"},
        {"https://a:65536", NULL, NULL, "a port that is none"},
        {"https://a:99999999", NULL, NULL, "a port that is none"},
        {"https://a:6443x", NULL, NULL, "is no URL"},
        {"https://a@b", NULL, NULL, "must not hold a user"},
        {"https://a:b@c", NULL, NULL, "must not hold a user"},
        {"https://a:1/b@c", "https://a:1/b@c", "a:1", NULL},
        {"https://a?b", NULL, NULL, "query or fragment"},
        {"https://a/b#c", NULL, NULL, "query or fragment"},
        {"https://a b", NULL, NULL, "is no URL"},
        {"https://a/\r\nb", NULL, NULL, "is no URL"},
        {"https://a\xc3\xa4", NULL, NULL, "is no URL"},
        {"ftp://a", NULL, NULL, "must begin with https://"},
        {"http://a", NULL, NULL, "is plain http"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *server = NULL;
        const char *place = NULL;
        const char *why = kubeconfig_server(context, cases[i].url, &server, &place);

        if (cases[i].why ? !why || !strstr(why, cases[i].why) : !!why)
            fail_msg("%s: %s instead of %s", cases[i].url, why, cases[i].why);
        if (!why) {
            assert_string_equal(server, cases[i].server);
            assert_string_equal(place, cases[i].place);
        }
    }
}

/* ---- Anything else */

static const char *everything(void)
{
    return with("server: \"https://[fd00::1]:6443/\", tls-server-name: kubernetes, "
                "certificate-authority-data: \"Y2E=\"",
                "client-certificate-data: \"Y2VydA==\", client-key-data: a2V5, tokenFile: t");
}

static void try_bytes(const char *bytes, size_t length)
{
    struct secret *content = secret_new(context, bytes, length);
    struct kubeconfig *kubeconfig = NULL;
    struct fault fault = {0};
    bool is_syntax;

    if (kubeconfig_read(context, &source, content, &kubeconfig, &is_syntax, &fault)) {
        assert_non_null(kubeconfig->server);
        assert_non_null(kubeconfig->ca.where);
        assert_true(kubeconfig->certificate.where || kubeconfig->token.where);
        talloc_free(kubeconfig);
    } else {
        assert_int_equal(fault.class, FAULT_CONFIGURATION);
        assert_true(text_is_printable(fault.message));
    }
    talloc_free(content);
}

static void a_part_of_one_does_no_harm(void **state)
{
    const char *text = everything();
    size_t length = strlen(text);

    (void)state;
    (void)good(text);
    for (size_t end = 0; end <= length; end++)
        try_bytes(text, end);
}

/* The same numbers in every run. */
static unsigned next_number(void)
{
    static uint64_t state = 20200101;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

static void a_spoilt_one_does_no_harm(void **state)
{
    static const char bytes[] = "\"'{}[]:,-#&*!|>%@` \t\n\r\\\x80\xff~0";
    const char *text = everything();
    size_t length = strlen(text);

    (void)state;
    for (int round = 0; round < 4000; round++) {
        char *spoilt = mem_text(context, text);

        for (unsigned changes = 1 + next_number() % 4; changes > 0; changes--)
            spoilt[next_number() % length] = bytes[next_number() % sizeof bytes];
        try_bytes(spoilt, length);
        talloc_free(spoilt);
    }
}

static void a_deep_or_broad_one_does_no_harm(void **state)
{
    char *text = mem_array(context, char, 200001);

    (void)state;
    memset(text, '[', 200000);
    try_bytes(text, 200000);
    memset(text, '{', 200000);
    try_bytes(text, 200000);
    for (size_t i = 0; i < 200000; i += 2)
        memcpy(text + i, "- ", 2);
    try_bytes(text, 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_names_cluster_and_user),
        cmocka_unit_test(what_is_in_it_counts_before_a_path),
        cmocka_unit_test(paths_begin_in_its_folder),
        cmocka_unit_test(what_says_nothing_does_not_matter),
        cmocka_unit_test(a_server_is_known_by_a_name_or_an_address),
        cmocka_unit_test(json_is_read_too),
        cmocka_unit_test(long_values_are_read),
        cmocka_unit_test(what_is_no_kubeconfig),
        cmocka_unit_test(what_a_context_lacks),
        cmocka_unit_test(what_a_cluster_must_not_say),
        cmocka_unit_test(what_a_user_must_not_say),
        cmocka_unit_test(servers_are_taken_apart),
        cmocka_unit_test(a_part_of_one_does_no_harm),
        cmocka_unit_test(a_spoilt_one_does_no_harm),
        cmocka_unit_test(a_deep_or_broad_one_does_no_harm),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
