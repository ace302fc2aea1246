/* SPDX-License-Identifier: MIT
 *
 * What became of a write whose commit was not answered. The locks that it held are asked for again, which
 * waits for its end, whatever that is.
 */
#include "lib/base/build.h"

#include "lib/admit/configuration_change.h"

#include "lib/base/memory.h"
#include "lib/store/namespace_admission.h"
#include "lib/store/transaction.h"

struct settling {
    struct caller *caller;
    const struct configuration_driver *driver;
    const struct configuration_admission *admitted;
    void *memory;
};

/* A creation held its Namespace for itself and others like it. */
static bool settle_creation(const struct settling *settling, bool *committed, struct fault *fault)
{
    const struct configuration_admission *admitted = settling->admitted;
    struct caller *caller = settling->caller;
    struct configuration_row *row;
    struct subject_namespace owner;
    struct namespace_row *place;

    if (!namespace_find(caller->connection, settling->memory, admitted->namespace_, NAMESPACE_ALONE,
                        caller->watch, &place, fault) ||
        !configuration_find(caller->connection, settling->memory, admitted->id, CONFIGURATION_LOOK,
                            caller->watch, &row, fault))
        return false;
    *committed = row != NULL;
    if (row || !place)
        return true;
    owner = (struct subject_namespace){place->id, place->name, place->existing_namespace};
    return configuration_remove_text(caller, settling->driver, &owner, admitted->id, fault);
}

static bool settle_change(const struct settling *settling, bool *committed, struct fault *fault)
{
    const struct configuration_admission *admitted = settling->admitted;
    struct caller *caller = settling->caller;
    struct configuration_row *row;
    struct subject_namespace owner;

    if (!configuration_find(caller->connection, settling->memory, admitted->id, CONFIGURATION_ALONE,
                            caller->watch, &row, fault))
        return false;
    *committed = !row || row->generation > admitted->earlier;
    if (*committed || !admitted->former)
        return true;
    owner = configuration_owner(row);
    return configuration_store_text(caller, settling->driver, &owner, admitted->id, admitted->former,
                                    admitted->former_length, fault);
}

bool configuration_settle(struct caller *caller, const struct configuration_driver *driver,
                          const struct configuration_admission *admitted, bool *committed,
                          struct fault *fault)
{
    struct settling settling = {caller, driver, admitted, talloc_new(NULL)};
    bool done = transaction_begin(caller->connection, caller->watch, fault);

    if (done) {
        done = admitted->earlier == 0 ? settle_creation(&settling, committed, fault)
                                      : settle_change(&settling, committed, fault);
        transaction_rollback(caller->connection, caller->watch);
    }
    talloc_free(settling.memory);
    return done;
}
