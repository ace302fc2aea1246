/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pem.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tests/unit/io/certificate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void *context;
static struct made_certificate good;

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    good = make_certificate(context, "good", -DAY, DAY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static struct secret *of_text(const char *text)
{
    return secret_new(context, text, strlen(text));
}

/* A text in which a letter in the middle of the base64 is another one. */
static const char *spoilt(const char *pem)
{
    char *text = mem_text(context, pem);
    char *middle = text + strlen(text) / 2;

    *middle = *middle == '%' ? '&' : '%';
    return text;
}

static void is_wrong(const char *found, const char *expected)
{
    if (!found)
        fail_msg("nothing is wrong instead of %s", expected);
    if (!strstr(found, expected))
        fail_msg("%s instead of %s", found, expected);
}

static void certificates_are_looked_at(void **state)
{
    const char *two = mem_format(context, "# ours\n%s\n%s", good.certificate, good.certificate);
    const char *mixed = mem_format(context, "%s%s", good.key, good.certificate);
    const char *zero = mem_format(context, "%s ", good.certificate);
    const char *half = mem_text_part(context, good.certificate, strlen(good.certificate) / 2);
    struct secret *with_zero = secret_new(context, zero, strlen(zero) + 1);

    (void)state;
    assert_null(pem_wrong_certificates(of_text(good.certificate)));
    assert_null(pem_wrong_certificates(of_text(two)));
    assert_null(pem_wrong_certificates(of_text(mixed)));
    is_wrong(pem_wrong_certificates(of_text("")), "holds no certificate");
    is_wrong(pem_wrong_certificates(of_text("hello\n")), "holds no certificate");
    is_wrong(pem_wrong_certificates(of_text(good.key)), "holds no certificate");
    is_wrong(pem_wrong_certificates(of_text(half)), "malformed certificate");
    is_wrong(pem_wrong_certificates(of_text(spoilt(good.certificate))), "malformed certificate");
    is_wrong(pem_wrong_certificates(of_text(mem_format(context, "%s%s", good.certificate, half))),
             "malformed certificate");
    is_wrong(pem_wrong_certificates(with_zero), "zero byte");
}

static void keys_are_looked_at(void **state)
{
    const char *half = mem_text_part(context, good.key, strlen(good.key) / 2);

    (void)state;
    assert_null(pem_wrong_key(of_text(good.key)));
    assert_null(pem_wrong_key(of_text(mem_format(context, "%s%s", good.certificate, good.key))));
    is_wrong(pem_wrong_key(of_text("hello\n")), "holds no private key");
    is_wrong(pem_wrong_key(of_text(good.certificate)), "holds no private key");
    is_wrong(pem_wrong_key(of_text(half)), "malformed private key");
    is_wrong(pem_wrong_key(of_text(spoilt(good.key))), "malformed private key");
    /* The terminal is not asked: this test would hang. */
    is_wrong(pem_wrong_key(of_text(encrypted(context, good.key))), "is encrypted");
}

static void a_key_fits_its_certificate_alone(void **state)
{
    struct made_certificate other = make_certificate(context, "other", -DAY, DAY);
    const char *chain = mem_format(context, "%s%s", good.certificate, other.certificate);

    (void)state;
    assert_true(pem_key_fits(of_text(good.certificate), of_text(good.key)));
    assert_false(pem_key_fits(of_text(good.certificate), of_text(other.key)));
    assert_true(pem_key_fits(of_text(chain), of_text(good.key)));
    assert_false(pem_key_fits(of_text(chain), of_text(other.key)));
}

static void dates_are_read(void **state)
{
    int64_t now = clock_epoch_ms() / 1000;
    int64_t from;
    int64_t until;

    (void)state;
    pem_validity(of_text(good.certificate), &from, &until);
    assert_in_range(from, now - DAY - 600, now - DAY + 600);
    assert_in_range(until, now + DAY - 600, now + DAY + 600);
}

/* Whatever is cut off or spoilt, nothing is read beyond the end. */
static void garbage_does_no_harm(void **state)
{
    size_t length = strlen(good.certificate);

    (void)state;
    for (size_t at = 0; at < length; at += 5) {
        struct secret *part = secret_new(context, good.certificate, at);

        (void)pem_wrong_certificates(part);
        (void)pem_key_fits(part, of_text(good.key));
        talloc_free(part);
    }
    for (size_t at = 0; at < strlen(good.key); at += 5) {
        struct secret *part = secret_new(context, good.key, at);

        (void)pem_wrong_key(part);
        talloc_free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_are_looked_at),
        cmocka_unit_test(keys_are_looked_at),
        cmocka_unit_test(a_key_fits_its_certificate_alone),
        cmocka_unit_test(dates_are_read),
        cmocka_unit_test(garbage_does_no_harm),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
