-- SPDX-License-Identifier: MIT
--
-- What occ_app may not do by itself, each as one function that checks its reason. They run as the schema's owner,
-- with a pinned search_path, and take their locks in the order Namespace, Agent, work.

-- Requeues the failed deletion of a Namespace or an Agent: attempts 0, available now, outcome cleared, created_at
-- kept; the actor changes only when takeover is true. Sends the notification. The caller has decided the right of
-- the actor (and, for a takeover, that the first actor has lost it), and writes the one audit event
-- (openclaw.namespaces.delete or openclaw.agents.delete) in the same transaction when the answer is `requeued`.
--
-- Answers: requeued | pending (queued or claimed: nothing to do) | succeeded | other_actor (a takeover would be
-- needed; nothing changed) | not_deletion (failed work of another kind, which is never requeued) | not_deleting (the
-- Namespace or Agent does not wait for a deletion) | missing (no such work).
CREATE FUNCTION occ.requeue_deletion(work_key text, requesting_actor_id text, takeover boolean)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    work    occ.controller_work;
    waiting boolean;
BEGIN
    IF requesting_actor_id IS NULL OR takeover IS NULL THEN
        RAISE EXCEPTION 'An actor and a decision about the takeover are needed.'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    SELECT * INTO work FROM occ.controller_work WHERE idempotency_key = work_key;
    IF NOT FOUND THEN
        RETURN 'missing';
    END IF;
    PERFORM FROM occ.namespaces WHERE id = work.namespace_id FOR UPDATE;
    IF work.agent_id IS NOT NULL THEN
        PERFORM FROM occ.agents WHERE id = work.agent_id FOR UPDATE;
    END IF;
    SELECT * INTO work FROM occ.controller_work WHERE idempotency_key = work_key FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'missing';
    END IF;
    IF work.namespace_target IS DISTINCT FROM 'deleted' AND work.agent_target IS DISTINCT FROM 'deleted' THEN
        RETURN 'not_deletion';
    END IF;
    IF work.state = 'succeeded' THEN
        RETURN 'succeeded';
    END IF;
    IF work.agent_id IS NULL THEN
        waiting := EXISTS (SELECT FROM occ.namespaces
                            WHERE id = work.namespace_id AND status = 'deleting' AND deleted_at IS NULL);
    ELSE
        waiting := EXISTS (SELECT FROM occ.agents WHERE id = work.agent_id AND status = 'deleting');
    END IF;
    IF NOT waiting THEN
        RETURN 'not_deleting';
    END IF;
    IF work.state <> 'failed_permanent' THEN
        RETURN 'pending';
    END IF;
    IF work.actor_id <> requesting_actor_id AND NOT takeover THEN
        RETURN 'other_actor';
    END IF;
    UPDATE occ.controller_work
       SET state = 'queued', attempt_count = 0, available_at = statement_timestamp(), actor_id = requesting_actor_id,
           completed_at = NULL, reason_code = NULL, result_data = NULL, updated_at = statement_timestamp()
     WHERE idempotency_key = work_key;
    PERFORM pg_notify('occ_controller_work', '');
    RETURN 'requeued';
END
$$;

-- Whether the claim of a key is live, and if so takes the row, so that it stays live for this transaction. The lease
-- is compared with the clock of the caller's statement: a completing UPDATE in that same statement agrees with it.
CREATE FUNCTION occ.hold_claim(work_key text, token uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM occ.controller_work
      WHERE idempotency_key = work_key AND state = 'claimed' AND claim_token = token
        AND lease_expires_at > statement_timestamp()
        FOR UPDATE;
    RETURN FOUND;
END
$$;

-- Makes the Namespace of a claimed deletion a tombstone; its bindings and roles go with it. Restrictions stay: they
-- go on denying what the tombstone's work and audit rows show.
--
-- True, or false and nothing done when the claim is not live or the Namespace does not wait for its deletion. Call it
-- in the transaction that completes the work, before that UPDATE or in one statement with it:
--   WITH gone AS MATERIALIZED (SELECT occ.tombstone_namespace($1, $2) AS done)
--   UPDATE occ.controller_work SET … WHERE … AND (SELECT done FROM gone)
CREATE FUNCTION occ.tombstone_namespace(work_key text, token uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    namespace text;
BEGIN
    SELECT namespace_id INTO namespace
      FROM occ.controller_work
     WHERE idempotency_key = work_key AND namespace_target = 'deleted';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM occ.namespaces WHERE id = namespace AND status = 'deleting' AND deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND OR NOT occ.hold_claim(work_key, token) THEN
        RETURN false;
    END IF;
    DELETE FROM occ.iam_access_bindings
     WHERE namespace_id = namespace OR (resource_kind = 'namespace' AND resource_id = namespace)
        OR role_id IN (SELECT id FROM occ.iam_roles WHERE namespace_id = namespace);
    DELETE FROM occ.iam_roles WHERE namespace_id = namespace;
    UPDATE occ.namespaces SET deleted_at = statement_timestamp() WHERE id = namespace;
    RETURN true;
END
$$;

-- Removes the Agent of a claimed deletion under its live claim: revisions, service principal, keys, references in
-- IAM, and all of its work rows, the claimed one too; then writes the evidence, since no row is left to complete: one
-- `reconcile` event (AGENT_DELETED) and one `openclaw.agents.lifecycle.delete` event with the given details.
--
-- True, or false and nothing done when the claim is not live or the Agent does not wait for its deletion.
CREATE FUNCTION occ.delete_agent(work_key text, token uuid, evidence jsonb DEFAULT '{}')
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    work      occ.controller_work;
    principal text;
BEGIN
    SELECT * INTO work FROM occ.controller_work WHERE idempotency_key = work_key AND agent_target = 'deleted';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM occ.namespaces WHERE id = work.namespace_id FOR SHARE;
    SELECT service_principal_id INTO principal
      FROM occ.agents WHERE id = work.agent_id AND status = 'deleting' FOR UPDATE;
    IF NOT FOUND OR NOT occ.hold_claim(work_key, token) THEN
        RETURN false;
    END IF;
    SELECT * INTO work FROM occ.controller_work WHERE idempotency_key = work_key;
    DELETE FROM occ.iam_restrictions
     WHERE (resource_kind = 'agent' AND resource_id = work.agent_id)
        OR (resource_kind = 'agent_revision'
            AND resource_id IN (SELECT id FROM occ.agent_revisions WHERE agent_id = work.agent_id));
    DELETE FROM occ.iam_access_bindings
     WHERE identity_subject_id = principal OR (resource_kind = 'agent' AND resource_id = work.agent_id);
    DELETE FROM occ.controller_work WHERE agent_id = work.agent_id;
    UPDATE occ.agents SET active_revision_id = NULL WHERE id = work.agent_id AND active_revision_id IS NOT NULL;
    DELETE FROM occ.agent_revisions WHERE agent_id = work.agent_id;
    DELETE FROM occ.agents WHERE id = work.agent_id;
    DELETE FROM occ.iam_identities WHERE id = principal; -- its keys go with it
    INSERT INTO occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id, outcome, details)
    VALUES ('mutation', work.actor_id, 'reconcile', work.namespace_id, 'agent', work.agent_id, 'success',
            jsonb_build_object('workId', work.idempotency_key, 'reasonCode', 'AGENT_DELETED',
                               'attemptCount', work.attempt_count)),
           ('mutation', work.actor_id, 'openclaw.agents.lifecycle.delete', work.namespace_id, 'agent', work.agent_id,
            'success', coalesce(evidence, '{}'));
    RETURN true;
END
$$;
