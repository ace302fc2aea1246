/* SPDX-License-Identifier: MIT
 *
 * Writing is our own: cJSON indents by tabs, puts arrays on one line, and writes a large integer as 1e+15.
 */
#include "lib/base/build.h"

#include "lib/io/json.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"

#include <math.h>

struct writer {
    char *text;
    size_t length;
    size_t room;
    const void *context;
    bool indented;
};

/* What is outgrown is overwritten: a document may hold a secret, and its caller can wipe only what he gets.
 */
static void grow(struct writer *writer, size_t length)
{
    char *former = writer->text;

    writer->room = (writer->room + length) * 2;
    writer->text = mem_array(writer->context, char, writer->room);
    memcpy(writer->text, former, writer->length);
    secret_wipe(former, writer->length);
    talloc_free(former);
}

static void put(struct writer *writer, const char *bytes, size_t length)
{
    if (writer->room - writer->length <= length)
        grow(writer, length);
    memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
    writer->text[writer->length] = '\0';
}

static void put_text(struct writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

static void put_break(struct writer *writer, int depth)
{
    if (!writer->indented)
        return;
    put(writer, "\n", 1);
    for (int i = 0; i < depth; i++)
        put(writer, "  ", 2);
}

static void put_quoted(struct writer *writer, const char *text)
{
    static const char named[] = "\bb\ff\nn\rr\tt\"\"\\\\";

    put(writer, "\"", 1);
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t plain = 0;
        const char *escape = NULL;

        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        if (plain > 0) {
            put(writer, text, plain);
            text += plain;
            continue;
        }
        for (const char *at = named; *at; at += 2) {
            if (*at == *text)
                escape = at + 1;
        }
        if (escape) {
            put(writer, "\\", 1);
            put(writer, escape, 1);
        } else {
            char code[7];

            (void)snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
            put_text(writer, code);
        }
        text++;
    }
    put(writer, "\"", 1);
}

static void put_number(struct writer *writer, double number)
{
    char digits[40];

    if (!isfinite(number))
        (void)snprintf(digits, sizeof digits, "null");
    else if (number >= -9007199254740992.0 && number <= 9007199254740992.0 &&
             !((double)(int64_t)number < number) && !((double)(int64_t)number > number))
        (void)snprintf(digits, sizeof digits, "%lld", (long long)number);
    else
        (void)snprintf(digits, sizeof digits, "%.17g", number);
    put_text(writer, digits);
}

static void put_value(struct writer *writer, const cJSON *value, int depth);

static void put_list(struct writer *writer, const cJSON *list, int depth)
{
    bool object = cJSON_IsObject(list);
    const cJSON *child;

    put(writer, object ? "{" : "[", 1);
    cJSON_ArrayForEach(child, list)
    {
        if (child != list->child)
            put(writer, ",", 1);
        put_break(writer, depth + 1);
        if (object) {
            put_quoted(writer, child->string);
            put_text(writer, writer->indented ? ": " : ":");
        }
        put_value(writer, child, depth + 1);
    }
    if (list->child)
        put_break(writer, depth);
    put(writer, object ? "}" : "]", 1);
}

static void put_value(struct writer *writer, const cJSON *value, int depth)
{
    if (cJSON_IsObject(value) || cJSON_IsArray(value))
        put_list(writer, value, depth);
    else if (cJSON_IsString(value))
        put_quoted(writer, value->valuestring);
    else if (cJSON_IsNumber(value))
        put_number(writer, value->valuedouble);
    else if (cJSON_IsBool(value))
        put_text(writer, cJSON_IsTrue(value) ? "true" : "false");
    else
        put_text(writer, "null");
}

static const char *write_value(const void *context, const cJSON *value, bool indented)
{
    struct writer writer = {.context = context, .room = 256, .indented = indented};

    writer.text = mem_array(context, char, writer.room);
    put_value(&writer, value, 0);
    return writer.text;
}

const char *json_write(const void *context, const cJSON *value)
{
    return write_value(context, value, false);
}

const char *json_write_indented(const void *context, const cJSON *value)
{
    return write_value(context, value, true);
}
