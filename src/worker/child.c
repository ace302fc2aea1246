/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/child.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/text.h"
#include "lib/config/snapshot.h"
#include "src/worker/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_USAGE_STATUS 2
#define EXIT_AGAIN 75
#define EXIT_BUG 70

void child_harden(void)
{
    secret_forbid_core();
#ifndef OCC_SANITIZERS
    /* The leak sanitizer looks at the process through ptrace, which this would refuse. */
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

enum host_order child_hear(struct child *child)
{
    struct message message;

    while (!child->gone) {
        switch (channel_receive(child->channel, ROLE_SUPERVISOR, &message)) {
        case CHANNEL_DONE:
            if (message.type == MESSAGE_GO)
                child->go = true;
            else if (message.type == MESSAGE_FINISH && child->order < HOST_FINISH)
                child->order = HOST_FINISH;
            else if (message.type == MESSAGE_ABORT)
                child->order = HOST_ABORT;
            else if (child->take)
                child->take(child->subject, &message);
            break;
        case CHANNEL_LATER:
            return child->order;
        case CHANNEL_LOST:
            /* A Driver has closed what is not its own, and nothing of this process can be relied on. To say
             * that the worker stops would hand the work back without an attempt, for ever. */
            log_event(LOG_ERROR, "worker.error", log_text("code", "WORKER_CRASHED"),
                      log_text("message", "the channel to the supervisor was closed within this process, "
                                          "as only a Driver can have done; the process ends"));
            abort();
        case CHANNEL_END:
        case CHANNEL_WRONG:
            child->gone = true;
            child->order = HOST_ABORT;
            break;
        }
    }
    return child->order;
}

static void give_sign(struct child *child)
{
    int64_t now_ms = clock_now_ms();

    if (!child->beacon_every_ms || now_ms < child->beacon_due_ms)
        return;
    child->beacon_due_ms = now_ms + child->beacon_every_ms;
    child_beacon(child, false);
}

static size_t watch_channel(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    const struct child *child = subject;

    if (child->beacon_every_ms && child->beacon_due_ms < *wake_ms)
        *wake_ms = child->beacon_due_ms;
    room[0] = (struct pollfd){.fd = child->channel, .events = POLLIN};
    return 1;
}

static bool watch_turn_channel(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    (void)ready;
    (void)count;
    give_sign(subject);
    if (child_hear(subject) != HOST_ABORT)
        return true;
    return fault_set(fault, FAULT_CANCELLED, "WORKER_DRAINING", "the worker stops");
}

void child_wait(struct child *child, int other, int64_t deadline_ms)
{
    struct pollfd descriptors[2] = {{.fd = child->channel, .events = POLLIN},
                                    {.fd = other, .events = POLLIN}};

    if (child->beacon_every_ms && child->beacon_due_ms < deadline_ms)
        deadline_ms = child->beacon_due_ms;
    (void)poll(descriptors, other >= 0 ? 2 : 1, clock_poll_timeout(deadline_ms));
    give_sign(child);
    (void)child_hear(child);
}

bool child_say(struct child *child, const struct message *message)
{
    if (!child->gone && channel_put(child->channel, message))
        return true;
    child->gone = true;
    child->order = HOST_ABORT;
    return false;
}

bool child_say_type(struct child *child, enum message_type type)
{
    const struct message message = message_new(type);

    return child_say(child, &message);
}

void child_step(struct child *child, const char *what)
{
    struct message message = message_new(MESSAGE_STEP);

    message.body.step.limit_ms = what ? CHILD_DRIVER_LIMIT_MS : 0;
    (void)text_copy(message.body.step.what, sizeof message.body.step.what, what);
    (void)!child_say(child, &message);
}

void child_beacon(struct child *child, bool confirmed)
{
    struct message message = message_new(MESSAGE_BEACON);

    message.body.beacon.confirmed = confirmed;
    if (!child->gone && channel_send(child->channel, &message) == CHANNEL_END) {
        child->gone = true;
        child->order = HOST_ABORT;
    }
}

void child_fill_fault(struct message_fault *told, const struct fault *fault)
{
    told->class = fault->class;
    (void)text_copy(told->code, sizeof told->code, fault->code);
    (void)text_copy(told->dependency, sizeof told->dependency, fault->dependency);
    (void)text_copy(told->cause, sizeof told->cause, fault->cause);
    (void)text_copy(told->message, sizeof told->message, fault->message);
}

int child_fail(struct child *child, const struct fault *fault)
{
    struct message message = message_new(MESSAGE_FAULT);

    child_fill_fault(&message.body.fault, fault);
    (void)!child_say(child, &message);
    return fault_exit_status(fault);
}

struct catalog_settings child_catalog_settings(const struct child *child)
{
    return (struct catalog_settings){
        .production = child->settings->mode == MODE_PRODUCTION,
        .docker_socket_path = child->settings->docker_socket,
    };
}

struct driver_call child_driver_call(const struct child *child, const char *installation_id)
{
    return (struct driver_call){
        .memory = child,
        .watch = &child->watch,
        .installation_id = installation_id,
        .deadline_ms = clock_now_ms() + CHILD_DRIVER_TIMEOUT_MS,
    };
}

/* The role is for the supervisor alone: by hand there is no channel. */
static bool has_channel(void)
{
    socklen_t length = sizeof(int);
    int type = 0;

    return getsockopt(CHANNEL_DESCRIPTOR, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

static int run_role(struct child *child)
{
    switch (child->role) {
    case ROLE_PREFLIGHT:
        return preflight_run(child);
    case ROLE_DISPATCHER:
        return dispatcher_run(child);
    case ROLE_RECONCILER:
        return reconciler_run_role(child);
    default:
        return EXIT_BUG;
    }
}

/* Loading a package runs its code, which nobody has tried yet. */
static bool verify_package(void *subject, const char *capability, const char *package, const char *id,
                           bool production, const struct schema **schema, struct fault *fault)
{
    bool done;

    child_step(subject, mem_format(subject, "loading the package %s for drivers.%s", package, capability));
    done =
        catalog_packages.schema(catalog_packages.subject, capability, package, id, production, schema, fault);
    child_step(subject, NULL);
    return done;
}

/* Preflight has checked the configuration by the Driver's own schema. */
static bool believe_preflight(void *subject, const char *capability, const char *package, const char *id,
                              bool production, const struct schema **schema, struct fault *fault)
{
    static const struct schema anything = {.type = SCHEMA_RULES};

    (void)subject;
    (void)capability;
    (void)package;
    (void)id;
    (void)production;
    (void)fault;
    *schema = &anything;
    return true;
}

/* Installed Drivers are loaded by those alone that call them. */
static struct startup *read_startup(struct child *child)
{
    const struct startup_packages verified = {child, verify_package};
    const struct startup_packages believed = {child, believe_preflight};
    const struct startup_packages *packages = &believed;

    if (child->role == ROLE_PREFLIGHT)
        packages = &verified;
    else if (child->role == ROLE_RECONCILER)
        packages = &catalog_packages;
    return startup_of_worker(child, child->settings, packages, child->findings);
}

static int begin(struct child *child)
{
    struct worker_settings *settings;
    struct fault fault;

    if (!snapshot_read(child, SNAPSHOT_DESCRIPTOR, &settings, &fault))
        return child_fail(child, &fault);
    (void)close(SNAPSHOT_DESCRIPTOR);
    child->settings = settings;
    child->findings = findings_new(child);
    if (!child_say_type(child, MESSAGE_HELLO))
        return EXIT_AGAIN;
    child->startup = read_startup(child);
    child_harden(); /* whatever the code of a package did */
    log_set_level(child->startup->log_level);
    /* Only preflight meets a startup YAML that nobody has verified. */
    if (child->role != ROLE_PREFLIGHT && !findings_check(child->findings, &fault))
        return child_fail(child, &fault);
    return run_role(child);
}

int child_main(enum role role, unsigned slot)
{
    struct child *child;
    int status;

    if (!has_channel()) {
        (void)fprintf(stderr, "occ-worker: --role is for the worker's own use\n");
        return EXIT_USAGE_STATUS;
    }
    child_harden();
    log_open("occ-worker");
    child = mem_new(NULL, struct child);
    child->role = role;
    child->slot = slot;
    child->channel = CHANNEL_DESCRIPTOR;
    child->order = HOST_CONTINUE;
    child->watch = (struct watch){child, watch_channel, watch_turn_channel};
    status = begin(child);
    talloc_free(child);
    return status;
}
