/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/installed.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/package/offer.h"

struct installed {
    struct package_driver base;
    struct authority authority;
    struct occ_iam table;
};

static bool preflight(void *self, const struct driver_call *call, struct fault *fault)
{
    struct installed *installed = self;

    return host_preflight(&installed->base, installed->table.preflight, call, NULL, fault);
}

static bool decide(void *self, const struct driver_call *call, const struct authority_question *question,
                   bool *allowed, char evidence[AUTHORITY_EVIDENCE_SIZE], struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_question given = {
        .size = sizeof given,
        .actor_id = question->actor_id,
        .action = question->action,
        .resource_kind = question->resource_kind,
        .resource_id = question->resource_id,
        .namespace_id = question->namespace_id,
    };
    struct occ_decision decision = {.size = sizeof decision};
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "decide");
    result = installed->table.decide(installed->base.self, &host.call, &given, &decision, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    /* An answer that is neither yes nor no is no yes. */
    if (done && decision.allowed > 1)
        done = host_refuse(&host, "a decision that is neither 0 nor 1", fault);
    host_end(&host);
    if (!done)
        return false;
    decision.evidence[sizeof decision.evidence - 1] = '\0';
    text_make_line(decision.evidence);
    *allowed = decision.allowed == 1;
    (void)text_copy(evidence, AUTHORITY_EVIDENCE_SIZE, decision.evidence);
    return true;
}

static const struct authority_operations operations = {.preflight = preflight, .decide = decide};

bool package_open_authority(const void *context, const struct package_selection *selection,
                            const struct driver_call *call, const struct authority **authority,
                            struct fault *fault)
{
    struct package_offer offer;
    struct installed *installed;

    if (!package_offer_find(selection, PACKAGE_IAM, &offer, fault))
        return false;
    installed = mem_new(context, struct installed);
    installed->table = offer.table.iam;
    if (!package_offer_open(installed, &offer, selection, call, &installed->base, fault)) {
        talloc_free(installed);
        return false;
    }
    installed->authority = (struct authority){installed->base.id, &operations, installed};
    *authority = &installed->authority;
    return true;
}
