/* SPDX-License-Identifier: MIT
 *
 * Where a Service leads, read off its EndpointSlices (discovery.k8s.io v1 and v1beta1, which agree in what is
 * read here). Asks nobody.
 */
#ifndef OCC_KUBERNETES_AGENT_ENDPOINT_H
#define OCC_KUBERNETES_AGENT_ENDPOINT_H

#include "lib/io/json.h"

enum kubernetes_endpoints {
    KUBERNETES_ENDPOINTS_NONE,  /* no ready address */
    KUBERNETES_ENDPOINTS_OTHER, /* at least one is not the Pod's, or not only the Pod's */
    KUBERNETES_ENDPOINTS_OURS,  /* all that are ready are this Pod's address: one of each family */
};

/* What the slices of one Service (an array) say of a Pod. An endpoint that does not say whether it is ready
 * is ready; one that is being deleted is ready too for as long as it says so. */
enum kubernetes_endpoints kubernetes_endpoints_read(const cJSON *slices, const cJSON *pod);

#endif
