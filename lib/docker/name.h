/* SPDX-License-Identifier: MIT
 *
 * The name of a Namespace's network. It is for people and for finding; what makes a network ours is its
 * labels (lib/docker/labels.h).
 */
#ifndef OCC_DOCKER_NAME_H
#define OCC_DOCKER_NAME_H

#include "lib/base/build.h"

#define DOCKER_NETWORK_NAME_SIZE                                                                             \
    50 /* "oce-", a slug of at most 32, "-", 12 hexadecimal digits, and the zero */

/* "oce-<slug>-<hash>" of a Namespace's identifier. The slug is the identifier in lower case, each run of
 * other characters than a–z and 0–9 made one "-", cut at 32 characters, without "-" at its ends; the hash is
 * the first 12 hexadecimal digits of its SHA-256. */
void docker_network_name(char name[DOCKER_NETWORK_NAME_SIZE], const char *namespace_id);

#endif
