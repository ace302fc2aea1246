/* SPDX-License-Identifier: MIT
 *
 * The name that Drivers give to what belongs to a Namespace: Docker's network has it, and older versions gave
 * it to the namespace on Kubernetes. It is for people and for finding; what makes a thing ours is its labels.
 */
#ifndef OCC_DRIVER_NAME_H
#define OCC_DRIVER_NAME_H

#include "lib/base/build.h"

#define DRIVER_NAME_SIZE 50 /* "oce-", a slug of at most 32, "-", 12 hexadecimal digits, and the zero */

/* "oce-<slug>-<hash>" of a Namespace's identifier. The slug is the identifier in lower case, each run of
 * other characters than a–z and 0–9 made one "-", cut at 32 characters, without "-" at its ends; the hash is
 * the first 12 hexadecimal digits of its SHA-256. */
void driver_name(char name[DRIVER_NAME_SIZE], const char *namespace_id);

#endif
