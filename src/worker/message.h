/* SPDX-License-Identifier: MIT
 *
 * What the supervisor and its children say to each other: typed messages of a fixed size each, at most 512
 * bytes, never empty, without descriptors. Both ends are the same binary (a child is /proc/self/exe), so the
 * layout needs no version; a message is still believed only as far as message_accept() checked it.
 */
#ifndef OCC_WORKER_MESSAGE_H
#define OCC_WORKER_MESSAGE_H

#include "lib/base/fault.h"
#include "lib/base/identifier.h"
#include "lib/reconcile/host.h"

#define MESSAGE_LIMIT 512

enum role { ROLE_SUPERVISOR, ROLE_PREFLIGHT, ROLE_DISPATCHER, ROLE_RECONCILER, ROLE_COUNT };

/* "supervisor", "preflight", "dispatcher", "reconciler". */
const char *role_name(enum role role);
/* False when `text` names no role of a child. */
bool role_from_text(const char *text, enum role *role) MUST_USE;

enum message_type {
    /* From any child. */
    MESSAGE_HELLO = 1, /* the first one: the child runs and has read its snapshot */
    MESSAGE_FAULT,     /* why the child is about to end */
    MESSAGE_BEACON,    /* the child's loop moves */
    /* From preflight. */
    MESSAGE_STEP,    /* what it looks at now, and how long that may take */
    MESSAGE_FACT,    /* something that was verified, for --check and worker.started */
    MESSAGE_FINDING, /* a part of a problem or of a warning */
    MESSAGE_VERDICT, /* the end of the report */
    /* From a reconciler. */
    MESSAGE_IDLE,    /* nothing is held; waits for "go" */
    MESSAGE_TOKEN,   /* about to claim with this token */
    MESSAGE_CLAIMED, /* has claimed this */
    MESSAGE_REPORT,  /* a pass has ended */
    /* From the dispatcher. */
    MESSAGE_WAKE,      /* so many reconcilers would find work */
    MESSAGE_HEALTH,    /* the health query succeeded */
    MESSAGE_OUTAGE,    /* the database does not answer */
    MESSAGE_RELEASED,  /* a dead child's claim has been dealt with */
    MESSAGE_RECOVERED, /* a row that recovery changed */
    /* From the supervisor. */
    MESSAGE_WELCOME, /* the first to a reconciler: what preflight learned and it must know */
    MESSAGE_GO,      /* to a reconciler: claim */
    MESSAGE_FINISH,  /* finish the pass, claim nothing more, leave; to the dispatcher: offer nothing more */
    MESSAGE_ABORT,   /* hand back and leave now; to the dispatcher: leave */
    MESSAGE_RESTING, /* to the dispatcher: so many reconcilers are idle */
    MESSAGE_LOOK,    /* to the dispatcher: a reconciler is new, and has not seen the queue */
    MESSAGE_RELEASE, /* to the dispatcher: a dead child's claim */
    MESSAGE_TYPES
};

enum report_level { REPORT_PROBLEM, REPORT_WARNING };

#define FACT_NAME_SIZE 32
#define FACT_VALUE_SIZE 257
#define FINDING_PART_SIZE 280
#define RELEASE_MESSAGE_SIZE 160

struct message_fault {
    uint32_t class; /* enum fault_class */
    char code[FAULT_CODE_SIZE];
    char dependency[24];
    char cause[16];
    char message[300];
};

struct message_beacon {
    uint32_t confirmed; /* 1: the claim's lease was confirmed just now */
};

struct message_step {
    uint32_t limit_ms;          /* 0: as long as the whole verification */
    char what[FACT_VALUE_SIZE]; /* "the preflight of the Compute Driver …"; "": nothing that could do harm */
};

struct message_fact {
    char name[FACT_NAME_SIZE];
    char value[FACT_VALUE_SIZE];
};

/* A finding's text may be longer than a part: parts follow each other, `more` but for the last. */
struct message_finding {
    uint32_t level; /* enum report_level */
    uint32_t class; /* enum fault_class */
    uint32_t more;
    char code[FAULT_CODE_SIZE];
    char dependency[24];
    char cause[16];
    char part[FINDING_PART_SIZE];
};

struct message_verdict {
    uint32_t problems;
    uint32_t warnings;
};

struct message_token {
    char token[UUID_SIZE];
};

struct message_claimed {
    char token[UUID_SIZE];
    char key[PASS_KEY_SIZE];
    char namespace_id[IDENTIFIER_SIZE];
    char agent_id[IDENTIFIER_SIZE];
    char revision_id[IDENTIFIER_SIZE];
    uint32_t kind; /* enum work_kind */
    uint32_t attempt;
};

struct message_count {
    uint32_t count;
};

struct message_health {
    int64_t pending;
    int64_t oldest_pending_age_ms;
    uint32_t pooled;
};

struct message_welcome {
    char installation_id[IDENTIFIER_SIZE];
};

struct message_release {
    char token[UUID_SIZE];
    char code[FAULT_CODE_SIZE];
    char message[RELEASE_MESSAGE_SIZE]; /* what happened, for the evidence */
};

struct message {
    uint16_t type; /* enum message_type */
    uint16_t size; /* of the whole message */
    uint32_t reserved;
    union {
        struct message_fault fault;
        struct message_beacon beacon;
        struct message_step step;
        struct message_fact fact;
        struct message_finding finding;
        struct message_verdict verdict;
        struct message_token token;
        struct message_claimed claimed;
        struct pass_report report;  /* REPORT and RECOVERED */
        struct message_count count; /* WAKE and RESTING */
        struct message_health health;
        struct message_release release;
        struct message_welcome welcome;
    } body;
};

/* An empty message of this type, with its size filled in. */
struct message message_new(enum message_type type);

/* The size that a message of this type has; 0 for a type that there is not. */
size_t message_size(unsigned type);

/* Checks what came in `length` bytes from a process in the role `sender`: type, size, that this role may say
 * it, and the enumerations in it; ends every text. False: a protocol error. */
bool message_accept(struct message *message, size_t length, enum role sender) MUST_USE;

/* "token" …, for logs. */
const char *message_name(unsigned type);

#endif
