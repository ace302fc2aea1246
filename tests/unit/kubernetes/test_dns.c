/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/tenant/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define PEER                                                                                                 \
    "{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}},"            \
    "\"podSelector\":{\"matchLabels\":{\"k8s-app\":\"kube-dns\"}}}"
#define OTHER "{\"podSelector\":{\"matchLabels\":{\"k8s-app\":\"other\"}}}"
#define UDP_53 "{\"protocol\":\"UDP\",\"port\":53}"
#define TCP_53 "{\"protocol\":\"TCP\",\"port\":53}"
#define UDP_5353 "{\"protocol\":\"UDP\",\"port\":5353}"
#define TCP_5353 "{\"protocol\":\"TCP\",\"port\":5353}"
#define ALL UDP_53 "," TCP_53 "," UDP_5353 "," TCP_5353
#define RULE(to, ports) "{\"to\":[" to "],\"ports\":[" ports "]}"

static void check(const char *egress, const char *expected)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const char *labels = "{\"k8s-app\":\"kube-dns\"}";
    const struct kubernetes_peer dns = {"kube-system", json_read(context, labels, strlen(labels))};
    const char *text = mem_format(context, "{\"spec\":{\"egress\":%s}}", egress);
    const cJSON *policy = json_read(context, text, strlen(text));
    const cJSON *found;

    assert_non_null(policy);
    found = kubernetes_dns_rules(context, &dns, policy);
    assert_string_equal(json_write(context, found), expected);
    /* What is complete stays as it is. */
    text = mem_format(context, "{\"spec\":{\"egress\":%s}}", expected);
    found = kubernetes_dns_rules(context, &dns, json_read(context, text, strlen(text)));
    assert_string_equal(json_write(context, found), expected);
    talloc_free(context);
}

static void four_ports_are_granted(void **state)
{
    (void)state;
    check("[]", "[" RULE(PEER, ALL) "]");
    check("null", "[" RULE(PEER, ALL) "]");
    check("[" RULE(PEER, ALL) "]", "[" RULE(PEER, ALL) "]");
}

/* K117 */
static void an_older_rule_gets_what_it_lacks(void **state)
{
    (void)state;
    check("[" RULE(PEER, UDP_53 "," TCP_53) "]", "[" RULE(PEER, ALL) "]");
    check("[" RULE(PEER, TCP_53) "]", "[" RULE(PEER, TCP_53 "," UDP_53 "," UDP_5353 "," TCP_5353) "]");
    check("[" RULE(PEER, UDP_53) "," RULE(PEER, TCP_53) "]",
          "[" RULE(PEER, UDP_53 "," UDP_5353 "," TCP_5353) "," RULE(PEER, TCP_53) "]");
}

/* K117: and others are not opened by it. */
static void what_others_have_added_stays(void **state)
{
    (void)state;
    check("[" RULE(OTHER, "{\"protocol\":\"TCP\",\"port\":443}") "]",
          "[" RULE(OTHER, "{\"protocol\":\"TCP\",\"port\":443}") "," RULE(PEER, ALL) "]");
    check("[" RULE(OTHER "," PEER, UDP_53) "]",
          "[" RULE(OTHER "," PEER, UDP_53) "," RULE(PEER, TCP_53 "," UDP_5353 "," TCP_5353) "]");
    check("[" RULE(OTHER, UDP_53) "," RULE(PEER, UDP_53 "," TCP_53) "]",
          "[" RULE(OTHER, UDP_53) "," RULE(PEER, ALL) "]");
    check("[" RULE(PEER, "{\"protocol\":\"UDP\",\"port\":\"dns\"}") "]",
          "[" RULE(PEER, "{\"protocol\":\"UDP\",\"port\":\"dns\"}," ALL) "]");
}

static void wider_grants_are_grants(void **state)
{
    (void)state;
    check("[{}]", "[{}]");
    check("[{\"to\":[" PEER "]}]", "[{\"to\":[" PEER "]}]");
    check("[{\"ports\":[" ALL "]}]", "[{\"ports\":[" ALL "]}]");
    check("[" RULE(PEER, "{\"protocol\":\"UDP\"},{}") "]", "[" RULE(PEER, "{\"protocol\":\"UDP\"},{}") "]");
    check("[" RULE(PEER, "{\"protocol\":\"UDP\",\"port\":50,\"endPort\":6000}") "]",
          "[" RULE(PEER, "{\"protocol\":\"UDP\",\"port\":50,\"endPort\":6000}," TCP_53 "," TCP_5353) "]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_ports_are_granted),
        cmocka_unit_test(an_older_rule_gets_what_it_lacks),
        cmocka_unit_test(what_others_have_added_stays),
        cmocka_unit_test(wider_grants_are_grants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
