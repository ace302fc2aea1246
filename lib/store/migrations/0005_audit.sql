-- SPDX-License-Identifier: MIT
--
-- Evidence of what was done, by whom, and how it ended.

-- Whether an event `reconcile` says of which item, at which attempt, with which code. In PL/pgSQL, as each outcome
-- writes such events: see the queue's.
CREATE FUNCTION occ.is_reconcile_evidence(action text, details jsonb)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN action <> 'reconcile' OR (
        jsonb_typeof(details -> 'workId') IS NOT DISTINCT FROM 'string'
        AND jsonb_typeof(details -> 'reasonCode') IS NOT DISTINCT FROM 'string'
        AND jsonb_typeof(details -> 'attemptCount') IS NOT DISTINCT FROM 'number');
END
$$;

-- Append-only. actor_id has no foreign key, since the evidence outlives the actor.
CREATE TABLE occ.audit_events (
    id            occ.audit_id NOT NULL DEFAULT 'aud_' || gen_random_uuid()
        CONSTRAINT audit_events_pkey PRIMARY KEY,
    occurred_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- keeps the order within one transaction
    kind          text NOT NULL
        CONSTRAINT audit_events_kind CHECK (kind IN ('bootstrap', 'mutation', 'authorization_denial')),
    actor_id      occ.iam_id,
    action        text COLLATE "C" NOT NULL
        CONSTRAINT audit_events_action CHECK (action ~ '^[a-z][A-Za-z0-9_.-]{0,127}$'),
    namespace_id  occ.namespace_id,
    resource_kind text COLLATE "C"
        CONSTRAINT audit_events_resource_kind CHECK (resource_kind ~ '^[a-z][a-z0-9_]{0,63}$'),
    resource_id   text COLLATE "C"
        CONSTRAINT audit_events_resource_id CHECK (char_length(resource_id) BETWEEN 1 AND 512),
    outcome       text NOT NULL
        CONSTRAINT audit_events_outcome CHECK (outcome IN ('success', 'failure', 'denied')),
    details       jsonb NOT NULL DEFAULT '{}'
        CONSTRAINT audit_events_details CHECK (jsonb_typeof(details) = 'object'
                                               AND octet_length(details::text) <= 16384),
    CONSTRAINT audit_events_resource CHECK (resource_id IS NULL OR resource_kind IS NOT NULL),
    CONSTRAINT audit_events_denial CHECK (kind <> 'authorization_denial' OR outcome = 'denied'),
    CONSTRAINT audit_events_reconcile CHECK (occ.is_reconcile_evidence(action, details))
);
-- The latest evidence of one item of work. An equality implies the predicate, so queries need not repeat it.
CREATE INDEX audit_events_work ON occ.audit_events ((details ->> 'workId'), occurred_at DESC, id DESC)
    WHERE (details ->> 'workId') IS NOT NULL;
CREATE INDEX audit_events_occurred_at ON occ.audit_events (occurred_at DESC, id DESC);
CREATE INDEX audit_events_namespace_id ON occ.audit_events (namespace_id, occurred_at DESC, id DESC)
    WHERE namespace_id IS NOT NULL;

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON occ.audit_events
    FOR EACH ROW EXECUTE FUNCTION occ.refuse('audit_events_append_only', 'Audit events are never changed.');
CREATE TRIGGER audit_events_not_truncated BEFORE TRUNCATE ON occ.audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION occ.refuse('audit_events_append_only', 'Audit events are never changed.');
