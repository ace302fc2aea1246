/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/log.h"

#include "lib/base/fault.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

static const struct log_field end = {LOG_FIELD_END, 0, 0, 0};

static void a_line_is_json_with_the_head_first(void **state)
{
    const struct log_field fields[] = {log_text("code", "quote \" back \\ line\n end"),
                                       log_text("absent", NULL),
                                       log_text("empty", ""),
                                       log_number("attempt", -3),
                                       log_boolean("yes", true),
                                       end};
    char line[4096];
    size_t length = log_format(line, sizeof line, LOG_WARN, "worker.error", fields);
    cJSON *record = cJSON_Parse(line);

    (void)state;
    assert_int_equal(length, strlen(line));
    assert_non_null(record);
    assert_string_equal(record->child->string, "severity");
    assert_string_equal(record->child->next->string, "time");
    assert_string_equal(record->child->next->next->string, "service");
    assert_string_equal(record->child->next->next->next->string, "event");
    assert_string_equal(cJSON_GetObjectItem(record, "severity")->valuestring, "WARN");
    assert_string_equal(cJSON_GetObjectItem(record, "event")->valuestring, "worker.error");
    assert_string_equal(cJSON_GetObjectItem(record, "code")->valuestring, "quote \" back \\ line  end");
    assert_null(cJSON_GetObjectItem(record, "absent"));
    assert_null(cJSON_GetObjectItem(record, "empty"));
    assert_int_equal(cJSON_GetObjectItem(record, "attempt")->valueint, -3);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(record, "yes")));
    assert_int_equal(cJSON_GetObjectItem(record, "pid")->valueint, getpid());
    cJSON_Delete(record);
}

/* Leaves zeros where the next call has its locals. */
static __attribute__((noinline)) void clear_stack(void)
{
    char room[16384];

    memset(room, 0, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static void the_time_does_not_depend_on_what_was_on_the_stack(void **state)
{
    char line[4096];
    cJSON *record;

    (void)state;
    clear_stack();
    assert_true(log_format(line, sizeof line, LOG_INFO, "worker.started", &end) > 0);
    record = cJSON_Parse(line);
    assert_true(cJSON_IsString(cJSON_GetObjectItem(record, "time")));
    cJSON_Delete(record);
}

static void too_much_is_left_out_and_stays_json(void **state)
{
    struct log_field fields[31];
    char text[1000], line[4096];
    cJSON *record;
    size_t index;

    (void)state;
    memset(text, '"', sizeof text - 1); /* each becomes two bytes */
    text[sizeof text - 1] = '\0';
    for (index = 0; index < 30; index++)
        fields[index] = log_text("field", text);
    fields[30] = end;
    assert_true(log_format(line, sizeof line, LOG_INFO, "worker.completed", fields) < 4096);
    record = cJSON_Parse(line);
    assert_non_null(record);
    assert_int_equal(strlen(cJSON_GetObjectItem(record, "field")->valuestring), 256);
    cJSON_Delete(record);
}

/* A reader that stands still must not stop the writer: lines are dropped, counted and told later. */
static void a_full_pipe_drops_and_counts(void **state)
{
    int ends[2], saved = dup(STDERR_FILENO), index;
    static char read_back[1 << 21];
    ssize_t got;
    size_t length = 0;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    log_open("test");
    for (index = 0; index < 5000; index++)
        log_event(LOG_INFO, "flood", log_number("index", index));
    log_event(LOG_DEBUG, "hidden");
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    while ((got = read(ends[0], read_back + length, sizeof read_back - length - 1)) > 0)
        length += (size_t)got;
    assert_null(strstr(read_back, "log.dropped"));
    log_event(LOG_INFO, "after");
    got = read(ends[0], read_back, sizeof read_back - 1);
    assert_true(got > 0);
    read_back[got] = '\0';
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    assert_non_null(strstr(read_back, "\"event\":\"log.dropped\""));
    assert_non_null(strstr(read_back, "\"event\":\"after\""));
    assert_null(strstr(read_back, "hidden"));
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

static void levels_are_named(void **state)
{
    enum log_severity level = LOG_DEBUG;

    (void)state;
    assert_true(log_level_from_text("warn", &level));
    assert_int_equal(level, LOG_WARN);
    assert_false(log_level_from_text("WARN", &level));
    assert_false(log_level_from_text("trace", &level));
    assert_false(log_level_from_text(NULL, &level));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_json_with_the_head_first),
        cmocka_unit_test(the_time_does_not_depend_on_what_was_on_the_stack),
        cmocka_unit_test(too_much_is_left_out_and_stays_json),
        cmocka_unit_test(levels_are_named),
        cmocka_unit_test(a_full_pipe_drops_and_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
