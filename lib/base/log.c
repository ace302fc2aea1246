/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/log.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_SIZE 4096 /* PIPE_BUF: a shorter write to a pipe is whole or nothing */
#define TEXT_SIZE 257

static const char *const severity_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};
static const char *const level_names[] = {"debug", "info", "warn", "error"};

static const char *service_name = "occ";
static enum log_severity least_severity = LOG_INFO;
static uint64_t dropped;
static int output = -1; /* -1: not opened yet, write to stderr */
static bool output_is_socket;

struct line {
    char *text;
    size_t size;
    size_t length;
    bool full;
};

struct log_field log_text(const char *name, const char *text)
{
    return (struct log_field){text_is_empty(text) ? LOG_FIELD_ABSENT : LOG_FIELD_TEXT, name, text, 0};
}

struct log_field log_number(const char *name, int64_t number)
{
    return (struct log_field){LOG_FIELD_NUMBER, name, NULL, number};
}

struct log_field log_boolean(const char *name, bool value)
{
    return (struct log_field){LOG_FIELD_BOOLEAN, name, NULL, value};
}

static void line_add(struct line *line, const char *part)
{
    size_t length = strlen(part);

    /* One byte for the closing brace and one for the zero are always kept. */
    if (line->full || line->length + length + 2 > line->size) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->length, part, length);
    line->length += length;
}

static void line_add_text(struct line *line, const char *text)
{
    char bounded[TEXT_SIZE], quoted[2 * TEXT_SIZE + 2];
    size_t at = 0, index;

    text_copy(bounded, sizeof bounded, text);
    text_make_line(bounded);
    quoted[at++] = '"';
    for (index = 0; bounded[index]; index++) {
        if (bounded[index] == '"' || bounded[index] == '\\')
            quoted[at++] = '\\';
        quoted[at++] = bounded[index];
    }
    quoted[at++] = '"';
    quoted[at] = '\0';
    line_add(line, quoted);
}

/* Adds one whole member, or nothing where it does not fit, so that the line stays JSON. */
static void line_add_field(struct line *line, const struct log_field *field)
{
    struct line before = *line;
    char number[24];

    if (line->length > 1)
        line_add(line, ",");
    line_add_text(line, field->name);
    line_add(line, ":");
    if (field->type == LOG_FIELD_TEXT) {
        line_add_text(line, field->text);
    } else if (field->type == LOG_FIELD_NUMBER) {
        (void)snprintf(number, sizeof number, "%" PRId64, field->number);
        line_add(line, number);
    } else {
        line_add(line, field->number ? "true" : "false");
    }
    if (line->full)
        *line = before;
}

size_t log_format(char *text, size_t size, enum log_severity severity, const char *event,
                  const struct log_field *fields)
{
    struct line line = {text, size < LINE_SIZE ? size : LINE_SIZE, 0, false};
    char now[CLOCK_TEXT_SIZE];

    clock_text(now); /* before log_text() looks at it */
    const struct log_field head[] = {
        log_text("severity", severity_names[severity]),
        log_text("time", now),
        log_text("service", service_name),
        log_text("event", event),
        log_number("pid", getpid()),
    };
    size_t index;

    line_add(&line, "{");
    for (index = 0; index < COUNT_OF(head); index++)
        line_add_field(&line, &head[index]);
    for (; fields && fields->type != LOG_FIELD_END; fields++) {
        if (fields->type != LOG_FIELD_ABSENT)
            line_add_field(&line, fields);
    }
    line.text[line.length++] = '}';
    line.text[line.length] = '\0';
    return line.length;
}

/* True when the whole line was taken. */
static bool put(const char *line, size_t length)
{
    int target = output >= 0 ? output : STDERR_FILENO;
    struct pollfd room = {.fd = target, .events = POLLOUT};
    ssize_t written;

    if (output_is_socket) {
        written = send(target, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
            return false;
        written = write(target, line, length);
    }
    return written == (ssize_t)length;
}

void log_write(enum log_severity severity, const char *event, const struct log_field *fields)
{
    char line[LINE_SIZE + 1];
    size_t length;

    if (severity < least_severity)
        return;
    if (dropped) {
        const struct log_field lost[] = {log_number("dropped", (int64_t)dropped), {LOG_FIELD_END, 0, 0, 0}};

        length = log_format(line, LINE_SIZE - 1, LOG_WARN, "log.dropped", lost);
        line[length++] = '\n';
        if (put(line, length))
            dropped = 0;
    }
    length = log_format(line, LINE_SIZE - 1, severity, event, fields);
    line[length++] = '\n';
    if (!put(line, length))
        dropped++;
}

void log_fault(enum log_severity severity, const char *event, const struct fault *fault)
{
    log_event(severity, event, log_text("code", fault->code), log_text("message", fault->message),
              log_text("dependency", fault->dependency), log_text("cause", fault->cause));
}

void log_open(const char *service)
{
    struct stat about;

    service_name = service;
    if (output >= 0 || fstat(STDERR_FILENO, &about) != 0)
        return;
    output_is_socket = S_ISSOCK(about.st_mode);
    /* A description of our own, so that O_NONBLOCK is not shared with the shell or the other processes which
     * hold the same pipe. A socket cannot be opened again and does not need it. */
    if (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))
        output = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void log_set_level(enum log_severity least)
{
    least_severity = least;
}

bool log_level_from_text(const char *text, enum log_severity *level)
{
    size_t index;

    for (index = 0; index < COUNT_OF(level_names); index++) {
        if (text_equal(text, level_names[index])) {
            *level = (enum log_severity)index;
            return true;
        }
    }
    return false;
}

const char *log_level_text(enum log_severity level)
{
    return level_names[level];
}
