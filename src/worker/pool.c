/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "src/worker/channel.h"
#include "src/worker/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

/* Channels before exits: what a child said last is known when its end is judged. */
#define PRIORITY_CHANNEL (SD_EVENT_PRIORITY_NORMAL - 50)
#define PRIORITY_CHILD SD_EVENT_PRIORITY_NORMAL

/* So many messages of one child before the others have their turn. */
#define MESSAGES_A_TURN 64

static struct supervisor *the_supervisor; /* sd-event hands out one pointer, and that is the slot */

static void channel_close(struct slot *slot)
{
    slot->channel_source = sd_event_source_disable_unref(slot->channel_source);
    if (slot->channel >= 0)
        (void)close(slot->channel);
    slot->channel = -1;
}

static void protocol_error(struct slot *slot)
{
    struct fault fault;

    (void)fault_set(&fault, FAULT_BUG, "WORKER_PROTOCOL",
                    "a child sent something that is no message of its role; it is killed");
    event_error(the_supervisor, role_name(slot->role), &fault);
    channel_close(slot);
    pool_kill(the_supervisor, slot, "WORKER_PROTOCOL");
}

/* Reads up to `most` messages. False when the channel has ended or must not be read any more. */
static bool channel_read(struct slot *slot, unsigned most)
{
    struct message message;

    while (most-- > 0) {
        switch (channel_receive(slot->channel, slot->role, &message)) {
        case CHANNEL_DONE:
            the_supervisor->progress_ms = clock_now_ms();
            slot_heard(slot, &message, the_supervisor->progress_ms);
            hear(the_supervisor, slot, &message);
            if (slot->channel < 0)
                return false;
            break;
        case CHANNEL_LATER:
            return true;
        case CHANNEL_END:
            channel_close(slot);
            return false;
        case CHANNEL_LOST:
        case CHANNEL_WRONG:
            protocol_error(slot);
            return false;
        }
    }
    return true;
}

static int on_channel(struct sd_event_source *source, int descriptor, uint32_t events, void *subject)
{
    (void)source;
    (void)descriptor;
    (void)events;
    (void)channel_read(subject, MESSAGES_A_TURN);
    return 0;
}

static bool nothing_can_live(const struct supervisor *supervisor, int64_t now_ms)
{
    size_t index;

    if (slot_is_hopeless(&supervisor->slots[SLOT_DISPATCHER], now_ms))
        return true;
    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++) {
        if (!slot_is_hopeless(&supervisor->slots[index], now_ms))
            return false;
    }
    return true;
}

/* What follows for the slot and for the worker. */
static void follow(struct supervisor *supervisor, struct slot *slot, const struct slot_end *end,
                   int64_t retry_in_ms, int64_t now_ms)
{
    struct fault fault;

    if (supervisor->phase == PHASE_STOPPING) {
        slot_become(slot, SLOT_CLOSED, now_ms);
        return;
    }
    if (end->next == SLOT_REPLACE) {
        slot_become(slot, SLOT_EMPTY, now_ms);
        return;
    }
    slot->retry_ms = now_ms + retry_in_ms;
    slot_become(slot, SLOT_WAITING, now_ms);
    if (end->next == SLOT_GIVE_UP) {
        stop_begin(supervisor, "configuration", 78);
    } else if (nothing_can_live(supervisor, now_ms)) {
        (void)fault_set(&fault, FAULT_BUG, "WORKER_UNAVAILABLE",
                        "children keep ending as soon as they are started; the worker ends");
        event_error(supervisor, "supervisor", &fault);
        stop_begin(supervisor, "children", 70);
    }
}

/* What became of the process, for whoever asks the item and not the journal. */
static void tell_end(const struct slot *slot, const struct slot_end *end, char message[RELEASE_MESSAGE_SIZE])
{
    static const char who[] = "the process that carried it out";
    const char *name = end->by_signal ? sigabbrev_np(end->number) : NULL;

    if (text_equal(slot->kill_reason, "WORKER_HUNG"))
        (void)snprintf(message, RELEASE_MESSAGE_SIZE, "%s gave no sign of life for too long, and was killed",
                       who);
    else if (slot->kill_reason)
        (void)snprintf(message, RELEASE_MESSAGE_SIZE, "%s was killed (%s)", who, slot->kill_reason);
    else if (name)
        (void)snprintf(message, RELEASE_MESSAGE_SIZE, "%s was ended by SIG%s", who, name);
    else
        (void)snprintf(message, RELEASE_MESSAGE_SIZE, "%s ended by %s %d", who,
                       end->by_signal ? "signal" : "an exit with status", end->number);
}

static void keep_deaths(struct supervisor *supervisor, const struct slot *slot, const struct slot_end *end,
                        int64_t now_ms)
{
    size_t index;

    for (index = 0; index < end->token_count; index++) {
        bool under_way = slot->current.claimed && text_equal(end->tokens[index], slot->current.item.token);
        struct message_release release = {.message = ""};

        (void)text_copy(release.token, sizeof release.token, end->tokens[index]);
        (void)text_copy(release.code, sizeof release.code, end->release_code);
        if (!text_equal(end->release_code, "WORKER_DRAINING"))
            tell_end(slot, end, release.message);
        deaths_add(&supervisor->deaths, &release, now_ms, under_way ? now_ms - slot->current.since_ms : -1);
        if (under_way && work_is_deployment((enum work_kind)slot->current.item.kind, slot->current.item.key))
            deployments_crashed(&supervisor->deployments, slot->current.item.key);
    }
}

static int on_child(struct sd_event_source *source, const siginfo_t *info, void *subject)
{
    struct slot *slot = subject;
    struct supervisor *supervisor = the_supervisor;
    int64_t now_ms = clock_now_ms(), retry_in_ms = -1;
    struct slot_end end;

    (void)source;
    /* To its end: more may have arrived than one turn reads. */
    while (slot->channel >= 0 && channel_read(slot, UINT32_MAX))
        break;
    end = slot_judge(slot, info->si_code != CLD_EXITED, info->si_status, now_ms);
    keep_deaths(supervisor, slot, &end, now_ms);
    if (end.next != SLOT_REPLACE && slot->role != ROLE_PREFLIGHT && supervisor->phase != PHASE_STOPPING)
        retry_in_ms = backoff_failed(&slot->backoff, now_ms - slot->started_ms);
    if (slot->role != ROLE_PREFLIGHT || (end.by_signal && !slot->kill_reason))
        event_child_exited(supervisor, slot, &end, retry_in_ms);
    channel_close(slot);
    slot->child_source = sd_event_source_disable_unref(slot->child_source);
    if (slot->role == ROLE_DISPATCHER) {
        deaths_rewind(&supervisor->deaths);
        health_unknown(supervisor);
    }
    slot_vacate(slot);
    if (slot->role == ROLE_PREFLIGHT) {
        slot_become(slot, SLOT_CLOSED, now_ms);
        if (supervisor->phase == PHASE_VERIFYING)
            startup_preflight_ended(supervisor, &end);
        else if (supervisor->phase != PHASE_STOPPING)
            reload_preflight_ended(supervisor, &end);
    } else {
        follow(supervisor, slot, &end, retry_in_ms, now_ms);
    }
    return 0;
}

static bool watch_child(struct supervisor *supervisor, struct slot *slot, const struct spawned *child)
{
    if (sd_event_add_child_pidfd(supervisor->loop, &slot->child_source, child->pidfd, WEXITED, on_child,
                                 slot) < 0)
        return false;
    (void)sd_event_source_set_child_pidfd_own(slot->child_source, 1);
    (void)sd_event_source_set_priority(slot->child_source, PRIORITY_CHILD);
    if (sd_event_add_io(supervisor->loop, &slot->channel_source, slot->channel, EPOLLIN, on_channel, slot) <
        0)
        return false;
    (void)sd_event_source_set_priority(slot->channel_source, PRIORITY_CHANNEL);
    return true;
}

/* A child that dies while a debugger holds it is dead for its pidfd, and not for us before the debugger lets
 * go: its source has fired for nothing by then, and only once. The kernel sends SIGCHLD at that moment too.
 */
static void look_again(struct slot *slot)
{
    siginfo_t end = {.si_pid = 0};

    if (!slot_is_live(slot) || !slot->child_source ||
        waitid(P_PID, (id_t)slot->pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == 0)
        return;
    (void)sd_event_source_set_enabled(slot->child_source, SD_EVENT_OFF);
    (void)sd_event_source_set_enabled(slot->child_source, SD_EVENT_ONESHOT);
}

void pool_look_again(struct supervisor *supervisor)
{
    size_t index;

    look_again(&supervisor->verification.slot);
    for (index = 0; index < supervisor->slot_count; index++)
        look_again(&supervisor->slots[index]);
}

static void welcome(struct supervisor *supervisor, struct slot *slot)
{
    struct message message = message_new(MESSAGE_WELCOME);

    (void)text_copy(message.body.welcome.installation_id, sizeof message.body.welcome.installation_id,
                    report_fact(supervisor->verified, "installationId"));
    pool_tell(supervisor, slot, &message);
}

bool pool_start(struct supervisor *supervisor, struct slot *slot, int snapshot, struct fault *fault)
{
    int64_t now_ms = clock_now_ms();
    struct spawned child;

    the_supervisor = supervisor;
    if (!spawn(slot->role, slot->number, snapshot, &child, fault)) {
        /* No child, so no state of one: the slot goes back to wait (K56). */
        slot->retry_ms = now_ms + backoff_failed(&slot->backoff, 0);
        slot_become(slot, SLOT_WAITING, now_ms);
        return false;
    }
    slot_started(slot, child.pid, child.channel, supervisor->generation, now_ms);
    if (!watch_child(supervisor, slot, &child)) {
        /* Only for want of memory or descriptors; without its sources the child could not be supervised. */
        (void)kill(child.pid, SIGKILL);
        mem_exhausted();
    }
    if (slot->role == ROLE_RECONCILER)
        welcome(supervisor, slot);
    return true;
}

void pool_tell(struct supervisor *supervisor, struct slot *slot, const struct message *message)
{
    if (slot->channel < 0)
        return;
    if (channel_send(slot->channel, message) == CHANNEL_LATER)
        pool_kill(supervisor, slot, "WORKER_HUNG");
    /* CHANNEL_END: its exit is on the way. */
}

void pool_tell_type(struct supervisor *supervisor, struct slot *slot, enum message_type type)
{
    const struct message message = message_new(type);

    pool_tell(supervisor, slot, &message);
}

void pool_kill(struct supervisor *supervisor, struct slot *slot, const char *reason)
{
    (void)supervisor;
    if (!slot_is_live(slot) || slot->state == SLOT_KILLED)
        return;
    slot->kill_reason = reason;
    /* By pidfd: never another process that has got the number since (K54). */
    (void)sd_event_source_send_child_signal(slot->child_source, SIGKILL, NULL, 0);
    slot_become(slot, SLOT_KILLED, clock_now_ms());
}

unsigned pool_count(const struct supervisor *supervisor, enum slot_state state)
{
    unsigned count = 0;
    size_t index;

    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++)
        count += supervisor->slots[index].state == state;
    return count;
}

unsigned pool_live_reconcilers(const struct supervisor *supervisor)
{
    unsigned count = 0;
    size_t index;

    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++)
        count += slot_is_live(&supervisor->slots[index]);
    return count;
}
