/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/labels.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define OURS                                                                                                 \
    "\"org.openclaw.enterprise.managed\":\"true\",\"org.openclaw.enterprise.compute-driver\":\"docker\","    \
    "\"org.openclaw.enterprise.namespace-id\":\"ns_1\""

static const struct docker_owner owner = {.namespace_id = "ns_1", .installation_id = "ins_1"};

static void check(const char *text, const char *expected)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const cJSON *labels = json_read(context, text, strlen(text));
    const char *found;

    assert_non_null(labels);
    found = docker_labels_mismatch(labels, &owner);
    if (expected == NULL)
        assert_null(found);
    else
        assert_string_equal(found, expected);
    talloc_free(context);
}

/* K107: all of the labels must match; older versions wrote none for the Installation. */
static void only_exact_labels_are_ours(void **state)
{
    (void)state;
    check("{" OURS "}", NULL);
    check("{" OURS ",\"other\":\"x\"}", NULL);
    check("{" OURS ",\"org.openclaw.enterprise.installation-id\":\"ins_1\"}", NULL);
    check("{" OURS ",\"org.openclaw.enterprise.installation-id\":\"ins_2\"}", DOCKER_LABEL_INSTALLATION_ID);
    check("{" OURS ",\"org.openclaw.enterprise.installation-id\":\"\"}", DOCKER_LABEL_INSTALLATION_ID);
    check("{" OURS ",\"org.openclaw.enterprise.installation-id\":null}", DOCKER_LABEL_INSTALLATION_ID);
    check("{}", DOCKER_LABEL_MANAGED);
    check("null", DOCKER_LABEL_MANAGED);
    check("{\"org.openclaw.enterprise.managed\":\"True\"}", DOCKER_LABEL_MANAGED);
    check("{\"org.openclaw.enterprise.managed\":true}", DOCKER_LABEL_MANAGED);
    check("{\"org.openclaw.enterprise.managed\":\"true\"}", DOCKER_LABEL_COMPUTE_DRIVER);
    check("{\"org.openclaw.enterprise.managed\":\"true\",\"org.openclaw.enterprise.compute-driver\":"
          "\"kubernetes\"}",
          DOCKER_LABEL_COMPUTE_DRIVER);
    check("{\"org.openclaw.enterprise.managed\":\"true\",\"org.openclaw.enterprise.compute-driver\":"
          "\"docker\"}",
          DOCKER_LABEL_NAMESPACE_ID);
    check(
        "{\"org.openclaw.enterprise.managed\":\"true\",\"org.openclaw.enterprise.compute-driver\":\"docker\","
        "\"org.openclaw.enterprise.namespace-id\":\"ns_12\"}",
        DOCKER_LABEL_NAMESPACE_ID);
    assert_string_equal(docker_labels_mismatch(NULL, &owner), DOCKER_LABEL_MANAGED);
}

static void what_is_written_is_ours(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct docker_owner without = {.namespace_id = "ns_1"};
    cJSON *labels = json_new_object(context);

    (void)state;
    docker_labels_add(labels, &owner);
    assert_null(docker_labels_mismatch(labels, &owner));
    assert_string_equal(json_text(labels, DOCKER_LABEL_INSTALLATION_ID), "ins_1");
    labels = json_new_object(context);
    docker_labels_add(labels, &without);
    assert_null(docker_labels_mismatch(labels, &owner));
    assert_null(json_member(labels, DOCKER_LABEL_INSTALLATION_ID));
    talloc_free(context);
}

static void the_filter_asks_for_three_labels(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);

    (void)state;
    assert_string_equal(docker_labels_filter(context, &owner),
                        "%7B%22label%22%3A%5B%22org.openclaw.enterprise.managed%3Dtrue%22%2C%22"
                        "org.openclaw.enterprise.compute-driver%3Ddocker%22%2C%22"
                        "org.openclaw.enterprise.namespace-id%3Dns_1%22%5D%7D");
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_exact_labels_are_ours),
        cmocka_unit_test(what_is_written_is_ours),
        cmocka_unit_test(the_filter_asks_for_three_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
