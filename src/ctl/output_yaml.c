/* SPDX-License-Identifier: MIT
 *
 * YAML 1.1 and 1.2 alike: block style, and every string quoted that either could read as something else than
 * a string. A plain scalar is written only where it looks like a word or a path.
 */
#include "lib/base/build.h"

#include "src/ctl/output.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <ctype.h>

/* What YAML 1.1 reads as null or boolean, in any case. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    size_t index;

    for (index = 0; index < COUNT_OF(words); index++) {
        if (strcasecmp(words[index], text) == 0)
            return true;
    }
    return false;
}

/* Letters first, then letters, digits and a few marks that mean nothing inside of a scalar. Numbers, dates,
 * "~",
 * ".inf", "-", "=" and "<<" all begin otherwise; ": " and " #" cannot occur. */
static bool is_plain(const char *text)
{
    static const char marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";

    return isalpha((unsigned char)text[0]) && text[strspn(text, marks)] == '\0' && !is_reserved(text);
}

static char *append_quoted(char *text, const char *value)
{
    const unsigned char *at;

    text = mem_append(text, "\"");
    for (at = (const unsigned char *)value; *at; at++) {
        if (*at == '"' || *at == '\\')
            text = mem_append(text, "\\%c", *at);
        else if (*at == '\n')
            text = mem_append(text, "\\n");
        else if (*at == '\t')
            text = mem_append(text, "\\t");
        else if (*at < 0x20 || *at == 0x7f)
            text = mem_append(text, "\\x%02X", *at);
        else if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) /* C1, with NEL, which ends lines */
            text = mem_append(text, "\\x%02X", *++at);
        else if (at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9)) { /* line separators */
            text = mem_append(text, "\\u20%02X", at[2] - 0x80);
            at += 2;
        } else if (at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf) { /* a byte order mark */
            text = mem_append(text, "\\uFEFF");
            at += 2;
        } else {
            text = mem_append(text, "%c", *at);
        }
    }
    return mem_append(text, "\"");
}

static char *append_string(char *text, const char *value)
{
    return is_plain(value) ? mem_append(text, "%s", value) : append_quoted(text, value);
}

static bool is_block(const cJSON *value)
{
    return (cJSON_IsObject(value) || cJSON_IsArray(value)) && value->child;
}

static char *append_value(char *text, const cJSON *value, int indent);

/* After "key:" or "-": a scalar on the same line, a block below. */
static char *append_member(char *text, const cJSON *value, int indent)
{
    if (is_block(value))
        return append_value(mem_append(text, "\n"), value, indent);
    return append_value(mem_append(text, " "), value, indent);
}

static char *append_scalar(char *text, const cJSON *value)
{
    if (cJSON_IsString(value))
        return mem_append(append_string(text, value->valuestring), "\n");
    if (cJSON_IsObject(value))
        return mem_append(text, "{}\n");
    if (cJSON_IsArray(value))
        return mem_append(text, "[]\n");
    return mem_append(text, "%s\n", json_write(text, value)); /* null, true, false and numbers are JSON's */
}

static char *append_value(char *text, const cJSON *value, int indent)
{
    const cJSON *item;

    if (!is_block(value))
        return append_scalar(text, value);
    cJSON_ArrayForEach(item, value)
    {
        bool first_line = true;

        text = mem_append(text, "%*s", indent, "");
        if (cJSON_IsObject(value)) {
            text = mem_append(append_string(text, item->string), ":");
            text = append_member(text, item, indent + 2);
            continue;
        }
        text = mem_append(text, "-");
        if (!cJSON_IsObject(item) || !item->child) {
            text = append_member(text, item, indent + 2);
            continue;
        }
        /* A mapping begins on the line of its dash. */
        for (const cJSON *member = item->child; member; member = member->next) {
            text = mem_append(text, "%*s", first_line ? 1 : indent + 2, "");
            text = mem_append(append_string(text, member->string), ":");
            text = append_member(text, member, indent + 4);
            first_line = false;
        }
    }
    return text;
}

char *output_yaml(char *text, const cJSON *value)
{
    return append_value(text, value, 0);
}
