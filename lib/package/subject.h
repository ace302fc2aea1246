/* SPDX-License-Identifier: MIT
 *
 * What operations speak of, in the words of the public interface. Everything hangs on `context` or is
 * borrowed from what it was made of. For lib/package only.
 */
#ifndef OCC_PACKAGE_SUBJECT_H
#define OCC_PACKAGE_SUBJECT_H

#include "include/occ/driver.h"
#include "lib/driver/subject.h"

struct occ_namespace public_namespace(const struct subject_namespace *subject);
/* One that refers to `owner`, which must live as long. */
struct occ_agent public_agent(const struct subject_agent *subject, const struct occ_namespace *owner);
const struct occ_revision *public_revision(const void *context, const struct subject_revision *subject)
    __attribute__((returns_nonnull)) MUST_USE;
struct occ_secret_place public_place(const struct secret_place *subject);
/* And back. */
struct secret_place subject_secret_place(const struct occ_secret_place *place);

#endif
