/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/wait.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/work_list.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define LOOK_EVERY_MS 200
#define NAME_LEAST 8 /* columns of the name that are shown in any case */
#define CONNECT_EVERY_MS 1000
#define CONNECT_PATIENCE_MS                                                                                  \
    5000 /* of one attempt, so that the end of the waiting time is not far overstepped */

struct progress {
    const char *name;
    int64_t started_ms, deadline_ms;
    bool terminal;              /* rewrite one line */
    bool open;                  /* the line is not ended yet */
    char *shown;                /* what the last line said, but for the elapsed time */
    char code[FAULT_CODE_SIZE]; /* of the work when it was looked at last; "": none yet */
    char message[FAULT_MESSAGE_SIZE / 2];
    bool deletion;
};

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    interrupted = number;
}

/* One that is ignored stays so, as nohup asks for. A second one ends the process at once. */
static void watch_signal(int number)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND}, before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(number, &action, NULL);
}

/* A line that wraps could not be rewritten: the name gives way first. */
static void rewrite(const struct progress *progress, const char *what, const char *elapsed)
{
    void *scratch = talloc_new(NULL);
    size_t columns = output_terminal_width(STDERR_FILENO) - 1;
    char *rest = mem_format(scratch, ": %s, %s", what, elapsed);
    size_t used = output_width(rest);
    size_t left = columns > used + NAME_LEAST ? columns - used : NAME_LEAST;
    char *line = mem_format(scratch, "%s%s", output_cut(scratch, progress->name, left), rest);

    (void)fprintf(stderr, "\r%s\033[K", output_cut(scratch, line, columns));
    talloc_free(scratch);
}

static void show(struct progress *progress, const char *what)
{
    char elapsed[OUTPUT_DURATION_SIZE];
    bool changed = !text_equal(progress->shown, what);

    if (!changed && !progress->terminal)
        return;
    output_duration(elapsed, clock_now_ms() - progress->started_ms);
    if (progress->terminal)
        rewrite(progress, what, elapsed);
    else
        (void)fprintf(stderr, "%s: %s, %s\n", progress->name, what, elapsed);
    (void)fflush(stderr);
    progress->open = progress->terminal;
    if (changed) {
        talloc_free(progress->shown);
        progress->shown = mem_text(NULL, what);
    }
}

static void end_line(struct progress *progress)
{
    if (progress->open)
        (void)fputc('\n', stderr);
    progress->open = false;
}

/* Nobody claims: the one thing that a waiting user cannot see from the state. Its seconds are left out, so
 * that it is one line and not one each second. */
static const char *no_worker(const char *why)
{
    static const char sign[] = "waits for a worker, and none has come";

    return why && strncmp(why, sign, sizeof sign - 1) == 0 ? ", no worker has come" : "";
}

static char *describe(const void *context, const cJSON *work)
{
    const char *code = json_text(work, "code");
    int64_t attempt = 0;

    (void)json_number(work, "attempt", &attempt);
    return mem_format(context, "%s, attempt %lld%s%s%s", json_text(work, "state"), (long long)attempt,
                      code ? ", " : "", code ? code : "", no_worker(json_text(work, "why")));
}

/* Looks once. *ended tells whether the work has; then *succeeded is there as well. Work that is gone went
 * with the Agent that it deleted. */
static bool look(struct ctl *ctl, const void *context, const char *work_id, struct progress *progress,
                 bool *ended, bool *succeeded, struct fault *fault)
{
    const cJSON *work;
    const char *state;

    if (!work_find(ctl->connection, context, work_id, NULL, &work, fault))
        return false;
    state = json_text(work, "state");
    if (work)
        show(progress, describe(context, work));
    text_copy(progress->code, sizeof progress->code, json_text(work, "code") ? json_text(work, "code") : "");
    text_copy(progress->message, sizeof progress->message,
              json_text(work, "message") ? json_text(work, "message") : "");
    progress->deletion = work && json_text(work, "kind") && strstr(json_text(work, "kind"), "_delete");
    *succeeded = !work || text_equal(state, "succeeded");
    *ended = *succeeded || text_equal(state, "failed_permanent");
    return true;
}

/* Ends as the signal would have; the work that was admitted is not taken back. */
static void end_if_interrupted(const char *work_id, struct progress *progress)
{
    int number = interrupted;

    if (!number)
        return;
    end_line(progress);
    ctl_say("Interrupted; the work goes on. Look with: occctl work get %s", work_id);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static bool follow(struct ctl *ctl, const char *work_id, struct progress *progress, bool *succeeded,
                   struct fault *fault)
{
    bool ended = false;

    while (!ended) {
        void *scratch = talloc_new(NULL);
        int pause_ms = LOOK_EVERY_MS;
        bool fine = ctl->connection && !pg_is_broken(ctl->connection);

        if (!fine) {
            ctl->timeout_ms = CONNECT_PATIENCE_MS;
            fine = ctl_connect(ctl, fault);
        }
        if (fine)
            fine = look(ctl, scratch, work_id, progress, &ended, succeeded, fault);
        talloc_free(scratch);
        if (!ended)
            end_if_interrupted(work_id, progress);
        if (!fine && fault->class != FAULT_UNAVAILABLE)
            return false;
        if (!fine) {
            show(progress, "the database does not answer");
            pause_ms = CONNECT_EVERY_MS;
        }
        if (ended)
            break;
        if (clock_now_ms() >= progress->deadline_ms) {
            return fault_set(
                fault, FAULT_RETRYABLE, "WAIT_TIMED_OUT",
                "The work has not ended within the time; it goes on. Look with: occctl work get %s", work_id);
        }
        if (clock_now_ms() + pause_ms > progress->deadline_ms)
            pause_ms = (int)(progress->deadline_ms - clock_now_ms());
        (void)poll(NULL, 0, pause_ms > 0 ? pause_ms : 0);
        end_if_interrupted(work_id, progress);
    }
    return true;
}

static bool check_goal(struct ctl *ctl, const struct wait_goal *goal, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const char *text;
    bool done = goal->describe(ctl, scratch, goal->id, &text, fault);

    if (done && !text_equal(text, goal->wanted)) {
        ctl_say("The work has ended, but the %s is %s and not %s.", goal->what, text, goal->wanted);
        ctl->status = CTL_EXIT_ENDED_OTHERWISE;
    }
    talloc_free(scratch);
    return done;
}

bool wait_is_sound(struct ctl *ctl, struct fault *fault)
{
    if (!options_given(ctl->options, "timeout-ms") || options_true(ctl->options, "wait"))
        return true;
    return fault_set(fault, FAULT_INVALID, "USAGE", "--timeout-ms needs --wait; see --help");
}

bool wait_for_work(struct ctl *ctl, const char *work_id, const char *name, const struct wait_goal *goal,
                   struct fault *fault)
{
    struct progress progress = {
        .name = name,
        .started_ms = clock_now_ms(),
        .deadline_ms = clock_now_ms() + (int64_t)options_number(ctl->options, "timeout-ms"),
        .terminal = isatty(STDERR_FILENO),
    };
    bool succeeded = false, done;

    watch_signal(SIGINT);
    watch_signal(SIGTERM);
    done = follow(ctl, work_id, &progress, &succeeded, fault);

    end_line(&progress);
    talloc_free(progress.shown);
    if (!done)
        return false;
    if (!succeeded) {
        ctl_say("The work has failed with %s%s%s", progress.code, *progress.message ? ": " : "",
                progress.message);
        ctl_say("Each attempt: occctl audit list --work %s%s%s", work_id,
                progress.deletion ? "; again: occctl work retry " : "", progress.deletion ? work_id : "");
        ctl->status = CTL_EXIT_ENDED_OTHERWISE;
        return true;
    }
    return !goal || check_goal(ctl, goal, fault);
}
