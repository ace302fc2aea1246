/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/service_key.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"

/* clang-format off */
#define STATE \
    "case when apikey.revoked_at is not null then 'revoked'" \
    "     when apikey.expires_at <= statement_timestamp() then 'expired' else 'valid' end"
#define ENDED_AT \
    "case when apikey.revoked_at is not null then apikey.revoked_at" \
    "     when apikey.expires_at <= statement_timestamp() then apikey.expires_at end"
#define DOCUMENT \
    "select json_build_object('id', id, 'name', name, 'servicePrincipalId', service_principal_id," \
    " 'state', " STATE ", 'createdAt', " MOMENT_SQL("created_at") "," \
    " 'expiresAt', " MOMENT_SQL("expires_at") ", 'revokedAt', " MOMENT_SQL("revoked_at") ") from occ.apikey"

static const struct pg_statement authenticate_statement = {
    NULL,
    "select apikey.id, apikey.name, apikey.service_principal_id, " STATE ", " MOMENT_SQL(ENDED_AT)
    " from occ.apikey join occ.iam_identities as identity on identity.id = apikey.service_principal_id"
    " where apikey.key_hash = $1::text and identity.kind = 'service_principal'",
    1,
};
static const struct pg_statement list_statement = {NULL, DOCUMENT " order by apikey.created_at desc, id", 0};
static const struct pg_statement find_statement = {NULL, DOCUMENT " where id = $1::text", 1};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.apikey (id, name, key_hash, service_principal_id, expires_at)"
    " values ($1::text, $2::text, $3::text, $4::text, now() + make_interval(days => $5::integer))"
    " returning " MOMENT_SQL("expires_at"),
    5,
};
static const struct pg_statement revoke_statement = {
    NULL,
    "update occ.apikey set revoked_at = statement_timestamp() where id = $1::text and revoked_at is null",
    1,
};
/* clang-format on */

static enum service_key_state state_of(const char *text)
{
    if (text_equal(text, "valid"))
        return SERVICE_KEY_VALID;
    return text_equal(text, "expired") ? SERVICE_KEY_EXPIRED : SERVICE_KEY_REVOKED;
}

bool service_key_authenticate(struct pg *connection, const void *context, const char *hash,
                              const struct watch *watch, struct service_key_holder *holder,
                              struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, &authenticate_statement, (const char *const[]){hash}, watch, &result,
                  fault))
        return false;
    *holder = (struct service_key_holder){.state = SERVICE_KEY_UNKNOWN};
    if (pg_rows(result) == 0)
        return true;
    holder->id = pg_text(result, 0, 0);
    holder->name = pg_text(result, 0, 1);
    holder->service_principal_id = pg_text(result, 0, 2);
    holder->state = state_of(pg_text(result, 0, 3));
    holder->ended_at = pg_text(result, 0, 4);
    return true;
}

bool service_key_list(struct pg *connection, const void *context, const struct watch *watch,
                      const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool service_key_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                      const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool service_key_insert(struct pg *connection, const void *context, const char *id, const char *name,
                        const char *hash, const char *service_principal_id, unsigned days,
                        const struct watch *watch, const char **expires_at, struct fault *fault)
{
    char number[16];
    const char *const parameters[] = {id, name, hash, service_principal_id, number};
    const struct pg_result *result;

    (void)snprintf(number, sizeof number, "%u", days);
    if (!pg_query(connection, context, &insert_statement, parameters, watch, &result, fault))
        return false;
    *expires_at = pg_text(result, 0, 0);
    return true;
}

bool service_key_revoke(struct pg *connection, const char *id, const struct watch *watch, bool *revoked,
                        struct fault *fault)
{
    return documents_change(connection, &revoke_statement, (const char *const[]){id}, watch, revoked, fault);
}
