/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup.h"

#include "lib/base/memory.h"
#include "tests/unit/config/installation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void *context;
static struct findings *findings;

static int begin(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    findings = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    return talloc_free(context);
}

static struct startup *read_text(const char *text, enum settings_mode mode)
{
    findings = findings_new(context);
    return startup_read(context, "i.yaml", secret_new(context, text, strlen(text)), mode, NULL, findings);
}

static void expect_at(size_t index, const char *where, const char *code, const char *message)
{
    const struct finding *finding;

    assert_true(index < findings_count(findings));
    finding = findings_at(findings, index);
    assert_string_equal(finding->where, where);
    assert_string_equal(finding->code, code);
    if (!strstr(finding->message, message))
        fail_msg("\"%s\" is not in \"%s\"", message, finding->message);
}

/* The installation with one line replaced has exactly one finding. */
static void expect_change(int line, const char *text, enum settings_mode mode, const char *where,
                          const char *code, const char *message)
{
    size_t index;

    (void)read_text(installation_with(context, line, text), mode);
    if (findings_count(findings) != 1)
        for (index = 0; index < findings_count(findings); index++)
            print_message("%s: %s\n", findings_at(findings, index)->where,
                          findings_at(findings, index)->message);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, where, code, message);
}

static void no_finding_shows(const char *text)
{
    size_t index;

    for (index = 0; index < findings_count(findings); index++) {
        assert_null(strstr(findings_at(findings, index)->where, text));
        assert_null(strstr(findings_at(findings, index)->message, text));
    }
}

#define INVALID "STARTUP_FIELD_INVALID"
#define MISSING "STARTUP_FIELD_MISSING"
#define UNKNOWN "STARTUP_FIELD_UNKNOWN"
#define CREDENTIAL "STARTUP_CREDENTIAL"
#define COMPUTE "drivers.compute.configuration."

#define DEVELOPMENT(line, text, where, code, message)                                                        \
    expect_change(line, text, MODE_DEVELOPMENT, "i.yaml:" where, code, message)
#define PRODUCTION(line, text, where, code, message)                                                         \
    expect_change(line, text, MODE_PRODUCTION, "i.yaml:" where, code, message)

static void a_complete_file_is_accepted(void **state)
{
    const struct startup *startup = read_text(installation_yaml, MODE_PRODUCTION);

    (void)state;
    assert_int_equal(findings_count(findings), 0);
    assert_int_equal(startup->log_level, LOG_DEBUG);
    assert_string_equal(startup->cluster, "production-west");
    assert_string_equal(startup->compute.id, "compute-kubernetes");
    assert_string_equal(startup->iam.id, "native-iam");
    assert_string_equal(startup->secret.id, "secret-kubernetes");
    assert_string_equal(startup->configuration.id, "config-kubernetes");
    assert_null(startup->sandbox.id);
    assert_string_equal(yaml_text(yaml_at(startup->compute.configuration, "authentication.context")), "prod");
    (void)read_text(installation_yaml, MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
}

static void development_has_defaults(void **state)
{
    const struct startup *startup;

    (void)state;
    findings = findings_new(context);
    startup = startup_read(context, NULL, NULL, MODE_DEVELOPMENT, NULL, findings);
    assert_string_equal(startup->compute.id, "compute-docker-development");
    assert_string_equal(startup->iam.id, "native-iam");
    assert_null(startup->secret.id);
    assert_int_equal(startup->log_level, LOG_INFO);
    startup = read_text("logging: {level: warn}\n", MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
    assert_int_equal(startup->log_level, LOG_WARN);
    assert_string_equal(startup->compute.id, "compute-docker-development");
    startup = read_text("drivers:\n"
                        "  compute: {id: compute-docker-development}\n"
                        "  configuration: {id: config-filesystem, configuration: {}}\n",
                        MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
    assert_string_equal(startup->configuration.id, "config-filesystem");
}

static void the_file_is_a_mapping(void **state)
{
    static const char *const texts[] = {"- a\n", "text\n", "~\n", "---\n"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(texts); index++) {
        (void)read_text(texts[index], MODE_DEVELOPMENT);
        assert_int_equal(findings_count(findings), 1);
        assert_non_null(strstr(findings_at(findings, 0)->message, "must be a mapping"));
    }
    (void)read_text("", MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 1);
}

static void unknown_fields_are_refused_at_every_level(void **state)
{
    (void)state;
    DEVELOPMENT(1, "extra: 1\nocc:", "1:1 extra", UNKNOWN,
                "known here: occ, logging, drivers, presets, observability");
    DEVELOPMENT(2, "  cluster: a\n  name: b", "3:3 occ.name", UNKNOWN, "known here: cluster");
    DEVELOPMENT(4, "  level: info\n  format: json", "5:3 logging.format", UNKNOWN, "known here: level");
    DEVELOPMENT(6, "  iam: {id: native-iam, configuration: {admin: x}}",
                "6:41 drivers.iam.configuration.admin", UNKNOWN, "no field is known here");
    DEVELOPMENT(6, "  iam: {id: native-iam, version: x}", "6:25 drivers.iam.version", UNKNOWN,
                "known here: id, package, configuration");
    DEVELOPMENT(9, "  store: {}\n  compute:", "9:3 drivers.store", UNKNOWN, "known here: iam");
    DEVELOPMENT(11, "    configuration:\n      namespace: x", "12:7 " COMPUTE "namespace", UNKNOWN,
                "known here:");
    DEVELOPMENT(16, "        requireImmutableDigest: true\n        init: x", "17:9 " COMPUTE "images.init",
                UNKNOWN, "known here: gateway, agent, requireImmutableDigest");
    DEVELOPMENT(21, "          quota: {pods: \"10\"}\n          limit: 1",
                "22:11 " COMPUTE "resources.namespace.limit", UNKNOWN,
                "known here: quota, containerDefaults");
    DEVELOPMENT(23, "            requests: {cpu: 100m, memory: 128Mi, gpu: \"1\"}",
                "23:50 " COMPUTE "resources.namespace.containerDefaults.requests.gpu", UNKNOWN,
                "known here: cpu, memory");
    DEVELOPMENT(29, "        gatewayClients: [{namespace: a, podLabels: {app: b}, port: 1}]",
                "29:62 " COMPUTE "network.gatewayClients[0].port", UNKNOWN,
                "known here: namespace, podLabels");
    DEVELOPMENT(37, "        channels: {}", "37:9 " COMPUTE "runtime.channels", UNKNOWN, "known here:");
}

static void required_fields_are_named(void **state)
{
    (void)state;
    DEVELOPMENT(10, "", "10:5 drivers.compute.id", MISSING, "is required");
    DEVELOPMENT(12, "", "12:7 " COMPUTE "authentication", MISSING, "is required");
    DEVELOPMENT(14, "", "14:9 " COMPUTE "images.gateway", MISSING, "is required");
    DEVELOPMENT(24, "", "23:13 " COMPUTE "resources.namespace.containerDefaults.limits", MISSING,
                "is required");
    DEVELOPMENT(28, "", "26:9 " COMPUTE "network.gatewayTrustedProxyCidrs", MISSING, "is required");
    DEVELOPMENT(36, "", "35:9 " COMPUTE "runtime.transportSecretPrefix", MISSING, "is required");
    DEVELOPMENT(8, "  secret: {id: secret-kubernetes}", "8:11 drivers.secret.configuration.authentication",
                MISSING, "is required");
}

static void types_are_checked(void **state)
{
    (void)state;
    DEVELOPMENT(2, "  cluster: 7", "2:12 occ.cluster", INVALID, "must be text; write it in quotes");
    DEVELOPMENT(2, "  cluster: \"\"", "2:12 occ.cluster", INVALID, "must not be empty");
    DEVELOPMENT(4, "  level: verbose", "4:10 logging.level", INVALID, "must be debug, info, warn or error");
    DEVELOPMENT(4, "  level: [info]", "4:10 logging.level", INVALID, "must be text");
    DEVELOPMENT(16, "        requireImmutableDigest: \"true\"",
                "16:33 " COMPUTE "images.requireImmutableDigest", INVALID, "must be true or false");
    DEVELOPMENT(28, "        gatewayTrustedProxyCidrs: 10.0.0.0/8",
                "28:35 " COMPUTE "network.gatewayTrustedProxyCidrs", INVALID, "must be a list");
    DEVELOPMENT(28, "        gatewayTrustedProxyCidrs: []",
                "28:35 " COMPUTE "network.gatewayTrustedProxyCidrs", INVALID, "must hold 1 to 64 items");
    DEVELOPMENT(37, "        nodeSelector: []", "37:23 " COMPUTE "runtime.nodeSelector", INVALID,
                "must be a mapping");
    DEVELOPMENT(18, "        gateway: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: \"4\", memory: 3Gi}}",
                "18:35 " COMPUTE "resources.gateway.requests.cpu", INVALID, "write it in quotes");
    DEVELOPMENT(26, "        dns: {namespace: kube-system, podLabels: {}}",
                "26:50 " COMPUTE "network.dns.podLabels", INVALID, "must hold at least 1 entry");
}

/* K122: numbers are plain, here too. */
static void numbers_are_plain_and_in_range(void **state)
{
    static const char *const refused[] = {"0",   "65536",  "08080",    "-1",  "1.5",
                                          "8e3", "0x1F90", "\"8080\"", "port"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(refused); index++)
        DEVELOPMENT(27, mem_format(context, "        gatewayPort: %s", refused[index]),
                    "27:22 " COMPUTE "network.gatewayPort", INVALID,
                    "must be a plain decimal integer from 1 to 65535");
    DEVELOPMENT(33, "        expirationSeconds: 599",
                "33:28 " COMPUTE "servicePrincipalCredentials.expirationSeconds", INVALID, "from 600 to");
    DEVELOPMENT(37, "        nativeOpenClawSessionCapacity: 1025",
                "37:40 " COMPUTE "runtime.nativeOpenClawSessionCapacity", INVALID, "from 1 to 1024");
}

/* K118: what Kubernetes would refuse later is refused at start. */
static void values_have_the_form_that_kubernetes_wants(void **state)
{
    (void)state;
    DEVELOPMENT(14, "        gateway: https://registry.example/gateway", "14:18 " COMPUTE "images.gateway",
                INVALID, "must be an image's reference");
    DEVELOPMENT(14, "        gateway: registry.example/gateway@sha256:abc", "14:18 " COMPUTE "images.gateway",
                INVALID, "must have a digest");
    DEVELOPMENT(18, "        gateway: {requests: {cpu: 5, memory: 1Gi}, limits: {cpu: \"4\", memory: 3Gi}}",
                "18:35 " COMPUTE "resources.gateway.requests.cpu", INVALID, "must be text");
    DEVELOPMENT(
        18, "        gateway: {requests: {cpu: \"5\", memory: 1Gi}, limits: {cpu: \"4\", memory: 3Gi}}",
        "18:35 " COMPUTE "resources.gateway.requests.cpu", INVALID, "must not be more than the limit");
    DEVELOPMENT(23, "            requests: {cpu: 100m, memory: 3Gi}",
                "23:43 " COMPUTE "resources.namespace.containerDefaults.requests.memory", INVALID,
                "must not be more than the limit");
    DEVELOPMENT(21, "          quota: {pods: ten}", "21:25 " COMPUTE "resources.namespace.quota.pods",
                INVALID, "must be a positive quantity");
    DEVELOPMENT(26, "        dns: {namespace: Kube, podLabels: {a: b}}",
                "26:26 " COMPUTE "network.dns.namespace", INVALID, "must be a DNS label");
    DEVELOPMENT(26, "        dns: {namespace: kube, podLabels: {-a: b}}",
                "26:44 " COMPUTE "network.dns.podLabels.-a", INVALID, "its name must be a label's key");
    DEVELOPMENT(26, "        dns: {namespace: kube, podLabels: {a: b c}}",
                "26:47 " COMPUTE "network.dns.podLabels.a", INVALID, "must be a label's value");
    DEVELOPMENT(28, "        gatewayTrustedProxyCidrs: [10.0.0.0/8, 0.0.0.0/0]",
                "28:48 " COMPUTE "network.gatewayTrustedProxyCidrs[1]", INVALID, "must not be all addresses");
    DEVELOPMENT(37, "        codexSeccompProfile: ../unconfined",
                "37:30 " COMPUTE "runtime.codexSeccompProfile", INVALID, "must be a relative path");
    DEVELOPMENT(36, "        transportSecretPrefix: Big", "36:32 " COMPUTE "runtime.transportSecretPrefix",
                INVALID, "must be a DNS label of at most 50 characters");
}

static void authentication_is_one_of_two_modes(void **state)
{
    (void)state;
    DEVELOPMENT(12, "      authentication: {mode: ambient}", "12:30 " COMPUTE "authentication.mode", INVALID,
                "must be inCluster or kubeconfig");
    DEVELOPMENT(12, "      authentication: {mode: kubeconfig, kubeconfigPath: /k}",
                "12:23 " COMPUTE "authentication.context", MISSING, "is required");
    DEVELOPMENT(12, "      authentication: {mode: kubeconfig, kubeconfigPath: k, context: c}",
                "12:58 " COMPUTE "authentication.kubeconfigPath", INVALID, "must be an absolute path");
    DEVELOPMENT(12, "      authentication: {mode: inCluster, context: c}",
                "12:50 " COMPUTE "authentication.context", INVALID, "must not be given with mode inCluster");
    DEVELOPMENT(8, "  secret: {id: secret-kubernetes, configuration: {authentication: {}}}",
                "8:67 drivers.secret.configuration.authentication.mode", MISSING, "is required");
}

static void peers_are_given_exactly_once(void **state)
{
    static const char routing[] =
        "      gatewayRouting: {gatewayName: g, gatewayNamespace: n, envoyNamespace: e}\n"
        "      servicePrincipalCredentials:";

    (void)state;
    DEVELOPMENT(29, "", "26:9 " COMPUTE "network", INVALID,
                "needs gatewayClients here or gatewayRouting beside it");
    DEVELOPMENT(30, routing, "30:23 " COMPUTE "gatewayRouting", INVALID, "exactly one of them");
    DEVELOPMENT(29,
                "        gatewayRouting: {gatewayName: g}\n        gatewayClients: [{namespace: a, "
                "podLabels: {b: c}}]",
                "29:25 " COMPUTE "network.gatewayRouting", "STARTUP_SECTION_UNSUPPORTED",
                "belongs beside network");
    (void)read_text(installation_with(context, 29,
                                      "      gatewayRouting: {gatewayName: g.h, gatewayNamespace: n, "
                                      "envoyNamespace: e, hostname: \"\"}"),
                    MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 0);
}

static void production_is_stricter(void **state)
{
    (void)state;
    PRODUCTION(16, "", "14:9 " COMPUTE "images.requireImmutableDigest", INVALID,
               "must be true in production");
    PRODUCTION(16, "        requireImmutableDigest: false", "16:33 " COMPUTE "images.requireImmutableDigest",
               INVALID, "must be true in production");
    PRODUCTION(14, "        gateway: registry.example/gateway:v1", "14:18 " COMPUTE "images.gateway", INVALID,
               "must end with a digest");
    PRODUCTION(8, "", "6:3 drivers.secret", MISSING, "is required in production: secret-kubernetes");
    PRODUCTION(7, "  configuration: {id: config-filesystem}", "7:23 drivers.configuration.id", INVALID,
               "is for development only; in production: config-kubernetes");
    (void)read_text("logging: {level: info}\n", MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, "i.yaml:1:1 drivers", MISSING, "is required");
    (void)read_text("drivers: {}\n", MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 4);
    /* Development may leave digests out, unless it demands them itself. */
    (void)read_text(installation_with(context, 16, "        requireImmutableDigest: false"),
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
    DEVELOPMENT(14, "        gateway: registry.example/gateway:v1", "14:18 " COMPUTE "images.gateway",
                INVALID, "must end with a digest");
}

static void other_drivers_are_not_available(void **state)
{
    (void)state;
    DEVELOPMENT(
        6, "  iam: {id: other-iam}", "6:13 drivers.iam.id", "STARTUP_DRIVER_UNAVAILABLE",
        "no Driver of this name is bundled; bundled for iam: native-iam; an installed one needs its package");
    DEVELOPMENT(9, "  sandbox: {id: openshell}\n  compute:", "9:17 drivers.sandbox.id",
                "STARTUP_DRIVER_UNAVAILABLE", "bundled for sandbox: none");
}

static void a_sandbox_needs_compute_kubernetes(void **state)
{
    static const char *const others[] = {
        "drivers: {sandbox: {id: openshell, package: openshell}}\n",
        "drivers: {sandbox: {id: openshell, package: openshell}, compute: {id: "
        "compute-docker-development}}\n",
        "drivers: {sandbox: {id: openshell, package: openshell}, compute: {id: other, package: other}}\n",
        "drivers: {sandbox: {id: openshell, package: openshell}, "
        "compute: {id: compute-kubernetes, package: other}}\n",
    };
    size_t index;

    (void)state;
    (void)read_text(
        installation_with(context, 9, "  sandbox: {id: openshell, package: openshell}\n  compute:"),
        MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
    for (index = 0; index < COUNT_OF(others); index++) {
        (void)read_text(others[index], MODE_DEVELOPMENT);
        assert_int_equal(findings_count(findings), 1);
        expect_at(0, "i.yaml:1:20 drivers.sandbox", INVALID, "needs the Compute Driver compute-kubernetes");
    }
}

/* A program that loads no package knows its name's form, and that nothing in it may be a credential. */
static void packages_are_checked_for_their_shape(void **state)
{
    const struct startup *startup = read_text(
        installation_with(context, 8, "  secret: {id: vault, package: acme-vault, configuration: {x: 1}}"),
        MODE_DEVELOPMENT);

    (void)state;
    assert_int_equal(findings_count(findings), 0);
    assert_string_equal(startup->secret.id, "vault");
    assert_string_equal(startup->secret.package, "acme-vault");
    assert_null(startup->compute.package);
    DEVELOPMENT(8, "  secret: {id: vault, package: \"@acme/vault\"}", "8:32 drivers.secret.package", INVALID,
                "must be a package's name: at most 64 of a-z, 0-9 and -");
    DEVELOPMENT(8, "  secret: {id: vault, package: ../vault}", "8:32 drivers.secret.package", INVALID,
                "must be a package's name");
    (void)read_text(installation_with(context, 8, "  secret: {id: vault, package: vault}"), MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, "i.yaml:8:32 drivers.secret.package", INVALID, "production needs the bundled Secret Driver");
}

static const struct schema_field vault_fields[] = {
    {"address", true, {.type = SCHEMA_TEXT}},
    {"apiToken", false, {.type = SCHEMA_TEXT, .reference = true}},
};
static const struct schema vault_schema = {SCHEMA_FIELDS(vault_fields)};

static bool find_vault(void *subject, const char *capability, const char *package, const char *id,
                       bool production, const struct schema **schema, struct fault *fault)
{
    *(bool *)subject = production;
    assert_string_equal(capability, "secret");
    assert_string_equal(package, "acme-vault");
    if (strcmp(id, "vault") != 0)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_ID_MISMATCH", "it is vault, not %s", id);
    *schema = &vault_schema;
    return true;
}

static void read_vault(const char *line, bool *production)
{
    const struct startup_packages packages = {production, find_vault};
    const char *text = installation_with(context, 8, line);

    findings = findings_new(context);
    assert_non_null(startup_read(context, "i.yaml", secret_new(context, text, strlen(text)), MODE_DEVELOPMENT,
                                 &packages, findings));
}

static void a_package_brings_its_schema(void **state)
{
    bool production = true;

    (void)state;
    read_vault("  secret: {id: vault, package: acme-vault, configuration: {address: a, apiToken: /run/t}}",
               &production);
    assert_int_equal(findings_count(findings), 0);
    assert_false(production);
    read_vault("  secret: {id: vault, package: acme-vault}", &production);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, "i.yaml:8:11 drivers.secret.configuration.address", MISSING, "is required");
    read_vault(
        "  secret: {id: vault, package: acme-vault, configuration: {address: 1, apiToken: hunter2, b: c}}",
        &production);
    assert_int_equal(findings_count(findings), 3);
    expect_at(0, "i.yaml:8:69 drivers.secret.configuration.address", INVALID, "must be text");
    expect_at(1, "i.yaml:8:82 drivers.secret.configuration.apiToken", CREDENTIAL,
              "an absolute path or a Secret's id");
    expect_at(2, "i.yaml:8:91 drivers.secret.configuration.b", UNKNOWN, "known here: address, apiToken");
    no_finding_shows("hunter2");
    read_vault("  secret: {id: other, package: acme-vault, configuration: {token: hunter2}}", &production);
    assert_int_equal(findings_count(findings), 2);
    expect_at(0, "i.yaml:8:32 drivers.secret.package", "DRIVER_ID_MISMATCH", "it is vault, not other");
    expect_at(1, "i.yaml:8:67 drivers.secret.configuration.token", CREDENTIAL, "credential by its name");
    /* Nothing of a wrong form is looked for. */
    read_vault("  secret: {id: vault, package: Acme}", &production);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, "i.yaml:8:32 drivers.secret.package", INVALID, "must be a package's name");
}

static void sections_of_the_api_are_ignored_with_one_warning(void **state)
{
    (void)state;
    (void)read_text(installation_with(context, 5,
                                      "presets: {a: {b: [1]}}\n"
                                      "observability: {traces: true}\n"
                                      "backend: []\n"
                                      "drivers:\n"
                                      "  plugin: {id: plugin-catalog, configuration: {any: thing}}"),
                    MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, "i.yaml:5:10", "STARTUP_SECTION_IGNORED", "presets, observability, backend, drivers.plugin");
    assert_int_equal(findings_at(findings, 0)->kind, FINDING_WARNING);
    assert_int_equal(findings_exit_status(findings), 0);
    (void)read_text("observability: 7\n", MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 2);
    expect_at(0, "i.yaml:1:16 observability", INVALID, "must be a mapping or a list");
}

static void sections_that_would_change_a_worker_are_refused_by_name(void **state)
{
    (void)state;
    (void)read_text("backend:\n  - id: openshell\nruntime: {nativeWorkerSupport: custom-image}\n"
                    "drivers:\n  repo: {id: a}\n  credential_gateway: {id: b}\n",
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 4);
    expect_at(0, "i.yaml:2:3 backend", "STARTUP_SECTION_UNSUPPORTED", "would change");
    expect_at(1, "i.yaml:3:32 runtime.nativeWorkerSupport", "STARTUP_SECTION_UNSUPPORTED", "would change");
    expect_at(2, "i.yaml:5:9 drivers.repo", "STARTUP_SECTION_UNSUPPORTED", "would change");
    expect_at(3, "i.yaml:6:23 drivers.credential_gateway", "STARTUP_SECTION_UNSUPPORTED", "would change");
    for (size_t index = 0; index < 4; index++)
        assert_memory_equal(findings_at(findings, index)->message, "would ", 6);
}

/* K68 */
static void credentials_are_found_and_never_shown(void **state)
{
    (void)state;
    /* A URL with user information, anywhere. */
    DEVELOPMENT(32, "        audience: https://user:hunter2@host/path",
                "32:19 " COMPUTE "servicePrincipalCredentials.audience", CREDENTIAL, "user information");
    no_finding_shows("hunter2");
    (void)read_text("presets: {\"https://u:hunter2@h/\": [\"see https://hunter2@h/x\"]}\n", MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 2);
    no_finding_shows("hunter2");
    /* Literals under keys that mean a credential: in free maps, unknown fields and others' sections. */
    DEVELOPMENT(37, "        nodeSelector: {example.com/api-token: hunter2}",
                "37:47 " COMPUTE "runtime.nodeSelector.example.com/api-token", CREDENTIAL,
                "credential by its name");
    no_finding_shows("hunter2");
    (void)read_text("observability: {exporter: {headers: {apiKey: hunter2, keyboard: x, name: y}}}\n",
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 1);
    expect_at(0, "i.yaml:1:46 observability.exporter.headers.apiKey", CREDENTIAL, "credential by its name");
    (void)read_text("database: {PASSWORD: hunter2}\npassword: {a: [hunter2, true, ~, \"\"]}\n",
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 4);
    expect_at(0, "i.yaml:1:1 database", UNKNOWN, "unknown field");
    expect_at(1, "i.yaml:1:22 database.PASSWORD", CREDENTIAL, "credential by its name");
    expect_at(2, "i.yaml:2:1 password", UNKNOWN, "unknown field");
    expect_at(3, "i.yaml:2:16 password.a[0]", CREDENTIAL, "credential by its name");
    no_finding_shows("hunter2");
    (void)read_text("drivers: {iam: {id: x, package: y, configuration: {client: {secret: hunter2}}}}\n",
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 1);
    expect_at(0, "i.yaml:1:69 drivers.iam.configuration.client.secret", CREDENTIAL, "credential by its name");
    no_finding_shows("hunter2");
    /* What the Driver's own schema may accept is not for a program to refuse that does not know it. */
    (void)read_text(
        "drivers: {iam: {id: x, package: y, configuration: {tokenPath: /run/t, keys: [/etc/k]}}}\n",
        MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 0);
}

/* A file that was cut before the value of its last required field is never taken for a whole one. */
static void a_truncated_file_is_refused(void **state)
{
    size_t length;

    (void)state;
    for (length = 0; length < sizeof installation_yaml - 1; length++) {
        void *scratch = talloc_new(NULL);

        findings = findings_new(scratch);
        assert_non_null(startup_read(scratch, "i.yaml", secret_new(scratch, installation_yaml, length),
                                     MODE_PRODUCTION, NULL, findings));
        if (strstr(installation_yaml, "openclaw-agent-transport") >= installation_yaml + length)
            assert_true(findings_problems(findings) > 0);
        talloc_free(scratch);
    }
}

/* Whatever a byte turns into, there is an answer; the sanitizers look on. */
static void a_damaged_file_has_an_answer(void **state)
{
    static const char bytes[] = "\t\n\0\"'{}[]:,&*!|>%@`#-?\xff\xc3 ";
    size_t at, index;

    (void)state;
    for (at = 0; at < sizeof installation_yaml - 1; at += 7) {
        for (index = 0; index < sizeof bytes - 1; index++) {
            void *scratch = talloc_new(NULL);
            char *text = mem_text(scratch, installation_yaml);

            text[at] = bytes[index];
            findings = findings_new(scratch);
            assert_non_null(startup_read(scratch, "i.yaml",
                                         secret_new(scratch, text, sizeof installation_yaml - 1),
                                         MODE_PRODUCTION, NULL, findings));
            talloc_free(scratch);
        }
    }
}

static void ten_findings_come_at_once(void **state)
{
    (void)state;
    (void)read_text("occ: {cluster: 7}\n"
                    "logging: {level: loud}\n"
                    "drivers:\n"
                    "  iam: {id: native-iam, extra: 1}\n"
                    "  secret: {id: secret-kubernetes, configuration: {authentication: {mode: none}}}\n"
                    "  configuration: {configuration: {}}\n"
                    "  compute: {id: compute-docker-development, configuration: {socket: /x}}\n"
                    "  repo: {id: x}\n"
                    "more: 1\n"
                    "occ: {}\n"
                    "url: http://me@host/\n",
                    MODE_DEVELOPMENT);
    assert_int_equal(findings_problems(findings), 11);
    expect_at(0, "i.yaml:10:1 occ", "STARTUP_YAML_SYNTAX", "stands twice");
    expect_at(1, "i.yaml:1:16 occ.cluster", INVALID, "must be text");
    expect_at(2, "i.yaml:2:18 logging.level", INVALID, "must be debug");
    expect_at(3, "i.yaml:4:25 drivers.iam.extra", UNKNOWN, "unknown field");
    expect_at(4, "i.yaml:5:74 drivers.secret.configuration.authentication.mode", INVALID,
              "must be inCluster");
    expect_at(5, "i.yaml:6:18 drivers.configuration.id", MISSING, "is required");
    expect_at(6, "i.yaml:7:61 drivers.compute.configuration.socket", UNKNOWN, "unknown field");
    expect_at(7, "i.yaml:8:9 drivers.repo", "STARTUP_SECTION_UNSUPPORTED", "would change");
    expect_at(8, "i.yaml:9:1 more", UNKNOWN, "unknown field");
    expect_at(9, "i.yaml:11:1 url", UNKNOWN, "unknown field");
    expect_at(10, "i.yaml:11:6 url", CREDENTIAL, "user information");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_complete_file_is_accepted),
        TEST(development_has_defaults),
        TEST(the_file_is_a_mapping),
        TEST(unknown_fields_are_refused_at_every_level),
        TEST(required_fields_are_named),
        TEST(types_are_checked),
        TEST(numbers_are_plain_and_in_range),
        TEST(values_have_the_form_that_kubernetes_wants),
        TEST(authentication_is_one_of_two_modes),
        TEST(peers_are_given_exactly_once),
        TEST(production_is_stricter),
        TEST(other_drivers_are_not_available),
        TEST(a_sandbox_needs_compute_kubernetes),
        TEST(packages_are_checked_for_their_shape),
        TEST(a_package_brings_its_schema),
        TEST(sections_of_the_api_are_ignored_with_one_warning),
        TEST(sections_that_would_change_a_worker_are_refused_by_name),
        TEST(credentials_are_found_and_never_shown),
        TEST(a_truncated_file_is_refused),
        TEST(a_damaged_file_has_an_answer),
        TEST(ten_findings_come_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
