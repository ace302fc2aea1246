/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/reason.h"

#include "lib/base/text.h"

static const struct {
    const char *code;
    const char *text;
} reasons[] = {
    /* How it ended well. */
    {"RECONCILE_SUCCEEDED", "It is as it was asked for."},
    {"NAMESPACE_RECONCILED", "The Namespace is as it was asked for."},
    {"REVISION_ACTIVATED", "The revision was prepared and activated."},
    {"REVISION_ALREADY_ACTIVE", "The revision was active already, and was confirmed."},
    {"REVISION_STOPPED", "The Agent was stopped before the revision became active."},
    {"REVISION_SUPERSEDED", "A newer revision is active; this one was not needed any more."},
    {"STOP_SUPERSEDED", "The Agent was deployed again before the stop was carried out."},
    {"AGENT_ALREADY_STOPPED", "Nothing of the Agent was running."},
    {"AGENT_STOPPED", "The Agent's revisions were stopped."},
    {"AGENT_DELETED", "The Agent and all that belonged to it is gone."},
    {"SUPERSEDED_TARGET", "What was asked for was overtaken by something later."},
    /* What it waits for, or what is tried again. */
    {"NAMESPACE_NOT_READY", "The Namespace is not ready."},
    {"NAMESPACE_INCOMPLETE", "The Namespace's infrastructure is not complete yet."},
    {"REVISION_INCOMPLETE", "The revision's workload is not ready yet."},
    {"REVISION_UNSCHEDULABLE", "The cluster has no room for the revision's workload."},
    {"REVISION_FINALIZATION_INCOMPLETE", "The revision is active, and its activation is not finished yet."},
    {"REVISION_IMAGE_UNAVAILABLE", "A node cannot get the image of the revision's workload."},
    {"REVISION_CONTAINER_INVALID", "A node cannot make the container of the revision's workload."},
    {"REVISION_CRASHING", "The container of the revision's workload ends again and again."},
    {"REVISION_PROBE_FAILING", "The container of the revision's workload runs, and is not ready."},
    {"REVISION_POD_REJECTED", "The cluster does not let the revision's workload in."},
    {"REVISION_QUOTA_EXCEEDED", "A quota of the cluster leaves no room for the revision's workload."},
    {"REVISION_ENDPOINT_NOT_READY", "The revision's workload runs, and the cluster does not lead to it yet."},
    {"REVISION_STOPPING", "The revision's workload has not ended yet."},
    {"AGENT_INCOMPLETE", "Something of the Agent is still being deleted."},
    {"KUBERNETES_API_UNAVAILABLE", "The Kubernetes API does not answer."},
    {"KUBERNETES_API_NOT_SERVED", "The cluster does not serve a kind of object that is needed."},
    {"KUBERNETES_ANSWER_INVALID", "What answers in place of the Kubernetes API is something else."},
    {"KUBERNETES_AUTHENTICATION_INVALID", "The worker's credentials for the Kubernetes API cannot be used."},
    {"KUBERNETES_UNAUTHENTICATED", "The Kubernetes API does not accept the worker's credentials."},
    {"KUBERNETES_TLS_FAILED", "The Kubernetes API and the worker do not trust each other's certificates."},
    {"KUBERNETES_ACCESS_DENIED", "The worker lacks a right in the cluster, which may still be granted."},
    {"KUBERNETES_QUOTA_EXCEEDED", "A quota of the cluster leaves no room."},
    {"KUBERNETES_CONFLICT", "Others change the same objects of the cluster."},
    {"KUBERNETES_NAMESPACE_PRESENT", "The Namespace's infrastructure is still there."},
    {"KUBERNETES_NAMESPACE_TERMINATING", "A namespace of the cluster is being deleted."},
    {"KUBERNETES_OBJECT_TERMINATING", "An object of the cluster is being deleted."},
    {"KUBERNETES_OBJECT_MISSING", "An object of the cluster that was needed went away."},
    {"DOCKER_ENGINE_UNAVAILABLE", "The Docker Engine does not answer."},
    {"COMPUTE_TIMEOUT", "The Compute Driver did not answer in time."},
    {"PERSISTENCE_UNAVAILABLE", "The database does not answer."},
    {"DEPENDENCY_UNAVAILABLE", "Something that the worker needs does not answer."},
    {"ACTIVE_REVISION_CHANGED", "Another revision became active at the same moment."},
    {"ACTIVE_REVISION_RECOVERY",
     "The worker ended after the revision became active; it gets one more attempt."},
    {"LEASE_EXPIRED", "The worker that carried it out is gone."},
    {"WORKER_CRASHED", "The process that carried it out crashed."},
    {"WORKER_HUNG", "The process that carried it out did not go on, and was killed."},
    {"WORKER_DRAINING", "The worker stopped, and handed it back."},
    {"CLAIM_LOST", "Another process took it over."},
    {"WORKER_UNAVAILABLE", "The worker could not carry it out."},
    {"HEALTH_UNAVAILABLE", "The worker's health could not be written."},
    /* How it failed. */
    {"MAX_ATTEMPTS_EXHAUSTED", "All attempts failed."},
    {"CONVERGENCE_DEADLINE_EXCEEDED", "It did not become ready within the convergence timeout."},
    {"AUTHORIZATION_DENIED",
     "Who asked for it, or the Agent itself, does not have the permissions any more."},
    {"ACTOR_REVOKED", "Who asked for it does not exist any more."},
    {"OWNERSHIP_CONFLICT", "Something with the same name belongs to somebody else."},
    {"KUBERNETES_NAMESPACE_NOT_RELEASED", "The existing namespace is not released to the platform."},
    {"KUBERNETES_LAYOUT_SPLIT",
     "The Namespace is in the cluster twice, under an older name and the present one."},
    {"KUBERNETES_REJECTED", "The Kubernetes API does not take what the worker asks for."},
    {"KUBERNETES_FIELD_IMMUTABLE", "An object of the cluster differs in what cannot be changed any more."},
    {"KUBERNETES_SNAPSHOT_CONFLICT", "The cluster holds another document of the revision than was admitted."},
    {"KUBERNETES_TRANSPORT_SECRET_MISSING",
     "What gateway and Harness of the Agent authenticate with to each other is gone."},
    {"COMPUTE_DRIVER_MISMATCH", "The revision was made for another Compute Driver than the worker has."},
    {"SECRET_DRIVER_MISMATCH",
     "The revision's Secrets are kept by another Secret Driver than the worker has."},
    {"HARNESS_UNSUPPORTED", "The worker does not run this Harness in this execution mode."},
    {"HARNESS_DESCRIPTOR_MISMATCH", "The worker has another version of the Harness than the revision froze."},
    {"HARNESS_AUTH_REQUIRED", "The revision does not say how the Harness authenticates."},
    {"HARNESS_AUTH_UNSUPPORTED", "The Compute Driver does not take this Harness authentication."},
    {"HARNESS_AUTH_SOURCE_UNAVAILABLE", "What the Harness authenticates with cannot be read."},
    {"INVALID_TARGET", "The work asks for something that cannot be."},
    {"INVALID_AGENT_OWNER", "The Agent does not belong to the Namespace of the work."},
    {"INVALID_AGENT_STATE", "The Agent is in a state that does not fit the work."},
    {"INVALID_AGENT_PRINCIPAL", "The Agent's service principal is missing, or is not its own."},
    {"INVALID_REVISION_OWNER", "The revision does not belong to the Agent of the work."},
    {"INVALID_ACTIVE_REVISION", "The Agent's active revision does not fit."},
    {"INVALID_DRIVER_OBSERVATION",
     "The Driver's answer is about something else, or is none that there can be: an error in the Driver."},
    {"CREDENTIAL_DELETION_UNSUPPORTED", "The Compute Driver made credentials that it cannot delete."},
    {"SANDBOX_DRIVER_MISMATCH", "The revision was made for another Sandbox Driver than the worker has."},
    {"SECRET_SOURCE_UNAVAILABLE", "A Secret that the revision binds is gone."},
    {"EXISTING_NAMESPACE_UNSUPPORTED", "The Compute Driver adopts no namespace that exists."},
    {"LEGACY_OUTCOME_UNKNOWN", "It ended before outcomes were recorded."},
};

const char *reason_text(const char *code)
{
    size_t index;

    for (index = 0; index < COUNT_OF(reasons); index++) {
        if (text_equal(reasons[index].code, code))
            return reasons[index].text;
    }
    return NULL;
}
