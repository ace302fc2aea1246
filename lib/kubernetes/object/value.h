/* SPDX-License-Identifier: MIT
 *
 * The values of a Secret object: base64 in `data` (Kubernetes API, Secret). The trees that lib/kubernetes/api
 * and object make of a Secret are overwritten when the call's memory goes (lib/io/json.h,
 * json_new_secret_object); whoever puts values into another one, or needs them no longer, wipes them at once.
 */
#ifndef OCC_KUBERNETES_OBJECT_VALUE_H
#define OCC_KUBERNETES_OBJECT_VALUE_H

#include "lib/base/secret.h"
#include "lib/io/json.h"

/* Adds a value to an object's `data`: any bytes, also none. */
void kubernetes_value_add(cJSON *data, const char *key, const struct secret *value);

/* data.<key> of a Secret object; NULL where it has none, or none that is base64. The value hangs on
 * `context`. */
const struct secret *kubernetes_value_read(const void *context, const cJSON *object,
                                           const char *key) MUST_USE;

/* Overwrites every value in an object's `data` with as many zeros of base64. The tree stays a tree; what it
 * holds is of no use any more. NULL has none. */
void kubernetes_values_wipe(const cJSON *object);

#endif
