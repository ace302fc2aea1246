/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pg_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void *context;

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static const struct secret *url_of(const char *text)
{
    return secret_new(context, text, strlen(text));
}

static void is_refused(const char *url, const char *why)
{
    struct pg_target *target = NULL;
    struct fault fault = {0};

    assert_false(pg_url_check(url ? url_of(url) : NULL, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "DATABASE_CONFIGURATION_INVALID");
    assert_non_null(strstr(fault.message, "A valid PostgreSQL connection URL must be explicitly configured"));
    if (!strstr(fault.message, why))
        fail_msg("%s instead of %s", fault.message, why);
    assert_null(strstr(fault.message, "pass")); /* K68: no part of the URL is repeated */
    assert_false(pg_url_parse(context, url ? url_of(url) : NULL, &target, &fault));
    assert_null(target);
}

static void malformed_urls_are_refused(void **state)
{
    (void)state;
    is_refused(NULL, "empty");
    is_refused("", "empty");
    is_refused("http://u:pass@h/d", "scheme");
    is_refused("postgresql:u:pass@h/d", "scheme");
    is_refused("POSTGRESQL://u:pass@h/d", "scheme");
    is_refused("dbname=d password=pass", "scheme");
    is_refused("postgresql://u:pass@h/d\n", "percent-encoded");
    is_refused("postgresql://u:pass@h/d e", "percent-encoded");
    is_refused("postgresql://u:pass%@h/d", "malformed");
    is_refused("postgresql://u:pass@[::1/d", "malformed");
    is_refused("postgresql://u:pass@h/d?pass=1", "option");
    is_refused("postgresql://u:pass@h:x/d", "port");
    is_refused("postgresql://u:pass@h:05432/d", "port"); /* K122 */
    is_refused("postgresql://u:pass@h:65536/d", "port");
    is_refused("postgresql://u:pass@h:1,i:-1/d", "port");
    is_refused("postgresql://u:pass@h/d?sslmode=pass", "sslmode");
    is_refused("postgresql://u:pass@h/d?target_session_attrs=pass", "target_session_attrs");
}

static void places_are_taken_apart(void **state)
{
    struct pg_target *target;
    struct fault fault;

    (void)state;
    assert_true(pg_url_parse(context,
                             url_of("postgresql://u:p%40ss@one:1,[2001:db8::2],three:3/"
                                    "d?hostaddr=192.0.2.1,,192.0.2.3&target_session_attrs=prefer-standby"),
                             &target, &fault));
    assert_int_equal(target->count, 3);
    assert_string_equal(target->places[0].host, "one");
    assert_string_equal(target->places[0].address, "192.0.2.1");
    assert_string_equal(target->places[0].port, "1");
    assert_string_equal(target->places[1].host, "2001:db8::2");
    assert_string_equal(target->places[1].address, "");
    assert_string_equal(target->places[1].port, "");
    assert_string_equal(target->places[2].port, "3");
    assert_string_equal(target->session, "prefer-standby");
    assert_string_equal(target->password, "p@ss");
    assert_string_equal(target->user, "u");
    assert_string_equal(pg_url_name(context, &target->places[1]), "[2001:db8::2]:5432");
    assert_true(pg_url_parse(context, url_of("postgres://h,i/d?port=7"), &target, &fault));
    assert_string_equal(target->places[1].port, "7"); /* one port counts for all */
    assert_null(target->session);
    assert_null(target->password);
    assert_true(pg_url_parse(context, url_of("postgresql://"), &target, &fault));
    assert_int_equal(target->count, 1);
    assert_string_equal(target->places[0].host, "");
}

static void only_parts_that_may_be_shown_are(void **state)
{
    const char *host;
    const char *database;

    (void)state;
    pg_url_describe(context, url_of("postgresql://u:pass@a:1,b/name?application_name=pass"), &host,
                    &database);
    assert_string_equal(host, "a:1,b:5432");
    assert_string_equal(database, "name");
    pg_url_describe(context, url_of("postgresql://someone:pass@/?host=/run/postgresql"), &host, &database);
    assert_string_equal(host, "/run/postgresql:5432");
    assert_string_equal(database, "someone");
    pg_url_describe(context, url_of("nonsense:pass"), &host, &database);
    assert_string_equal(host, "");
    assert_string_equal(database, "");
}

static void names_are_resolved_and_addresses_are_not(void **state)
{
    struct pg_place place = {.host = "127.0.0.1"};
    const char **addresses;
    struct fault fault;
    size_t count;

    (void)state;
    assert_true(pg_url_resolve(context, &place, &addresses, &count, &fault));
    assert_int_equal(count, 1);
    assert_string_equal(addresses[0], "127.0.0.1");
    place = (struct pg_place){.host = "any.name", .address = "192.0.2.1"};
    assert_true(pg_url_resolve(context, &place, &addresses, &count, &fault));
    assert_int_equal(count, 1);
    assert_null(addresses[0]);
    place = (struct pg_place){.host = "/run/postgresql"};
    assert_true(pg_url_resolve(context, &place, &addresses, &count, &fault));
    assert_null(addresses[0]);
    place = (struct pg_place){.host = "no.such.invalid"}; /* RFC 6761 section 6.4 */
    assert_false(pg_url_resolve(context, &place, &addresses, &count, &fault));
    assert_int_equal(fault.class, FAULT_UNAVAILABLE); /* K43: it may be there tomorrow */
    /* Which of them depends on whether this machine's resolver reaches a server. */
    assert_true(strcmp(fault.cause, "no-such-host") == 0 || strcmp(fault.cause, "unreachable") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(malformed_urls_are_refused),
        TEST(places_are_taken_apart),
        TEST(only_parts_that_may_be_shown_are),
        TEST(names_are_resolved_and_addresses_are_not),
    };

    (void)unsetenv("PGHOST");
    (void)unsetenv("PGPORT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
