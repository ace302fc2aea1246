/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/spawn.h"

#include "src/worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child may know of the environment. The settings come in the snapshot. */
static const char *const kept_variables[] = {
    "PATH",
    "TZ",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
#ifdef OCC_SANITIZERS
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "LSAN_OPTIONS",
    "LLVM_PROFILE_FILE",
#endif
};

/* Names resolve in libpq without a limit of their own: one try of one second, so that a silent resolver does
 * not take a claim's lease with it. */
static char resolver_options[] = "RES_OPTIONS=timeout:1 attempts:1";

#define EXIT_NOT_STARTED 127

struct plan {
    pid_t parent;
    int channel, snapshot;
    char *arguments[5];
    char *environment[COUNT_OF(kept_variables) + 2];
    char role[32], slot[32];
};

static void plan_environment(struct plan *plan)
{
    size_t count = 0, index, length;
    char **entry;

    for (index = 0; index < COUNT_OF(kept_variables); index++) {
        length = strlen(kept_variables[index]);
        for (entry = environ; entry && *entry; entry++) {
            if (strncmp(*entry, kept_variables[index], length) == 0 && (*entry)[length] == '=') {
                plan->environment[count++] = *entry;
                break;
            }
        }
    }
    plan->environment[count++] = resolver_options;
    plan->environment[count] = NULL;
}

static void reset_signals(void)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;
    size_t index;
    int number;

    for (number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP)
            (void)sigaction(number, &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    for (index = 0; index < COUNT_OF(ignored); index++)
        (void)sigaction(ignored[index], &action, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Puts the two descriptors in their places and closes all others but the standard ones. */
static bool place_descriptors(const struct plan *plan)
{
    /* First out of the way of each other. */
    int channel = fcntl(plan->channel, F_DUPFD, SNAPSHOT_DESCRIPTOR + 1);
    int snapshot = fcntl(plan->snapshot, F_DUPFD, SNAPSHOT_DESCRIPTOR + 1);
    int nothing = open("/dev/null", O_RDWR);

    if (channel < 0 || snapshot < 0 || nothing < 0)
        return false;
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        return false;
    if (dup2(channel, CHANNEL_DESCRIPTOR) < 0 || dup2(snapshot, SNAPSHOT_DESCRIPTOR) < 0)
        return false;
    return close_range(SNAPSHOT_DESCRIPTOR + 1, ~0U, 0) == 0;
}

/* In the child: only calls that are safe after fork. */
static void NORETURN become(const struct plan *plan)
{
    const struct rlimit no_core = {0, 0};

    /* First of all, so that no child outlives its supervisor; and the supervisor may have died before. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != plan->parent)
        _exit(EXIT_NOT_STARTED);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (!place_descriptors(plan))
        _exit(EXIT_NOT_STARTED);
    reset_signals();
    /* The supervisor's own file, also when another one lies at its path by now. */
    (void)execve("/proc/self/exe", plan->arguments, plan->environment);
    _exit(EXIT_NOT_STARTED);
}

static pid_t fork_child(const struct plan *plan)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        become(plan);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static bool failed(const char *what, int error, struct fault *fault)
{
    return fault_set(fault, FAULT_RETRYABLE, "WORKER_SPAWN_FAILED", "%s: %s", what, strerror(error));
}

bool spawn(enum role role, unsigned slot, int snapshot, struct spawned *child, struct fault *fault)
{
    static char program[] = "occ-worker";
    struct plan plan = {.parent = getpid(), .snapshot = snapshot};
    int ours, error;

    (void)snprintf(plan.role, sizeof plan.role, "--role=%s", role_name(role));
    (void)snprintf(plan.slot, sizeof plan.slot, "--slot=%u", slot);
    plan.arguments[0] = program;
    plan.arguments[1] = plan.role;
    plan.arguments[2] = plan.slot;
    plan_environment(&plan);
    if (!channel_pair(&ours, &plan.channel))
        return failed("no channel for a child", errno, fault);
    child->pid = fork_child(&plan);
    error = errno;
    (void)close(plan.channel);
    if (child->pid < 0) {
        (void)close(ours);
        return failed("fork", error, fault);
    }
    /* Not reaped by anybody else, so the number still means this child. */
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->pidfd < 0) {
        error = errno;
        (void)kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        (void)close(ours);
        return failed("pidfd_open", error, fault);
    }
    child->channel = ours;
    return true;
}
