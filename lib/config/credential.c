/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/schema.h"

#include "lib/base/memory.h"

#include <strings.h>

static bool is_upper(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

static bool is_letter(char letter)
{
    return is_upper(letter) || (letter >= 'a' && letter <= 'z');
}

/* The length of the word at `at`: "APIKey" is API and Key, "apiKey" api and Key. */
static size_t word_length(const char *at)
{
    size_t length = 0;

    while (is_upper(at[length]))
        length++;
    if (length > 1 && is_letter(at[length]))
        return length - 1; /* the last capital begins the next word */
    while (is_letter(at[length]) && !is_upper(at[length]))
        length++;
    return length;
}

bool schema_key_means_credential(const char *key)
{
    static const char *const words[] = {"password", "token", "secret", "key"};
    size_t index;

    while (*key) {
        size_t length;

        if (!is_letter(*key)) {
            key++;
            continue;
        }
        length = word_length(key);
        for (index = 0; index < COUNT_OF(words); index++)
            if (strlen(words[index]) == length && strncasecmp(key, words[index], length) == 0)
                return true;
        key += length;
    }
    return false;
}

bool schema_has_user_info(const char *text)
{
    const char *authority = text;

    /* RFC 3986 section 3.2: the authority ends at "/", "?", "#" or the end; user information ends with "@". A
     * space or quote ends the URL inside of longer text. */
    while ((authority = strstr(authority, "://"))) {
        authority += 3;
        if (memchr(authority, '@', strcspn(authority, "/?# \t\r\n\"'<>")))
            return true;
    }
    return false;
}

void schema_check_urls(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    size_t index;

    if (node->text && schema_has_user_info(node->text))
        schema_problem(
            run, node, path, "STARTUP_CREDENTIAL",
            "a URL with user information carries a credential; credentials do not belong into this file");
    for (index = 0; index < node->count; index++) {
        const struct yaml_node *key = node->kind == YAML_KIND_MAP ? node->keys[index] : NULL;

        if (key)
            schema_check_urls(run, key, path);
        schema_check_urls(run, node->items[index],
                          key ? yaml_path(run->context, path, key->text)
                              : mem_format(run->context, "%s[%zu]", path, index));
    }
}
