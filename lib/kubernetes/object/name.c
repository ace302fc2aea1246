/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/name.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/driver/name.h"

#define DATA_DIGITS 15
#define LONG_DIGITS 24  /* of gateways' namespaces, Configurations and Secrets */
#define SHORT_DIGITS 12 /* of Agents and revisions */

void kubernetes_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE])
{
    char hash[DATA_DIGITS + 1];

    hash_text(namespace_id, DATA_DIGITS, hash);
    (void)snprintf(space, KUBERNETES_LABEL_SIZE, "oce-%s", hash);
}

void kubernetes_older_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE])
{
    char name[DRIVER_NAME_SIZE];

    driver_name(name, namespace_id);
    (void)text_copy(space, KUBERNETES_LABEL_SIZE, name);
}

void kubernetes_gateway_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE])
{
    char hash[LONG_DIGITS + 1];

    hash_text(namespace_id, LONG_DIGITS, hash);
    (void)snprintf(space, KUBERNETES_LABEL_SIZE, "oce-gateways-%s", hash);
}

void kubernetes_hashed_name(const char *what, const char *id, char name[KUBERNETES_NAME_SIZE])
{
    char hash[LONG_DIGITS + 1];

    hash_text(id, LONG_DIGITS, hash);
    (void)snprintf(name, KUBERNETES_NAME_SIZE, "%s-%s", what, hash);
}

void kubernetes_agent_name(const char *what, const char *agent_id, char name[KUBERNETES_NAME_SIZE])
{
    char hash[SHORT_DIGITS + 1];

    hash_text(agent_id, SHORT_DIGITS, hash);
    (void)snprintf(name, KUBERNETES_NAME_SIZE, "%s-%s", what, hash);
}

void kubernetes_revision_name(const char *what, const char *agent_id, const char *revision_id,
                              char name[KUBERNETES_NAME_SIZE])
{
    char agent[SHORT_DIGITS + 1];
    char revision[SHORT_DIGITS + 1];

    hash_text(agent_id, SHORT_DIGITS, agent);
    hash_text(revision_id, SHORT_DIGITS, revision);
    (void)snprintf(name, KUBERNETES_NAME_SIZE, "%s-%s-%s", what, agent, revision);
}
