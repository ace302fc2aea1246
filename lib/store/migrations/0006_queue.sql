-- SPDX-License-Identifier: MIT
--
-- The queue. SQLSTATE of our own: OC001 a key was admitted again with another actor, owner or target.

-- What is checked each time that a row is written, and is long, stands in functions of PL/pgSQL: a session compiles
-- those once, where the text of a CHECK or of a trigger's WHEN is read anew by each statement, which for the queue cost
-- as much as the write.

-- Whether what is set makes one of the three shapes: Namespace lifecycle, Agent lifecycle, revision.
CREATE FUNCTION occ.is_work_shape(agent_id text, revision_id text, namespace_target text, agent_target text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (agent_id IS NULL AND revision_id IS NULL AND namespace_target IS NOT NULL AND agent_target IS NULL)
        OR (agent_id IS NOT NULL AND revision_id IS NULL AND namespace_target IS NULL AND agent_target IS NOT NULL)
        OR (agent_id IS NOT NULL AND revision_id IS NOT NULL AND namespace_target IS NULL AND agent_target IS NULL);
END
$$;

-- Whether a key is the one that a row of this shape, owner and target has.
CREATE FUNCTION occ.is_work_key(key text, namespace_id text, agent_id text, revision_id text, namespace_target text,
                                agent_target text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF namespace_target IS NOT NULL THEN
        RETURN key = 'namespace:' || namespace_id || ':reconcile:' || namespace_target;
    ELSIF agent_target = 'deleted' THEN
        RETURN key = 'agent:' || agent_id || ':reconcile:deleted';
    ELSIF agent_target = 'stopped' THEN
        RETURN starts_with(key, 'agent:' || agent_id || ':reconcile:stopped:')
           AND right(key, -65) ~ '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$';
    END IF;
    RETURN key = 'agent_revision:' || revision_id || ':reconcile'
        OR (starts_with(key, 'agent_revision:' || revision_id || ':maintenance:')
            AND right(key, -68) ~ '^[0-9]{1,19}$');
END
$$;

-- One row for each item of work, in exactly three shapes: Namespace lifecycle, Agent lifecycle, revision.
--
-- Hot: a pass writes its row three times and more. Nothing that a renewal changes (lease_expires_at, updated_at) is
-- in an index, and the fillfactor leaves room, so that renewals stay heap-only. Vacuuming comes early, and never
-- takes the exclusive lock that giving pages back would need.
CREATE TABLE occ.controller_work (
    work_kind        text NOT NULL DEFAULT 'lifecycle'
        CONSTRAINT controller_work_kind CHECK (work_kind = 'lifecycle'),
    idempotency_key  text NOT NULL CONSTRAINT controller_work_pkey PRIMARY KEY
        CONSTRAINT controller_work_key_length CHECK (char_length(idempotency_key) BETWEEN 1 AND 512),
    namespace_id     occ.namespace_id NOT NULL
        CONSTRAINT controller_work_namespace_fkey REFERENCES occ.namespaces (id),
    agent_id         occ.agent_id,
    revision_id      occ.revision_id,
    actor_id         occ.iam_id NOT NULL, -- without a foreign key: the actor may be gone, which is ACTOR_REVOKED
    namespace_target text
        CONSTRAINT controller_work_namespace_target CHECK (namespace_target IN ('ready', 'deleted')),
    agent_target     text CONSTRAINT controller_work_agent_target CHECK (agent_target IN ('stopped', 'deleted')),
    state            text NOT NULL DEFAULT 'queued'
        CONSTRAINT controller_work_state CHECK (state IN ('queued', 'claimed', 'succeeded', 'failed_permanent')),
    available_at     timestamptz NOT NULL DEFAULT now(),
    attempt_count    integer NOT NULL DEFAULT 0
        CONSTRAINT controller_work_attempt_count CHECK (attempt_count >= 0),
    claim_token      uuid, -- stays until the next claim, so that an unknown commit can be read back by it
    lease_expires_at timestamptz,
    completed_at     timestamptz,
    reason_code      occ.reason_code,
    result_data      jsonb
        CONSTRAINT controller_work_result_data CHECK (jsonb_typeof(result_data) = 'object'),
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT controller_work_shape
        CHECK (occ.is_work_shape(agent_id, revision_id, namespace_target, agent_target)),
    CONSTRAINT controller_work_key
        CHECK (occ.is_work_key(idempotency_key, namespace_id, agent_id, revision_id, namespace_target, agent_target)),
    CONSTRAINT controller_work_lease CHECK (
        (state = 'claimed') = (lease_expires_at IS NOT NULL)
        AND (state <> 'claimed' OR (claim_token IS NOT NULL AND attempt_count >= 1))),
    CONSTRAINT controller_work_outcome CHECK (
        (state IN ('succeeded', 'failed_permanent')) = (completed_at IS NOT NULL)
        AND (completed_at IS NULL) = (reason_code IS NULL))
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false
);

-- At most one claim in a lane. Also what recovery and the hand-back by token read: it never holds more rows than
-- there are running passes.
CREATE UNIQUE INDEX controller_work_lane ON occ.controller_work ((coalesce(agent_id, namespace_id)))
    WHERE state = 'claimed';
-- What may be claimed, in the order in which it is due. It includes what the count of the backlog reads, which then
-- needs no look at the table.
CREATE INDEX controller_work_queued ON occ.controller_work (available_at, idempotency_key)
    INCLUDE (attempt_count, created_at) WHERE state = 'queued';
CREATE INDEX controller_work_namespace_id ON occ.controller_work (namespace_id, created_at);
CREATE INDEX controller_work_agent_id ON occ.controller_work (agent_id, created_at) WHERE agent_id IS NOT NULL;
CREATE INDEX controller_work_revision_id ON occ.controller_work (revision_id) WHERE revision_id IS NOT NULL;

ALTER TABLE occ.controller_work
    ADD CONSTRAINT controller_work_agent_fkey
        FOREIGN KEY (agent_id, namespace_id) REFERENCES occ.agents (id, namespace_id)
        DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT controller_work_revision_fkey
        FOREIGN KEY (revision_id, agent_id) REFERENCES occ.agent_revisions (id, agent_id)
        DEFERRABLE INITIALLY DEFERRED;

-- A key means one thing for ever. Runs before ON CONFLICT is considered, so DO NOTHING hides no difference. Locking
-- the owner, which an admission has done already, makes a concurrent one of the same key wait for the end of this one
-- before it compares.
CREATE FUNCTION occ.check_work_admission()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known occ.controller_work;
BEGIN
    IF NEW.agent_id IS NULL THEN
        PERFORM FROM occ.namespaces WHERE id = NEW.namespace_id FOR NO KEY UPDATE;
    ELSE
        PERFORM FROM occ.agents WHERE id = NEW.agent_id FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO known FROM occ.controller_work WHERE idempotency_key = NEW.idempotency_key;
    IF FOUND AND (known.actor_id, known.namespace_id, known.agent_id, known.revision_id, known.namespace_target,
                  known.agent_target)
                 IS DISTINCT FROM
                 (NEW.actor_id, NEW.namespace_id, NEW.agent_id, NEW.revision_id, NEW.namespace_target,
                  NEW.agent_target) THEN
        RAISE EXCEPTION 'The work % was admitted with another actor, owner or target.', NEW.idempotency_key
            USING ERRCODE = 'OC001', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER controller_work_admission BEFORE INSERT ON occ.controller_work
    FOR EACH ROW EXECUTE FUNCTION occ.check_work_admission();

-- Wakes a dispatcher at commit. Only an insert fires it: claims, renewals and deferrals are updates and send nothing.
-- A requeue by an operator is an update too; occ.requeue_deletion(), which alone can make one, sends its own.
CREATE FUNCTION occ.notify_work()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('occ_controller_work', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER controller_work_notify AFTER INSERT ON occ.controller_work
    FOR EACH ROW WHEN (NEW.state = 'queued') EXECUTE FUNCTION occ.notify_work();

-- What an update may do. What an item is does not change; its state goes only the ways that the queue has; and only the
-- owner's function (occ.requeue_deletion) requeues what has failed, or gives an item to another actor.
CREATE FUNCTION occ.check_work_update()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.idempotency_key <> OLD.idempotency_key OR NEW.namespace_id <> OLD.namespace_id
       OR NEW.agent_id IS DISTINCT FROM OLD.agent_id OR NEW.revision_id IS DISTINCT FROM OLD.revision_id
       OR NEW.namespace_target IS DISTINCT FROM OLD.namespace_target
       OR NEW.agent_target IS DISTINCT FROM OLD.agent_target OR NEW.created_at <> OLD.created_at THEN
        RAISE EXCEPTION 'What an item of work is does not change.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'controller_work_fixed',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    IF (NEW.actor_id <> OLD.actor_id OR (OLD.state = 'failed_permanent' AND NEW.state = 'queued'))
       AND NOT pg_has_role(current_user, (SELECT relowner FROM pg_catalog.pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'Only occ.requeue_deletion() may do this.'
            USING ERRCODE = 'insufficient_privilege', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    IF (CASE OLD.state
        WHEN 'queued' THEN CASE NEW.state
            WHEN 'queued' THEN NEW.attempt_count <= OLD.attempt_count
            WHEN 'claimed' THEN NEW.attempt_count = OLD.attempt_count + 1
                                AND NEW.claim_token IS DISTINCT FROM OLD.claim_token
            WHEN 'failed_permanent' THEN NEW.attempt_count = OLD.attempt_count
            ELSE false END
        WHEN 'claimed' THEN CASE NEW.state
            WHEN 'queued' THEN NEW.attempt_count IN (OLD.attempt_count, OLD.attempt_count - 1)
                               AND NEW.claim_token = OLD.claim_token
            ELSE NEW.attempt_count = OLD.attempt_count AND NEW.claim_token = OLD.claim_token END
        ELSE OLD.state = 'failed_permanent' AND NEW.state = 'queued' END) IS NOT TRUE THEN
        RAISE EXCEPTION 'An item of work does not go this way.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'controller_work_transition',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER controller_work_update BEFORE UPDATE ON occ.controller_work
    FOR EACH ROW EXECUTE FUNCTION occ.check_work_update();
