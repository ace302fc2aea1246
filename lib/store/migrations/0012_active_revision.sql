-- SPDX-License-Identifier: MIT
--
-- What holds of an Agent's active revision, whoever writes it.

-- A revision becomes active only while the Agent is wanted running, and never after a newer one was: neither while that
-- is active, nor once its deployment was completed (which has retired all before it).
CREATE FUNCTION occ.check_active_revision()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint;
BEGIN
    IF NEW.active_revision_id IS NULL OR NEW.active_revision_id IS NOT DISTINCT FROM OLD.active_revision_id THEN
        RETURN NEW;
    END IF;
    IF NEW.status <> 'active' OR NEW.desired_runtime_state <> 'running' THEN
        RAISE EXCEPTION 'The Agent % is not to run: no revision of it becomes active.', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'agents_active_is_wanted',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    -- A revision of another Agent, or none, is the foreign key's to refuse.
    SELECT revision_number INTO wanted
      FROM occ.agent_revisions WHERE id = NEW.active_revision_id AND agent_id = NEW.id;
    IF EXISTS (SELECT FROM occ.agent_revisions AS newer
                WHERE newer.agent_id = NEW.id AND newer.revision_number > wanted
                  AND (newer.id = OLD.active_revision_id
                       -- Scalar, and in the keys' collation: else the whole queue is read.
                       OR (SELECT true FROM occ.controller_work AS done
                            WHERE done.idempotency_key = ('agent_revision:' || newer.id || ':reconcile')
                                                         COLLATE pg_catalog."default"
                              AND done.state = 'succeeded'
                              AND done.reason_code IN ('REVISION_ACTIVATED', 'REVISION_ALREADY_ACTIVE') LIMIT 1))) THEN
        RAISE EXCEPTION 'A newer revision of the Agent % was active: % does not become it.', NEW.id, NEW.active_revision_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'agents_active_in_order',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER agents_active_revision BEFORE UPDATE OF active_revision_id ON occ.agents
    FOR EACH ROW EXECUTE FUNCTION occ.check_active_revision();

-- An Agent's stops, which are looked for before each effect of a deployment. Its maintenance makes far more rows.
CREATE INDEX controller_work_stops ON occ.controller_work (agent_id, created_at) WHERE agent_target = 'stopped';

-- A revision is activated once, whatever is repeated.
CREATE UNIQUE INDEX audit_events_activation ON occ.audit_events (resource_id)
    WHERE action = 'openclaw.agents.lifecycle.activate';

-- As it was, and: a deployment is completed only while its revision is the active one.
CREATE OR REPLACE FUNCTION occ.check_work_update()
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
    IF NEW.state = 'succeeded' AND OLD.state = 'claimed' AND NEW.revision_id IS NOT NULL
       AND NEW.reason_code IN ('REVISION_ACTIVATED', 'REVISION_ALREADY_ACTIVE')
       AND NOT EXISTS (SELECT FROM occ.agents
                        WHERE id = NEW.agent_id AND active_revision_id = NEW.revision_id) THEN
        RAISE EXCEPTION 'The revision % is not the active one.', NEW.revision_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'controller_work_activation',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
