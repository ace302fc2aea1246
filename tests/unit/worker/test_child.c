/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/child.h"

#include "src/worker/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <unistd.h>

/* Whoever learns first that the supervisor has gone, by whatever it does, everybody then hears "abort". */
static void the_end_of_the_supervisor_is_an_order(void **state)
{
    const struct message message = message_new(MESSAGE_HELLO);
    struct child child = {.role = ROLE_RECONCILER, .order = HOST_CONTINUE};
    int ours;
    unsigned how;

    (void)state;
    for (how = 0; how < 3; how++) {
        child.order = HOST_CONTINUE;
        child.gone = false;
        assert_true(channel_pair(&ours, &child.channel));
        assert_int_equal(child_hear(&child), HOST_CONTINUE);
        (void)close(ours);
        if (how == 0)
            child_beacon(&child, false);
        else if (how == 1)
            assert_false(child_say(&child, &message));
        assert_int_equal(child_hear(&child), HOST_ABORT);
        assert_true(child.gone);
        (void)close(child.channel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_supervisor_is_an_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
