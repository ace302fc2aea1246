/* SPDX-License-Identifier: MIT
 *
 * What every child does, whatever its role: its beginning, its channel, its end.
 */
#ifndef OCC_WORKER_CHILD_H
#define OCC_WORKER_CHILD_H

#include "lib/catalog/catalog.h"
#include "lib/io/watch.h"
#include "src/worker/message.h"

struct child {
    enum role role;
    unsigned slot;
    int channel;
    const struct worker_settings *settings; /* as the snapshot holds them */
    const struct startup *startup;
    struct findings *findings; /* of the startup YAML */

    bool go;               /* "go" came and was not looked at yet */
    enum host_order order; /* the strongest so far */
    bool gone;             /* the supervisor is */
    /* A role's own messages; NULL: it has none. */
    void (*take)(void *subject, const struct message *message);
    void *subject;
    /* Hears the supervisor in every wait, and gives a sign of life when one is due; ends the wait with
     * FAULT_CANCELLED on "abort". */
    struct watch watch;
    int64_t beacon_every_ms, beacon_due_ms; /* 0: this role gives none in its waits */
};

/* No core dumps, and nobody of the same user may look into the process. The supervisor calls it, too. */
void child_harden(void);

/* A child's main function: the exit status. */
int child_main(enum role role, unsigned slot);

/* Reads what has arrived; never blocks. */
enum host_order child_hear(struct child *child);

/* Waits until something arrives on the channel, on `other` (-1: none) or until `deadline_ms`, and hears it.
 */
void child_wait(struct child *child, int other, int64_t deadline_ms);

/* Says something, waiting for room. False when the supervisor is gone. */
bool child_say(struct child *child, const struct message *message) MUST_USE;
bool child_say_type(struct child *child, enum message_type type) MUST_USE;
/* From preflight: what begins now may crash or hang, and must end within CHILD_DRIVER_LIMIT_MS; NULL when it
 * has ended. */
void child_step(struct child *child, const char *what);
/* A sign of life; dropped where there is no room. */
void child_beacon(struct child *child, bool confirmed);

/* Tells why the child ends, and gives its exit status. */
int child_fail(struct child *child, const struct fault *fault);
/* Puts a fault into a message. */
void child_fill_fault(struct message_fault *told, const struct fault *fault);

/* How long opening a Driver and its preflight may take together, and what its process is given. */
#define CHILD_DRIVER_TIMEOUT_MS 10000
#define CHILD_DRIVER_LIMIT_MS 15000

/* What Drivers are opened with, and the call of an operation outside of a pass. */
struct catalog_settings child_catalog_settings(const struct child *child);
struct driver_call child_driver_call(const struct child *child, const char *installation_id);

/* The roles. Each returns the exit status. */
int preflight_run(struct child *child);
int dispatcher_run(struct child *child);
int reconciler_run_role(struct child *child);

#endif
