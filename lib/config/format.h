/* SPDX-License-Identifier: MIT
 *
 * The forms of values in the startup YAML, mostly Kubernetes' own. Each function returns NULL for a good
 * text, else what is expected ("must be …"), without the value.
 */
#ifndef OCC_CONFIG_FORMAT_H
#define OCC_CONFIG_FORMAT_H

#include "lib/base/build.h"

/* A DNS label (RFC 1123): the name of a Kubernetes Namespace, at most 63 characters. */
const char *format_dns_label(const char *text);
/* A DNS subdomain: the names of most Kubernetes objects, at most 253 characters; the second at most 63. */
const char *format_dns_name(const char *text);
const char *format_short_dns_name(const char *text);
/* A label's key ([prefix/]name) and value (may be empty), as Kubernetes' "Labels and Selectors" has them. */
const char *format_label_key(const char *text);
const char *format_label_value(const char *text);
/* The name of a resource in a quota: pods, requests.cpu, count/jobs.batch. */
const char *format_resource_name(const char *text);
/* A positive Kubernetes quantity: 100m, 1792Mi, 4, 1e3. */
const char *format_quantity(const char *text);
/* Its value, for comparing; false when it is none. */
bool format_quantity_value(const char *text, long double *value) MUST_USE;
/* An IPv4 or IPv6 range that is not all addresses: 10.20.0.0/16. */
const char *format_cidr(const char *text);
/* An image's reference, with or without tag and digest; and whether it ends with @sha256: and 64 lower-case
 * digits. */
const char *format_image(const char *text);
bool format_image_has_digest(const char *text);
const char *format_absolute_path(const char *text);
/* A localhost seccomp profile: a relative path without "." and "..", that does not mean unconfined. */
const char *format_seccomp_profile(const char *text);
/* A Secret's name to which "-" and 12 characters are still appended. */
const char *format_secret_prefix(const char *text);
/* A Driver's identifier: lower-case words joined by "-". */
const char *format_driver_id(const char *text);
/* The name of an installed Driver's package, which becomes a file's name. */
const char *format_package(const char *text);

#endif
