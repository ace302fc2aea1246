/* SPDX-License-Identifier: MIT
 *
 * A Secret's value on its way to the Driver, and back out of it where the admission fails; for lib/admit's
 * own files.
 */
#ifndef OCC_ADMIT_STORED_SECRET_VALUE_H
#define OCC_ADMIT_STORED_SECRET_VALUE_H

#include "lib/admit/place.h"
#include "lib/admit/stored_secret.h"
#include "lib/store/stored_secret.h"

/* What the Driver was asked for by one command, over all attempts of its admission. */
struct value_change {
    const struct secret_driver *driver;
    const struct secret *value;
    const char *secret_id;
    const char *namespace_id;
    bool stored;                    /* the Driver has the value, at `kept`, or failed and may have it */
    bool foreign;                   /* that place is another Secret's: nothing may be undone there */
    bool replaces;                  /* the Secret was there before */
    const struct secret *former;    /* its value until then; NULL: not known */
    struct secret_kept kept;        /* no name: where it is was not told */
    struct subject_namespace owner; /* texts hang on the command's context */
};

/* Lets the Driver store the value, and sets `row`'s place to where it is; `row` and what else is read hang on
 * `context`, which outlives the admission. */
bool value_store(struct admission *admission, const void *context, const struct namespace_row *owner,
                 struct value_change *change, struct stored_secret_row *row, struct fault *fault) MUST_USE;

/* After the admission failed with `fault`, which stays as it is: undoes what the Driver did. *left as in
 * struct stored_secret_admission. */
void value_undo(const struct caller *caller, const void *context, const struct value_change *change,
                const struct fault *fault, const char **left);

bool value_remove(struct admission *admission, const struct secret_driver *driver,
                  const struct stored_secret_row *row, struct fault *fault) MUST_USE;

#endif
