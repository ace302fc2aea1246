/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/credential.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sodium.h>

static void test_service_keys(void **state)
{
    void *memory = talloc_new(NULL);
    struct secret *one = credential_new_service_key(memory), *other = credential_new_service_key(memory);

    (void)state;
    assert_int_equal(secret_length(one), SERVICE_KEY_LENGTH);
    assert_true(credential_is_service_key(secret_expose(one), secret_length(one)));
    assert_string_not_equal(secret_expose(one), secret_expose(other));
    talloc_free(memory);
}

static void test_what_is_no_service_key(void **state)
{
    static const char good[] = "occ_sk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_";
    char text[sizeof good + 1];
    size_t index;

    (void)state;
    assert_true(credential_is_service_key(good, SERVICE_KEY_LENGTH));
    assert_false(credential_is_service_key(good, SERVICE_KEY_LENGTH - 1));
    assert_false(credential_is_service_key("", 0));
    for (index = 0; index < SERVICE_KEY_LENGTH; index++) {
        memcpy(text, good, sizeof good);
        text[index] = index < 7 ? 'X' : '=';
        assert_false(credential_is_service_key(text, SERVICE_KEY_LENGTH));
    }
}

/* FIPS 180-4 example: SHA-256("abc"). */
static void test_the_hash_of_a_service_key(void **state)
{
    void *memory = talloc_new(NULL);
    char hash[SERVICE_KEY_HASH_SIZE];

    (void)state;
    credential_hash_service_key(secret_new(memory, "abc", 3), hash);
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    talloc_free(memory);
}

static void test_passwords(void **state)
{
    void *memory = talloc_new(NULL);
    struct secret *password = credential_new_password(memory);
    const char *one, *other;
    struct fault fault;

    (void)state;
    assert_int_equal(secret_length(password), 32);
    assert_true(credential_hash_password(memory, password, &one, &fault));
    assert_true(credential_hash_password(memory, password, &other, &fault));
    assert_string_not_equal(one, other);
    assert_int_equal(strncmp(one, "$argon2id$v=19$m=65536,t=2,p=1$", 31), 0);
    assert_int_equal(crypto_pwhash_str_verify(one, secret_expose(password), secret_length(password)), 0);
    assert_int_not_equal(crypto_pwhash_str_verify(one, "wrong", 5), 0);
    assert_null(strstr(one, secret_expose(password)));
    talloc_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service_keys),
        cmocka_unit_test(test_what_is_no_service_key),
        cmocka_unit_test(test_the_hash_of_a_service_key),
        cmocka_unit_test(test_passwords),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
