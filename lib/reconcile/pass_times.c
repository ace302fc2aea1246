/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"

void pass_prepared(struct pass *pass, int64_t begun_ms, bool ready, const struct fault *fault)
{
    struct deployment_times *times = &pass->times;
    int64_t now_ms = clock_now_ms();

    times->prepare_ms += now_ms - begun_ms;
    if (ready && !times->ready_ms)
        times->ready_ms = now_ms;
    /* A Driver that failed has seen nothing. */
    if (!ready && fault->class == FAULT_PENDING && !times->unready_ms)
        times->unready_ms = now_ms;
}

static uint32_t milliseconds(int64_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void pass_tell_times(const struct pass *pass, struct pass_report *report)
{
    const struct work_item *item = &pass->item;
    int64_t now_ms = clock_now_ms();

    report->duration_ms = milliseconds(now_ms - pass->begun_ms);
    report->waited_ms = milliseconds(item->waited_ms);
    if (!work_is_deployment(item->kind, item->key))
        return;
    report->deployment = 1;
    report->elapsed_ms = milliseconds(item->age_ms + now_ms - pass->begun_ms);
    report->prepare_ms = milliseconds(pass->times.prepare_ms);
    report->unready_ms = pass->times.unready_ms;
    report->ready_ms = pass->times.ready_ms;
}
