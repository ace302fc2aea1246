/* SPDX-License-Identifier: MIT
 *
 * Tables and field lists for people. Values come from the database and may hold anything that is no control
 * character in a name, and anything at all in details: each cell is made one printable line.
 */
#include "lib/base/build.h"

#include "src/ctl/output.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <wchar.h>

#define NOTHING "-"
#define GAP 2
#define ELLIPSIS "\xe2\x80\xa6"
#define CUT_LEAST 32 /* a cut cell keeps so many columns, however narrow the terminal is */

const char *output_state_colour(const char *state)
{
    static const struct {
        const char *state;
        const char *colour;
    } colours[] = {
        {"ready", "\033[32m"},    {"succeeded", "\033[32m"},
        {"valid", "\033[32m"},    {"success", "\033[32m"},
        {"yes", "\033[32m"},      {"current", "\033[32m"},
        {"failed", "\033[31m"},   {"failed_permanent", "\033[31m"},
        {"revoked", "\033[31m"},  {"failure", "\033[31m"},
        {"no", "\033[31m"},       {"denied", "\033[31m"},
        {"expired", "\033[31m"},  {"provisioning", "\033[33m"},
        {"deleting", "\033[33m"}, {"queued", "\033[33m"},
        {"unknown", "\033[33m"},  {"claimed", "\033[36m"},
        {"running", "\033[32m"},  {"deploying", "\033[33m"},
        {"stopping", "\033[33m"}, {"stopped", "\033[2m"},
        {"deleted", "\033[2m"},
    };
    size_t index;

    for (index = 0; index < COUNT_OF(colours); index++) {
        if (text_equal(colours[index].state, state))
            return colours[index].colour;
    }
    return "";
}

/* Columns that a terminal needs for well-formed UTF-8; what the C library does not know counts as one. Ends
 * before the character that would go beyond `most`, and tells how many bytes come before it. */
static size_t width_of(const char *text, size_t most, size_t *bytes)
{
    const unsigned char *at = (const unsigned char *)text, *start;
    size_t width = 0;

    while (*at) {
        uint32_t point = *at;
        size_t here;
        int extra = point >= 0xf0 ? 3 : point >= 0xe0 ? 2 : point >= 0xc0 ? 1 : 0, wide;

        start = at;
        point &= extra == 3 ? 0x07 : extra == 2 ? 0x0f : extra == 1 ? 0x1f : 0x7f;
        for (at++; extra > 0 && *at; extra--, at++)
            point = point << 6 | (*at & 0x3f);
        wide = wcwidth((wchar_t)point);
        here = wide < 0 ? 1 : (size_t)wide;
        if (here > most - width) {
            at = start;
            break;
        }
        width += here;
    }
    if (bytes)
        *bytes = (size_t)(at - (const unsigned char *)text);
    return width;
}

size_t output_width(const char *text)
{
    return width_of(text, SIZE_MAX, NULL);
}

char *output_cut(const void *context, const char *text, size_t width)
{
    size_t bytes;

    if (output_width(text) <= width || width == 0)
        return mem_text(context, text);
    (void)width_of(text, width - 1, &bytes);
    return mem_append(mem_text_part(context, text, bytes), ELLIPSIS);
}

static const cJSON *member_at(const cJSON *row, const char *path)
{
    char name[64];
    size_t length;

    while (row) {
        length = strcspn(path, ".");
        if (length >= sizeof name)
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        row = json_member(row, name);
        if (!path[length])
            return row;
        path += length + 1;
    }
    return NULL;
}

static char *list_text(const void *context, const cJSON *array)
{
    char *text = mem_text(context, "");
    const cJSON *item;

    cJSON_ArrayForEach(item, array)
    {
        text = mem_append(text, "%s%s", *text ? ", " : "",
                          cJSON_IsString(item) ? item->valuestring : json_write(text, item));
    }
    return *text ? text : mem_append(text, "%s", NOTHING);
}

static char *value_text(const void *context, const cJSON *value, bool duration)
{
    char *text;

    if (!value || cJSON_IsNull(value))
        return mem_text(context, NOTHING);
    if (duration && cJSON_IsNumber(value)) {
        char span[OUTPUT_DURATION_SIZE];

        output_duration(span, (int64_t)value->valuedouble);
        return mem_text(context, span);
    }
    if (cJSON_IsArray(value))
        text = list_text(context, value);
    else
        text = mem_text(context, cJSON_IsString(value) ? value->valuestring : json_write(context, value));
    text_make_line(text);
    return text;
}

static char *append_cell(char *text, const char *cell, size_t width, const char *colour, bool last)
{
    size_t used = output_width(cell);

    text = mem_append(text, "%s%s%s", colour, cell, *colour ? OUTPUT_COLOUR_END : "");
    if (last)
        return mem_append(text, "\n");
    return mem_append(text, "%*s", (int)(width > used ? width - used + GAP : GAP), "");
}

/* Makes the widest cells that may be cut narrower until the table fits, or none is left to be cut. */
static void fit(const struct column *columns, size_t count, size_t terminal, size_t *widths)
{
    size_t total = (count - 1) * GAP, index, widest;

    for (index = 0; index < count; index++)
        total += widths[index];
    while (total > terminal) {
        widest = count;
        for (index = 0; index < count; index++) {
            if (columns[index].style == COLUMN_LONG && widths[index] > CUT_LEAST &&
                (widest == count || widths[index] > widths[widest]))
                widest = index;
        }
        if (widest == count)
            return;
        widths[widest]--;
        total--;
    }
}

char *output_table(char *text, const struct output *output, const cJSON *rows, const struct column *columns,
                   size_t count)
{
    void *scratch = talloc_new(NULL);
    size_t height = (size_t)cJSON_GetArraySize(rows), index, place = 0;
    char **cells = mem_array(scratch, char *, (height + 1) * count);
    size_t *widths = mem_array(scratch, size_t, count);
    const cJSON *row;

    for (index = 0; index < count; index++)
        widths[index] = output_width(columns[index].title);
    cJSON_ArrayForEach(row, rows)
    {
        for (index = 0; index < count; index++, place++) {
            size_t width;

            cells[place] = value_text(scratch, member_at(row, columns[index].member),
                                      columns[index].style == COLUMN_DURATION);
            width = output_width(cells[place]);
            widths[index] = width > widths[index] ? width : widths[index];
        }
    }
    if (output->width > 0)
        fit(columns, count, output->width, widths);
    for (index = 0; index < count; index++)
        text = append_cell(text, columns[index].title, widths[index], "", index + 1 == count);
    for (place = 0; place < height * count; place++) {
        const struct column *column = &columns[place % count];
        bool coloured = output->colour && column->style == COLUMN_STATE;
        const char *cell = column->style == COLUMN_LONG
                               ? output_cut(scratch, cells[place], widths[place % count])
                               : cells[place];

        text = append_cell(text, cell, widths[place % count],
                           coloured ? output_state_colour(cells[place]) : "", (place + 1) % count == 0);
    }
    talloc_free(scratch);
    return text;
}

/* "serviceKeyId" as "Service key ID"; a duration's unit goes, as its value has its own. */
static char *label_of(const void *context, const char *name)
{
    size_t length = strlen(name);
    char *label = mem_text(context, "");

    if (length > 2 && strcmp(name + length - 2, "Ms") == 0)
        length -= 2;
    while (length > 0) {
        size_t word = 1;

        while (word < length && !isupper((unsigned char)name[word]))
            word++;
        if (word == 2 && strncasecmp(name, "id", 2) == 0)
            label = mem_append(label, "%sID", *label ? " " : "");
        else
            label = mem_append(label, "%s%c%.*s", *label ? " " : "",
                               *label ? tolower((unsigned char)*name) : toupper((unsigned char)*name),
                               (int)word - 1, name + 1);
        name += word;
        length -= word;
    }
    return label;
}

static bool is_duration(const char *name)
{
    size_t length = strlen(name);

    return length > 2 && strcmp(name + length - 2, "Ms") == 0;
}

static bool is_state(const char *name)
{
    return text_equal(name, "state") || text_equal(name, "status") || text_equal(name, "outcome") ||
           text_equal(name, "claiming");
}

static size_t label_width(const cJSON *document, size_t indent)
{
    const cJSON *member;
    size_t widest = 0;

    cJSON_ArrayForEach(member, document)
    {
        char *label = label_of(NULL, member->string);
        size_t width = indent + strlen(label) + 1, inner = 0;

        if (cJSON_IsObject(member))
            inner = label_width(member, indent + 2);
        widest = width > widest ? width : widest;
        widest = inner > widest ? inner : widest;
        talloc_free(label);
    }
    return widest;
}

static char *append_fields(char *text, bool colour, const cJSON *document, size_t indent, size_t width)
{
    const cJSON *member;

    cJSON_ArrayForEach(member, document)
    {
        void *scratch = talloc_new(NULL);
        const char *label = label_of(scratch, member->string);
        const char *value = NOTHING, *shade;

        if (cJSON_IsObject(member) && member->child) {
            text = mem_append(text, "%*s%s:\n", (int)indent, "", label);
            text = append_fields(text, colour, member, indent + 2, width);
        } else {
            if (!cJSON_IsObject(member))
                value = value_text(scratch, member, is_duration(member->string));
            shade = colour && is_state(member->string) ? output_state_colour(value) : "";
            text = mem_append(text, "%*s%s:%*s%s%s%s\n", (int)indent, "", label,
                              (int)(width - indent - strlen(label) - 1 + GAP), "", shade, value,
                              *shade ? OUTPUT_COLOUR_END : "");
        }
        talloc_free(scratch);
    }
    return text;
}

char *output_fields(char *text, bool colour, const cJSON *document)
{
    return append_fields(text, colour, document, 0, label_width(document, 0));
}
