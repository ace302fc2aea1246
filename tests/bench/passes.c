/* SPDX-License-Identifier: MIT
 *
 * A pass's own cost: reconcilers whose Compute does nothing, each in a process of its own, until nothing is
 * eligible or the time is over. Prints the passes of each second and of the whole as JSON lines.
 *
 *   OCC_DATABASE_URL=… passes RECONCILERS [SECONDS]
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/text.h"
#include "lib/reconcile/reconciler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAXIMUM_RECONCILERS 64

struct counters {
    atomic_ullong passes;
    atomic_ullong bad; /* passes that ended otherwise than well */
    atomic_bool over;
};

static struct counters *counters;

static bool nothing(void *self, const struct driver_call *call, const struct subject_namespace *wanted,
                    struct compute_observation *seen, struct fault *fault)
{
    (void)self;
    (void)call;
    (void)fault;
    text_copy(seen->namespace_id, sizeof seen->namespace_id, wanted->id);
    return true;
}

static bool nothing_of_it(void *self, const struct driver_call *call, const struct subject_revision *revision,
                          struct compute_observation *seen, struct fault *fault)
{
    (void)self;
    (void)call;
    (void)fault;
    text_copy(seen->namespace_id, sizeof seen->namespace_id, revision->agent->owner.id);
    text_copy(seen->agent_id, sizeof seen->agent_id, revision->agent->id);
    text_copy(seen->revision_id, sizeof seen->revision_id, revision->id);
    return true;
}

static bool any_harness(void *self, const struct driver_call *call, const struct subject_harness *harness,
                        struct fault *fault)
{
    (void)self;
    (void)call;
    (void)harness;
    (void)fault;
    return true;
}

static bool nothing_at_start(void *self, const struct driver_call *call, struct compute_observation *seen,
                             struct fault *fault)
{
    (void)self;
    (void)call;
    (void)seen;
    (void)fault;
    return true;
}

static enum host_order order(void *subject)
{
    (void)subject;
    return atomic_load_explicit(&counters->over, memory_order_relaxed) ? HOST_FINISH : HOST_CONTINUE;
}

static bool token(void *subject, const char value[UUID_SIZE])
{
    (void)subject;
    (void)value;
    return true;
}

static bool claimed(void *subject, const char value[UUID_SIZE], const struct work_item *item)
{
    (void)subject;
    (void)value;
    (void)item;
    return true;
}

static void renewed(void *subject)
{
    (void)subject;
}

static bool report(void *subject, const struct pass_report *done)
{
    (void)subject;
    atomic_fetch_add(&counters->passes, 1);
    if (done->outcome != PASS_SUCCESS)
        atomic_fetch_add(&counters->bad, 1);
    return true;
}

static int reconcile(const char *url)
{
    static const struct compute_operations operations = {
        .preflight = nothing_at_start,
        .ensure_namespace = nothing,
        .delete_namespace = nothing,
        .validate_harness_auth = any_harness,
        .prepare_revision = nothing_of_it,
        .activate_revision = nothing_of_it,
        .deactivate_revision = nothing_of_it,
        .stop_revision = nothing_of_it,
        .retire_revision = nothing_of_it,
    };
    static const struct compute_driver driver = {
        .id = "compute-nothing",
        .implementation = "nothing",
        .operations = &operations,
    };
    static const struct reconcile_host host = {
        .descriptor = -1,
        .order = order,
        .token = token,
        .claimed = claimed,
        .renewed = renewed,
        .report = report,
    };
    void *memory = mem_zeroed(NULL, 1, 1, "passes");
    struct reconciler_options options = {
        .database_url = secret_new(memory, url, strlen(url)),
        .installation_id = "ins_00000000-0000-4000-8000-000000000000",
        .compute = &driver,
        .max_attempts = 5,
        .lease_duration_ms = 5000,
        .convergence_timeout_ms = 604800000,
        .database_timeout_ms = 60000,
    };
    struct reconciler *reconciler = reconciler_new(memory, &options, &host);
    enum reconciler_rest rest = RECONCILER_IDLE;
    struct fault fault = {.class = FAULT_NONE};
    uint64_t passes = 0;

    if (!reconciler_run(reconciler, UINT64_MAX, &passes, &rest, &fault)) {
        fprintf(stderr, "passes: %s: %s\n", fault.code, fault.message);
        return 1;
    }
    talloc_free(memory);
    return 0;
}

static void tell(const char *what, unsigned long long passes, int64_t since_us)
{
    double seconds = (double)(clock_now_us() - since_us) / 1e6;

    printf("{\"%s\": %llu, \"seconds\": %.3f, \"bad\": %llu}\n", what, passes, seconds,
           atomic_load(&counters->bad));
    fflush(stdout);
}

/* Waits for the children and tells each second; gives their worst exit status. */
static int watch_over(unsigned children, int64_t seconds)
{
    int64_t began = clock_now_us();
    int64_t second = began;
    unsigned long long before = 0;
    int worst = 0;

    while (children > 0) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        if (pid > 0) {
            children--;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                worst = 1;
            continue;
        }
        usleep(1000);
        if (clock_now_us() - second >= 1000000) {
            unsigned long long now = atomic_load(&counters->passes);

            tell("second", now - before, second);
            before = now;
            second = clock_now_us();
        }
        if (seconds > 0 && clock_now_us() - began >= seconds * 1000000)
            atomic_store(&counters->over, true);
    }
    tell("passes", atomic_load(&counters->passes), began);
    return worst;
}

int main(int argc, char **argv)
{
    const char *url = getenv("OCC_DATABASE_URL");
    uint64_t count = 0;
    uint64_t seconds = 0;

    if (argc < 2 || argc > 3 || url == NULL || !text_to_number(argv[1], MAXIMUM_RECONCILERS, &count) ||
        count == 0 || (argc == 3 && !text_to_number(argv[2], 86400, &seconds))) {
        fprintf(stderr, "usage: OCC_DATABASE_URL=… passes RECONCILERS [SECONDS]\n");
        return 2;
    }
    counters = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counters == MAP_FAILED) {
        fprintf(stderr, "passes: no memory: %s\n", strerror(errno));
        return 1;
    }
    for (uint64_t index = 0; index < count; index++) {
        pid_t parent = getpid();
        pid_t pid = fork();

        if (pid < 0) {
            fprintf(stderr, "passes: no process: %s\n", strerror(errno));
            return 1;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(getppid() == parent ? reconcile(url) : 1);
        }
    }
    return watch_over((unsigned)count, (int64_t)seconds);
}
