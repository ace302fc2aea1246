/* SPDX-License-Identifier: MIT
 *
 * A complete startup YAML for tests, and the same with one line changed.
 */
#ifndef OCC_TEST_INSTALLATION_H
#define OCC_TEST_INSTALLATION_H

#include "lib/base/memory.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Tests name lines by number: keep them in order. */
static const char installation_yaml[] =
    "occ:\n"                                                                                         /* 1 */
    "  cluster: production-west\n"                                                                   /* 2 */
    "logging:\n"                                                                                     /* 3 */
    "  level: debug\n"                                                                               /* 4 */
    "drivers:\n"                                                                                     /* 5 */
    "  iam: {id: native-iam, configuration: {}}\n"                                                   /* 6 */
    "  configuration: {id: config-kubernetes, configuration: {authentication: {mode: inCluster}}}\n" /* 7 */
    "  secret: {id: secret-kubernetes, configuration: {authentication: {mode: inCluster}}}\n"        /* 8 */
    "  compute:\n"                                                                                   /* 9 */
    "    id: compute-kubernetes\n"                                                                   /* 10 */
    "    configuration:\n"                                                                           /* 11 */
    "      authentication: {mode: kubeconfig, kubeconfigPath: /etc/occ/kubeconfig, context: prod}\n" /* 12 */
    "      images:\n"                                                                                /* 13 */
    "        gateway: registry.example/gateway@sha256:" DIGEST "\n"                                  /* 14 */
    "        agent: registry.example:5000/agent:v1@sha256:" DIGEST "\n"                              /* 15 */
    "        requireImmutableDigest: true\n"                                                         /* 16 */
    "      resources:\n"                                                                             /* 17 */
    "        gateway: {requests: {cpu: 100m, memory: 1792Mi}, limits: {cpu: \"4\", memory: 3Gi}}\n"  /* 18 */
    "        agent: {requests: {cpu: 100m, memory: 768Mi}, limits: {cpu: \"4\", memory: 6Gi}}\n"     /* 19 */
    "        namespace:\n"                                                                           /* 20 */
    "          quota: {pods: \"10\"}\n"                                                              /* 21 */
    "          containerDefaults:\n"                                                                 /* 22 */
    "            requests: {cpu: 100m, memory: 128Mi}\n"                                             /* 23 */
    "            limits: {cpu: \"4\", memory: 2Gi}\n"                                                /* 24 */
    "      network:\n"                                                                               /* 25 */
    "        dns: {namespace: kube-system, podLabels: {k8s-app: kube-dns}}\n"                        /* 26 */
    "        gatewayPort: 8080\n"                                                                    /* 27 */
    "        gatewayTrustedProxyCidrs: [\"10.20.0.0/16\"]\n"                                         /* 28 */
    "        gatewayClients: [{namespace: openclaw-system, podLabels: {app: approved}}]\n"           /* 29 */
    "      servicePrincipalCredentials:\n"                                                           /* 30 */
    "        mode: projectedServiceAccountToken\n"                                                   /* 31 */
    "        audience: openclaw-enterprise\n"                                                        /* 32 */
    "        expirationSeconds: 900\n"                                                               /* 33 */
    "      runtime:\n"                                                                               /* 34 */
    "        gatewayStorageClassName: occ-gateway-rwo\n"                                             /* 35 */
    "        transportSecretPrefix: openclaw-agent-transport\n"                                      /* 36 */
    "        nodeSelector: {}\n"                                                                     /* 37 */
    "        gatewayNodeSelector: {oce-role: control-plane}\n";                                      /* 38 */

/* The YAML with line `number` replaced by `line` (without its newline; several lines, or "" for none, may
 * be). */
static inline char *installation_with(const void *context, int number, const char *line)
{
    const char *from = installation_yaml;
    int index;

    for (index = 1; index < number; index++)
        from = strchr(from, '\n') + 1;
    return mem_format(context, "%.*s%s%s%s", (int)(from - installation_yaml), installation_yaml, line,
                      *line ? "\n" : "", strchr(from, '\n') + 1);
}

#endif
