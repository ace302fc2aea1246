/* SPDX-License-Identifier: MIT
 *
 * compute-kubernetes: the Compute contract, put together.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/driver.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/operations.h"
#include "lib/kubernetes/preflight.h"
#include "lib/kubernetes/tenant/tenant.h"

static void begin(const struct subject_namespace *tenant, struct compute_observation *seen)
{
    *seen = (struct compute_observation){.warnings = 0};
    (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, tenant->id);
}

/* A Sandbox's part comes when ours is there for it. */
static bool ensure_namespace(void *self, const struct driver_call *call,
                             const struct subject_namespace *wanted, struct compute_observation *seen,
                             struct fault *fault)
{
    struct kubernetes_compute *compute = self;
    const struct sandbox_driver *sandbox = compute->sandbox;

    begin(wanted, seen);
    if (!kubernetes_tenant_ensure(compute->client, call, compute->settings, wanted, fault))
        return kubernetes_fault_in_pass(fault);
    return !sandbox || !sandbox->operations->ensure_namespace ||
           sandbox->operations->ensure_namespace(sandbox->self, call, wanted, seen, fault);
}

static bool delete_namespace(void *self, const struct driver_call *call,
                             const struct subject_namespace *unwanted, struct compute_observation *seen,
                             struct fault *fault)
{
    struct kubernetes_compute *compute = self;

    begin(unwanted, seen);
    return kubernetes_tenant_delete(compute->client, call, unwanted, fault) ||
           kubernetes_fault_in_pass(fault);
}

static const struct compute_operations operations = {
    .preflight = kubernetes_preflight,
    .ensure_namespace = ensure_namespace,
    .delete_namespace = delete_namespace,
    .validate_harness_auth = kubernetes_validate_harness_auth,
    .needs_stopped_predecessors = kubernetes_needs_stopped_predecessors,
    .prepare_revision = kubernetes_prepare_revision,
    .activate_revision = kubernetes_activate_revision,
    .deactivate_revision = kubernetes_deactivate_revision,
    .stop_revision = kubernetes_stop_revision,
    .retire_revision = kubernetes_retire_revision,
    .delete_agent_credentials = kubernetes_delete_agent,
};

void kubernetes_open_compute(const void *context, const struct yaml_node *node,
                             const struct sandbox_driver *sandbox, const struct compute_driver **driver)
{
    struct kubernetes_compute *compute = mem_new(context, struct kubernetes_compute);

    compute->settings = kubernetes_settings_read(compute, node);
    compute->client = kubernetes_client_new(compute, compute->settings->authentication);
    compute->sandbox = sandbox;
    compute->driver = (struct compute_driver){
        .id = KUBERNETES_COMPUTE_ID,
        .implementation = KUBERNETES_COMPUTE_IMPLEMENTATION,
        .supports_existing_namespaces = true,
        .order = COMPUTE_ACTIVATES_AFTER_COMMIT,
        .operations = &operations,
        .self = compute,
    };
    *driver = &compute->driver;
}
