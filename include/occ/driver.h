/* SPDX-License-Identifier: MIT
 *
 * The interface of installed Drivers: shared objects that occ-worker and occctl load from the packaged Driver
 * folder. See occ-driver(7).
 *
 * A package exports one function, occ_driver_package(), which returns a static description. Everything the
 * host gives is borrowed for the time of the call; everything a Driver gives in an answer is copied before
 * the call's memory ends. Texts are zero-terminated UTF-8. Times in milliseconds are of CLOCK_BOOTTIME unless
 * they are called an epoch.
 *
 * Structures that either side fills begin with their size, so that both may grow at their ends: read a member
 * beyond the first version's only where `size` covers it. A change that this cannot carry raises
 * OCC_DRIVER_INTERFACE.
 *
 * A Driver runs in a process that carries out one operation at a time, without other threads. It may crash or
 * hang without harm to anything but that pass. It must not fork, change signal handlers, the working
 * directory, the environment or the limits, write to the descriptors that it did not open, or keep anything
 * of a call beyond it.
 */
#ifndef OCC_DRIVER_H
#define OCC_DRIVER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCC_DRIVER_INTERFACE 1u

/* How an operation ended. */
enum occ_result {
    OCC_READY = 0, /* as asked: there, or gone */
    OCC_PENDING,   /* converging: the host looks again later, and spends no attempt */
    OCC_RETRYABLE, /* failed: an attempt is spent */
    OCC_PERMANENT, /* will not succeed until somebody changes something */
    OCC_CANCELLED, /* a function of the host said so; return at once */
};

#define OCC_CODE_SIZE 65     /* upper case, digits and _, at most 64 characters */
#define OCC_MESSAGE_SIZE 512 /* one line for operators: never a credential, never a body */
#define OCC_IDENTIFIER_SIZE 48
#define OCC_WORD_SIZE 64
#define OCC_WARNINGS 4

/* What an operation says besides its result. Zeroed by the host, except `size`. */
struct occ_answer {
    uint32_t size;
    /* What it speaks of. An operation on a Namespace names the Namespace; one on an Agent or a revision names
     * those too. An answer about another one is refused: INVALID_DRIVER_OBSERVATION. */
    char namespace_id[OCC_IDENTIFIER_SIZE];
    char agent_id[OCC_IDENTIFIER_SIZE];
    char revision_id[OCC_IDENTIFIER_SIZE];
    /* Of every result but OCC_READY: why. */
    char code[OCC_CODE_SIZE];
    char message[OCC_MESSAGE_SIZE];
    char dependency[24]; /* "kubernetes" where a dependency failed, else "" */
    char cause[16];      /* "unreachable", "timeout", "unavailable" beside it; of http_send also TLS's */
    uint32_t
        retry_after_ms; /* OCC_PENDING: when to look again, at most 30 s are taken; 0: the host decides */
    /* Of any result: what an operator should know. */
    uint32_t warning_count;
    struct {
        char code[OCC_CODE_SIZE];
        char message[OCC_MESSAGE_SIZE];
    } warnings[OCC_WARNINGS];
    /* What is wrong with a runtime that is not ready: "gateway", "readiness-probe", CRASH_LOOP. */
    struct {
        char component[OCC_WORD_SIZE]; /* "": none */
        char check[OCC_WORD_SIZE];
        char code[OCC_CODE_SIZE];
        int64_t checked_at_ms; /* of the epoch, UTC */
    } failure;
};

/* ---- What the host offers */

struct occ_call; /* below */

struct occ_http; /* a client for one server, one connection kept alive */

struct occ_http_options {
    uint32_t size;
    const char *unix_socket; /* path; NULL for TCP */
    const char *base_url;    /* scheme, host and port; "http://localhost" for a unix socket; no end slash */
    const char *dependency;  /* its name in logs: "kubernetes" */
    const char *unavailable_code; /* the code of answers about the connection: "EXAMPLE_API_UNAVAILABLE" */
    const char *ca_file;          /* PEM; required for https */
    size_t body_limit;            /* largest body of an answer, in bytes */
    int32_t connect_timeout_ms;
};

struct occ_http_request {
    uint32_t size;
    const char *method;        /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;          /* starts with "/", already escaped */
    const char *content_type;  /* of the body; NULL: application/json */
    const char *authorization; /* value of the Authorization header, or NULL; never logged */
    const char *body;          /* or NULL */
    int32_t timeout_ms;        /* for the whole request; never beyond the call's deadline */
};

struct occ_http_response {
    uint32_t size;
    int32_t status;
    const char *body; /* zero-terminated; of the call's memory */
    size_t body_length;
    const char *content_type; /* "" when absent */
    uint32_t retry_after_ms;  /* 0 when absent */
};

struct occ_json; /* a value of a document that was read; of the call's memory */

enum occ_json_kind {
    OCC_JSON_NONE = 0, /* there is no such value */
    OCC_JSON_NULL,
    OCC_JSON_BOOLEAN,
    OCC_JSON_NUMBER,
    OCC_JSON_TEXT,
    OCC_JSON_LIST,
    OCC_JSON_OBJECT,
};

/* A Secret's place with its Secret Driver. */
struct occ_secret_place {
    uint32_t size;
    const char *secret_id; /* "sec_…" */
    const char *driver_id;
    const char *namespace_id;
    const char *backend_namespace_name;
    const char *backend_name;
    const char *backend_key;
    const char *backend_uid; /* NULL: not known */
};

enum occ_log_level { OCC_LOG_DEBUG, OCC_LOG_INFO, OCC_LOG_WARN, OCC_LOG_ERROR };

/* The host's services. All take the call under way. The table lives as long as the process. */
struct occ_host {
    uint32_t size;
    /* Memory of the call, zeroed; never NULL (a process without memory ends). Freed by the host. */
    void *(*allocate)(const struct occ_call *call, size_t size);
    char *(*format)(const struct occ_call *call, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    /* A record `driver.message` {driver, code, message}; at most ten a call. */
    void (*log)(const struct occ_call *call, enum occ_log_level level, const char *code, const char *format,
                ...) __attribute__((format(printf, 4, 5)));
    /* Waits until `until_ms`, or until `descriptor` (-1: none) has one of the poll(2) `events`. Meanwhile the
     * claim is renewed and the supervisor heard. OCC_READY: the descriptor is ready; OCC_PENDING: the time is
     * over; OCC_CANCELLED: stop, or the call's deadline came first. A Driver that waits in any other way is
     * killed as hung. */
    enum occ_result (*wait)(const struct occ_call *call, int descriptor, short events, int64_t until_ms);
    int64_t (*now_ms)(void);
    /* OCC_CANCELLED when the operation should end now; never waits. For long computations. */
    enum occ_result (*check)(const struct occ_call *call);
    /* A client lives as long as the Driver; it connects with its first request. Results other than OCC_READY
     * fill the answer. */
    enum occ_result (*http_open)(const struct occ_call *call, const struct occ_http_options *options,
                                 struct occ_http **client, struct occ_answer *answer);
    enum occ_result (*http_send)(const struct occ_call *call, struct occ_http *client,
                                 const struct occ_http_request *request, struct occ_http_response *response,
                                 struct occ_answer *answer);
    const char *(*http_escape)(const struct occ_call *call, const char *text);
    /* JSON (RFC 8259), at most 64 levels, no duplicate members. NULL: it is none. A NULL value has kind
     * OCC_JSON_NONE, so that lookups can be chained. Numbers that are no integer within 2^53 read as 0. */
    const struct occ_json *(*json_read)(const struct occ_call *call, const char *text, size_t length);
    enum occ_json_kind (*json_kind)(const struct occ_json *value);
    const struct occ_json *(*json_member)(const struct occ_json *object, const char *name);
    const struct occ_json *(*json_item)(const struct occ_json *list, size_t index);
    size_t (*json_count)(const struct occ_json *list);
    const char *(*json_text)(const struct occ_json *value, const char *fallback);
    int64_t (*json_number)(const struct occ_json *value, int64_t fallback);
    int (*json_boolean)(const struct occ_json *value, int fallback);
    const char *(*json_quote)(const struct occ_call *call, const char *text); /* with the quotation marks */
    /* A Secret's value from the selected Secret Driver. The bytes are of the call's memory and are wiped with
     * it. For Compute and Sandbox Drivers. */
    enum occ_result (*secret_read)(const struct occ_call *call, const struct occ_secret_place *place,
                                   const char **bytes, size_t *length, struct occ_answer *answer);
};

/* One operation under way. */
struct occ_call {
    uint32_t size;
    const struct occ_host *host;
    const char *installation_id; /* "" before it is known */
    int64_t deadline_ms;         /* no wait and no request lasts beyond it */
    uint32_t observe_only;       /* 1: only look whether the thing is as asked; change nothing */
    void *hidden;                /* the host's own */
};

/* What a Driver is opened with. */
struct occ_open {
    uint32_t size;
    const char *id;            /* as selected: "compute-example" */
    const char *configuration; /* the checked configuration from the startup YAML as a JSON object */
    uint32_t production;       /* 1: production, 0: development */
};

/* ---- A Driver's configuration: a closed schema, by which the startup YAML is checked */

enum occ_setting_type {
    OCC_SETTING_TEXT,
    OCC_SETTING_NUMBER, /* a plain decimal integer */
    OCC_SETTING_BOOLEAN,
    OCC_SETTING_MAP,   /* of `settings` */
    OCC_SETTING_TEXTS, /* a list of texts */
};

/* A list of them ends with one whose name is NULL. A text under a key that means a credential (password,
 * token, secret, key), and whose choices are not listed, may only be an absolute path or a Secret's id: the
 * startup YAML holds no credential. */
struct occ_setting {
    const char *name;
    enum occ_setting_type type;
    uint32_t required;
    const char *choices; /* OCC_SETTING_TEXT: "fast|safe", or NULL */
    uint64_t least;      /* of a number, or of a list's length */
    uint64_t most;       /* 0: no limit of its own */
    const struct occ_setting *settings;
};

/* ---- What operations speak of */

struct occ_namespace {
    uint32_t size;
    const char *id;                 /* "ns_…" */
    const char *name;               /* for people; never part of an identity */
    const char *existing_namespace; /* the adopted namespace's name, or NULL */
};

struct occ_agent {
    uint32_t size;
    const struct occ_namespace *namespace_;
    const char *id; /* "agt_…" */
    const char *name;
    const char *service_principal_id;
};

struct occ_revision {
    uint32_t size;
    const struct occ_agent *agent;
    const char *id; /* "rev_…" */
    int64_t number; /* 1, 2, … of this Agent */
    uint32_t first; /* 1: the Agent never had an earlier one */
    const char *configuration_id;
    int64_t configuration_generation;
    const char *document;   /* the native document as JSON, as it was admitted */
    const char *harness_id; /* "openclaw", "codex" */
    const char *harness_version;
    const char *harness_mode;                      /* "embedded", "dedicated" */
    const char *harness_auth;                      /* JSON: {"method":…}, references only */
    const struct occ_secret_place *harness_secret; /* where that credential is; NULL: it is gone, or none */
    const char *secret_driver_id;                  /* NULL: none */
    const char *sandbox_driver_id;                 /* NULL: none */
    /* The Secrets that the Configuration binds, by name. */
    uint32_t binding_count;
    const struct occ_secret_binding *const *bindings; /* binding_count pointers */
};

struct occ_secret_binding {
    uint32_t size;
    const char *name;
    const struct occ_secret_place *place;
};

/* How a Harness would authenticate, before a revision is admitted. */
struct occ_harness {
    uint32_t size;
    const char *id;
    const char *mode;
    const char *auth; /* JSON: {"method":…}, references only */
};

/* ---- Compute */

enum occ_activation_order { OCC_ACTIVATE_AFTER_COMMIT = 0, OCC_ACTIVATE_BEFORE_COMMIT };

/* Operations are idempotent and safe to repeat after a crash at any point. Those that are marked optional may
 * be NULL. `self` is what open() made; it lives until the process ends. */
struct occ_compute {
    uint32_t size;
    const char *id;                     /* as the startup YAML selects it: "compute-example" */
    const char *implementation;         /* as revisions record it: "example-1" */
    const struct occ_setting *settings; /* NULL: takes no configuration */
    uint32_t development_only;
    uint32_t supports_existing_namespaces;
    enum occ_activation_order activation_order;
    int64_t maintenance_interval_ms; /* 0: asks for no maintenance passes; else at least 1000 */
    enum occ_result (*open)(const struct occ_call *call, const struct occ_open *with, void **self,
                            struct occ_answer *answer);
    /* Credentials, reachability, versions; changes nothing. */
    enum occ_result (*preflight)(void *self, const struct occ_call *call, struct occ_answer *answer);
    enum occ_result (*ensure_namespace)(void *self, const struct occ_call *call,
                                        const struct occ_namespace *wanted, struct occ_answer *answer);
    enum occ_result (*delete_namespace)(void *self, const struct occ_call *call,
                                        const struct occ_namespace *unwanted, struct occ_answer *answer);
    /* At deployment, without side effects: OCC_READY, or OCC_PERMANENT with why not. Optional: without it no
     * Agent is deployed. */
    enum occ_result (*validate_harness_auth)(void *self, const struct occ_call *call,
                                             const struct occ_harness *harness, struct occ_answer *answer);
    /* Optional: before an Agent's revision is prepared. */
    enum occ_result (*bind_agent)(void *self, const struct occ_call *call, const struct occ_agent *agent,
                                  struct occ_answer *answer);
    /* 1: every earlier revision must be stopped before this one is prepared. Optional: never. */
    uint32_t (*needs_stopped_predecessors)(void *self, const struct occ_revision *revision);
    /* The revision's runtime is there and ready, without being served; optional together with all that
     * follow: a Compute without it runs no Agents. */
    enum occ_result (*prepare_revision)(void *self, const struct occ_call *call,
                                        const struct occ_revision *revision, struct occ_answer *answer);
    enum occ_result (*activate_revision)(void *self, const struct occ_call *call,
                                         const struct occ_revision *revision, struct occ_answer *answer);
    enum occ_result (*deactivate_revision)(void *self, const struct occ_call *call,
                                           const struct occ_revision *revision, struct occ_answer *answer);
    /* Stopped: it runs no more; what it keeps stays. */
    enum occ_result (*stop_revision)(void *self, const struct occ_call *call,
                                     const struct occ_revision *revision, struct occ_answer *answer);
    /* Retired: all that belongs to this revision alone is gone. */
    enum occ_result (*retire_revision)(void *self, const struct occ_call *call,
                                       const struct occ_revision *revision, struct occ_answer *answer);
    /* Optional, and then delete_agent_credentials is required. */
    enum occ_result (*provision_agent_credentials)(void *self, const struct occ_call *call,
                                                   const struct occ_agent *agent, struct occ_answer *answer);
    /* All that belongs to the Agent as a whole is gone. */
    enum occ_result (*delete_agent_credentials)(void *self, const struct occ_call *call,
                                                const struct occ_agent *agent, struct occ_answer *answer);
};

/* ---- IAM */

struct occ_question {
    uint32_t size;
    const char *actor_id;
    const char *action;        /* "deploy" */
    const char *resource_kind; /* "agent" */
    const char *resource_id;   /* NULL: it has none yet */
    const char *namespace_id;  /* NULL: none */
};

struct occ_decision {
    uint32_t size;
    uint32_t allowed;
    char evidence[200]; /* a reference that an auditor can follow: a policy's name; may be "" */
};

/* Decides instead of roles and bindings. The actor's existence and Restrictions remain the host's: what they
 * deny is never asked. */
struct occ_iam {
    uint32_t size;
    const char *id;
    const struct occ_setting *settings;
    uint32_t development_only;
    enum occ_result (*open)(const struct occ_call *call, const struct occ_open *with, void **self,
                            struct occ_answer *answer);
    enum occ_result (*preflight)(void *self, const struct occ_call *call, struct occ_answer *answer);
    enum occ_result (*decide)(void *self, const struct occ_call *call, const struct occ_question *question,
                              struct occ_decision *decision, struct occ_answer *answer);
};

/* ---- Configuration: keeps native documents as they are, byte by byte */

struct occ_configuration {
    uint32_t size;
    const char *id;
    const struct occ_setting *settings;
    uint32_t development_only;
    enum occ_result (*open)(const struct occ_call *call, const struct occ_open *with, void **self,
                            struct occ_answer *answer);
    enum occ_result (*preflight)(void *self, const struct occ_call *call, struct occ_answer *answer);
    enum occ_result (*store)(void *self, const struct occ_call *call, const struct occ_namespace *owner,
                             const char *configuration_id, const char *document, size_t length,
                             struct occ_answer *answer);
    /* OCC_PERMANENT CONFIGURATION_DOCUMENT_MISSING where there is none. The bytes are of the call's memory.
     */
    enum occ_result (*read)(void *self, const struct occ_call *call, const struct occ_namespace *owner,
                            const char *configuration_id, const char **document, size_t *length,
                            struct occ_answer *answer);
    enum occ_result (*remove)(void *self, const struct occ_call *call, const struct occ_namespace *owner,
                              const char *configuration_id, struct occ_answer *answer);
};

/* ---- Secret: keeps values; the host keeps only their places */

/* Where a value was put; filled by the Driver. */
struct occ_secret_kept {
    uint32_t size;
    char backend_namespace_name[254];
    char backend_name[254];
    char backend_key[254];
    char backend_uid[201]; /* "": has none */
};

struct occ_secret {
    uint32_t size;
    const char *id;
    const struct occ_setting *settings;
    uint32_t development_only;
    enum occ_result (*open)(const struct occ_call *call, const struct occ_open *with, void **self,
                            struct occ_answer *answer);
    enum occ_result (*preflight)(void *self, const struct occ_call *call, struct occ_answer *answer);
    /* Keeps a value, or replaces the one that this Secret had. */
    enum occ_result (*store)(void *self, const struct occ_call *call, const struct occ_namespace *owner,
                             const char *secret_id, const char *bytes, size_t length,
                             struct occ_secret_kept *kept, struct occ_answer *answer);
    /* OCC_PERMANENT SECRET_VALUE_MISSING where there is none. The host wipes its copy; so should the Driver.
     */
    enum occ_result (*read)(void *self, const struct occ_call *call, const struct occ_secret_place *place,
                            const char **bytes, size_t *length, struct occ_answer *answer);
    enum occ_result (*remove)(void *self, const struct occ_call *call, const struct occ_secret_place *place,
                              struct occ_answer *answer);
};

/* ---- Sandbox: what surrounds a dedicated Harness; used by a Compute that supports one */

enum occ_sandbox_facet {
    OCC_SANDBOX_NETWORKING = 1,
    OCC_SANDBOX_FILESYSTEM = 2,
    OCC_SANDBOX_PROCESS = 4,
};

struct occ_sandbox {
    uint32_t size;
    const char *id;
    const struct occ_setting *settings;
    uint32_t development_only;
    uint32_t facets; /* of enum occ_sandbox_facet */
    enum occ_result (*open)(const struct occ_call *call, const struct occ_open *with, void **self,
                            struct occ_answer *answer);
    enum occ_result (*preflight)(void *self, const struct occ_call *call, struct occ_answer *answer);
    /* Optional; each before what it is about is prepared. */
    enum occ_result (*ensure_namespace)(void *self, const struct occ_call *call,
                                        const struct occ_namespace *wanted, struct occ_answer *answer);
    enum occ_result (*configure_agent)(void *self, const struct occ_call *call,
                                       const struct occ_revision *revision, struct occ_answer *answer);
    /* Provides the Harness itself; *endpoint is where the gateway reaches it: "host:port" or a URL with a
     * port, which the gateway is told as it stands. A NetworkPolicy lets the gateway to a host that is an
     * address, or a Service, "name.namespace.svc"; another one it reaches only at a public address. */
    enum occ_result (*provision_harness)(void *self, const struct occ_call *call,
                                         const struct occ_revision *revision, const char **endpoint,
                                         struct occ_answer *answer);
    /* Required: nothing of this Agent's revision (NULL: of the whole Agent) is left. */
    enum occ_result (*cleanup)(void *self, const struct occ_call *call, const struct occ_agent *agent,
                               const struct occ_revision *revision, struct occ_answer *answer);
};

/* ---- The package */

/* A package offers one Driver for each capability that it does not leave NULL. */
struct occ_driver_package {
    uint32_t interface; /* OCC_DRIVER_INTERFACE */
    uint32_t size;
    const char *name; /* the file's name without ".so" */
    const char *version;
    const struct occ_compute *compute;
    const struct occ_iam *iam;
    const struct occ_configuration *configuration;
    const struct occ_secret *secret;
    const struct occ_sandbox *sandbox;
};

/* The one symbol that a package exports. */
__attribute__((visibility("default"))) const struct occ_driver_package *occ_driver_package(void);

#ifdef __cplusplus
}
#endif
#endif
