/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/hash.h"
#include "lib/kubernetes/object/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define NAMESPACE "ns_0b9c2f4e-7a31-4d58-9c1e-5f2a6b7c8d90"

/* The hashes are those of sha256sum(1). */
static void a_namespace_has_two_names_and_an_older_one(void **state)
{
    char space[KUBERNETES_LABEL_SIZE];

    (void)state;
    kubernetes_data_space(NAMESPACE, space);
    assert_string_equal(space, "oce-ba329e1a208d5a8");
    kubernetes_gateway_space(NAMESPACE, space);
    assert_string_equal(space, "oce-gateways-ba329e1a208d5a83e2088178");
    kubernetes_older_data_space(NAMESPACE, space); /* K116 */
    assert_string_equal(space, "oce-ns-0b9c2f4e-7a31-4d58-9c1e-5f2a6-ba329e1a208d");
}

static void what_belongs_to_an_agent_and_a_revision_is_named_after_them(void **state)
{
    char name[KUBERNETES_NAME_SIZE];

    (void)state;
    kubernetes_agent_name("gateway", "abc", name);
    assert_string_equal(name, "gateway-ba7816bf8f01");
    kubernetes_revision_name("harness", "abc", "", name);
    assert_string_equal(name, "harness-ba7816bf8f01-e3b0c44298fc");
    kubernetes_hashed_name("secret", "abc", name);
    assert_string_equal(name, "secret-ba7816bf8f01cfea414140de");
}

static void a_hash_is_cut_at_the_digits_asked_for(void **state)
{
    char hash[HASH_DIGITS + 1];

    (void)state;
    hash_text("abc", HASH_DIGITS, hash);
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_text("abc", 15, hash);
    assert_string_equal(hash, "ba7816bf8f01cfe");
    hash_hex("abcd", 3, 1, hash);
    assert_string_equal(hash, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_namespace_has_two_names_and_an_older_one),
        cmocka_unit_test(what_belongs_to_an_agent_and_a_revision_is_named_after_them),
        cmocka_unit_test(a_hash_is_cut_at_the_digits_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
