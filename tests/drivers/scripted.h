/* SPDX-License-Identifier: MIT
 *
 * The test suite's installed Driver: every operation does what a file tells it to, and writes down what it
 * did.
 *
 * Its configuration is {folder: /abs}, and optional fields of every other type, for tests of the host. In the
 * folder:
 *
 *     script      what operations do, read again by each of them; without it everything is ready at once
 *     progress    which steps were used up, by a line each
 *     journal     what began, changed and ended: JSON, one write a line
 *     world/      what the operations made: world/revision/<id> and so on, each file written at once
 *     lock        held (flock) by who reads or changes the others
 *
 * The script, one rule a line; the first that fits and is not used up counts, without one it is "ready":
 *
 *     OPERATION [SUBJECT] : STEP ; STEP … [# remark]
 *
 * OPERATION is the contract's name, for other capabilities than Compute with its own before it:
 * "prepare_revision", "secret.store". SUBJECT is an id, a name or a revision's number, or several of them
 * with "/" between that must all fit: "support/2". Each call uses up one STEP; "x3" at its end means three
 * calls, "forever" all that come. A STEP is words with " + " between, done in order:
 *
 *     ready                     how it ends, and what it does by default
 *     pending CODE [MS]
 *     retryable CODE
 *     permanent CODE
 *     cancelled
 *     result N                  it returns what is no result
 *     foreign WHAT              it speaks of another namespace, agent or revision
 *     mute                      it names nothing
 *     garbage KIND              what no answer may hold: see script_garbage()
 *     warn CODE TEXT
 *     failure COMPONENT CHECK CODE
 *     dependency NAME CAUSE
 *     delay MS                  waits through the host: that long
 *     gate NAME                 or until the folder has a file NAME
 *     spin MS                   computes that long, asking the host whether to end
 *     sleep MS                  blocks, without the host
 *     hang                      is busy for ever, without the host
 *     crash, abort, exit N      the process ends: SIGSEGV, SIGABRT, exit status N
 *     kill                      or SIGKILL
 *     close                     closes the host's channel to its supervisor, and goes on
 *     effect                    changes the world now; without this word "ready" does it at the end
 *     log LEVEL CODE TEXT
 *     http SOCKET PATH          a GET through the host; its status goes to the journal
 *     read-secrets              reads the revision's Secrets through the host, as the journal tells
 *     deny [EVIDENCE]           how iam.decide decides; it allows by default
 *     allow EVIDENCE
 *
 * So "effect + kill" is a death right after the effect, and "kill" one before it.
 */
#ifndef OCC_TESTS_DRIVERS_SCRIPTED_H
#define OCC_TESTS_DRIVERS_SCRIPTED_H

#include "include/occ/driver.h"

/* What a capability was opened with; one for each, as long as the process lives. */
struct scripted {
    char folder[400];
};

/* One operation under way. What is not of its subject is NULL. */
struct act {
    const struct scripted *self;
    const struct occ_call *call;
    const struct occ_host *host;
    struct occ_answer *answer;
    const char *operation; /* "prepare_revision", "secret.store" */
    const char *namespace_id, *namespace_name;
    const char *agent_id, *agent_name;
    const char *revision_id;
    int64_t number;    /* of the revision; 0: none */
    const char *other; /* what else a rule may name: a Secret, a Configuration, "agent:deploy" */
    const struct occ_namespace *namespace_;
    const struct occ_agent *agent;
    const struct occ_revision *revision;
    struct occ_decision *decision; /* iam.decide only */
    /* Changes the world, or looks whether it is as asked where the call only observes. NULL: nothing to do.
     */
    enum occ_result (*effect)(struct act *act);
    /* The operation's own arguments, for effect(). */
    const char *id, *bytes;
    size_t length;
    const char **bytes_out;
    size_t *length_out;
    const struct occ_secret_place *place;
    struct occ_secret_kept *kept;
    int carried_out; /* the effect */
};

/* scripted_subject.c: an operation on this, with the answer named. */
struct act act_plain(void *self, const struct occ_call *call, const char *operation,
                     struct occ_answer *answer);
struct act act_on_namespace(void *self, const struct occ_call *call, const char *operation,
                            const struct occ_namespace *subject, struct occ_answer *answer);
struct act act_on_agent(void *self, const struct occ_call *call, const char *operation,
                        const struct occ_agent *subject, struct occ_answer *answer);
struct act act_on_revision(void *self, const struct occ_call *call, const char *operation,
                           const struct occ_revision *subject, struct occ_answer *answer);
enum occ_result scripted_open(struct scripted *self, const struct occ_call *call, const struct occ_open *with,
                              const char *operation, void **made, struct occ_answer *answer);

/* scripted_act.c: does what the script says. */
enum occ_result act_run(struct act *act);

/* scripted_script.c: the step of this call, used up; "ready" where no rule fits. Of the call's memory. */
const char *script_take(struct act *act);
/* Fills the answer with what no answer may hold. KIND: unterminated, names, control, utf8, code, retry,
 * warnings, failure, size, evidence. */
void script_garbage(struct act *act, const char *kind);

/* scripted_journal.c */
void journal(struct act *act, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The folder's lock; exclusive. Gives the descriptor for unlock(). */
int folder_lock(const struct act *act);
void folder_unlock(int descriptor);
const char *folder_path(const struct act *act, const char *name);
/* A file's bytes, of the call's memory; NULL: there is none. */
const char *folder_read(const struct act *act, const char *name, size_t *length);
void folder_write(const struct act *act, const char *name, const char *bytes, size_t length);
int folder_remove(const struct act *act, const char *name); /* 1: it was there */
int folder_has(const struct act *act, const char *name);
/* What cannot be done in the folder is the test's fault: the process ends with what is wrong on stderr. */
void folder_failed(const char *path) __attribute__((noreturn));

/* scripted_world.c: the effects. */
enum occ_result world_ensure_namespace(struct act *act);
enum occ_result world_delete_namespace(struct act *act);
enum occ_result world_bind_agent(struct act *act);
enum occ_result world_prepare(struct act *act);
enum occ_result world_activate(struct act *act);
enum occ_result world_deactivate(struct act *act);
enum occ_result world_stop(struct act *act);
enum occ_result world_retire(struct act *act);
enum occ_result world_provision(struct act *act);
enum occ_result world_delete_agent(struct act *act);
/* Bytes kept under a name: Secrets' values and Configurations' documents. */
enum occ_result world_keep(struct act *act);
enum occ_result world_fetch(struct act *act);
enum occ_result world_drop(struct act *act);
enum occ_result world_sandbox(struct act *act);
enum occ_result world_clean_sandbox(struct act *act);

/* The other capabilities' tables. */
extern const struct occ_setting scripted_settings[];
extern const struct occ_iam scripted_iam;
extern const struct occ_configuration scripted_configuration;
extern const struct occ_secret scripted_secret;
extern const struct occ_sandbox scripted_sandbox;

/* The operations of Compute, for the tables of scripted.c. */
extern const struct occ_compute scripted_compute;

#endif
