/* SPDX-License-Identifier: MIT
 *
 * A kubeconfig, as far as one of its contexts tells how to reach a server (Kubernetes, "kubeconfig (v1)"):
 * YAML or JSON. Fields that are not known here do not matter, but none that changes who we are or how the
 * server is verified is passed over: it is refused.
 *
 * Only the text is read here, no other file that it names.
 */
#ifndef OCC_KUBERNETES_API_KUBECONFIG_H
#define OCC_KUBERNETES_API_KUBECONFIG_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"

/* What may stand in the file itself or in another one. At most one of the two is set. */
struct kubeconfig_part {
    struct secret *content; /* that stood in the file, decoded */
    const char *path;       /* of the file that has it, absolute */
    const char *where;      /* whom a message speaks of: that path, or the kubeconfig and the field in it */
};

struct kubeconfig {
    const char *server;      /* "https://host:port", and its path where it has one, without an end slash */
    const char *place;       /* "host:port" */
    const char *server_name; /* tls-server-name; NULL: the host's */
    struct kubeconfig_part ca;
    struct kubeconfig_part certificate; /* both or neither, as the key */
    struct kubeconfig_part key;
    struct kubeconfig_part token;
};

struct kubeconfig_source {
    const char *setting; /* "drivers.compute.configuration.authentication" */
    const char *path;    /* of the kubeconfig, absolute: relative paths in it begin in its folder */
    const char *context; /* the name of the one that is meant */
};

/* Reads a kubeconfig's content; what comes of it hangs on `context`. *is_syntax tells, of a failure, that the
 * file is no YAML at all, as a file is that is being written.
 *
 * Faults, FAULT_CONFIGURATION KUBERNETES_AUTHENTICATION_INVALID, each naming setting and file: all that
 * credentials.h lists of a kubeconfig. */
bool kubeconfig_read(const void *context, const struct kubeconfig_source *source,
                     const struct secret *content, struct kubeconfig **read, bool *is_syntax,
                     struct fault *fault) MUST_USE;

/* "https://host:port[/path]" taken apart: *server without an end slash and always with a port, *place
 * "host:port". Returns NULL, or what is wrong: "must begin with https://". */
const char *kubeconfig_server(const void *context, const char *url, const char **server, const char **place);

/* Whether a certificate could be for it: a host's name, or an address, of IPv6 without brackets. */
bool kubeconfig_is_server_name(const char *name);

#endif
