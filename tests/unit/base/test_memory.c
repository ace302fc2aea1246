/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void texts_hang_on_their_context(void **state)
{
    void *context = talloc_new(NULL);
    char *text = mem_format(context, "%s-%d", "a", 1);

    (void)state;
    text = mem_append(text, "+%s", "more");
    assert_string_equal(text, "a-1+more");
    assert_string_equal(mem_text_part(context, "abcdef", 3), "abc");
    assert_int_equal(talloc_total_blocks(context), 3);
    assert_int_equal(talloc_free(context), 0);
}

/* Out of memory ends the process with a status of its own and a line, not with a crash. */
static void exhaustion_ends_the_process(void **state)
{
    int status = 0, ends[2];
    char line[200];
    ssize_t got;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        mem_exhausted();
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    got = read(ends[0], line, sizeof line - 1);
    assert_true(got > 0);
    line[got] = '\0';
    assert_non_null(strstr(line, "OUT_OF_MEMORY"));
    close(ends[0]);
    close(ends[1]);
}

static void a_secret_keeps_its_bytes_and_is_wiped(void **state)
{
    struct secret *secret = secret_new(NULL, "pass\0word", 9);
    char copy[9] = "12345678";

    (void)state;
    assert_int_equal(secret_length(secret), 9);
    assert_memory_equal(secret_expose(secret), "pass\0word", 10);
    assert_int_equal(talloc_free(secret), 0);
    secret_wipe(copy, sizeof copy);
    assert_memory_equal(copy, "\0\0\0\0\0\0\0\0\0", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_hang_on_their_context),
        cmocka_unit_test(exhaustion_ends_the_process),
        cmocka_unit_test(a_secret_keeps_its_bytes_and_is_wiped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
