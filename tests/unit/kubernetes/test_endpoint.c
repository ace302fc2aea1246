/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/endpoint.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define POD                                                                                                  \
    "{\"metadata\":{\"name\":\"g\",\"uid\":\"u1\"},\"status\":{\"podIP\":\"10.0.0.7\",\"podIPs\":["          \
    "{\"ip\":\"10.0.0.7\"},{\"ip\":\"fd00::7\"}]}}"
#define ENDPOINT(address, conditions, uid)                                                                   \
    "{\"addresses\":[\"" address "\"],\"conditions\":{" conditions                                           \
    "},\"targetRef\":{\"kind\":\"Pod\",\"uid\":\"" uid "\"}}"
#define V1(endpoints)                                                                                        \
    "{\"apiVersion\":\"discovery.k8s.io/v1\",\"addressType\":\"IPv4\",\"endpoints\":" endpoints "}"
#define READY "\"ready\":true,\"serving\":true,\"terminating\":false"
#define UNREADY "\"ready\":false,\"serving\":false,\"terminating\":false"

static void check(const char *slices, enum kubernetes_endpoints expected)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const cJSON *list = json_read(context, slices, strlen(slices));
    const cJSON *pod = json_read(context, POD, strlen(POD));

    assert_non_null(list);
    assert_non_null(pod);
    assert_int_equal(kubernetes_endpoints_read(list, pod), expected);
    talloc_free(context);
}

static void none(void **state)
{
    (void)state;
    check("[]", KUBERNETES_ENDPOINTS_NONE);
    check("[" V1("null") "]", KUBERNETES_ENDPOINTS_NONE);
    check("[" V1("[]") "]", KUBERNETES_ENDPOINTS_NONE);
    check("[" V1("[" ENDPOINT("10.0.0.7", UNREADY, "u1") "]") "]", KUBERNETES_ENDPOINTS_NONE);
}

static void ours(void **state)
{
    (void)state;
    check("[" V1("[" ENDPOINT("10.0.0.7", READY, "u1") "]") "]", KUBERNETES_ENDPOINTS_OURS);
    /* Another one's that is not ready gets nothing. */
    check("[" V1("[" ENDPOINT("10.0.0.7", READY, "u1") "," ENDPOINT("10.0.0.8", UNREADY, "u2") "]") "]",
          KUBERNETES_ENDPOINTS_OURS);
    /* A Service of both families has a slice for each. */
    check("[" V1("[" ENDPOINT(
              "10.0.0.7", READY,
              "u1") "]") ",{\"addressType\":\"IPv6\",\"endpoints\":[" ENDPOINT("fd00::7", READY, "u1") "]}]",
          KUBERNETES_ENDPOINTS_OURS);
    /* v1beta1 says less: what it does not say is ready. */
    check(
        "[{\"apiVersion\":\"discovery.k8s.io/v1beta1\",\"endpoints\":[" ENDPOINT("10.0.0.7", "", "u1") "]}]",
        KUBERNETES_ENDPOINTS_OURS);
    check("[{\"apiVersion\":\"discovery.k8s.io/"
          "v1beta1\",\"endpoints\":[{\"addresses\":[\"10.0.0.7\"],\"topology\":"
          "{\"kubernetes.io/hostname\":\"n\"},\"targetRef\":{\"uid\":\"u1\"}}]}]",
          KUBERNETES_ENDPOINTS_OURS);
}

static void another_ones(void **state)
{
    (void)state;
    check("[" V1("[" ENDPOINT("10.0.0.8", READY, "u2") "]") "]", KUBERNETES_ENDPOINTS_OTHER);
    check("[" V1("[" ENDPOINT("10.0.0.7", READY, "u1") "," ENDPOINT("10.0.0.8", READY, "u2") "]") "]",
          KUBERNETES_ENDPOINTS_OTHER);
    /* The Pod's address while it was another's, its own of an earlier life, and one that names no Pod. */
    check("[" V1("[" ENDPOINT("10.0.0.7", READY, "u2") "]") "]", KUBERNETES_ENDPOINTS_OTHER);
    check("[" V1("[" ENDPOINT("10.0.0.9", READY, "u1") "]") "]", KUBERNETES_ENDPOINTS_OTHER);
    check("[" V1("[{\"addresses\":[\"10.0.0.7\"],\"conditions\":{" READY "}}]") "]",
          KUBERNETES_ENDPOINTS_OTHER);
    check("[" V1("[{\"addresses\":[],\"conditions\":{" READY "},\"targetRef\":{\"uid\":\"u1\"}}]") "]",
          KUBERNETES_ENDPOINTS_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),
        cmocka_unit_test(ours),
        cmocka_unit_test(another_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
