/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/finding.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

/* A hostile file must not fill the memory with complaints about it. */
#define FINDINGS_MOST 1000

struct findings {
    struct finding *list;
    size_t count;
    size_t usage;    /* including those which are only counted */
    size_t problems; /* likewise, without usage */
};

struct findings *findings_new(const void *context)
{
    return mem_new(context, struct findings);
}

void findings_add(struct findings *findings, enum finding_kind kind, const char *where, const char *code,
                  const char *format, ...)
{
    struct finding *finding;
    va_list arguments;
    char *text;

    findings->usage += kind == FINDING_USAGE;
    findings->problems += kind == FINDING_PROBLEM;
    if (findings->count == FINDINGS_MOST)
        return;
    findings->list = mem_grow(findings, findings->list, struct finding, findings->count + 1);
    finding = &findings->list[findings->count++];
    finding->kind = kind;
    finding->code = code;
    text = mem_text(findings, where ? where : "");
    text_make_line(text);
    finding->where = text;
    va_start(arguments, format);
    text = mem_format_list(findings, format, arguments);
    va_end(arguments);
    text_make_line(text);
    finding->message = text;
}

void findings_add_fault(struct findings *findings, const char *where, const struct fault *fault)
{
    const char *message = fault->message;
    size_t length = where ? strlen(where) : 0;

    if (length && strncmp(message, where, length) == 0 && strncmp(message + length, ": ", 2) == 0)
        message += length + 2;
    findings_add(findings, fault->class == FAULT_INVALID ? FINDING_USAGE : FINDING_PROBLEM, where,
                 mem_text(findings, fault->code), "%s", message);
}

size_t findings_count(const struct findings *findings)
{
    return findings->count;
}

size_t findings_problems(const struct findings *findings)
{
    return findings->usage + findings->problems;
}

const struct finding *findings_at(const struct findings *findings, size_t index)
{
    if (index >= findings->count)
        abort();
    return &findings->list[index];
}

int findings_exit_status(const struct findings *findings)
{
    if (findings->usage)
        return 2;
    return findings->problems ? 78 : 0;
}

bool findings_check(const struct findings *findings, struct fault *fault)
{
    const enum finding_kind kind = findings->usage ? FINDING_USAGE : FINDING_PROBLEM;
    size_t others = findings_problems(findings), index = 0;
    const struct finding *first;
    char more[48] = "";

    if (others-- == 0)
        return true;
    while (index < findings->count && findings->list[index].kind != kind)
        index++;
    if (index == findings->count) /* only warnings were kept, and the problems beyond them counted */
        return fault_set(fault, FAULT_CONFIGURATION, "CONFIGURATION_INVALID", "%zu problems", others + 1);
    first = &findings->list[index];
    if (others)
        (void)snprintf(more, sizeof more, " (and %zu more)", others);
    return fault_set(fault, kind == FINDING_USAGE ? FAULT_INVALID : FAULT_CONFIGURATION, first->code,
                     "%s%s%s%s", first->where, *first->where ? ": " : "", first->message, more);
}

void findings_print(const struct findings *findings, FILE *stream, const char *program)
{
    size_t index;

    for (index = 0; index < findings->count; index++) {
        const struct finding *finding = &findings->list[index];

        (void)fprintf(stream, "%s: %s%s%s%s [%s]\n", program,
                      finding->kind == FINDING_WARNING ? "warning: " : "", finding->where,
                      *finding->where ? ": " : "", finding->message, finding->code);
    }
    if (findings_problems(findings) > findings->count)
        (void)fprintf(stream, "%s: %zu problems in all\n", program, findings_problems(findings));
}
