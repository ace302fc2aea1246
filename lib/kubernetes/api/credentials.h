/* SPDX-License-Identifier: MIT
 *
 * What a client shows to the API server and by what it knows it, read from files: the server's address, its
 * trusted certificates, and a client certificate, a token or both.
 *
 * Read again when one of the files has changed (device, inode, size or modification time), and when the
 * server says 401: tokens and certificates are rotated under a running process. Nothing of it is ever logged.
 */
#ifndef OCC_KUBERNETES_API_CREDENTIALS_H
#define OCC_KUBERNETES_API_CREDENTIALS_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"
#include "lib/kubernetes/api/authentication.h"

struct kubernetes_credentials {
    const char *server;               /* "https://host:port", no path at its end unless the file gives one */
    const char *place;                /* "host:port", for messages */
    const char *ca;                   /* PEM, one or several certificates */
    const struct secret *certificate; /* PEM chain of the client; NULL: none */
    const struct secret *key;         /* PEM, beside it */
    const struct secret *token;       /* without space at its ends; NULL: none */
    const char *server_name;          /* kubeconfig's tls-server-name; NULL: the host's */
};

struct kubernetes_credentials_source;

/* A source that hangs on `context`; nothing is read yet. `authentication` must live as long. */
struct kubernetes_credentials_source *
kubernetes_credentials_source_new(const void *context, const struct kubernetes_authentication *authentication)
    __attribute__((returns_nonnull)) MUST_USE;

/* The credentials as they are now: the same ones as long as no file has changed, others (the former are
 * freed) when one has. `again`: read even if none seems changed. *changed tells whether they are others than
 * last time; those that came out the same are not.
 *
 * A file that cannot be read now although it could before, or that is half a file as one in the middle of a
 * change is (empty, no YAML, a malformed certificate or key, a key beside another certificate, one out of
 * date), leaves the former ones in use. With `again` it is a fault: the former ones were refused.
 *
 * Faults, FAULT_CONFIGURATION: KUBERNETES_AUTHENTICATION_INVALID names the setting, the file and what is
 * wrong: not in a cluster (KUBERNETES_SERVICE_HOST is not set), no token or ca.crt there, unreadable or
 * untrusted file, no YAML or JSON, no such context (the message lists the contexts), no such cluster or user,
 * a plain http server, insecure-skip-tls-verify, an exec plugin, an auth-provider, a user name and password,
 * impersonation, a proxy-url, no trusted certificates, a malformed certificate or key, a key that is not the
 * certificate's, a client certificate that has expired or is not valid yet, no credential at all, a token of
 * several lines. */
bool kubernetes_credentials_read(struct kubernetes_credentials_source *source, bool again,
                                 const struct kubernetes_credentials **credentials, bool *changed,
                                 struct fault *fault) MUST_USE;

#endif
