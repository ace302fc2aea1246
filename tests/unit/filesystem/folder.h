/* SPDX-License-Identifier: MIT
 *
 * A root of its own for each test, and the Driver on it.
 */
#ifndef OCC_TESTS_UNIT_FILESYSTEM_FOLDER_H
#define OCC_TESTS_UNIT_FILESYSTEM_FOLDER_H

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/filesystem/driver.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACE "ns_11111111-1111-4111-8111-111111111111"
#define OTHER "ns_22222222-2222-4222-8222-222222222222"
#define FIRST "cfg_11111111-1111-4111-8111-111111111111"
#define SECOND "cfg_22222222-2222-4222-8222-222222222222"
#define DOCUMENT SPACE "/" FIRST ".json"
#define LEFTOVER SPACE "/." SECOND ".tmp"

static const struct subject_namespace space = {.id = SPACE, .name = "acme"};

static void *context;
static char root[64];
static const struct configuration_driver *driver;
static struct driver_call call;

static inline const char *in_root(const char *name)
{
    return mem_format(context, "%s/%s", root, name);
}

static inline void open_driver(const char *path)
{
    struct fault fault;

    if (!filesystem_open_configuration(context, path, &driver, &fault))
        fail_msg("%s", fault.message);
    call = (struct driver_call){
        .memory = context, .installation_id = "ins_x", .deadline_ms = clock_now_ms() + 60000};
}

static inline int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    (void)snprintf(root, sizeof root, "/tmp/occ-filesystem-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    open_driver(root);
    return 0;
}

static inline int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int tear_down(void **state)
{
    (void)state;
    talloc_free(context);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline bool exists(const char *name)
{
    struct stat status;

    return lstat(in_root(name), &status) == 0;
}

static inline bool try_store(const char *id, const char *text, struct fault *fault)
{
    return driver->operations->store(driver->self, &call, &space, id, text, strlen(text), fault);
}

static inline void store(const char *id, const char *text)
{
    struct fault fault;

    if (!try_store(id, text, &fault))
        fail_msg("%s", fault.message);
}

static inline bool try_read(const char *id, const char **text, struct fault *fault)
{
    size_t length;

    if (!driver->operations->read(driver->self, &call, &space, id, text, &length, fault))
        return false;
    assert_int_equal(strlen(*text), length);
    return true;
}

static inline void holds(const char *id, const char *expected)
{
    struct fault fault;
    const char *text;

    if (!try_read(id, &text, &fault))
        fail_msg("%s", fault.message);
    assert_string_equal(text, expected);
}

static inline bool try_remove(const char *id, struct fault *fault)
{
    return driver->operations->remove(driver->self, &call, &space, id, fault);
}

static inline void fails(const struct fault *fault, enum fault_class class, const char *code,
                         const char *name, const char *why)
{
    if (fault->class != class || !fault_is(fault, code) || !strstr(fault->message, name) ||
        !strstr(fault->message, why))
        fail_msg("%d %s: %s", (int)fault->class, fault->code, fault->message);
}

#endif
