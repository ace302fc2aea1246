-- SPDX-License-Identifier: MIT
--
-- Agents and their immutable revisions.

-- Whether a value is what a revision froze when it was admitted. Closed: references only, never a credential.
CREATE FUNCTION occ.is_admitted_spec(value jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        occ.is_closed_object(value,
            ARRAY['configuration_id', 'configuration_kind', 'configuration_generation', 'draft_spec', 'harness',
                  'compute', 'harness_auth'],
            ARRAY['sandbox_driver_id', 'secret_driver_id', 'secret_bindings'])
        AND jsonb_typeof(value -> 'configuration_id') = 'string'
        AND occ.is_id_of_kind('configuration', value ->> 'configuration_id')
        AND value -> 'configuration_kind' = '"agent"'::jsonb
        AND jsonb_typeof(value -> 'configuration_generation') = 'number'
        AND value ->> 'configuration_generation' ~ '^[1-9][0-9]{0,17}$'
        AND jsonb_typeof(value -> 'draft_spec') = 'object'
        AND occ.is_closed_object(value -> 'harness', ARRAY['id', 'version', 'mode'])
        AND value -> 'harness' -> 'id' IN ('"openclaw"'::jsonb, '"codex"'::jsonb)
        AND occ.is_text_member(value -> 'harness', 'version')
        AND value -> 'harness' -> 'mode' IN ('"embedded"'::jsonb, '"dedicated"'::jsonb)
        AND occ.is_closed_object(value -> 'compute', ARRAY['id', 'implementation'])
        AND occ.is_text_member(value -> 'compute', 'id')
        AND occ.is_text_member(value -> 'compute', 'implementation')
        AND (value -> 'harness_auth' = 'null'::jsonb OR occ.is_harness_auth(value -> 'harness_auth'))
        AND (NOT value ? 'sandbox_driver_id' OR occ.is_text_member(value, 'sandbox_driver_id'))
        AND (NOT value ? 'secret_driver_id' OR occ.is_text_member(value, 'secret_driver_id'))
        AND (NOT value ? 'secret_bindings' OR occ.is_secret_bindings(value -> 'secret_bindings')), false)
$$;

-- A draft with one stable service principal; at most one of its revisions is active.
CREATE TABLE occ.agents (
    id                              occ.agent_id NOT NULL CONSTRAINT agents_pkey PRIMARY KEY,
    namespace_id                    occ.namespace_id NOT NULL
        CONSTRAINT agents_namespace_id_fkey REFERENCES occ.namespaces (id),
    name                            occ.resource_name NOT NULL,
    configuration_id                occ.configuration_id NOT NULL,
    execution_mode                  text NOT NULL
        CONSTRAINT agents_execution_mode CHECK (execution_mode IN ('embedded', 'dedicated')),
    service_principal_id            occ.iam_id NOT NULL CONSTRAINT agents_service_principal_id_key UNIQUE,
    harness_auth                    jsonb
        CONSTRAINT agents_harness_auth CHECK (harness_auth IS NULL OR occ.is_harness_auth(harness_auth)),
    harness_auth_secret_id          text COLLATE "C"
        GENERATED ALWAYS AS (harness_auth -> 'source' ->> 'id') STORED,
    harness_auth_service_account_id text COLLATE "C"
        GENERATED ALWAYS AS (harness_auth ->> 'serviceAccountId') STORED,
    active_revision_id              occ.revision_id,
    desired_runtime_state           text NOT NULL DEFAULT 'stopped'
        CONSTRAINT agents_desired_runtime_state CHECK (desired_runtime_state IN ('running', 'stopped')),
    status                          text NOT NULL DEFAULT 'active'
        CONSTRAINT agents_status CHECK (status IN ('active', 'deleting')),
    created_at                      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agents_owner_key UNIQUE (id, namespace_id),
    CONSTRAINT agents_name_key UNIQUE (namespace_id, name),
    CONSTRAINT agents_deleting_is_stopped CHECK (status = 'active' OR desired_runtime_state = 'stopped'),
    CONSTRAINT agents_harness_auth_namespace
        CHECK (coalesce(harness_auth -> 'source' ->> 'namespaceId' = namespace_id, true)),
    CONSTRAINT agents_configuration_fkey
        FOREIGN KEY (configuration_id, namespace_id) REFERENCES occ.configurations (id, namespace_id),
    CONSTRAINT agents_harness_auth_secret_fkey
        FOREIGN KEY (harness_auth_secret_id, namespace_id) REFERENCES occ.secrets (id, namespace_id),
    CONSTRAINT agents_harness_auth_service_account_fkey
        FOREIGN KEY (harness_auth_service_account_id, namespace_id)
        REFERENCES occ.service_accounts (id, namespace_id),
    CONSTRAINT agents_service_principal_fkey
        FOREIGN KEY (service_principal_id, id, namespace_id)
        REFERENCES occ.iam_identities (id, agent_id, namespace_id) DEFERRABLE INITIALLY DEFERRED
) WITH (fillfactor = 80);
CREATE INDEX agents_configuration_id ON occ.agents (configuration_id);
CREATE INDEX agents_harness_auth_secret_id ON occ.agents (harness_auth_secret_id)
    WHERE harness_auth_secret_id IS NOT NULL;
CREATE INDEX agents_harness_auth_service_account_id ON occ.agents (harness_auth_service_account_id)
    WHERE harness_auth_service_account_id IS NOT NULL;

ALTER TABLE occ.iam_identities
    ADD CONSTRAINT iam_identities_agent_fkey
        FOREIGN KEY (agent_id, namespace_id) REFERENCES occ.agents (id, namespace_id)
        DEFERRABLE INITIALLY DEFERRED;

-- A numbered, immutable snapshot of an Agent, as it was admitted for deployment.
CREATE TABLE occ.agent_revisions (
    id              occ.revision_id NOT NULL CONSTRAINT agent_revisions_pkey PRIMARY KEY,
    namespace_id    occ.namespace_id NOT NULL,
    agent_id        occ.agent_id NOT NULL,
    revision_number bigint NOT NULL
        CONSTRAINT agent_revisions_revision_number CHECK (revision_number >= 1),
    admitted_spec   jsonb NOT NULL
        CONSTRAINT agent_revisions_admitted_spec CHECK (occ.is_admitted_spec(admitted_spec)),
    admitted_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agent_revisions_owner_key UNIQUE (id, agent_id),
    CONSTRAINT agent_revisions_number_key UNIQUE (agent_id, revision_number),
    CONSTRAINT agent_revisions_agent_fkey
        FOREIGN KEY (agent_id, namespace_id) REFERENCES occ.agents (id, namespace_id)
);

ALTER TABLE occ.agents
    ADD CONSTRAINT agents_active_revision_fkey
        FOREIGN KEY (active_revision_id, id) REFERENCES occ.agent_revisions (id, agent_id);
CREATE INDEX agents_active_revision_id ON occ.agents (active_revision_id) WHERE active_revision_id IS NOT NULL;

CREATE TRIGGER agents_open_namespace BEFORE INSERT ON occ.agents
    FOR EACH ROW EXECUTE FUNCTION occ.require_open_namespace('provisioning', 'ready');
CREATE TRIGGER agent_revisions_open_namespace BEFORE INSERT ON occ.agent_revisions
    FOR EACH ROW EXECUTE FUNCTION occ.require_open_namespace('ready');

CREATE TRIGGER agents_fixed BEFORE UPDATE ON occ.agents
    FOR EACH ROW WHEN (NEW.id <> OLD.id OR NEW.namespace_id <> OLD.namespace_id OR NEW.created_at <> OLD.created_at
                       OR NEW.service_principal_id <> OLD.service_principal_id)
    EXECUTE FUNCTION occ.refuse('agents_fixed', 'What an Agent is does not change.');
CREATE TRIGGER agents_deleting_final BEFORE UPDATE ON occ.agents
    FOR EACH ROW WHEN (OLD.status = 'deleting' AND NEW.status <> 'deleting')
    EXECUTE FUNCTION occ.refuse('agents_deleting_final', 'A deletion is not taken back.');
CREATE TRIGGER agent_revisions_fixed BEFORE UPDATE ON occ.agent_revisions
    FOR EACH ROW EXECUTE FUNCTION occ.refuse('agent_revisions_fixed', 'A revision never changes.');

-- Backstop of the admission: what a Namespace still owns keeps it from being deleted. The row is locked when this
-- runs, and each child took it FOR SHARE, so nothing slips in between.
CREATE FUNCTION occ.require_empty_namespace()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    remains text;
BEGIN
    SELECT string_agg(format('%s %s', owned.number, owned.what), ', ' ORDER BY owned.what)
      INTO remains
      FROM (SELECT count(*) AS number, 'Agents' AS what FROM occ.agents WHERE namespace_id = NEW.id
            UNION ALL
            SELECT count(*), 'Configurations' FROM occ.configurations WHERE namespace_id = NEW.id
            UNION ALL
            SELECT count(*), 'Secrets' FROM occ.secrets WHERE namespace_id = NEW.id
            UNION ALL
            SELECT count(*), 'service accounts' FROM occ.service_accounts WHERE namespace_id = NEW.id) AS owned
     WHERE owned.number > 0;
    IF remains IS NOT NULL THEN
        RAISE EXCEPTION 'The Namespace % still owns %.', NEW.id, remains
            USING ERRCODE = 'OC003', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER namespaces_empty BEFORE UPDATE ON occ.namespaces
    FOR EACH ROW WHEN (NEW.status = 'deleting' AND (OLD.status <> 'deleting' OR NEW.deleted_at IS NOT NULL))
    EXECUTE FUNCTION occ.require_empty_namespace();

-- A binding must mean something: its role is of its Namespace or of the Installation, and its exact resource exists.
-- The Namespace of an exact resource is filled in where it is not given, so that the binding goes with it.
CREATE FUNCTION occ.check_access_binding()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    role_namespace text;
    owner          text;
    present        boolean := true;
BEGIN
    CASE NEW.resource_kind
        WHEN 'installation' THEN
            present := EXISTS (SELECT FROM occ.installation WHERE id = NEW.resource_id);
        WHEN 'namespace' THEN
            SELECT id INTO owner FROM occ.namespaces WHERE id = NEW.resource_id AND deleted_at IS NULL;
        WHEN 'configuration' THEN
            SELECT namespace_id INTO owner FROM occ.configurations WHERE id = NEW.resource_id;
        WHEN 'secret' THEN
            SELECT namespace_id INTO owner FROM occ.secrets WHERE id = NEW.resource_id;
        WHEN 'service_account' THEN
            SELECT namespace_id INTO owner FROM occ.service_accounts WHERE id = NEW.resource_id;
        WHEN 'agent' THEN
            SELECT namespace_id INTO owner FROM occ.agents WHERE id = NEW.resource_id;
        WHEN 'agent_revision' THEN
            SELECT namespace_id INTO owner FROM occ.agent_revisions WHERE id = NEW.resource_id;
        ELSE
            owner := NEW.namespace_id;
    END CASE;
    IF NEW.resource_kind <> 'installation' THEN
        present := owner IS NOT NULL AND (NEW.namespace_id IS NULL OR NEW.namespace_id = owner);
        NEW.namespace_id := coalesce(NEW.namespace_id, owner);
    END IF;
    IF NOT present THEN
        RAISE EXCEPTION 'There is no such % to bind a role to.', NEW.resource_kind
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'iam_access_bindings_resource_exists',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    SELECT namespace_id INTO role_namespace FROM occ.iam_roles WHERE id = NEW.role_id;
    IF role_namespace IS NOT NULL AND role_namespace IS DISTINCT FROM NEW.namespace_id THEN
        RAISE EXCEPTION 'The role belongs to another Namespace than the binding.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'iam_access_bindings_role_scope',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER iam_access_bindings_check BEFORE INSERT OR UPDATE ON occ.iam_access_bindings
    FOR EACH ROW EXECUTE FUNCTION occ.check_access_binding();

-- Bindings to an exact resource go with the resource: nothing dangles.
CREATE FUNCTION occ.forget_resource()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM occ.iam_access_bindings WHERE resource_kind = TG_ARGV[0] AND resource_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER configurations_forget AFTER DELETE ON occ.configurations
    FOR EACH ROW EXECUTE FUNCTION occ.forget_resource('configuration');
CREATE TRIGGER secrets_forget AFTER DELETE ON occ.secrets
    FOR EACH ROW EXECUTE FUNCTION occ.forget_resource('secret');
CREATE TRIGGER service_accounts_forget AFTER DELETE ON occ.service_accounts
    FOR EACH ROW EXECUTE FUNCTION occ.forget_resource('service_account');
CREATE TRIGGER agents_forget AFTER DELETE ON occ.agents
    FOR EACH ROW EXECUTE FUNCTION occ.forget_resource('agent');
CREATE TRIGGER agent_revisions_forget AFTER DELETE ON occ.agent_revisions
    FOR EACH ROW EXECUTE FUNCTION occ.forget_resource('agent_revision');
