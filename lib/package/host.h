/* SPDX-License-Identifier: MIT
 *
 * One operation of an installed Driver under way: what the Driver gets with it (struct occ_call, the host's
 * services), and how its end is judged. For lib/package only.
 *
 *     host_begin(&host, driver, call, "prepare_revision");
 *     result = table->prepare_revision(driver->self, &host.call, &revision, &host.answer);
 *     done = host_judge(&host, result, seen, fault);
 *     ... copies of what the Driver returned besides its answer ...
 *     host_end(&host);
 */
#ifndef OCC_PACKAGE_HOST_H
#define OCC_PACKAGE_HOST_H

#include "include/occ/driver.h"
#include "lib/driver/compute.h"
#include "lib/package/package.h"

/* An opened Driver; the adapters' structures begin with it. */
struct package_driver {
    const struct package *package;
    enum package_capability capability;
    const char *id;
    void *self;            /* its own */
    const void *resources; /* what lives as long as it does: its clients hang on this */
    unsigned clients;
};

struct host_call {
    struct occ_call call;
    struct occ_answer answer;
    struct package_driver *driver;
    const char *operation; /* static */
    const struct driver_call *outer;
    void *memory;         /* of the operation alone; what services gave is wiped with it, see host_wiped() */
    struct watch watch;   /* the outer call's, which is listened to here */
    struct fault stopped; /* why the watch ended the operation; FAULT_NONE: it did not */
    bool late;            /* the deadline ended it */
    bool at_start;        /* nobody tries again: see host_judge() */
    unsigned logged;
};

void host_begin(struct host_call *host, struct package_driver *driver, const struct driver_call *outer,
                const char *operation);
void host_end(struct host_call *host);

/* Takes the answer into `seen` (NULL: its warnings are logged instead) and the fault: true for OCC_READY.
 *
 * Where the watch ended the operation, its fault is the end, whatever the Driver says. An answer that breaks
 * the interface (no such result, no proper code, cancelled by nobody) is FAULT_PERMANENT
 * INVALID_DRIVER_OBSERVATION. At the start (open, preflight) nothing is tried again: what may pass is
 * FAULT_UNAVAILABLE, what will not is FAULT_CONFIGURATION. */
bool host_judge(struct host_call *host, enum occ_result result, struct compute_observation *seen,
                struct fault *fault) MUST_USE;

/* Every table's preflight is of one form: runs it, at the start. */
typedef enum occ_result (*host_preflight_function)(void *self, const struct occ_call *call,
                                                   struct occ_answer *answer);
bool host_preflight(struct package_driver *driver, host_preflight_function function,
                    const struct driver_call *call, struct compute_observation *seen,
                    struct fault *fault) MUST_USE;

/* The end of host_judge() for something else that the Driver returned and that breaks the interface: `what`
 * says what. Returns false. */
bool host_refuse(const struct host_call *host, const char *what, struct fault *fault);

/* ---- For the services */

struct host_call *host_of(const struct occ_call *call);

/* How a fault of the host's own looks to the Driver: the watch's is OCC_CANCELLED, and all others fill
 * `answer` (NULL, or as large as its size says). */
enum occ_result host_answer(struct host_call *host, const struct fault *fault, struct occ_answer *answer);

/* The Driver called a service wrongly: OCC_PERMANENT DRIVER_CALL_INVALID. */
enum occ_result host_call_invalid(struct host_call *host, const char *what, struct occ_answer *answer);

/* Has bytes wiped when they are freed: a Driver's scratch holds whatever it works with, credentials too. Of
 * what a library has copied meanwhile (a body in curl's buffers, a text that grew) nobody knows. */
char *host_wiped(char *bytes);

/* host_http.c, host_json.c, host_secret.c */
void host_add_http(struct occ_host *table);
void host_add_json(struct occ_host *table);
void host_add_secret(struct occ_host *table);

/* What is remembered of the values of a call, whose memory is about to end. */
void host_forget_json(void);

/* A structure that the Driver filled, as far as its size reaches, in a zeroed one of ours. */
#define HOST_TAKE(ours, theirs) host_take(&(ours), sizeof(ours), (theirs))
void host_take(void *ours, size_t size, const void *theirs);
/* And back: as much as the Driver's structure holds; its size stays. */
#define HOST_GIVE(theirs, ours) host_give((theirs), &(ours), sizeof(ours))
void host_give(void *theirs, const void *ours, size_t size);

#endif
