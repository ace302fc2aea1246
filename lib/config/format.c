/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/format.h"

#include <arpa/inet.h>

#include "lib/base/text.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool is_in(char letter, const char *set)
{
    return letter && strchr(set, letter);
}

/* One or more characters of `inner` that begin and end with one of `ends`. */
static bool is_framed(const char *text, size_t length, const char *ends, const char *inner)
{
    return length && is_in(text[0], ends) && is_in(text[length - 1], ends) && strspn(text, inner) >= length;
}

static bool is_dns_label(const char *text, size_t length)
{
    return length <= 63 && is_framed(text, length, LOWER DIGITS, LOWER DIGITS "-");
}

static bool is_dns_name(const char *text, size_t length)
{
    const char *end = text + length;

    if (length > 253)
        return false;
    for (;;) {
        size_t part = strcspn(text, ".");

        if (part > (size_t)(end - text))
            part = (size_t)(end - text);
        if (!part || !is_framed(text, part, LOWER DIGITS, LOWER DIGITS "-"))
            return false;
        text += part;
        if (text == end)
            return true;
        text++;
    }
}

const char *format_dns_label(const char *text)
{
    return is_dns_label(text, strlen(text))
               ? NULL
               : "must be a DNS label: at most 63 of a-z, 0-9 and -, no - at its ends";
}

const char *format_dns_name(const char *text)
{
    return is_dns_name(text, strlen(text)) ? NULL
                                           : "must be a DNS name of at most 253 characters in lower case";
}

const char *format_short_dns_name(const char *text)
{
    return strlen(text) <= 63 && is_dns_name(text, strlen(text))
               ? NULL
               : "must be a DNS name of at most 63 characters in lower case";
}

static bool is_qualified_name(const char *text)
{
    const char *slash = strchr(text, '/');

    if (slash && !is_dns_name(text, (size_t)(slash - text)))
        return false;
    text = slash ? slash + 1 : text;
    return strlen(text) <= 63 && is_framed(text, strlen(text), LOWER UPPER DIGITS, LOWER UPPER DIGITS "-_.");
}

const char *format_label_key(const char *text)
{
    return is_qualified_name(text)
               ? NULL
               : "must be a label's key: at most 63 letters, digits, -, _ and ., after an "
                 "optional DNS prefix and /";
}

const char *format_label_value(const char *text)
{
    if (!*text ||
        (strlen(text) <= 63 && is_framed(text, strlen(text), LOWER UPPER DIGITS, LOWER UPPER DIGITS "-_.")))
        return NULL;
    return "must be a label's value: at most 63 letters, digits, -, _ and ., with a letter or digit at its "
           "ends";
}

const char *format_resource_name(const char *text)
{
    return is_qualified_name(text) ? NULL : "must be a resource, such as pods or requests.cpu";
}

/* What a quantity's suffix (Kubernetes' resource.Quantity) multiplies and divides by. Both are whole, and the
 * division comes last, so that 0.1 and 100m are equal. */
static bool read_suffix(const char *suffix, long double *factor, long double *divisor)
{
    static const struct {
        const char *name;
        long double factor, divisor;
    } suffixes[] = {
        {"", 1, 1},         {"n", 1, 1e9L},     {"u", 1, 1e6L},     {"m", 1, 1e3L},
        {"k", 1e3L, 1},     {"M", 1e6L, 1},     {"G", 1e9L, 1},     {"T", 1e12L, 1},
        {"P", 1e15L, 1},    {"E", 1e18L, 1},    {"Ki", 0x1p10L, 1}, {"Mi", 0x1p20L, 1},
        {"Gi", 0x1p30L, 1}, {"Ti", 0x1p40L, 1}, {"Pi", 0x1p50L, 1}, {"Ei", 0x1p60L, 1},
    };
    uint64_t exponent;
    size_t index;

    for (index = 0; index < COUNT_OF(suffixes); index++) {
        if (text_equal(suffix, suffixes[index].name)) {
            *factor = suffixes[index].factor;
            *divisor = suffixes[index].divisor;
            return true;
        }
    }
    if ((*suffix != 'e' && *suffix != 'E') || !text_to_number(suffix + 1, 18, &exponent))
        return false;
    for (*factor = *divisor = 1; exponent; exponent--)
        *factor *= 10;
    return true;
}

bool format_quantity_value(const char *text, long double *value)
{
    long double number = 0, places = 1, factor, divisor;
    bool any = false;

    if (strlen(text) > 32)
        return false;
    for (; is_in(*text, DIGITS); text++, any = true)
        number = number * 10 + (*text - '0');
    if (*text == '.')
        for (text++; is_in(*text, DIGITS); text++, any = true, places *= 10)
            number = number * 10 + (*text - '0');
    if (!any || !read_suffix(text, &factor, &divisor))
        return false;
    *value = number * factor / (places * divisor);
    return true;
}

const char *format_quantity(const char *text)
{
    long double value;

    return format_quantity_value(text, &value) && value > 0
               ? NULL
               : "must be a positive quantity, such as 100m, 4 or 1792Mi";
}

const char *format_cidr(const char *text)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr six;
    struct in_addr four;
    const char *slash = strchr(text, '/');
    uint64_t prefix;

    if (!slash || (size_t)(slash - text) >= sizeof address)
        return "must be an address range, such as 10.20.0.0/16";
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    if (inet_pton(AF_INET, address, &four) == 1) {
        if (!text_to_number(slash + 1, 32, &prefix))
            return "must have a prefix length from 1 to 32";
        return prefix ? NULL : "must not be all addresses";
    }
    if (inet_pton(AF_INET6, address, &six) != 1)
        return "must be an address range, such as 10.20.0.0/16";
    if (!text_to_number(slash + 1, 128, &prefix))
        return "must have a prefix length from 1 to 128";
    /* ::ffff:0:0/96 is all of IPv4, and everything shorter around it includes that. */
    if (prefix == 0 || (prefix <= 96 && IN6_IS_ADDR_V4MAPPED(&six)))
        return "must not be all addresses";
    return NULL;
}

bool format_image_has_digest(const char *text)
{
    const char *digest = strrchr(text, '@');

    return digest && strncmp(digest, "@sha256:", 8) == 0 && strlen(digest + 8) == 64 &&
           strspn(digest + 8, "0123456789abcdef") == 64;
}

const char *format_image(const char *text)
{
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : strlen(text);

    if (at && !format_image_has_digest(at))
        return "must have a digest of the form @sha256: and 64 lower-case hexadecimal digits";
    if (length > 512 || !is_framed(text, length, LOWER UPPER DIGITS "_", LOWER UPPER DIGITS "-_./:") ||
        strstr(text, "//") || strstr(text, "::"))
        return "must be an image's reference, such as registry.example/gateway@sha256:…";
    return NULL;
}

const char *format_absolute_path(const char *text)
{
    return *text == '/' ? NULL : "must be an absolute path";
}

const char *format_seccomp_profile(const char *text)
{
    const char *at = text;

    for (;;) {
        size_t length = strcspn(at, "/");

        if (!length || strncmp(at, ".", length) == 0 || strncmp(at, "..", length) == 0 ||
            (length == 10 && strncmp(at, "unconfined", length) == 0) || memchr(at, '\\', length))
            return "must be a relative path without . and .., and not unconfined";
        if (!at[length])
            return NULL;
        at += length + 1;
    }
}

const char *format_secret_prefix(const char *text)
{
    if (strlen(text) > 50 || !is_dns_label(text, strlen(text)))
        return "must be a DNS label of at most 50 characters";
    /* The other Secret that each Agent has beside its transport's. */
    return strcmp(text, "gateway-password") == 0 ? "must not be gateway-password, which is another Secret's"
                                                 : NULL;
}

const char *format_driver_id(const char *text)
{
    return is_dns_label(text, strlen(text)) ? NULL : "must be a Driver's identifier: a-z, 0-9 and -";
}

const char *format_package(const char *text)
{
    size_t length = strlen(text);

    return length <= 64 && *text != '-' && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length
               ? NULL
               : "must be a package's name: at most 64 of a-z, 0-9 and -, beginning with a letter or digit";
}
