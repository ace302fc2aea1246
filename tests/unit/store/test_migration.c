/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/store/migration.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MANY 64

/* A history as a database has it that received the whole list. */
static void whole_history(void *context, struct migration_record *history)
{
    assert_true(migration_list_length > 2 && migration_list_length < MANY);
    for (size_t i = 0; i < migration_list_length; i++) {
        char *hash = mem_zeroed(context, 1, MIGRATION_HASH_SIZE, "hash");

        migration_hash(&migration_list[i], hash);
        history[i] = (struct migration_record){migration_list[i].number, migration_list[i].name, hash};
    }
}

static void test_list_is_numbered_without_a_gap(void **state)
{
    (void)state;
    for (size_t i = 0; i < migration_list_length; i++) {
        char prefix[8];

        assert_int_equal(migration_list[i].number, i + 1);
        assert_int_equal(snprintf(prefix, sizeof(prefix), "%04zu_", i + 1), 5);
        assert_int_equal(strncmp(migration_list[i].name, prefix, 5), 0);
    }
}

/* The text in the program is the file, byte for byte, so that sha256sum gives the recorded hash. */
static void test_text_is_the_file(void **state)
{
    const char *source = getenv("srcdir");
    char path[4096];
    char *bytes = malloc(1 << 20);

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < migration_list_length; i++) {
        assert_true(snprintf(path, sizeof(path), "%s/lib/store/migrations/%s.sql",
                             source == NULL ? "." : source, migration_list[i].name) < (int)sizeof(path));
        FILE *file = fopen(path, "r");
        if (file == NULL)
            fail_msg("%s is missing", path);
        size_t length = fread(bytes, 1, 1 << 20, file);
        fclose(file);
        assert_int_equal(length, strlen(migration_list[i].sql));
        assert_memory_equal(bytes, migration_list[i].sql, length);
    }
    free(bytes);
}

static void test_hash(void **state)
{
    const struct migration abc = {1, "0001_abc", "abc"};
    char hash[MIGRATION_HASH_SIZE];

    (void)state;
    migration_hash(&abc, hash); /* FIPS 180-4, the standard's own example */
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_empty_behind_current(void **state)
{
    void *context = talloc_new(NULL);
    struct migration_record history[MANY];
    struct migration_status status;

    (void)state;
    whole_history(context, history);
    assert_int_equal(migration_compare(context, history, 0).state, MIGRATION_EMPTY);
    for (size_t length = 1; length < migration_list_length; length++) {
        status = migration_compare(context, history, length);
        assert_int_equal(status.state, MIGRATION_BEHIND);
        assert_int_equal(status.applied, length);
        assert_null(status.finding);
    }
    status = migration_compare(context, history, migration_list_length);
    assert_int_equal(status.state, MIGRATION_CURRENT);
    assert_int_equal(status.applied, migration_list_length);
    talloc_free(context);
}

static void expect_unsupported(void *context, const struct migration_record *history, size_t length,
                               const char *word)
{
    struct migration_status status = migration_compare(context, history, length);

    assert_int_equal(status.state, MIGRATION_UNSUPPORTED);
    assert_int_equal(status.applied, 0);
    if (strstr(status.finding, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", status.finding, word);
}

static void test_unsupported(void **state)
{
    void *context = talloc_new(NULL);
    struct migration_record history[MANY];

    (void)state;
    whole_history(context, history);
    history[1].hash = "0000000000000000000000000000000000000000000000000000000000000000";
    expect_unsupported(context, history, 2, "edited");
    expect_unsupported(context, history, migration_list_length, "edited");

    whole_history(context, history);
    history[1].name = "0002_other";
    expect_unsupported(context, history, 2, "unknown");

    whole_history(context, history);
    history[1] = history[2];
    expect_unsupported(context, history, 2, "was not");

    whole_history(context, history);
    history[migration_list_length] =
        (struct migration_record){(unsigned)migration_list_length + 1, "9999_later", history[0].hash};
    expect_unsupported(context, history, migration_list_length + 1, "newer");
    talloc_free(context);
}

static void test_state_names(void **state)
{
    (void)state;
    assert_string_equal(migration_state_name(MIGRATION_EMPTY), "empty");
    assert_string_equal(migration_state_name(MIGRATION_BEHIND), "behind");
    assert_string_equal(migration_state_name(MIGRATION_CURRENT), "current");
    assert_string_equal(migration_state_name(MIGRATION_UNSUPPORTED), "unsupported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_is_numbered_without_a_gap),
        cmocka_unit_test(test_text_is_the_file),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_empty_behind_current),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_state_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
