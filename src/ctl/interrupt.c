/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/interrupt.h"

#include <signal.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t noted;
static bool told;
static bool caught[COUNT_OF(signals)];

static void note(int number)
{
    noted = number;
    (void)alarm(INTERRUPT_GRACE_S);
}

static void end_at_once(int number)
{
    (void)number;
    (void)signal(noted, SIG_DFL);
    (void)raise(noted);
}

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    (void)subject;
    (void)room;
    (void)wake_ms;
    return 0;
}

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    (void)subject;
    (void)ready;
    (void)count;
    if (!noted || told)
        return true;
    told = true;
    return fault_set(fault, FAULT_CANCELLED, "INTERRUPTED", "Interrupted.");
}

/* One that is ignored stays so, as nohup asks for. */
void interrupt_begin(struct ctl *ctl)
{
    static const struct watch watch = {NULL, prepare, turn};
    const struct sigaction grace = {.sa_handler = end_at_once};
    const struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    size_t index;

    (void)sigaction(SIGALRM, &grace, NULL);
    for (index = 0; index < COUNT_OF(signals); index++)
        caught[index] = sigaction(signals[index], NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                        sigaction(signals[index], &action, NULL) == 0;
    ctl->caller->driver_watch = &watch;
}

bool interrupt_end(struct ctl *ctl, bool done, const struct fault *fault)
{
    size_t index;

    (void)alarm(0);
    if (ctl->caller)
        ctl->caller->driver_watch = NULL;
    for (index = 0; index < COUNT_OF(signals); index++)
        if (caught[index])
            (void)signal(signals[index], SIG_DFL);
    if (noted && !done) {
        ctl_say("%s [%s]", fault->message, fault->code);
        (void)raise(noted);
    }
    return done;
}
