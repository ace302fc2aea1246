/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/reason.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char *const codes[] = {
    "RECONCILE_SUCCEEDED",
    "NAMESPACE_RECONCILED",
    "REVISION_ACTIVATED",
    "REVISION_ALREADY_ACTIVE",
    "REVISION_STOPPED",
    "REVISION_SUPERSEDED",
    "STOP_SUPERSEDED",
    "AGENT_ALREADY_STOPPED",
    "AGENT_STOPPED",
    "AGENT_DELETED",
    "SUPERSEDED_TARGET",
    "NAMESPACE_NOT_READY",
    "NAMESPACE_INCOMPLETE",
    "REVISION_INCOMPLETE",
    "REVISION_UNSCHEDULABLE",
    "REVISION_FINALIZATION_INCOMPLETE",
    "REVISION_IMAGE_UNAVAILABLE",
    "REVISION_CONTAINER_INVALID",
    "REVISION_CRASHING",
    "REVISION_PROBE_FAILING",
    "REVISION_POD_REJECTED",
    "REVISION_QUOTA_EXCEEDED",
    "REVISION_ENDPOINT_NOT_READY",
    "REVISION_STOPPING",
    "AGENT_INCOMPLETE",
    "KUBERNETES_API_UNAVAILABLE",
    "KUBERNETES_API_NOT_SERVED",
    "KUBERNETES_ANSWER_INVALID",
    "KUBERNETES_AUTHENTICATION_INVALID",
    "KUBERNETES_UNAUTHENTICATED",
    "KUBERNETES_TLS_FAILED",
    "KUBERNETES_ACCESS_DENIED",
    "KUBERNETES_QUOTA_EXCEEDED",
    "KUBERNETES_CONFLICT",
    "KUBERNETES_NAMESPACE_PRESENT",
    "KUBERNETES_NAMESPACE_TERMINATING",
    "KUBERNETES_OBJECT_TERMINATING",
    "KUBERNETES_OBJECT_MISSING",
    "KUBERNETES_NAMESPACE_NOT_RELEASED",
    "KUBERNETES_LAYOUT_SPLIT",
    "KUBERNETES_REJECTED",
    "KUBERNETES_FIELD_IMMUTABLE",
    "KUBERNETES_SNAPSHOT_CONFLICT",
    "KUBERNETES_TRANSPORT_SECRET_MISSING",
    "DOCKER_ENGINE_UNAVAILABLE",
    "DEPENDENCY_UNAVAILABLE",
    "ACTIVE_REVISION_CHANGED",
    "ACTIVE_REVISION_RECOVERY",
    "LEASE_EXPIRED",
    "WORKER_CRASHED",
    "WORKER_HUNG",
    "WORKER_DRAINING",
    "MAX_ATTEMPTS_EXHAUSTED",
    "CONVERGENCE_DEADLINE_EXCEEDED",
    "AUTHORIZATION_DENIED",
    "ACTOR_REVOKED",
    "OWNERSHIP_CONFLICT",
    "COMPUTE_DRIVER_MISMATCH",
    "SECRET_DRIVER_MISMATCH",
    "HARNESS_UNSUPPORTED",
    "HARNESS_DESCRIPTOR_MISMATCH",
    "HARNESS_AUTH_REQUIRED",
    "HARNESS_AUTH_UNSUPPORTED",
    "HARNESS_AUTH_SOURCE_UNAVAILABLE",
    "INVALID_TARGET",
    "INVALID_AGENT_OWNER",
    "INVALID_AGENT_STATE",
    "INVALID_AGENT_PRINCIPAL",
    "INVALID_REVISION_OWNER",
    "INVALID_ACTIVE_REVISION",
    "INVALID_DRIVER_OBSERVATION",
    "CREDENTIAL_DELETION_UNSUPPORTED",
    "LEGACY_OUTCOME_UNKNOWN",
    "CLAIM_LOST",
    "WORKER_UNAVAILABLE",
    "HEALTH_UNAVAILABLE",
};

/* Every code that the platform itself gives has a sentence of its own. */
static void test_all_codes(void **state)
{
    size_t index, other;

    (void)state;
    for (index = 0; index < COUNT_OF(codes); index++) {
        const char *text = reason_text(codes[index]);

        if (!text)
            fail_msg("%s has no sentence", codes[index]);
        assert_true(text_is_printable(text));
        assert_int_equal(text[strlen(text) - 1], '.');
        for (other = 0; other < index; other++)
            assert_string_not_equal(text, reason_text(codes[other]));
    }
}

static void test_other_codes(void **state)
{
    (void)state;
    assert_null(reason_text("A_DRIVERS_OWN"));
    assert_null(reason_text("revision_activated"));
    assert_null(reason_text(""));
    assert_null(reason_text(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_codes),
        cmocka_unit_test(test_other_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
