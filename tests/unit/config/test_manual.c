/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup.h"
#include "lib/config/startup_sections.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static char *read_manual(const void *context)
{
    const char *source = getenv("srcdir"); /* set by the test driver */
    FILE *file = fopen(mem_format(context, "%s/man/occ-installation.yaml.5", source ? source : "."), "re");
    char *text = mem_text(context, ""), part[4096];
    size_t got;

    assert_non_null(file);
    while ((got = fread(part, 1, sizeof part - 1, file)) > 0) {
        part[got] = '\0';
        text = mem_append(text, "%s", part);
    }
    (void)fclose(file);
    return text;
}

/* The literal block of the manual's example, as a reader sees it. */
static char *example_of(const void *context, const char *manual)
{
    static const char begins[] = ".Sh EXAMPLES\n.Bd -literal\n";
    const char *from = strstr(manual, begins);
    char *example = mem_text(context, "");

    assert_non_null(from);
    from += sizeof begins - 1;
    while (strncmp(from, ".Ed", 3) != 0) {
        size_t length = strcspn(from, "\n"), text = length;

        if (length >= 2 && strncmp(from + length - 2, "\\e", 2) == 0)
            text = length - 1; /* roff's way to write a backslash */
        assert_null(memchr(from, '\\', text - (text < length)));
        example = mem_append(example, "%.*s\n", (int)text, from);
        from += length + 1;
    }
    return example;
}

static void the_example_is_accepted_in_production(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    const char *example = example_of(context, read_manual(context));
    const struct startup *startup = startup_read(
        context, "manual", secret_new(context, example, strlen(example)), MODE_PRODUCTION, NULL, findings);

    (void)state;
    findings_print(findings, stderr, "manual");
    assert_int_equal(findings_count(findings), 0);
    assert_string_equal(startup->compute.id, "compute-kubernetes");
    talloc_free(context);
}

static void expect_documented(const void *context, const char *manual, const struct schema *schema)
{
    size_t index;

    if (schema->like)
        schema = schema->like;
    for (index = 0; index < schema->count; index++) {
        const char *name = schema->fields[index].name;

        if (!strstr(manual, name))
            fail_msg("the manual does not tell of %s", name);
        expect_documented(context, manual, &schema->fields[index].schema);
    }
    if (schema->item)
        expect_documented(context, manual, schema->item);
}

static void every_field_is_documented(void **state)
{
    void *context = talloc_new(NULL);
    const char *manual = read_manual(context);

    (void)state;
    expect_documented(context, manual, &startup_schema);
    expect_documented(context, manual, &startup_kubernetes_authentication);
    expect_documented(context, manual, &startup_kubernetes_compute);
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_accepted_in_production),
        cmocka_unit_test(every_field_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
