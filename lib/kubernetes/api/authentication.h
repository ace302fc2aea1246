/* SPDX-License-Identifier: MIT
 *
 * How a Driver of Kubernetes is told to reach its API server: `authentication` of occ-installation.yaml(5).
 */
#ifndef OCC_KUBERNETES_API_AUTHENTICATION_H
#define OCC_KUBERNETES_API_AUTHENTICATION_H

#include "lib/config/yaml.h"

/* Where Kubernetes puts a Pod's own credentials: token, ca.crt and namespace (Kubernetes, "Accessing the API
 * from a Pod"). */
#define KUBERNETES_SERVICE_ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

struct kubernetes_authentication {
    const char
        *setting; /* where it stands: "drivers.compute.configuration.authentication"; begins messages */
    bool in_cluster;
    const char *kubeconfig_path; /* absolute; NULL in a cluster */
    const char *context;         /* its name in that file; NULL in a cluster */
    /* In a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of the environment, NULL where they
     * are not set, and the folder above (another one only in tests). */
    const char *service_host;
    const char *service_port;
    const char *service_account_folder;
};

/* Reads a checked `authentication` node and, for inCluster, the environment. `setting` is its path in the
 * startup YAML. Everything hangs on `context`. */
struct kubernetes_authentication *
kubernetes_authentication_read(const void *context, const struct yaml_node *node, const char *setting)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
