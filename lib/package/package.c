/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/package.h"

#include "include/occ/driver.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/package/file.h"
#include "lib/package/folder.h"

#include <dlfcn.h>
#include <unistd.h>

#define SYMBOL "occ_driver_package"
#define VERSION_SIZE 65

const char package_folder[] = OCC_DRIVER_FOLDER;

static const char *const capability_names[PACKAGE_CAPABILITIES] = {
    [PACKAGE_COMPUTE] = "compute", [PACKAGE_IAM] = "iam",         [PACKAGE_CONFIGURATION] = "configuration",
    [PACKAGE_SECRET] = "secret",   [PACKAGE_SANDBOX] = "sandbox",
};

/* Those that are loaded. Nothing unloads a shared object: its code may be referred to from anywhere. */
static struct loaded {
    struct package package;
    struct fault refusal; /* class FAULT_NONE: none */
    struct loaded *next;
} * all_loaded;

const char *package_capability_name(enum package_capability capability)
{
    return capability_names[capability];
}

bool package_capability_from_name(const char *name, enum package_capability *capability)
{
    size_t index;

    for (index = 0; index < PACKAGE_CAPABILITIES; index++) {
        if (text_equal(name, capability_names[index])) {
            *capability = (enum package_capability)index;
            return true;
        }
    }
    return false;
}

const char *package_offers(const void *context, const struct package *package)
{
    char *list = mem_text(context, "");
    size_t index;

    for (index = 0; index < PACKAGE_CAPABILITIES; index++)
        if (package->tables[index])
            list = mem_append(list, "%s%s", *list ? ", " : "", capability_names[index]);
    return *list ? list : "nothing";
}

static bool not_loadable(const struct package *package, const char *file, struct fault *fault)
{
    const char *reason = dlerror();
    size_t length = strlen(file);

    /* It knows the file by its descriptor alone, which means nothing to anybody. */
    if (reason && strncmp(reason, file, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
        reason += length + 2;
    return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_NOT_LOADABLE",
                     "The package %s cannot be loaded: %s: %s", package->name, package->path,
                     reason ? reason : "the loader gives no reason");
}

/* What the package says of itself, as far as its size reaches. */
static bool check_description(const struct occ_driver_package *given, struct package *package,
                              struct fault *fault)
{
    struct occ_driver_package known = {.interface = 0};
    char *version;

    if (!given)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_SYMBOL_MISSING",
                         "The package %s is not used: " SYMBOL "() of %s returns nothing", package->name,
                         package->path);
    if (given->interface != OCC_DRIVER_INTERFACE)
        return fault_set(
            fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_INTERFACE",
            "The package %s is not used: %s has the Driver interface %lu, and this program supports "
            "%u alone",
            package->name, package->path, (unsigned long)given->interface, OCC_DRIVER_INTERFACE);
    if (given->size < offsetof(struct occ_driver_package, compute))
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_SIZE",
                         "The package %s is not used: its description in %s has %lu bytes, at least %zu are "
                         "needed",
                         package->name, package->path, (unsigned long)given->size,
                         offsetof(struct occ_driver_package, compute));
    memcpy(&known, given, given->size < sizeof known ? given->size : sizeof known);
    if (!text_equal(known.name, package->name)) {
        char shown[65];

        (void)text_copy(shown, sizeof shown, known.name);
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_NAME_MISMATCH",
                         "The package %s is not used: %s says that its name is \"%s\"", package->name,
                         package->path, shown);
    }
    package->tables[PACKAGE_COMPUTE] = known.compute;
    package->tables[PACKAGE_IAM] = known.iam;
    package->tables[PACKAGE_CONFIGURATION] = known.configuration;
    package->tables[PACKAGE_SECRET] = known.secret;
    package->tables[PACKAGE_SANDBOX] = known.sandbox;
    version = mem_array(package->name, char, VERSION_SIZE);
    (void)text_copy(version, VERSION_SIZE, known.version);
    text_make_line(version);
    package->version = version;
    return true;
}

/* The loader knows an object by the name that it was loaded by, and would take another one of the same name
 * for it: the descriptor stays open for as long as the process lives, so that no other package gets its
 * number. */
static bool load(struct loaded *loaded, int descriptor, struct fault *fault)
{
    const struct occ_driver_package *(*describe)(void);
    struct package *package = &loaded->package;
    char file[40];
    void *handle, *symbol;

    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", descriptor);
    handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        (void)not_loadable(package, file, fault);
        (void)close(descriptor);
        return false;
    }
    loaded->next = all_loaded;
    all_loaded = loaded;
    symbol = dlsym(handle, SYMBOL);
    if (!symbol)
        return fault_set(&loaded->refusal, FAULT_CONFIGURATION, "DRIVER_PACKAGE_SYMBOL_MISSING",
                         "The package %s is not used: %s exports no " SYMBOL "()", package->name,
                         package->path);
    /* ISO C knows no conversion from an object's pointer to a function's; POSIX has them of one form. */
    memcpy(&describe, &symbol, sizeof describe);
    return check_description(describe(), package, &loaded->refusal);
}

static struct loaded *find(const char *name)
{
    struct loaded *loaded = all_loaded;

    while (loaded && !text_equal(loaded->package.name, name))
        loaded = loaded->next;
    return loaded;
}

const char *package_version(const char *name)
{
    const struct loaded *loaded = find(name);

    return loaded ? loaded->package.version : NULL;
}

bool package_load(const char *name, const struct package **package, struct fault *fault)
{
    struct loaded *loaded = find(name);
    int descriptor;

    if (!loaded) {
        if (!package_file_open(package_folder, name, &descriptor, fault))
            return false;
        loaded = mem_new(NULL, struct loaded);
        loaded->package.name = mem_text(loaded, name);
        loaded->package.path = mem_format(loaded, "%s/%s.so", package_folder, name);
        if (!load(loaded, descriptor, fault) && all_loaded != loaded) {
            talloc_free(loaded);
            return false;
        }
    }
    if (loaded->refusal.class != FAULT_NONE) {
        *fault = loaded->refusal;
        return false;
    }
    *package = &loaded->package;
    return true;
}
