/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/document.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/schema.h"
#include "lib/driver/configuration.h"
#include "lib/io/json_scan.h"

#include <stdarg.h>

#define POINTER_MOST 200 /* bytes of it that are shown */
#define SOURCE_MOST 32

struct name {
    const char *text;
    const char *at;
};

/* An object or array that is not closed yet. */
struct level {
    void *memory;
    bool object;
    size_t index;     /* of an array's present item */
    const char *name; /* of an object's present member; NULL: none yet */
    struct name *names;
    size_t count;
    bool under_credential; /* a key above means one */
    /* Of an object under such a key, which may turn out to be a reference: */
    bool has_source, has_id;
    const char *literal_at; /* the first text that is allowed in a reference only */
    const char *literal_name;
};

struct check {
    const char *text;
    struct level levels[JSON_DEPTH];
    size_t depth;
    size_t longer; /* by how much numbers grow without exponents */
    struct fault *fault;
};

/* ---- Refusals */

static char *add_step(char *pointer, const char *name)
{
    const char *part;

    pointer = mem_append(pointer, "/");
    for (part = name; *part && strlen(pointer) <= POINTER_MOST; part++)
        pointer = *part == '~'   ? mem_append(pointer, "~0")
                  : *part == '/' ? mem_append(pointer, "~1")
                                 : mem_append(pointer, "%c", *part);
    return pointer;
}

static char *pointer_of(const struct check *check)
{
    char *pointer = mem_text(NULL, "");
    size_t depth;

    for (depth = 0; depth < check->depth && strlen(pointer) <= POINTER_MOST; depth++) {
        const struct level *level = &check->levels[depth];

        if (!level->object && level->index > 0)
            pointer = mem_append(pointer, "/%zu", level->index - 1);
        else if (level->name)
            pointer = add_step(pointer, level->name);
    }
    return pointer;
}

static bool refuse(const struct check *check, const char *code, const char *at, const char *format, ...)
    PRINTF_LIKE(4, 5);

static bool refuse(const struct check *check, const char *code, const char *at, const char *format, ...)
{
    char *pointer = pointer_of(check), *why;
    char shown[POINTER_MOST + 1];
    size_t line, column;
    va_list arguments;
    bool whole;

    va_start(arguments, format);
    why = mem_format_list(pointer, format, arguments);
    va_end(arguments);
    whole = text_copy(shown, sizeof shown, pointer);
    json_locate(check->text, (size_t)(at - check->text), &line, &column);
    (void)fault_set(check->fault, FAULT_INVALID, code,
                    "The document is refused at \"%s%s\" (line %zu, column %zu): %s.", shown,
                    whole ? "" : "…", line, column, why);
    talloc_free(pointer);
    return false;
}

static bool refuse_literal(const struct check *check, const char *at)
{
    return refuse(check, "DOCUMENT_CREDENTIAL", at,
                  "its name says that this is a credential; refer to it as \"${NAME}\" or as "
                  "{\"source\":…,\"id\":…} instead");
}

static bool refuse_url(const struct check *check, const char *at, const char *where)
{
    return refuse(check, "DOCUMENT_CREDENTIAL", at, "%s holds a URL with user information", where);
}

/* ---- Credentials */

static bool is_substitution(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length;

    if (strncmp(text, "${", 2) != 0)
        return false;
    text += 2;
    length = strspn(text, letters);
    return length > 0 && !(*text >= '0' && *text <= '9') && text_equal(text + length, "}");
}

/* "env", "file", "exec", … */
static bool is_source(const char *text)
{
    const size_t length = strlen(text);

    return length > 0 && length <= SOURCE_MOST && strspn(text, "abcdefghijklmnopqrstuvwxyz-_") == length;
}

/* A text which is a credential unless its object is a reference; that is known at the object's end only. */
static bool may_be_reference(struct level *level, const char *text, const char *at)
{
    static const char *const parts[] = {"source", "provider", "id", "kind", "namespaceId"};
    size_t index = 0;

    while (index < COUNT_OF(parts) && !text_equal(level->name, parts[index]))
        index++;
    if (!level->object || !level->under_credential || index == COUNT_OF(parts))
        return false;
    if (text_equal(level->name, "source"))
        level->has_source |= is_source(text);
    else if (text_equal(level->name, "kind"))
        level->has_source |= text_equal(text, "secret");
    else if (text_equal(level->name, "id"))
        level->has_id = true;
    if (!level->literal_at) {
        level->literal_at = at;
        level->literal_name = level->name;
    }
    return true;
}

static bool means_credential(const struct level *level)
{
    return level->under_credential || (level->object && schema_key_means_credential(level->name));
}

static bool check_text(struct check *check, const char *bytes, size_t length)
{
    struct level *level = &check->levels[check->depth - 1];
    char *text = json_unescape(level->memory, bytes, length);
    bool fine = true;

    if (schema_has_user_info(text))
        fine = refuse_url(check, bytes, "the text");
    else if (*text && means_credential(level) && !is_substitution(text) &&
             !may_be_reference(level, text, bytes))
        fine = refuse_literal(check, bytes);
    talloc_free(text);
    return fine;
}

/* ---- Objects */

static void open_level(struct check *check, bool object)
{
    const struct level *above = check->depth > 0 ? &check->levels[check->depth - 1] : NULL;

    check->levels[check->depth++] = (struct level){
        .memory = talloc_new(NULL),
        .object = object,
        .under_credential = above && means_credential(above),
    };
}

static void close_level(struct check *check)
{
    talloc_free(check->levels[--check->depth].memory);
}

static bool take_name(struct check *check, const char *bytes, size_t length)
{
    struct level *level = &check->levels[check->depth - 1];
    char *name = json_unescape(level->memory, bytes, length);

    level->name = NULL; /* one with a credential is not shown */
    if (schema_has_user_info(name))
        return refuse_url(check, bytes, "the name of a member");
    level->name = name;
    if ((level->count & (level->count - 1)) == 0)
        level->names =
            mem_grow(level->memory, level->names, struct name, level->count ? level->count * 2 : 1);
    level->names[level->count++] = (struct name){name, bytes};
    return true;
}

static int compare_names(const void *one, const void *other)
{
    const struct name *left = one, *right = other;
    const int order = strcmp(left->text, right->text);

    return order != 0 ? order : left->at < right->at ? -1 : 1;
}

/* Sorted, so that very many members cost no square of them. */
static bool check_names(struct check *check)
{
    struct level *level = &check->levels[check->depth - 1];
    const struct name *found = NULL;
    size_t index;

    if (level->count > 1)
        qsort(level->names, level->count, sizeof *level->names, compare_names);
    for (index = 1; index < level->count; index++) {
        if (text_equal(level->names[index - 1].text, level->names[index].text) &&
            (!found || level->names[index].at < found->at))
            found = &level->names[index];
    }
    if (!found)
        return true;
    level->name = found->text;
    return refuse(check, "DOCUMENT_DUPLICATE_MEMBER", found->at, "the member is there already");
}

static bool close_object(struct check *check)
{
    struct level *level = &check->levels[check->depth - 1];

    if (!check_names(check))
        return false;
    if (level->literal_at && !(level->has_source && level->has_id)) {
        level->name = level->literal_name;
        return refuse_literal(check, level->literal_at);
    }
    close_level(check);
    return true;
}

/* ---- The visit */

static bool check_number(struct check *check, const char *bytes, size_t length)
{
    size_t digits;

    if (!document_number_fits(bytes, length, &digits))
        return refuse(check, "DOCUMENT_NUMBER_RANGE", bytes,
                      "the number has more digits than the database keeps (131072 before and 16383 after the "
                      "decimal point)");
    check->longer += digits > length ? digits - length : 0;
    if (check->longer > CONFIGURATION_DOCUMENT_LIMIT)
        return refuse(check, "DOCUMENT_NUMBER_RANGE", bytes,
                      "written without exponents, the numbers make the document too large");
    return true;
}

static bool check_place(struct check *check, enum json_event event, const char *bytes)
{
    if (check->depth == 0 && event != JSON_BEGIN_OBJECT)
        return refuse(check, "DOCUMENT_NOT_AN_OBJECT", bytes, "a document is one JSON object");
    if (check->depth == 1 && event != JSON_BEGIN_OBJECT && event != JSON_END_OBJECT && event != JSON_NAME &&
        text_equal(check->levels[0].name, "logging"))
        return refuse(check, "DOCUMENT_LOGGING_INVALID", bytes,
                      "it must be an object, since a deployment sets its level");
    return true;
}

static bool visit(void *subject, enum json_event event, const char *bytes, size_t length)
{
    struct check *check = subject;

    if (!check_place(check, event, bytes))
        return false;
    switch (event) {
    case JSON_BEGIN_OBJECT:
    case JSON_BEGIN_ARRAY:
        open_level(check, event == JSON_BEGIN_OBJECT);
        return true;
    case JSON_END_OBJECT:
        return close_object(check);
    case JSON_END_ARRAY:
        close_level(check);
        return true;
    case JSON_ITEM:
        check->levels[check->depth - 1].index++;
        return true;
    case JSON_NAME:
        return take_name(check, bytes, length);
    case JSON_TEXT:
        return check_text(check, bytes, length);
    case JSON_NUMBER:
        return check_number(check, bytes, length);
    case JSON_WORD:
        break;
    }
    return true;
}

static void explain(const struct check *check, enum json_trouble trouble, const char *at, size_t left)
{
    switch (trouble) {
    case JSON_SOUND:
    case JSON_STOPPED: /* which has said why */
        break;
    case JSON_SYNTAX:
        if (at == check->text && left >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
            (void)refuse(check, "DOCUMENT_SYNTAX", at, "it begins with a byte order mark");
        else
            (void)refuse(check, "DOCUMENT_SYNTAX", at, left == 0 ? "it ends too early" : "this is not JSON");
        break;
    case JSON_ENCODING:
        (void)refuse(check, "DOCUMENT_ENCODING", at, "this is not UTF-8");
        break;
    case JSON_SURROGATE:
        (void)refuse(check, "DOCUMENT_ENCODING", at, "this escape is one half of a character");
        break;
    case JSON_ZERO:
        (void)refuse(check, "DOCUMENT_ZERO_CHARACTER", at, "\\u0000 cannot be kept");
        break;
    case JSON_DEEP:
        (void)refuse(check, "DOCUMENT_TOO_DEEP", at, "more than %d objects and arrays are in each other",
                     JSON_DEPTH);
        break;
    }
}

bool document_check(const char *text, size_t length, struct fault *fault)
{
    struct check check = {.text = text, .fault = fault};
    const struct json_visitor visitor = {&check, visit};
    enum json_trouble trouble;
    size_t offset;

    if (length > CONFIGURATION_DOCUMENT_LIMIT)
        return fault_set(fault, FAULT_INVALID, "DOCUMENT_TOO_LARGE",
                         "The document is larger than %zu bytes, which is the limit.",
                         CONFIGURATION_DOCUMENT_LIMIT);
    trouble = json_visit(text, length, &visitor, &offset);
    if (trouble != JSON_SOUND)
        explain(&check, trouble, text + offset, length - offset);
    while (check.depth > 0)
        close_level(&check);
    return trouble == JSON_SOUND;
}
