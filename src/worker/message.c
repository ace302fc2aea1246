/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/message.h"

#include "lib/base/text.h"

#include <assert.h>

#define HEAD offsetof(struct message, body)

static_assert(sizeof(struct message) <= MESSAGE_LIMIT, "a message has at most 512 bytes");

static const char *const role_names[ROLE_COUNT] = {"supervisor", "preflight", "dispatcher", "reconciler"};

#define FROM(role) (1u << (role))
#define FROM_CHILDREN (FROM(ROLE_PREFLIGHT) | FROM(ROLE_DISPATCHER) | FROM(ROLE_RECONCILER))

/* Who may say what, and how long it is. */
static const struct message_rule {
    const char *name;
    size_t body;
    unsigned senders;
} rules[MESSAGE_TYPES] = {
    [MESSAGE_HELLO] = {"hello", 0, FROM_CHILDREN},
    [MESSAGE_FAULT] = {"fault", sizeof(struct message_fault), FROM_CHILDREN},
    [MESSAGE_BEACON] = {"beacon", sizeof(struct message_beacon),
                        FROM(ROLE_DISPATCHER) | FROM(ROLE_RECONCILER)},
    [MESSAGE_STEP] = {"step", sizeof(struct message_step), FROM(ROLE_PREFLIGHT)},
    [MESSAGE_FACT] = {"fact", sizeof(struct message_fact), FROM(ROLE_PREFLIGHT)},
    [MESSAGE_FINDING] = {"finding", sizeof(struct message_finding), FROM(ROLE_PREFLIGHT)},
    [MESSAGE_VERDICT] = {"verdict", sizeof(struct message_verdict), FROM(ROLE_PREFLIGHT)},
    [MESSAGE_IDLE] = {"idle", 0, FROM(ROLE_RECONCILER)},
    [MESSAGE_TOKEN] = {"token", sizeof(struct message_token), FROM(ROLE_RECONCILER)},
    [MESSAGE_CLAIMED] = {"claimed", sizeof(struct message_claimed), FROM(ROLE_RECONCILER)},
    [MESSAGE_REPORT] = {"report", sizeof(struct pass_report), FROM(ROLE_RECONCILER)},
    [MESSAGE_WAKE] = {"wake", sizeof(struct message_count), FROM(ROLE_DISPATCHER)},
    [MESSAGE_HEALTH] = {"health", sizeof(struct message_health), FROM(ROLE_DISPATCHER)},
    [MESSAGE_OUTAGE] = {"outage", sizeof(struct message_fault), FROM(ROLE_DISPATCHER)},
    [MESSAGE_RELEASED] = {"released", sizeof(struct message_token), FROM(ROLE_DISPATCHER)},
    [MESSAGE_RECOVERED] = {"recovered", sizeof(struct pass_report), FROM(ROLE_DISPATCHER)},
    [MESSAGE_WELCOME] = {"welcome", sizeof(struct message_welcome), FROM(ROLE_SUPERVISOR)},
    [MESSAGE_GO] = {"go", 0, FROM(ROLE_SUPERVISOR)},
    [MESSAGE_FINISH] = {"finish", 0, FROM(ROLE_SUPERVISOR)},
    [MESSAGE_ABORT] = {"abort", 0, FROM(ROLE_SUPERVISOR)},
    [MESSAGE_RESTING] = {"resting", sizeof(struct message_count), FROM(ROLE_SUPERVISOR)},
    [MESSAGE_LOOK] = {"look", 0, FROM(ROLE_SUPERVISOR)},
    [MESSAGE_RELEASE] = {"release", sizeof(struct message_release), FROM(ROLE_SUPERVISOR)},
};

const char *role_name(enum role role)
{
    return role < ROLE_COUNT ? role_names[role] : "unknown";
}

bool role_from_text(const char *text, enum role *role)
{
    size_t index;

    for (index = ROLE_PREFLIGHT; index < ROLE_COUNT; index++) {
        if (text_equal(text, role_names[index])) {
            *role = (enum role)index;
            return true;
        }
    }
    return false;
}

size_t message_size(unsigned type)
{
    return type < MESSAGE_TYPES && rules[type].senders ? HEAD + rules[type].body : 0;
}

const char *message_name(unsigned type)
{
    return message_size(type) ? rules[type].name : "unknown";
}

struct message message_new(enum message_type type)
{
    struct message message;

    /* Padding travels too: none of it may be what the stack held before. */
    memset(&message, 0, sizeof message);
    message.type = (uint16_t)type;
    message.size = (uint16_t)message_size(type);
    return message;
}

#define END_TEXT(array) ((array)[sizeof(array) - 1] = '\0')

static bool report_accept(struct pass_report *report)
{
    END_TEXT(report->token);
    END_TEXT(report->key);
    END_TEXT(report->namespace_id);
    END_TEXT(report->agent_id);
    END_TEXT(report->revision_id);
    END_TEXT(report->code);
    END_TEXT(report->dependency);
    END_TEXT(report->cause);
    return (unsigned)report->kind <= WORK_AGENT_REVISION && (unsigned)report->outcome <= PASS_ERROR &&
           report->deployment <= 1 && report->unready_ms >= 0 && report->ready_ms >= 0;
}

static bool fault_accept(struct message_fault *fault)
{
    END_TEXT(fault->code);
    END_TEXT(fault->dependency);
    END_TEXT(fault->cause);
    END_TEXT(fault->message);
    return fault->class <= FAULT_BUG;
}

static bool claimed_accept(struct message_claimed *claimed)
{
    END_TEXT(claimed->token);
    END_TEXT(claimed->key);
    END_TEXT(claimed->namespace_id);
    END_TEXT(claimed->agent_id);
    END_TEXT(claimed->revision_id);
    return claimed->kind <= WORK_AGENT_REVISION;
}

static bool finding_accept(struct message_finding *finding)
{
    END_TEXT(finding->code);
    END_TEXT(finding->dependency);
    END_TEXT(finding->cause);
    END_TEXT(finding->part);
    return finding->level <= REPORT_WARNING && finding->class <= FAULT_BUG && finding->more <= 1;
}

bool message_accept(struct message *message, size_t length, enum role sender)
{
    size_t size;

    if (length < HEAD || length > sizeof *message)
        return false;
    size = message_size(message->type);
    if (!size || size != length || size != message->size || !(rules[message->type].senders & FROM(sender)))
        return false;
    switch ((enum message_type)message->type) {
    case MESSAGE_REPORT:
    case MESSAGE_RECOVERED:
        return report_accept(&message->body.report);
    case MESSAGE_FAULT:
    case MESSAGE_OUTAGE:
        return fault_accept(&message->body.fault);
    case MESSAGE_CLAIMED:
        return claimed_accept(&message->body.claimed);
    case MESSAGE_FINDING:
        return finding_accept(&message->body.finding);
    case MESSAGE_STEP:
        END_TEXT(message->body.step.what);
        return true;
    case MESSAGE_FACT:
        END_TEXT(message->body.fact.name);
        END_TEXT(message->body.fact.value);
        return true;
    case MESSAGE_TOKEN:
    case MESSAGE_RELEASED:
        END_TEXT(message->body.token.token);
        return true;
    case MESSAGE_RELEASE:
        END_TEXT(message->body.release.token);
        END_TEXT(message->body.release.code);
        END_TEXT(message->body.release.message);
        return true;
    case MESSAGE_WELCOME:
        END_TEXT(message->body.welcome.installation_id);
        return true;
    default:
        return true;
    }
}
