/* SPDX-License-Identifier: MIT
 *
 * numeric.c of PostgreSQL: set_var_from_str() takes exponents below INT_MAX / 2, make_result() refuses a
 * value whose first digit that counts, or whose scale, does not fit into the stored form. Trailing zeros of
 * the fraction are part of the scale.
 */
#include "lib/base/build.h"

#include "lib/admit/document.h"

#define EXPONENT_MOST (INT32_MAX / 2 - 1)
#define DIGITS_BEFORE 131072
#define DIGITS_AFTER 16383

static size_t count_digits(const char *at, const char *end)
{
    const char *start = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return (size_t)(at - start);
}

/* Of "e+12"; beyond all limits where it has very many digits. */
static int64_t read_exponent(const char *at, const char *end)
{
    int64_t exponent = 0;
    bool negative;

    if (at == end)
        return 0;
    at++;
    negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    for (; at < end && exponent < INT32_MAX; at++)
        exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

/* How many zeros stand before the first other digit; all of them: *zero. */
static int64_t leading_zeros(const char *at, const char *end, bool *zero)
{
    int64_t zeros = 0;

    *zero = true;
    for (; at < end && *zero && *at != 'e' && *at != 'E'; at++) {
        if (*at == '0')
            zeros++;
        else if (*at != '.')
            *zero = false;
    }
    return zeros;
}

bool document_number_fits(const char *number, size_t length, size_t *digits)
{
    const char *end = number + length;
    const char *start = number + (*number == '-');
    const size_t before = count_digits(start, end);
    const char *at = start + before;
    const size_t after = at < end && *at == '.' ? count_digits(at + 1, end) : 0;
    const int64_t exponent = read_exponent(at + (after ? after + 1 : 0), end);
    const int64_t scale = (int64_t)after > exponent ? (int64_t)after - exponent : 0;
    bool zero;
    const int64_t zeros = leading_zeros(start, end, &zero);
    /* Digits before the point once it is moved; below one: none. */
    const int64_t whole = zero ? 1 : (int64_t)before - zeros + exponent;

    if (exponent > EXPONENT_MOST || exponent < -EXPONENT_MOST || scale > DIGITS_AFTER ||
        whole > DIGITS_BEFORE)
        return false;
    *digits = (size_t)((whole > 1 ? whole : 1) + scale + (scale > 0) + (*number == '-'));
    return true;
}
