/* SPDX-License-Identifier: MIT
 *
 * Configurations: Agents' native documents. The row is the database's, the text is the Configuration
 * Driver's, byte by byte as it was given (lib/admit/document.h says which texts are taken).
 *
 * A write locks the row, changes it, lets the Driver store, and commits: whoever holds the row's lock sees
 * the text of the row's generation. Where the Driver or the commit fails, the former text is put back.
 *
 * Faults of all: FAULT_DENIED; FAULT_NOT_FOUND CONFIGURATION_NOT_FOUND; the Driver's, as lib/admit/driver.h
 * turns them.
 */
#ifndef OCC_ADMIT_CONFIGURATION_H
#define OCC_ADMIT_CONFIGURATION_H

#include "lib/admit/admission.h"
#include "lib/driver/configuration.h"

/* What an admission leaves behind. */
struct configuration_admission {
    char id[IDENTIFIER_SIZE];
    int64_t generation; /* of a deletion: the last one */
    /* What configuration_settle() needs; hangs on the context that the admission was given. */
    bool stored;            /* the Driver was asked to do its part, and may have done it */
    int64_t earlier;        /* the generation before; 0: there was none */
    const char *namespace_; /* its ID */
    const char *former;     /* the text before; NULL: there was none, or it is the same */
    size_t former_length;
};

/* What is asked for. A text that is NULL is not changed. */
struct configuration_request {
    const char *document; /* `length` bytes, followed by a zero */
    size_t length;
    const char *const *bindings; /* "NAME=SECRET" each: a Secret of the same Namespace by ID or exact name */
    size_t binding_count;
    const char *const *unbound; /* names of bindings that go; only where there is a Configuration already */
    size_t unbound_count;
    uint64_t generation; /* refuse unless it is at this generation; 0: whatever it is at */
};

/* Creates one in a Namespace that is open, by ID or exact name (configuration:create on it, and secret:read
 * on each Secret that is bound).
 *
 * Faults: FAULT_INVALID of the document (lib/admit/document.h) or BINDING_INVALID; FAULT_NOT_FOUND
 * NAMESPACE_NOT_FOUND, SECRET_NOT_FOUND; FAULT_CONFLICT NAMESPACE_NOT_OPEN. */
bool configuration_create(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *namespace_text,
                          const struct configuration_request *request,
                          struct configuration_admission *admitted, struct fault *fault) MUST_USE;

/* Changes one: text, bindings, or both. Its generation rises by one.
 *
 * Faults besides: FAULT_CONFLICT CONFIGURATION_GENERATION_MOVED; FAULT_NOT_FOUND BINDING_NOT_FOUND. */
bool configuration_update(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *id,
                          const struct configuration_request *request,
                          struct configuration_admission *admitted, struct fault *fault) MUST_USE;

/* Deletes one that no Agent refers to. Fault: FAULT_CONFLICT CONFIGURATION_IN_USE, with these Agents. */
bool configuration_delete(struct caller *caller, const void *context,
                          const struct configuration_driver *driver, const char *id,
                          struct configuration_admission *admitted, struct fault *fault) MUST_USE;

/* After one of the above ended with OUTCOME_UNKNOWN, by a caller with a new connection: waits for the end of
 * that transaction, and tells whether it was committed. Where it was not, the former text is back in its
 * place; where somebody has written since, the Driver is left alone. */
bool configuration_settle(struct caller *caller, const struct configuration_driver *driver,
                          const struct configuration_admission *admitted, bool *committed,
                          struct fault *fault) MUST_USE;

/* The document of the row for people: id namespaceId kind generation secretBindings agents createdAt. */
bool configuration_get(struct caller *caller, const void *context, const char *id, const cJSON **found,
                       struct fault *fault) MUST_USE;

/* The text as the Driver keeps it, whatever it is; it hangs on `context` and ends with a zero. `doubt` is
 * CONFIGURATION_DOCUMENT_MISMATCH where it is another than the generation's, else of class FAULT_NONE. */
bool configuration_read(struct caller *caller, const struct configuration_driver *driver, const void *context,
                        const char *id, const char **document, size_t *length, struct fault *doubt,
                        struct fault *fault) MUST_USE;

/* All that the caller may read, of one Namespace or, for NULL, of all. */
bool configuration_list(struct caller *caller, const void *context, const char *namespace_id,
                        const cJSON **rows, struct fault *fault) MUST_USE;

/* What a deployment freezes of a Configuration. */
struct configuration_snapshot {
    const char *kind; /* "agent" */
    int64_t generation;
    /* The row's list as JSON: [{"name":…,"source":{"kind":"secret","namespaceId":…,"id":…}}], by name. */
    const char *secret_bindings;
    /* The text as the database's own JSON writes it, logging.level set: `$n::jsonb` is the snapshot. Exact:
     * no number of it went through a double. cJSON may look for other things in it. */
    const char *draft_spec;
};

/* Within an admission that holds the Namespace's row (and the Agent's): takes the Configuration FOR SHARE, so
 * that generation, bindings and text belong together and stay until the admission ends; reads the text from
 * the Driver, checks it once more, and lets the database make its JSON of it. Asks no IAM: the deployment
 * asks its own questions. Everything hangs on admission->memory.
 *
 * Faults besides: FAULT_NOT_FOUND CONFIGURATION_NOT_FOUND (also one of another Namespace); FAULT_CONFLICT
 * CONFIGURATION_DOCUMENT_INVALID, where the Driver keeps what is no document any more, and
 * CONFIGURATION_DOCUMENT_MISMATCH, where it keeps another text than the generation's: a program died between
 * the two, or somebody else wrote. */
bool configuration_snapshot(struct admission *admission, const struct configuration_driver *driver,
                            const char *namespace_id, const char *configuration_id, const char *log_level,
                            struct configuration_snapshot *snapshot, struct fault *fault) MUST_USE;

#endif
