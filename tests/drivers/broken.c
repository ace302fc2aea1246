/* SPDX-License-Identifier: MIT
 *
 * A package with one thing wrong, which its file's name tells: a test copies broken.so to
 * broken-WORD-ANYTHING.so in the Driver folder. The words are in `variants` below; "sound" has nothing wrong.
 *
 * It is built twice more, as what cannot be told by a name: broken-silent exports nothing, and
 * broken-unresolved needs a function that nobody has.
 */
#include "lib/base/build.h"

#include "include/occ/driver.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined BROKEN_SILENT

extern const int broken_silent;
const int broken_silent = 1;

#else

#if defined BROKEN_UNRESOLVED
void nobody_has_this(void);
#endif

static enum occ_result opens(const struct occ_call *call, const struct occ_open *with, void **self,
                             struct occ_answer *answer)
{
    (void)call;
    (void)with;
    (void)self;
    (void)answer;
#if defined BROKEN_UNRESOLVED
    nobody_has_this();
#endif
    return OCC_READY;
}

/* Fails in its own words, which no host can read. */
static enum occ_result opens_badly(const struct occ_call *call, const struct occ_open *with, void **self,
                                   struct occ_answer *answer)
{
    (void)call;
    (void)with;
    (void)self;
    (void)snprintf(answer->code, sizeof answer->code, "not a code");
    return OCC_PERMANENT;
}

static enum occ_result looks(void *self, const struct occ_call *call, struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)answer;
    return OCC_READY;
}

static enum occ_result keeps_namespace(void *self, const struct occ_call *call,
                                       const struct occ_namespace *subject, struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)snprintf(answer->namespace_id, sizeof answer->namespace_id, "%s", subject->id);
    return OCC_READY;
}

static enum occ_result validates(void *self, const struct occ_call *call, const struct occ_harness *harness,
                                 struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)harness;
    (void)answer;
    return OCC_READY;
}

static enum occ_result does_revision(void *self, const struct occ_call *call,
                                     const struct occ_revision *revision, struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)revision;
    (void)answer;
    return OCC_READY;
}

static enum occ_result does_agent(void *self, const struct occ_call *call, const struct occ_agent *agent,
                                  struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)agent;
    (void)answer;
    return OCC_READY;
}

static enum occ_result decides(void *self, const struct occ_call *call, const struct occ_question *question,
                               struct occ_decision *decision, struct occ_answer *answer)
{
    (void)self;
    (void)call;
    (void)question;
    (void)answer;
    decision->allowed = 2;
    return OCC_READY;
}

static const struct occ_setting twice[] = {
    {.name = "address", .type = OCC_SETTING_TEXT},
    {.name = "address", .type = OCC_SETTING_TEXT},
    {.name = NULL},
};

static struct occ_compute compute = {
    .size = sizeof compute,
    .id = "compute-broken",
    .implementation = "broken-1",
    .open = opens,
    .preflight = looks,
    .ensure_namespace = keeps_namespace,
    .delete_namespace = keeps_namespace,
    .validate_harness_auth = validates,
    .prepare_revision = does_revision,
    .activate_revision = does_revision,
    .deactivate_revision = does_revision,
    .stop_revision = does_revision,
    .retire_revision = does_revision,
    .provision_agent_credentials = does_agent,
    .delete_agent_credentials = does_agent,
};

static struct occ_iam iam = {
    .size = sizeof iam, .id = "iam-broken", .open = opens, .preflight = looks, .decide = decides};

static char name[80];

static struct occ_driver_package package = {
    .interface = OCC_DRIVER_INTERFACE,
    .size = sizeof package,
    .name = name,
    .version = "1.0",
    .compute = &compute,
    .iam = &iam,
};

/* Nothing behind the size that it names may be looked at: a host that does so jumps to nowhere. */
static void make_short(void)
{
    memset((char *)&compute + offsetof(struct occ_compute, validate_harness_auth), 0x41,
           sizeof compute - offsetof(struct occ_compute, validate_harness_auth));
    compute.size = offsetof(struct occ_compute, validate_harness_auth);
    memset((char *)&package + offsetof(struct occ_driver_package, iam), 0x41,
           sizeof package - offsetof(struct occ_driver_package, iam));
    package.size = offsetof(struct occ_driver_package, iam);
}

static void crash(void)
{
    abort();
}

static void hang(void)
{
    for (;;)
        (void)pause();
}

static void show_process(void)
{
    (void)prctl(PR_SET_DUMPABLE, 1);
}

#define SETS(function, statement)                                                                            \
    static void function(void)                                                                               \
    {                                                                                                        \
        statement;                                                                                           \
    }

SETS(set_interface, package.interface = 7)
SETS(set_size, package.size = 4)
SETS(set_table, compute.size = 8)
SETS(set_required, compute.delete_namespace = NULL)
SETS(set_activate, compute.activate_revision = NULL)
SETS(set_deactivate, compute.deactivate_revision = NULL)
SETS(set_stop, compute.stop_revision = NULL)
SETS(set_retire, compute.retire_revision = NULL)
SETS(set_harness, compute.validate_harness_auth = NULL)
SETS(set_credentials, compute.delete_agent_credentials = NULL)
SETS(set_development, compute.development_only = 1)
SETS(set_hasty, compute.maintenance_interval_ms = 999)
SETS(set_order, compute.activation_order = (enum occ_activation_order)7)
SETS(set_implementation, compute.implementation = "two\nlines")
SETS(set_settings, compute.settings = twice)
SETS(set_open, compute.open = opens_badly)
SETS(set_name, (void)snprintf(name, sizeof name, "another"))

static const struct variant {
    const char *word;
    void (*become)(void);
} variants[] = {
    {"sound", NULL},
    {"interface", set_interface},
    {"size", set_size},
    {"table", set_table},
    {"required", set_required},
    {"activate", set_activate},
    {"deactivate", set_deactivate},
    {"stop", set_stop},
    {"retire", set_retire},
    {"harness", set_harness},
    {"credentials", set_credentials},
    {"development", set_development},
    {"hasty", set_hasty},
    {"order", set_order},
    {"implementation", set_implementation},
    {"settings", set_settings},
    {"open", set_open},
    {"name", set_name},
    {"short", make_short},
    {"crash", crash},
    {"hang", hang},
    {"shown", show_process},
};

/* The file that this was loaded from: the host loads it by a descriptor. */
static void find_name(void)
{
    char path[4096];
    Dl_info here;
    ssize_t length = -1;
    char *start;

    if (dladdr(&package, &here))
        length = readlink(here.dli_fname, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    start = strrchr(path, '/');
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(start ? start + 1 : path, "."),
                   start ? start + 1 : path);
}

__attribute__((visibility("default"))) const struct occ_driver_package *occ_driver_package(void)
{
    const size_t prefix = sizeof "broken-" - 1;
    size_t index;

    find_name();
    if (strncmp(name, "broken-", prefix) != 0 || strncmp(name + prefix, "nothing-", 8) == 0)
        return NULL;
    for (index = 0; index < COUNT_OF(variants); index++) {
        size_t length = strlen(variants[index].word);

        if (strncmp(name + prefix, variants[index].word, length) == 0 && name[prefix + length] == '-' &&
            variants[index].become)
            variants[index].become();
    }
    return &package;
}

#endif
