/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/stored_secret_value.h"

#include "lib/admit/driver.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

static struct secret_place place_of(const struct stored_secret_row *row)
{
    return (struct secret_place){
        .secret_id = row->id,
        .driver_id = row->driver_id,
        .namespace_id = row->namespace_id,
        .backend_namespace_name = row->backend_namespace_name,
        .backend_name = row->backend_name,
        .backend_key = row->backend_key,
        .backend_uid = row->backend_uid,
    };
}

/* The Driver's fault, with the Driver's name. */
static bool failed(const struct secret_driver *driver, struct fault *fault)
{
    const struct fault told = *fault;

    (void)fault_set(fault, told.class, told.code, "The Secret Driver %s: %s", driver->id, told.message);
    (void)fault_depends(fault, told.dependency, told.cause);
    return driver_failed(fault);
}

/* For putting it back. A Driver that does not give it (a right that it does not have, a value that was never
 * there) does not keep anybody from replacing it. */
static bool remember(const struct driver_call *call, const struct stored_secret_row *row,
                     struct value_change *change, struct fault *fault)
{
    const struct secret_place place = place_of(row);
    const struct secret *former;

    if (!change->replaces || change->former || change->stored)
        return true;
    if (change->driver->operations->read(change->driver->self, call, &place, &former, fault))
        change->former = former;
    else if (fault->class == FAULT_CANCELLED)
        return false;
    return true;
}

static bool is_place(const struct secret_kept *kept)
{
    return *kept->backend_namespace_name && *kept->backend_name && *kept->backend_key &&
           text_is_printable(kept->backend_namespace_name) && text_is_printable(kept->backend_name) &&
           text_is_printable(kept->backend_key) && text_is_printable(kept->backend_uid);
}

static bool wrong_place(struct value_change *change, const char *what, struct fault *fault)
{
    change->foreign = true;
    return fault_set(fault, FAULT_CONFLICT, "INVALID_DRIVER_OBSERVATION",
                     "The Secret Driver %s says that it keeps the value of %s in a place that is %s.",
                     change->driver->id, change->secret_id, what);
}

/* Two Secrets in one place would overwrite each other, and the end of one would be the other's. */
static bool check_place(struct admission *admission, struct value_change *change,
                        const struct stored_secret_row *row, struct fault *fault)
{
    const char *other;

    if (!is_place(&change->kept))
        return wrong_place(change, "none", fault);
    if (!stored_secret_at(admission->connection, admission->memory, row, admission->watch, &other, fault))
        return false;
    return !other || wrong_place(change, mem_format(admission->memory, "that of %s", other), fault);
}

bool value_store(struct admission *admission, const void *context, const struct namespace_row *owner,
                 struct value_change *change, struct stored_secret_row *row, struct fault *fault)
{
    /* One deadline for all that is asked here: the transaction is open meanwhile. */
    const struct driver_call call = driver_call_new(admission->caller, context);
    struct secret_kept kept = {.backend_uid = ""};

    change->owner = (struct subject_namespace){
        .id = mem_text(context, owner->id),
        .name = mem_text(context, owner->name),
        .existing_namespace = owner->existing_namespace ? mem_text(context, owner->existing_namespace) : NULL,
    };
    if (!remember(&call, row, change, fault))
        return false;
    change->stored = true; /* one that fails may have it all the same, as when its answer is lost */
    if (!change->driver->operations->store(change->driver->self, &call, &change->owner, change->secret_id,
                                           change->value, &kept, fault))
        return failed(change->driver, fault);
    change->kept = kept;
    row->backend_namespace_name = change->kept.backend_namespace_name;
    row->backend_name = change->kept.backend_name;
    row->backend_key = change->kept.backend_key;
    row->backend_uid = *change->kept.backend_uid ? change->kept.backend_uid : NULL;
    return check_place(admission, change, row, fault) &&
           stored_secret_move(admission->connection, row, admission->watch, fault);
}

void value_undo(const struct caller *caller, const void *context, const struct value_change *change,
                const struct fault *fault, const char **left)
{
    const struct driver_call call = driver_call_new(caller, context);
    const struct secret_operations *operations = change->driver ? change->driver->operations : NULL;
    const struct secret_place place = {
        .secret_id = change->secret_id,
        .driver_id = change->driver ? change->driver->id : NULL,
        .namespace_id = change->namespace_id,
        .backend_namespace_name = change->kept.backend_namespace_name,
        .backend_name = change->kept.backend_name,
        .backend_key = change->kept.backend_key,
        .backend_uid = *change->kept.backend_uid ? change->kept.backend_uid : NULL,
    };
    struct secret_kept again = {.backend_uid = ""};
    struct fault why;
    bool undone = false;

    *left = NULL;
    if (!change->stored)
        return;
    /* Nobody knows whether the value is meant to be there. */
    if (fault_is(fault, "OUTCOME_UNKNOWN")) {
        *left = mem_format(context,
                           "The Secret Driver %s keeps the new value of %s, whatever became of the commit.",
                           change->driver->id, change->secret_id);
        return;
    }
    if (!change->foreign && !change->replaces && !*change->kept.backend_name) {
        /* What was refused is nowhere, and where there is no namespace yet nothing can be; what failed may be
         * anywhere. */
        if (fault->class != FAULT_CONFLICT && !fault_is(fault, "NAMESPACE_NOT_READY"))
            *left = mem_format(context, "The Secret Driver %s may keep the value of %s all the same.",
                               change->driver->id, change->secret_id);
        return;
    }
    (void)fault_set(&why, FAULT_CONFLICT, "SECRET_VALUE_UNKNOWN", "%s",
                    change->foreign ? "the place may be another's." : "the former value is not known.");
    if (!change->foreign && !change->replaces)
        undone = operations->remove(change->driver->self, &call, &place, &why);
    else if (!change->foreign && change->former)
        undone = operations->store(change->driver->self, &call, &change->owner, change->secret_id,
                                   change->former, &again, &why);
    if (!undone)
        *left = mem_format(context, "The Secret Driver %s keeps the new value of %s all the same: %s",
                           change->driver->id, change->secret_id, why.message);
}

bool value_remove(struct admission *admission, const struct secret_driver *driver,
                  const struct stored_secret_row *row, struct fault *fault)
{
    const struct driver_call call = driver_call_new(admission->caller, admission->memory);
    const struct secret_place place = place_of(row);

    return driver->operations->remove(driver->self, &call, &place, fault) || failed(driver, fault);
}
