/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/topology.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

struct kubernetes_topology kubernetes_topology_of(const struct kubernetes_settings *settings,
                                                  const struct kubernetes_tenant *tenant,
                                                  const char *installation_id,
                                                  const struct subject_revision *revision)
{
    const bool dedicated = text_equal(revision->harness_mode, "dedicated");

    return (struct kubernetes_topology){
        .settings = settings,
        .tenant = tenant,
        .installation_id = installation_id,
        .agent = revision->agent,
        .revision = revision,
        .dedicated = dedicated,
        .gateway_space = dedicated ? tenant->gateways : tenant->data,
    };
}

const char *kubernetes_harness_space(const struct kubernetes_topology *topology)
{
    return topology->tenant->data;
}

const char *kubernetes_of_agent(const void *context, const char *what,
                                const struct kubernetes_topology *topology)
{
    char name[KUBERNETES_NAME_SIZE];

    kubernetes_agent_name(what, topology->agent->id, name);
    return mem_text(context, name);
}

const char *kubernetes_of_revision(const void *context, const char *what,
                                   const struct kubernetes_topology *topology)
{
    char name[KUBERNETES_NAME_SIZE];

    kubernetes_revision_name(what, topology->agent->id, topology->revision->id, name);
    return mem_text(context, name);
}

bool kubernetes_is_native(const struct kubernetes_topology *topology)
{
    return text_equal(topology->revision->harness_id, "openclaw");
}

struct kubernetes_owner kubernetes_agent_owner(const struct kubernetes_topology *topology, const char *role)
{
    return (struct kubernetes_owner){
        .namespace_id = topology->agent->owner.id,
        .agent_id = topology->agent->id,
        .role = role,
    };
}

struct kubernetes_owner kubernetes_revision_owner(const struct kubernetes_topology *topology,
                                                  const char *role)
{
    struct kubernetes_owner owner = kubernetes_agent_owner(topology, role);

    owner.revision_id = topology->revision->id;
    return owner;
}
