-- SPDX-License-Identifier: MIT
--
-- What the roles may do. occ_migrator owns everything; the roles themselves come from contrib/postgresql/roles.sql.

-- occ_app: worker, bootstrap and occctl.
GRANT SELECT ON ALL TABLES IN SCHEMA occ TO occ_app;
GRANT INSERT ON occ.installation, occ.namespaces, occ.configurations, occ.secrets, occ.service_accounts, occ.agents,
    occ.agent_revisions, occ.iam_identities, occ.iam_groups, occ.iam_group_memberships, occ.iam_roles,
    occ.iam_access_bindings, occ.iam_restrictions, occ.audit_events, occ.controller_work, occ."user", occ.account,
    occ.apikey TO occ_app;
-- No DELETE of Namespaces, Agents, revisions, work, audit or keys: functions do what may be done there.
GRANT DELETE ON occ.configurations, occ.secrets, occ.service_accounts, occ.iam_identities, occ.iam_groups,
    occ.iam_group_memberships, occ.iam_roles, occ.iam_access_bindings, occ.iam_restrictions TO occ_app;
-- deleted_at is set by occ.tombstone_namespace() alone.
GRANT UPDATE (status) ON occ.namespaces TO occ_app;
GRANT UPDATE (generation, secret_bindings) ON occ.configurations TO occ_app;
GRANT UPDATE (backend_namespace_name, backend_name, backend_key, backend_uid) ON occ.secrets TO occ_app;
GRANT UPDATE (name, credential) ON occ.service_accounts TO occ_app;
GRANT UPDATE (name, configuration_id, execution_mode, harness_auth, active_revision_id, desired_runtime_state, status)
    ON occ.agents TO occ_app;
GRANT UPDATE (name) ON occ.iam_groups TO occ_app;
GRANT UPDATE (name, permissions) ON occ.iam_roles TO occ_app;
GRANT UPDATE (state, available_at, attempt_count, claim_token, lease_expires_at, completed_at, reason_code,
              result_data, updated_at) ON occ.controller_work TO occ_app;
GRANT UPDATE (email, name) ON occ."user" TO occ_app;
GRANT UPDATE (password_hash) ON occ.account TO occ_app;
GRANT UPDATE (name, expires_at, revoked_at) ON occ.apikey TO occ_app;

-- Functions of the checks, and the ones that are called by name.
GRANT EXECUTE ON FUNCTION occ.is_closed_object(jsonb, text[], text[]), occ.is_text_member(jsonb, text),
    occ.is_id_of_kind(text, text), occ.is_secret_reference(jsonb), occ.is_secret_bindings(jsonb),
    occ.is_harness_auth(jsonb), occ.is_admitted_spec(jsonb), occ.is_reconcile_evidence(text, jsonb),
    occ.is_work_shape(text, text, text, text), occ.is_work_key(text, text, text, text, text, text), occ.permissions(), occ.is_permission(text, text),
    occ.requeue_deletion(text, text, boolean), occ.tombstone_namespace(text, uuid),
    occ.delete_agent(text, uuid, jsonb) TO occ_app;

-- occ_metrics: the exporter. Counts and states; no names of people, no documents, no hashes.
GRANT SELECT ON occ.installation, occ.controller_work, occ.namespaces TO occ_metrics;
GRANT SELECT (id, namespace_id, execution_mode, active_revision_id, desired_runtime_state, status, created_at)
    ON occ.agents TO occ_metrics;
GRANT SELECT (id, namespace_id, agent_id, revision_number, admitted_at) ON occ.agent_revisions TO occ_metrics;
