/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's script: which step a call takes, and the nonsense that a step may ask for.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FOREVER UINT64_MAX

static int equals(const char *text, const char *part, size_t length)
{
    return text && strlen(text) == length && memcmp(text, part, length) == 0;
}

static int part_fits(const struct act *act, const char *part, size_t length)
{
    char number[24];

    (void)snprintf(number, sizeof number, "%lld", (long long)act->number);
    return equals(act->namespace_id, part, length) || equals(act->namespace_name, part, length) ||
           equals(act->agent_id, part, length) || equals(act->agent_name, part, length) ||
           equals(act->revision_id, part, length) || equals(act->other, part, length) ||
           (act->number && equals(number, part, length));
}

static int subject_fits(const struct act *act, const char *subject)
{
    size_t length;

    for (; *subject; subject += length + (subject[length] == '/')) {
        length = strcspn(subject, "/");
        if (!part_fits(act, subject, length))
            return 0;
    }
    return 1;
}

/* FNV-1a, 64 bits: a rule is known by its line. */
static uint64_t fingerprint(const char *line)
{
    uint64_t hash = 14695981039346656037u;

    for (; *line; line++)
        hash = (hash ^ (unsigned char)*line) * 1099511628211u;
    return hash;
}

static char *trimmed(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    for (length = strlen(text); length && strchr(" \t\r", text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

/* How many calls a step is for; takes that word off its end. */
static uint64_t repetitions(char *step)
{
    char *word = strrchr(step, ' ');
    char *end;
    uint64_t count;

    if (!word)
        return 1;
    if (strcmp(word, " forever") == 0)
        count = FOREVER;
    else {
        if (word[1] != 'x' || word[2] < '1' || word[2] > '9')
            return 1;
        count = strtoull(word + 2, &end, 10);
        if (*end)
            return 1;
    }
    *word = '\0';
    (void)trimmed(step);
    return count;
}

/* The step after `used` calls; NULL: the rule is used up. */
static const char *step_after(char *steps, uint64_t used)
{
    char *step, *next;
    uint64_t count;

    for (step = steps; step; step = next) {
        next = strchr(step, ';');
        if (next)
            *next++ = '\0';
        step = trimmed(step);
        count = repetitions(step);
        if (used < count)
            return step;
        used -= count;
    }
    return NULL;
}

static uint64_t times_used(const struct act *act, uint64_t rule)
{
    size_t length;
    const char *text = folder_read(act, "progress", &length);
    uint64_t count = 0;
    char *end;

    for (; text && *text; text = *end ? end + 1 : end) {
        if (strtoull(text, &end, 16) == rule)
            count++;
    }
    return count;
}

static void use(const struct act *act, uint64_t rule)
{
    const char *path = folder_path(act, "progress");
    int descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (descriptor < 0 || dprintf(descriptor, "%016llx\n", (unsigned long long)rule) < 0)
        folder_failed(path);
    (void)close(descriptor);
}

static const char *step_of_rule(const struct act *act, char *line)
{
    uint64_t rule = fingerprint(line);
    char *steps, *subject;
    const char *step;

    line[strcspn(line, "#")] = '\0';
    steps = strstr(line, ": ");
    if (!steps)
        return NULL;
    *steps = '\0';
    steps += 2;
    line = trimmed(line);
    subject = line + strcspn(line, " ");
    if (*subject)
        *subject++ = '\0';
    if (strcmp(line, act->operation) != 0 || !subject_fits(act, trimmed(subject)))
        return NULL;
    step = step_after(steps, times_used(act, rule));
    if (step)
        use(act, rule);
    return step;
}

const char *script_take(struct act *act)
{
    int lock = folder_lock(act);
    size_t length;
    /* The memory is the call's, and it is ours alone. */
    char *line = (char *)(uintptr_t)folder_read(act, "script", &length);
    const char *step = NULL;
    char *next;

    for (; line && !step; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        step = step_of_rule(act, line);
    }
    folder_unlock(lock);
    return step ? step : "ready";
}

void script_garbage(struct act *act, const char *kind)
{
    struct occ_answer *answer = act->answer;

    if (strcmp(kind, "unterminated") == 0) {
        memset(answer->code, 'A', sizeof answer->code);
        memset(answer->message, 'a', sizeof answer->message);
        memset(answer->dependency, 'd', sizeof answer->dependency);
        memset(answer->cause, 'c', sizeof answer->cause);
    } else if (strcmp(kind, "names") == 0) {
        memset(answer->namespace_id, 'n', sizeof answer->namespace_id);
        memset(answer->agent_id, 'n', sizeof answer->agent_id);
        memset(answer->revision_id, 'n', sizeof answer->revision_id);
    } else if (strcmp(kind, "control") == 0) {
        (void)snprintf(answer->message, sizeof answer->message, "one\nline\r\t\x1b[2J\x7f\"end\\");
    } else if (strcmp(kind, "utf8") == 0) {
        (void)snprintf(answer->message, sizeof answer->message, "a\xff\xc3(\xed\xa0\x80z");
    } else if (strcmp(kind, "code") == 0) {
        (void)snprintf(answer->code, sizeof answer->code, "not a code!");
    } else if (strcmp(kind, "retry") == 0) {
        answer->retry_after_ms = UINT32_MAX;
    } else if (strcmp(kind, "warnings") == 0) {
        answer->warning_count = UINT32_MAX;
        memset(answer->warnings, 'W', sizeof answer->warnings);
    } else if (strcmp(kind, "failure") == 0) {
        memset(&answer->failure, 'F', sizeof answer->failure);
        answer->failure.checked_at_ms = INT64_MIN;
    } else if (strcmp(kind, "size") == 0) {
        answer->size = UINT32_MAX;
    } else if (strcmp(kind, "evidence") == 0 && act->decision) {
        memset(act->decision->evidence, 'e', sizeof act->decision->evidence);
    } else {
        (void)dprintf(STDERR_FILENO, "the scripted Driver knows no garbage \"%s\"\n", kind);
        _exit(70);
    }
}
