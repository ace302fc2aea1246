/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/authentication.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

/* Texts from the environment are copied: the Driver outlives any change of it. */
static const char *copied(const void *context, const char *text)
{
    return text_is_empty(text) ? NULL : mem_text(context, text);
}

struct kubernetes_authentication *
kubernetes_authentication_read(const void *context, const struct yaml_node *node, const char *setting)
{
    struct kubernetes_authentication *read = mem_new(context, struct kubernetes_authentication);

    read->setting = mem_text(read, setting);
    read->in_cluster = text_equal(yaml_text(yaml_field(node, "mode")), "inCluster");
    if (read->in_cluster) {
        read->service_host = copied(read, getenv("KUBERNETES_SERVICE_HOST"));
        read->service_port = copied(read, getenv("KUBERNETES_SERVICE_PORT"));
        read->service_account_folder = KUBERNETES_SERVICE_ACCOUNT_FOLDER;
    } else {
        read->kubeconfig_path = copied(read, yaml_text(yaml_field(node, "kubeconfigPath")));
        read->context = copied(read, yaml_text(yaml_field(node, "context")));
    }
    return read;
}
