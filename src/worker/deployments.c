/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/deployments.h"

#include "lib/base/text.h"

/* The item's place; NULL when there is none. */
static struct deployment *find(struct deployments *deployments, const char *key)
{
    size_t index;

    for (index = 0; index < DEPLOYMENTS_MOST; index++) {
        struct deployment *deployment = &deployments->list[index];

        if (deployment->heard && text_equal(deployment->key, key))
            return deployment;
    }
    return NULL;
}

/* A free place, or that of whom nothing was heard for the longest time. */
static struct deployment *begin(struct deployments *deployments, const char *key)
{
    struct deployment *oldest = &deployments->list[0];
    size_t index;

    for (index = 1; index < DEPLOYMENTS_MOST; index++) {
        if (deployments->list[index].heard < oldest->heard)
            oldest = &deployments->list[index];
    }
    *oldest = (struct deployment){.heard = 0};
    (void)text_copy(oldest->key, sizeof oldest->key, key);
    return oldest;
}

static void add(struct deployment *deployment, const struct pass_report *report)
{
    deployment->passes++;
    deployment->prepare_ms += report->prepare_ms;
    if (!deployment->unready_ms)
        deployment->unready_ms = report->unready_ms;
    if (!deployment->ready_ms)
        deployment->ready_ms = report->ready_ms;
}

static bool is_activated(const struct pass_report *report)
{
    return report->outcome == PASS_SUCCESS && (text_equal(report->code, "REVISION_ACTIVATED") ||
                                               text_equal(report->code, "REVISION_ALREADY_ACTIVE"));
}

/* Moments come from children: whatever they are, no time is negative. */
static int64_t between(int64_t from_ms, int64_t to_ms)
{
    return to_ms > from_ms ? to_ms - from_ms : 0;
}

static struct deployment_timing timing_of(const struct deployment *deployment,
                                          const struct pass_report *report, int64_t now_ms)
{
    int64_t waited_to_ms = deployment->ready_ms ? deployment->ready_ms : now_ms;

    return (struct deployment_timing){
        .passes = deployment->passes,
        .prepare_ms = deployment->prepare_ms,
        .readiness_wait_ms = deployment->unready_ms ? between(deployment->unready_ms, waited_to_ms) : 0,
        .activation_ms =
            is_activated(report) && deployment->ready_ms ? between(deployment->ready_ms, now_ms) : -1,
        .elapsed_ms = report->elapsed_ms,
    };
}

static struct deployment *find_or_begin(struct deployments *deployments, const char *key)
{
    struct deployment *deployment = find(deployments, key);

    if (!deployment)
        deployment = begin(deployments, key);
    deployment->heard = ++deployments->reports;
    return deployment;
}

/* Tells, and forgets it where the item has ended. */
static void tell(struct deployment *deployment, const struct pass_report *report, int64_t now_ms,
                 struct deployment_timing *timing)
{
    *timing = timing_of(deployment, report, now_ms);
    if (report->outcome == PASS_SUCCESS || report->outcome == PASS_PERMANENT)
        deployment->heard = 0;
}

bool deployments_reported(struct deployments *deployments, const struct pass_report *report, int64_t now_ms,
                          struct deployment_timing *timing)
{
    struct deployment *deployment;

    if (!report->deployment)
        return false;
    deployment = find_or_begin(deployments, report->key);
    add(deployment, report);
    tell(deployment, report, now_ms, timing);
    return true;
}

void deployments_crashed(struct deployments *deployments, const char *key)
{
    find_or_begin(deployments, key)->passes++;
}

bool deployments_recovered(struct deployments *deployments, const struct pass_report *report, int64_t now_ms,
                           struct deployment_timing *timing)
{
    struct deployment *deployment = report->deployment ? find(deployments, report->key) : NULL;

    if (!deployment)
        return false;
    tell(deployment, report, now_ms, timing);
    return true;
}
