-- SPDX-License-Identifier: MIT
-- What a plain worker would send for one Namespace: claim, re-read, authorize, renew, finalize; each a statement, each
-- committed. For pgbench. The lane is tested as well as anybody could (an anti-join makes this three times slower).
WITH candidate AS (
    SELECT w.idempotency_key FROM occ.controller_work AS w
    WHERE w.state = 'queued' AND w.available_at <= statement_timestamp() AND w.attempt_count < 5
      AND (SELECT true FROM occ.controller_work AS c
           WHERE c.state = 'claimed' AND coalesce(c.agent_id, c.namespace_id) = coalesce(w.agent_id, w.namespace_id)
           LIMIT 1) IS NULL
    ORDER BY w.available_at, w.idempotency_key LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE occ.controller_work AS w
SET state = 'claimed', attempt_count = w.attempt_count + 1, claim_token = gen_random_uuid(),
    lease_expires_at = statement_timestamp() + interval '5 s', updated_at = statement_timestamp()
FROM candidate AS c WHERE w.idempotency_key = c.idempotency_key
RETURNING w.idempotency_key AS key, w.namespace_id AS namespace, w.actor_id AS actor, w.claim_token AS token \gset
SELECT n.status AS status FROM occ.namespaces AS n WHERE n.id = :namespace \gset
SELECT EXISTS (
    SELECT FROM occ.iam_access_bindings AS b JOIN occ.iam_roles AS r ON r.id = b.role_id
    WHERE b.identity_subject_id = :actor AND (b.namespace_id IS NULL OR b.namespace_id = :namespace)
      AND r.permissions @> '[{"action": "create", "resourceKind": "namespace"}]')
  AND NOT EXISTS (
    SELECT FROM occ.iam_restrictions AS x
    WHERE x.action = 'create' AND x.resource_kind = 'namespace'
      AND (x.namespace_id IS NULL OR x.namespace_id = :namespace)) AS allowed \gset
UPDATE occ.controller_work
SET lease_expires_at = statement_timestamp() + interval '5 s', updated_at = statement_timestamp()
WHERE idempotency_key = :key AND claim_token = :token AND state = 'claimed' AND lease_expires_at > statement_timestamp();
WITH finished AS (
    UPDATE occ.controller_work
    SET state = 'succeeded', lease_expires_at = NULL, completed_at = statement_timestamp(),
        reason_code = 'RECONCILE_SUCCEEDED', updated_at = statement_timestamp()
    WHERE idempotency_key = :key AND claim_token = :token AND state = 'claimed'
      AND lease_expires_at > statement_timestamp()
    RETURNING idempotency_key, namespace_id, actor_id, attempt_count),
published AS (
    UPDATE occ.namespaces AS n SET status = 'ready' FROM finished AS f
    WHERE n.id = f.namespace_id AND n.status = 'provisioning')
INSERT INTO occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id, outcome, details)
SELECT 'mutation', f.actor_id, a.action, f.namespace_id, 'namespace', f.namespace_id, 'success',
       jsonb_build_object('workId', f.idempotency_key, 'reasonCode', 'RECONCILE_SUCCEEDED', 'attemptCount', f.attempt_count)
FROM finished AS f, (VALUES ('reconcile'), ('openclaw.namespaces.lifecycle.ensure')) AS a (action);
