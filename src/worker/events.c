/* SPDX-License-Identifier: MIT
 *
 * The records that operators see, with exactly the fields that are documented in occ-worker(8).
 */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

/* A field that is left out when the number is not known. */
static struct log_field known(const char *name, int64_t number)
{
    return number < 0 ? log_text(name, NULL) : log_number(name, number);
}

static struct log_field counted(const char *name, unsigned number)
{
    return number ? log_number(name, number) : log_text(name, NULL);
}

void event_started(const struct supervisor *supervisor)
{
    const struct report *report = supervisor->verified;

    log_event(LOG_INFO, "worker.started", log_text("version", PACKAGE_VERSION),
              log_text("mode", report_fact(report, "mode")),
              log_text("computeDriverId", report_fact(report, "computeDriverId")),
              log_text("computeImplementation", report_fact(report, "computeImplementation")),
              log_text("iamDriverId", report_fact(report, "iamDriverId")),
              log_text("configurationDriverId", report_fact(report, "configurationDriverId")),
              log_text("secretDriverId", report_fact(report, "secretDriverId")),
              log_text("sandboxDriverId", report_fact(report, "sandboxDriverId")),
              log_number("reconcilers", supervisor->settings->reconcilers),
              log_text("databaseHost", report_fact(report, "databaseHost")),
              log_text("databaseName", report_fact(report, "databaseName")),
              log_text("installationId", report_fact(report, "installationId")));
}

void event_warnings(const struct supervisor *supervisor)
{
    const struct report *report = supervisor->verified;
    size_t index;

    for (index = 0; index < report->entry_count; index++) {
        const struct report_entry *entry = &report->entries[index];

        if (entry->level == REPORT_WARNING)
            log_event(LOG_WARN,
                      text_equal(entry->fault.dependency, "compute") ? "compute.preflight-warning"
                                                                     : "worker.warning",
                      log_text("code", entry->fault.code), log_text("message", entry->fault.message));
    }
}

void event_startup_errors(const struct report *report)
{
    size_t index;

    for (index = 0; index < report->entry_count; index++) {
        const struct report_entry *entry = &report->entries[index];

        if (entry->level == REPORT_PROBLEM)
            log_event(LOG_ERROR, "worker.startup-error", log_text("code", entry->fault.code),
                      log_text("message", entry->fault.message),
                      log_text("dependency", entry->fault.dependency), log_text("cause", entry->fault.cause));
    }
}

void event_completed(const struct pass_report *report, bool crashed, int64_t duration_ms,
                     const struct deployment_timing *timing)
{
    static const struct deployment_timing none = {-1, -1, -1, -1, -1};
    const struct deployment_timing *told = timing ? timing : &none;

    log_event(LOG_INFO, "worker.completed", log_text("namespaceId", report->namespace_id),
              log_text("agentId", report->agent_id), log_text("revisionId", report->revision_id),
              log_text("workId", report->key), log_text("operation", work_kind_operation(report->kind)),
              log_number("attempt", report->attempt),
              log_text("outcome", crashed ? "error" : pass_outcome_name(report->outcome)),
              log_text("code", report->code), log_text("dependency", report->dependency),
              log_text("cause", report->cause), known("durationMs", duration_ms),
              known("deployPasses", told->passes), known("prepareMs", told->prepare_ms),
              known("readinessWaitMs", told->readiness_wait_ms), known("activationMs", told->activation_ms),
              known("elapsedMs", told->elapsed_ms));
}

void event_child_exited(struct supervisor *supervisor, const struct slot *slot, const struct slot_end *end,
                        int64_t retry_in_ms)
{
    bool clean = !end->by_signal && end->number == 0 && !text_equal(end->release_code, "WORKER_CRASHED");
    int64_t now_ms = clock_now_ms();
    unsigned suppressed = 0;
    char kind[96];

    (void)snprintf(kind, sizeof kind, "exit/%s/%d/%d/%s/%s", role_name(slot->role), end->by_signal,
                   end->number, slot->fault.code, slot_doing(slot));
    if (!clean && !limit_allows(&supervisor->limit, kind, now_ms, &suppressed))
        return;
    log_event(clean ? LOG_DEBUG : LOG_WARN, "worker.child-exited", log_text("role", role_name(slot->role)),
              log_number("slot", slot->number), log_number("childPid", slot->pid),
              end->by_signal ? log_number("signal", end->number) : log_number("exit", end->number),
              log_text("reason", slot->kill_reason), log_text("code", slot->fault.code),
              log_text("message", slot->fault.message), log_text("doing", slot_doing(slot)),
              log_text("workId", slot->current.item.key),
              log_text("namespaceId", slot->current.item.namespace_id),
              slot->current.claimed ? log_number("passMs", now_ms - slot->current.since_ms)
                                    : log_text("passMs", NULL),
              log_number("lifeMs", now_ms - slot->started_ms), known("retryInMs", retry_in_ms),
              counted("suppressed", suppressed));
}

void event_error(struct supervisor *supervisor, const char *role, const struct fault *fault)
{
    unsigned suppressed = 0;
    char kind[96];

    (void)snprintf(kind, sizeof kind, "error/%s/%s/%s", role, fault->code, fault->cause);
    if (!limit_allows(&supervisor->limit, kind, clock_now_ms(), &suppressed))
        return;
    log_event(LOG_ERROR, "worker.error", log_text("role", role), log_text("code", fault->code),
              log_text("dependency", fault->dependency), log_text("cause", fault->cause),
              log_text("message", fault->message), counted("suppressed", suppressed));
}

void event_health(const struct supervisor *supervisor)
{
    log_event(LOG_DEBUG, "worker.health", log_text("status", "ready"),
              log_number("pending", supervisor->pending),
              log_number("oldestPendingAgeMs", supervisor->oldest_pending_age_ms));
}

void event_recovered_health(struct supervisor *supervisor, int64_t outage_ms)
{
    unsigned suppressed = 0;

    if (!limit_allows(&supervisor->limit, "health", clock_now_ms(), &suppressed))
        return;
    log_event(LOG_INFO, "worker.health", log_text("status", "ready"),
              log_number("pending", supervisor->pending),
              log_number("oldestPendingAgeMs", supervisor->oldest_pending_age_ms),
              log_number("outageMs", outage_ms), counted("suppressed", suppressed));
}

void event_draining(const struct supervisor *supervisor, unsigned busy)
{
    log_event(LOG_INFO, "worker.draining", log_text("reason", supervisor->stop_reason),
              log_text("phase", drain_phase_name(supervisor->drain.phase)), log_number("busy", busy),
              log_number("drainTimeoutMs", supervisor->settings->drain_timeout_ms),
              log_number("elapsedMs", clock_now_ms() - supervisor->drain.begun_ms));
}

void event_stopped(const struct supervisor *supervisor)
{
    int64_t now_ms = clock_now_ms();

    log_event(LOG_INFO, "worker.stopped", log_text("reason", supervisor->stop_reason),
              log_number("exit", supervisor->exit_status), log_number("passes", (int64_t)supervisor->passes),
              log_number("drainMs", now_ms - supervisor->drain.begun_ms),
              log_number("uptimeMs", now_ms - supervisor->born_ms));
}

void event_reloaded(const struct supervisor *supervisor, int64_t duration_ms)
{
    log_event(LOG_INFO, "worker.reloaded", log_number("generation", supervisor->generation),
              log_text("computeDriverId", report_fact(supervisor->verified, "computeDriverId")),
              log_text("installationId", report_fact(supervisor->verified, "installationId")),
              log_number("durationMs", duration_ms));
}
