/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/credentials.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/io/certificate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTING "drivers.secret.configuration.authentication"

static void *context;
static char root[64];
static struct made_certificate authority, other_authority, client, other_client, expired, early;
static struct kubernetes_authentication authentication;
static struct kubernetes_credentials_source *source;

/* ---- Files */

static const char *in_root(const char *name)
{
    return mem_format(context, "%s/%s", root, name);
}

static void write_as(const char *name, const char *text, mode_t mode)
{
    int fd = open(in_root(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static void write_file(const char *name, const char *text)
{
    write_as(name, text, 0640);
}

/* As a careful program replaces a file. */
static void replace_file(const char *name, const char *text)
{
    write_file("new", text);
    assert_int_equal(rename(in_root("new"), in_root(name)), 0);
}

static void link_to(const char *name, const char *target)
{
    assert_int_equal(symlink(target, in_root("new")), 0);
    assert_int_equal(rename(in_root("new"), in_root(name)), 0);
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(in_root(name), 0700), 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

/* ---- Set-up: a kubeconfig with everything by path */

static const char *base64(const char *text)
{
    size_t length = strlen(text);
    char *encoded = mem_array(context, char, length / 3 * 4 + 8);

    (void)EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text, (int)length);
    return encoded;
}

static const char *kubeconfig(const char *cluster, const char *user)
{
    return mem_format(context,
                      "{kind: Config, contexts: [{name: main, context: {cluster: a, user: b}}],\n"
                      " clusters: [{name: a, cluster: {server: \"https://10.0.0.1:6443\", %s}}],\n"
                      " users: [{name: b, user: {%s}}]}\n",
                      cluster, user);
}

#define BY_PATH "client-certificate: client.crt, client-key: client.key, tokenFile: token"

static void start_source(void)
{
    source = kubernetes_credentials_source_new(context, &authentication);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/occ-credentials-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    write_file("ca.crt", authority.certificate);
    write_file("client.crt", client.certificate);
    write_file("client.key", client.key);
    write_file("token", "one\n");
    write_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", BY_PATH));
    authentication = (struct kubernetes_authentication){
        .setting = SETTING, .kubeconfig_path = in_root("kubeconfig"), .context = "main"};
    start_source();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    talloc_free(source);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int make_certificates(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    authority = make_certificate(context, "authority", -DAY, DAY);
    other_authority = make_certificate(context, "other authority", -DAY, DAY);
    client = make_certificate(context, "client", -DAY, DAY);
    other_client = make_certificate(context, "other client", -DAY, DAY);
    expired = make_certificate(context, "expired", -2 * DAY, -DAY);
    early = make_certificate(context, "early", DAY, 2 * DAY);
    return 0;
}

static int free_certificates(void **state)
{
    (void)state;
    return talloc_free(context);
}

/* ---- Reading */

static const struct kubernetes_credentials *taken(bool again, bool expected_change)
{
    const struct kubernetes_credentials *credentials = NULL;
    struct fault fault;
    bool changed;

    if (!kubernetes_credentials_read(source, again, &credentials, &changed, &fault))
        fail_msg("%s", fault.message);
    assert_int_equal(changed, expected_change);
    return credentials;
}

static void is_refused_as(bool again, const char *setting, const char *name, const char *why)
{
    const char *begin = mem_format(context, SETTING ".%s: %s", setting, in_root(name));
    const struct kubernetes_credentials *credentials = NULL;
    struct fault fault;
    bool changed;

    if (kubernetes_credentials_read(source, again, &credentials, &changed, &fault))
        fail_msg("accepted instead of: %s", why);
    assert_null(credentials);
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "KUBERNETES_AUTHENTICATION_INVALID");
    if (strncmp(fault.message, begin, strlen(begin)) != 0 || !strstr(fault.message, why))
        fail_msg("\"%s\" instead of \"%s … %s\"", fault.message, begin, why);
}

/* What a start says: nothing was read before. */
static void is_refused(const char *name, const char *why)
{
    is_refused_as(false, "kubeconfigPath", name, why);
}

static void holds(const struct secret *secret, const char *text)
{
    assert_non_null(secret);
    assert_string_equal(secret_expose(secret), text);
}

static void files_are_read_by_path(void **state)
{
    const struct kubernetes_credentials *credentials = taken(false, true);

    (void)state;
    assert_string_equal(credentials->server, "https://10.0.0.1:6443");
    assert_string_equal(credentials->place, "10.0.0.1:6443");
    assert_string_equal(credentials->ca, authority.certificate);
    assert_null(credentials->server_name);
    holds(credentials->certificate, client.certificate);
    holds(credentials->key, client.key);
    holds(credentials->token, "one");
    assert_ptr_equal(taken(false, false), credentials);
}

static void all_may_stand_in_the_kubeconfig(void **state)
{
    const struct kubernetes_credentials *credentials;
    const char *cluster =
        mem_format(context, "tls-server-name: kube, certificate-authority-data: \"%s\"",
                   base64(mem_format(context, "%s%s", authority.certificate, other_authority.certificate)));
    const char *user = mem_format(context, "client-certificate-data: \"%s\", client-key-data: \"%s\"",
                                  base64(client.certificate), base64(client.key));

    (void)state;
    write_file("kubeconfig", kubeconfig(cluster, user));
    credentials = taken(false, true);
    assert_string_equal(credentials->ca,
                        mem_format(context, "%s%s", authority.certificate, other_authority.certificate));
    assert_string_equal(credentials->server_name, "kube");
    holds(credentials->certificate, client.certificate);
    holds(credentials->key, client.key);
    assert_null(credentials->token);
}

/* ---- Changes */

static void a_replaced_file_is_read_again(void **state)
{
    (void)state;
    (void)taken(false, true);
    replace_file("token", "two");
    holds(taken(false, true)->token, "two");
    replace_file("ca.crt", other_authority.certificate);
    assert_string_equal(taken(false, true)->ca, other_authority.certificate);
    replace_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", "token: three"));
    holds(taken(false, true)->token, "three");
    assert_null(taken(false, false)->certificate);
}

static void set_modified(const char *name, time_t seconds, long nanoseconds)
{
    const struct timespec moment = {.tv_sec = seconds, .tv_nsec = nanoseconds};
    const struct timespec times[2] = {moment, moment};

    assert_int_equal(utimensat(AT_FDCWD, in_root(name), times, 0), 0);
}

/* Each of what a file is known by tells alone. */
static void any_difference_of_a_file_tells(void **state)
{
    (void)state;
    set_modified("token", 1700000000, 1);
    (void)taken(false, true);
    write_file("token", "two\n");
    set_modified("token", 1700000000, 2);
    holds(taken(false, true)->token, "two");
    write_file("token", "six\n");
    set_modified("token", 1700000001, 2);
    holds(taken(false, true)->token, "six");
    write_file("token", "seven\n");
    set_modified("token", 1700000001, 2);
    holds(taken(false, true)->token, "seven");
    write_file("new", "eight\n");
    set_modified("new", 1700000001, 2);
    assert_int_equal(rename(in_root("new"), in_root("token")), 0);
    holds(taken(false, true)->token, "eight");
}

/* Kubernetes mounts a Secret as links into a folder, which it changes by renaming one link. */
static void a_swapped_folder_is_read_again(void **state)
{
    (void)state;
    make_folder("..1");
    write_as("..1/token", "one", 0644);
    write_as("..1/ca.crt", authority.certificate, 0644);
    link_to("..data", "..1");
    link_to("token", "..data/token");
    link_to("ca.crt", "..data/ca.crt");
    authentication = (struct kubernetes_authentication){.setting = SETTING,
                                                        .in_cluster = true,
                                                        .service_host = "10.96.0.1",
                                                        .service_port = "443",
                                                        .service_account_folder = root};
    holds(taken(false, true)->token, "one");
    make_folder("..2");
    write_as("..2/token", "two", 0644);
    write_as("..2/ca.crt", other_authority.certificate, 0644);
    (void)taken(false, false);
    link_to("..data", "..2");
    holds(taken(false, true)->token, "two");
    assert_string_equal(taken(false, false)->ca, other_authority.certificate);
}

static void the_same_again_is_no_change(void **state)
{
    const struct kubernetes_credentials *credentials = taken(false, true);

    (void)state;
    replace_file("token", "one\n");
    assert_ptr_equal(taken(false, false), credentials);
    assert_ptr_equal(taken(true, false), credentials);
    replace_file("token", " \tone \r\n\n");
    assert_ptr_equal(taken(false, false), credentials);
    /* It is not read again and again for that: a change of the new file is still seen. */
    replace_file("token", "two");
    holds(taken(false, true)->token, "two");
}

/* A change that cannot be seen shows what is read and what is not, also behind a link. */
static void a_file_is_read_when_it_changed_or_was_asked_for(void **state)
{
    (void)state;
    assert_int_equal(rename(in_root("token"), in_root("linked")), 0);
    link_to("token", "linked");
    set_modified("linked", 1700000000, 0);
    (void)taken(false, true);
    write_file("linked", "two\n");
    set_modified("linked", 1700000000, 0);
    holds(taken(false, false)->token, "one");
    holds(taken(true, true)->token, "two");
}

/* ---- Files in the middle of a change */

static void half_a_file_leaves_the_former_in_use(void **state)
{
    static const struct {
        const char *name, *text, *why;
    } halves[] = {
        {"token", NULL, "does not exist"},
        {"token", "", "is empty"},
        {"token", "  \n", "is empty"},
        {"ca.crt", NULL, "does not exist"},
        {"ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA", "malformed certificate"},
        {"client.crt", "nothing", "holds no certificate"},
        {"client.key", "-----BEGIN PRIVATE KEY-----\nAAAA", "malformed private key"},
        {"kubeconfig", NULL, "does not exist"},
        {"kubeconfig", "{kind: Config, contexts: [", ":1:"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(halves); i++) {
        const struct kubernetes_credentials *credentials;

        assert_int_equal(tear_down(NULL), 0);
        assert_int_equal(set_up(NULL), 0);
        credentials = taken(false, true);
        assert_int_equal(unlink(in_root(halves[i].name)), 0);
        if (halves[i].text)
            write_file(halves[i].name, halves[i].text);
        assert_ptr_equal(taken(false, false), credentials);
        holds(credentials->token, "one");
        /* But not once the server has refused them, nor for one that starts now. */
        is_refused_as(true, "kubeconfigPath", halves[i].name, halves[i].why);
        assert_ptr_equal(taken(false, false), credentials);
        start_source();
        is_refused(halves[i].name, halves[i].why);
    }
}

static void a_new_pair_is_taken_when_both_are_there(void **state)
{
    const struct kubernetes_credentials *credentials = taken(false, true);

    (void)state;
    replace_file("client.crt", other_client.certificate);
    assert_ptr_equal(taken(false, false), credentials);
    replace_file("client.key", other_client.key);
    credentials = taken(false, true);
    holds(credentials->certificate, other_client.certificate);
    holds(credentials->key, other_client.key);
}

/* What somebody decided is no half of a file. */
static void a_refusal_is_told_at_once(void **state)
{
    const struct kubernetes_credentials *credentials;

    (void)state;
    (void)taken(false, true);
    replace_file("kubeconfig",
                 kubeconfig("insecure-skip-tls-verify: true, certificate-authority: ca.crt", BY_PATH));
    is_refused("kubeconfig", "insecure-skip-tls-verify");
    is_refused("kubeconfig", "insecure-skip-tls-verify");
    replace_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", "tokenFile: token"));
    credentials = taken(false, true);
    assert_null(credentials->certificate);
}

/* ---- Refusals */

static void certificates_and_keys_must_be_good(void **state)
{
    (void)state;
    write_file("client.key", other_client.key);
    is_refused("client.key", "holds a key that is not the client certificate's");
    write_file("client.key", encrypted(context, client.key));
    is_refused("client.key", "is encrypted");
    write_file("client.key", client.certificate);
    is_refused("client.key", "holds no private key");
    write_file("client.key", expired.key);
    write_file("client.crt", expired.certificate);
    is_refused("client.crt", "holds a client certificate that has expired at 20");
    write_file("client.key", early.key);
    write_file("client.crt", early.certificate);
    is_refused("client.crt", "holds a client certificate that is not valid before 20");
    write_file("client.crt", "");
    is_refused("client.crt", "is empty");
    write_file("ca.crt", client.key);
    is_refused("ca.crt", "holds no certificate in PEM");
    write_file("kubeconfig", kubeconfig("certificate-authority-data: Y2E=", "token: a"));
    is_refused("kubeconfig", "certificate-authority-data of cluster \"a\" holds no certificate");
    write_file("kubeconfig", kubeconfig("certificate-authority: absent", "token: a"));
    is_refused("absent", "does not exist");
}

static void a_token_must_be_one_word(void **state)
{
    char *long_token = mem_array(context, char, 70001);

    (void)state;
    write_file("token", "one\ntwo\n");
    is_refused("token", "holds several lines");
    write_file("token", "one two");
    is_refused("token", "cannot be part of a token");
    write_file("token", "on\xc3\xa9");
    is_refused("token", "cannot be part of a token");
    write_file("token", "on\x7f");
    is_refused("token", "cannot be part of a token");
    memset(long_token, 'a', 70000);
    write_file("token", long_token);
    is_refused("token", "is too large");
    write_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", "token: \"one\\r\\nX-Other: two\""));
    is_refused("kubeconfig", "token of user \"b\" holds several lines");
    write_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", "token: \"one\\0two\""));
    is_refused("kubeconfig", "zero byte");
    write_file("kubeconfig", kubeconfig("certificate-authority: ca.crt", "token: \" one \""));
    holds(taken(false, true)->token, "one");
}

static void not_everybody_may_read_a_credential(void **state)
{
    static const char *const secret[] = {"kubeconfig", "client.key", "token"};
    static const char *const open[] = {"ca.crt", "client.crt"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(secret); i++) {
        assert_int_equal(chmod(in_root(secret[i]), 0644), 0);
        is_refused(secret[i], "is readable by all users");
        assert_int_equal(chmod(in_root(secret[i]), 0660), 0);
        is_refused(secret[i], "is writable by other users");
        assert_int_equal(chmod(in_root(secret[i]), 0440), 0);
    }
    for (size_t i = 0; i < COUNT_OF(open); i++)
        assert_int_equal(chmod(in_root(open[i]), 0644), 0);
    (void)taken(false, true);
    assert_int_equal(chmod(in_root("ca.crt"), 0646), 0);
    start_source();
    is_refused("ca.crt", "is writable by other users");
}

static void what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(unlink(in_root("token")), 0);
    make_folder("token");
    is_refused("token", "is a folder");
    assert_int_equal(unlink(in_root("kubeconfig")), 0);
    assert_int_equal(mkfifo(in_root("kubeconfig"), 0600), 0);
    is_refused("kubeconfig", "is not a regular file");
    link_to("kubeconfig", "kubeconfig");
    is_refused("kubeconfig", "is a loop of links");
}

static void a_kubeconfig_has_a_largest_size(void **state)
{
    char *text = mem_array(context, char, 1048578);

    (void)state;
    memset(text, '#', 1048577);
    write_file("kubeconfig", text);
    is_refused("kubeconfig", "is too large");
}

/* ---- In a cluster */

static void in_a_cluster(const char *host, const char *port)
{
    authentication = (struct kubernetes_authentication){.setting = SETTING,
                                                        .in_cluster = true,
                                                        .service_host = host,
                                                        .service_port = port,
                                                        .service_account_folder = root};
    start_source();
}

static void a_pod_has_its_own(void **state)
{
    const struct kubernetes_credentials *credentials;

    (void)state;
    /* Kubernetes writes it so. */
    assert_int_equal(chmod(in_root("token"), 0644), 0);
    in_a_cluster("10.96.0.1", "443");
    credentials = taken(false, true);
    assert_string_equal(credentials->server, "https://10.96.0.1:443");
    assert_string_equal(credentials->place, "10.96.0.1:443");
    assert_string_equal(credentials->ca, authority.certificate);
    holds(credentials->token, "one");
    assert_null(credentials->certificate);
    in_a_cluster("fd00::1", "6443");
    credentials = taken(false, true);
    assert_string_equal(credentials->server, "https://[fd00::1]:6443");
    assert_string_equal(credentials->place, "[fd00::1]:6443");
}

static void says(const char *expected)
{
    const struct kubernetes_credentials *credentials;
    struct fault fault;
    bool changed;

    assert_false(kubernetes_credentials_read(source, false, &credentials, &changed, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "KUBERNETES_AUTHENTICATION_INVALID");
    assert_string_equal(fault.message, expected);
}

static void what_is_no_pod(void **state)
{
    (void)state;
    in_a_cluster(NULL, NULL);
    says(SETTING ".mode: inCluster, but KUBERNETES_SERVICE_HOST is not set: this process runs in no Pod of a "
                 "cluster");
    in_a_cluster("10.96.0.1", NULL);
    says(SETTING ".mode: inCluster, but KUBERNETES_SERVICE_PORT is not set: this process runs in no Pod of a "
                 "cluster");
    in_a_cluster("10.96.0.1", "https");
    says(SETTING ".mode: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no host and port");
    in_a_cluster("10.96.0.1/x?", "443");
    says(SETTING ".mode: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no host and port");
    in_a_cluster("10.96.0.1", "443");
    assert_int_equal(unlink(in_root("token")), 0);
    is_refused_as(false, "mode", "token", "does not exist");
    assert_int_equal(unlink(in_root("ca.crt")), 0);
    is_refused_as(false, "mode", "ca.crt", "does not exist");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_read_by_path),
        TEST(all_may_stand_in_the_kubeconfig),
        TEST(a_replaced_file_is_read_again),
        TEST(any_difference_of_a_file_tells),
        TEST(a_swapped_folder_is_read_again),
        TEST(the_same_again_is_no_change),
        TEST(a_file_is_read_when_it_changed_or_was_asked_for),
        TEST(half_a_file_leaves_the_former_in_use),
        TEST(a_new_pair_is_taken_when_both_are_there),
        TEST(a_refusal_is_told_at_once),
        TEST(certificates_and_keys_must_be_good),
        TEST(a_token_must_be_one_word),
        TEST(not_everybody_may_read_a_credential),
        TEST(what_is_no_file),
        TEST(a_kubeconfig_has_a_largest_size),
        TEST(a_pod_has_its_own),
        TEST(what_is_no_pod),
    };

    return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}
