/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup_sections.h"

#include "lib/config/format.h"

#include <strings.h>

#define INVALID "STARTUP_FIELD_INVALID"

/* ---- images */

static void check_digests(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    static const char *const images[] = {"gateway", "agent"};
    const struct yaml_node *required = yaml_field(node, "requireImmutableDigest");
    bool demanded = run->production || (yaml_text(required) && strcasecmp(yaml_text(required), "true") == 0);
    size_t index;

    if (run->production && !required)
        schema_problem(run, node, yaml_path(run->context, path, "requireImmutableDigest"), INVALID,
                       "must be true in production");
    else if (run->production && required->kind == YAML_KIND_BOOLEAN &&
             strcasecmp(required->text, "true") != 0)
        schema_problem(run, required, yaml_path(run->context, path, "requireImmutableDigest"), INVALID,
                       "must be true in production");
    for (index = 0; demanded && index < COUNT_OF(images); index++) {
        const struct yaml_node *image = yaml_field(node, images[index]);

        if (image && image->kind == YAML_KIND_TEXT && !format_image(image->text) &&
            !format_image_has_digest(image->text))
            schema_problem(run, image, yaml_path(run->context, path, images[index]), INVALID,
                           "must end with a digest: @sha256: and 64 lower-case hexadecimal digits");
    }
}

static const struct schema_field images[] = {
    {"gateway", true, {.type = SCHEMA_TEXT, .check = format_image}},
    {"agent", true, {.type = SCHEMA_TEXT, .check = format_image}},
    {"requireImmutableDigest", false, {.type = SCHEMA_BOOLEAN}},
};

/* ---- resources */

static const struct schema_field amounts[] = {
    {"cpu", true, {.type = SCHEMA_TEXT, .check = format_quantity}},
    {"memory", true, {.type = SCHEMA_TEXT, .check = format_quantity}},
};

/* Kubernetes refuses a Pod whose requests exceed its limits; better to know now (K118). */
static void check_limits(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    size_t index;

    for (index = 0; index < COUNT_OF(amounts); index++) {
        const char *name = amounts[index].name;
        const struct yaml_node *request = yaml_field(yaml_field(node, "requests"), name);
        const struct yaml_node *limit = yaml_field(yaml_field(node, "limits"), name);
        long double requested, limited;

        if (!request || !limit || request->kind != YAML_KIND_TEXT || limit->kind != YAML_KIND_TEXT ||
            !format_quantity_value(request->text, &requested) ||
            !format_quantity_value(limit->text, &limited) || requested <= limited)
            continue;
        schema_problem(run, request, yaml_path(run->context, yaml_path(run->context, path, "requests"), name),
                       INVALID, "must not be more than the limit");
    }
}

static const struct schema_field budget[] = {
    {"requests", true, {SCHEMA_FIELDS(amounts)}},
    {"limits", true, {SCHEMA_FIELDS(amounts)}},
};

static const struct schema_field tenant[] = {
    {"quota",
     true,
     {.type = SCHEMA_FREE_MAP, .least = 1, .check_key = format_resource_name, .check = format_quantity}},
    {"containerDefaults", true, {SCHEMA_FIELDS(budget), .rules = check_limits}},
};

static const struct schema_field resources[] = {
    {"gateway", true, {SCHEMA_FIELDS(budget), .rules = check_limits}},
    {"agent", true, {SCHEMA_FIELDS(budget), .rules = check_limits}},
    {"namespace", true, {SCHEMA_FIELDS(tenant)}},
};

/* ---- network */

#define POD_LABELS                                                                                           \
    .type = SCHEMA_FREE_MAP, .least = 1, .check_key = format_label_key, .check = format_label_value,         \
    .may_be_empty = true

static const struct schema_field peer[] = {
    {"namespace", true, {.type = SCHEMA_TEXT, .check = format_dns_label}},
    {"podLabels", true, {POD_LABELS}},
};
static const struct schema peer_item = {SCHEMA_FIELDS(peer)};
static const struct schema cidr_item = {.type = SCHEMA_TEXT, .check = format_cidr};

static const struct schema_field network[] = {
    {"dns", true, {SCHEMA_FIELDS(peer)}},
    {"gatewayPort", true, {.type = SCHEMA_NUMBER, .least = 1, .most = 65535}},
    {"gatewayTrustedProxyCidrs", true, {.type = SCHEMA_LIST, .item = &cidr_item, .least = 1, .most = 64}},
    {"gatewayClients", false, {.type = SCHEMA_LIST, .item = &peer_item, .least = 1, .most = 64}},
    {"gatewayRouting", false, {.type = SCHEMA_REFUSED, .choices = "belongs beside network, not into it"}},
    {"pluginStatusProxySourceCidrs", false, {.type = SCHEMA_LIST, .item = &cidr_item, .most = 64}},
};

static const struct schema_field routing[] = {
    {"gatewayName", true, {.type = SCHEMA_TEXT, .check = format_short_dns_name}},
    {"gatewayNamespace", true, {.type = SCHEMA_TEXT, .check = format_dns_label}},
    {"envoyNamespace", true, {.type = SCHEMA_TEXT, .check = format_dns_label}},
    {"hostname", false, {.type = SCHEMA_TEXT, .check = format_dns_name, .may_be_empty = true}},
};

/* ---- the rest */

/* Kubernetes' bounds for a projected token's life: 10 minutes to 2^32 seconds. */
static const struct schema_field credentials[] = {
    {"mode", true, {.type = SCHEMA_TEXT, .choices = "projectedServiceAccountToken"}},
    {"audience", true, {.type = SCHEMA_TEXT}},
    {"expirationSeconds", true, {.type = SCHEMA_NUMBER, .least = 600, .most = 4294967296}},
};

#define NODE_SELECTOR                                                                                        \
    .type = SCHEMA_FREE_MAP, .check_key = format_label_key, .check = format_label_value, .may_be_empty = true

static const struct schema_field runtime[] = {
    {"gatewayStorageClassName", true, {.type = SCHEMA_TEXT, .check = format_dns_name}},
    {"transportSecretPrefix", true, {.type = SCHEMA_TEXT, .check = format_secret_prefix}},
    {"nodeSelector", false, {NODE_SELECTOR}},
    {"gatewayNodeSelector", false, {NODE_SELECTOR}},
    {"codexSeccompProfile", false, {.type = SCHEMA_TEXT, .check = format_seccomp_profile}},
    {"nativeOpenClawSessionCapacity", false, {.type = SCHEMA_NUMBER, .least = 1, .most = 1024}},
};

static void check_peers(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    const struct yaml_node *section = yaml_field(node, "network");
    const struct yaml_node *clients = yaml_field(section, "gatewayClients");
    const struct yaml_node *route = yaml_field(node, "gatewayRouting");

    if (clients && route)
        schema_problem(run, route, yaml_path(run->context, path, "gatewayRouting"), INVALID,
                       "must not be given together with network.gatewayClients: exactly one of them");
    else if (section && section->kind == YAML_KIND_MAP && !clients && !route)
        schema_problem(run, section, yaml_path(run->context, path, "network"), INVALID,
                       "needs gatewayClients here or gatewayRouting beside it: exactly one of them");
}

static const struct schema_field compute[] = {
    {"authentication", true, {.like = &startup_kubernetes_authentication}},
    {"images", true, {SCHEMA_FIELDS(images), .rules = check_digests}},
    {"resources", true, {SCHEMA_FIELDS(resources)}},
    {"network", true, {SCHEMA_FIELDS(network)}},
    {"gatewayRouting", false, {SCHEMA_FIELDS(routing)}},
    {"servicePrincipalCredentials", true, {SCHEMA_FIELDS(credentials)}},
    {"runtime", true, {SCHEMA_FIELDS(runtime)}},
};

const struct schema startup_kubernetes_compute = {SCHEMA_FIELDS(compute), .rules = check_peers};
