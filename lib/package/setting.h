/* SPDX-License-Identifier: MIT
 *
 * A Driver's settings: its table as a closed schema of the startup YAML, and what was written there as JSON.
 * For lib/package only.
 */
#ifndef OCC_PACKAGE_SETTING_H
#define OCC_PACKAGE_SETTING_H

#include "include/occ/driver.h"
#include "lib/config/schema.h"

/* Makes the schema of a table (NULL: no setting), which hangs on `context`. Returns NULL, or what is wrong
 * with the table. */
const char *setting_schema(const void *context, const struct occ_setting *table,
                           const struct schema **schema) MUST_USE;

/* A node that was checked by such a schema as a JSON object; "{}" for NULL. Hangs on `context`. */
const char *setting_json(const void *context, const struct yaml_node *node)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
