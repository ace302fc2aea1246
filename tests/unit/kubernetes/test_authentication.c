/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/authentication.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void *context;

static const struct kubernetes_authentication *of(const char *text)
{
    struct findings *findings = findings_new(context);
    const struct yaml_node *node = yaml_read(context, "startup", text, strlen(text), findings);

    assert_int_equal(findings_count(findings), 0);
    return kubernetes_authentication_read(context, node, "drivers.secret.configuration.authentication");
}

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    return unsetenv("KUBERNETES_SERVICE_HOST") || unsetenv("KUBERNETES_SERVICE_PORT");
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static void a_kubeconfig_is_named(void **state)
{
    const struct kubernetes_authentication *authentication;

    (void)state;
    /* Neither of them means anything here. */
    assert_int_equal(setenv("KUBECONFIG", "/elsewhere", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    authentication = of("{mode: kubeconfig, kubeconfigPath: /etc/occ/kubeconfig, context: prod}");
    assert_false(authentication->in_cluster);
    assert_string_equal(authentication->setting, "drivers.secret.configuration.authentication");
    assert_string_equal(authentication->kubeconfig_path, "/etc/occ/kubeconfig");
    assert_string_equal(authentication->context, "prod");
    assert_null(authentication->service_host);
    assert_null(authentication->service_account_folder);
}

static void a_pod_is_told_by_its_environment(void **state)
{
    const struct kubernetes_authentication *authentication;

    (void)state;
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    authentication = of("{mode: inCluster}");
    assert_true(authentication->in_cluster);
    assert_string_equal(authentication->service_host, "fd00::1");
    assert_string_equal(authentication->service_port, "443");
    assert_string_equal(authentication->service_account_folder,
                        "/var/run/secrets/kubernetes.io/serviceaccount");
    assert_null(authentication->kubeconfig_path);
    assert_null(authentication->context);
}

static void elsewhere_it_is_told_nothing(void **state)
{
    (void)state;
    assert_null(of("{mode: inCluster}")->service_host);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "", 1), 0);
    assert_null(of("{mode: inCluster}")->service_host);
    assert_null(of("{mode: inCluster}")->service_port);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kubeconfig_is_named),
        TEST(a_pod_is_told_by_its_environment),
        TEST(elsewhere_it_is_told_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
