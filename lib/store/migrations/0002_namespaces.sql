-- SPDX-License-Identifier: MIT
--
-- The Installation, its Namespaces, and what a Namespace owns besides Agents.
--
-- SQLSTATEs of our own: OC002 the Namespace does not accept this child now, OC003 the Namespace is not empty.

-- The one OCC deployment that this database describes.
CREATE TABLE occ.installation (
    id         occ.installation_id NOT NULL CONSTRAINT installation_pkey PRIMARY KEY,
    name       occ.resource_name NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX installation_single_row ON occ.installation ((true));

-- An isolated tenant. It is never removed: a deleted Namespace is a tombstone, and its name stays taken.
CREATE TABLE occ.namespaces (
    id                 occ.namespace_id NOT NULL CONSTRAINT namespaces_pkey PRIMARY KEY,
    name               occ.resource_name NOT NULL CONSTRAINT namespaces_name_key UNIQUE,
    existing_namespace text COLLATE "C"
        CONSTRAINT namespaces_existing_namespace_label
            CHECK (existing_namespace ~ '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$'),
    status             text NOT NULL DEFAULT 'provisioning'
        CONSTRAINT namespaces_status CHECK (status IN ('provisioning', 'ready', 'failed', 'deleting')),
    created_at         timestamptz NOT NULL DEFAULT now(),
    deleted_at         timestamptz,
    CONSTRAINT namespaces_tombstone CHECK (deleted_at IS NULL OR status = 'deleting')
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX namespaces_existing_namespace_key ON occ.namespaces (existing_namespace)
    WHERE existing_namespace IS NOT NULL AND deleted_at IS NULL;

-- A native document of an Agent; the document itself lives with the Configuration Driver.
CREATE TABLE occ.configurations (
    id              occ.configuration_id NOT NULL CONSTRAINT configurations_pkey PRIMARY KEY,
    namespace_id    occ.namespace_id NOT NULL
        CONSTRAINT configurations_namespace_id_fkey REFERENCES occ.namespaces (id),
    kind            text NOT NULL DEFAULT 'agent' CONSTRAINT configurations_kind CHECK (kind = 'agent'),
    generation      bigint NOT NULL DEFAULT 1 CONSTRAINT configurations_generation CHECK (generation >= 1),
    secret_bindings jsonb NOT NULL DEFAULT '[]'
        CONSTRAINT configurations_secret_bindings CHECK (occ.is_secret_bindings(secret_bindings)),
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT configurations_owner_key UNIQUE (id, namespace_id)
);
CREATE INDEX configurations_namespace_id ON occ.configurations (namespace_id);

-- Where a Secret's value is kept; the value lives with the Secret Driver and never here.
CREATE TABLE occ.secrets (
    id                     occ.secret_id NOT NULL CONSTRAINT secrets_pkey PRIMARY KEY,
    namespace_id           occ.namespace_id NOT NULL
        CONSTRAINT secrets_namespace_id_fkey REFERENCES occ.namespaces (id),
    name                   occ.resource_name NOT NULL,
    driver_id              text NOT NULL
        CONSTRAINT secrets_driver_id CHECK (char_length(driver_id) BETWEEN 1 AND 200),
    backend_namespace_name text NOT NULL
        CONSTRAINT secrets_backend_namespace_name CHECK (char_length(backend_namespace_name) BETWEEN 1 AND 253),
    backend_name           text NOT NULL
        CONSTRAINT secrets_backend_name CHECK (char_length(backend_name) BETWEEN 1 AND 253),
    backend_key            text NOT NULL
        CONSTRAINT secrets_backend_key CHECK (char_length(backend_key) BETWEEN 1 AND 253),
    backend_uid            text -- not known before the Driver has made it
        CONSTRAINT secrets_backend_uid CHECK (char_length(backend_uid) BETWEEN 1 AND 200),
    created_at             timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT secrets_owner_key UNIQUE (id, namespace_id),
    CONSTRAINT secrets_name_key UNIQUE (namespace_id, name),
    CONSTRAINT secrets_backend_key_key UNIQUE (driver_id, backend_namespace_name, backend_name, backend_key)
);

-- A provider's service account; its credential is a reference to a Secret of the same Namespace.
CREATE TABLE occ.service_accounts (
    id                   occ.service_account_id NOT NULL CONSTRAINT service_accounts_pkey PRIMARY KEY,
    namespace_id         occ.namespace_id NOT NULL
        CONSTRAINT service_accounts_namespace_id_fkey REFERENCES occ.namespaces (id),
    name                 occ.resource_name NOT NULL,
    credential           jsonb NOT NULL
        CONSTRAINT service_accounts_credential CHECK (occ.is_secret_reference(credential)),
    credential_secret_id text COLLATE "C" GENERATED ALWAYS AS (credential ->> 'id') STORED,
    created_at           timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT service_accounts_owner_key UNIQUE (id, namespace_id),
    CONSTRAINT service_accounts_name_key UNIQUE (namespace_id, name),
    CONSTRAINT service_accounts_credential_namespace CHECK (credential ->> 'namespaceId' = namespace_id),
    CONSTRAINT service_accounts_credential_fkey
        FOREIGN KEY (credential_secret_id, namespace_id) REFERENCES occ.secrets (id, namespace_id)
);
CREATE INDEX service_accounts_credential_secret_id ON occ.service_accounts (credential_secret_id);

-- Takes the parent Namespace FOR SHARE, so that a deletion (FOR UPDATE) sees either the child or the refusal of it.
-- The trigger's arguments are the statuses in which the child may be created.
CREATE FUNCTION occ.require_open_namespace()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found text;
BEGIN
    SELECT status INTO found FROM occ.namespaces WHERE id = NEW.namespace_id FOR SHARE;
    IF found IS NOT NULL AND found <> ALL (TG_ARGV) THEN
        RAISE EXCEPTION 'The Namespace % is %: nothing can be created in it now.', NEW.namespace_id, found
            USING ERRCODE = 'OC002', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW; -- a Namespace that does not exist is the foreign key's to refuse
END
$$;
CREATE TRIGGER configurations_open_namespace BEFORE INSERT ON occ.configurations
    FOR EACH ROW EXECUTE FUNCTION occ.require_open_namespace('provisioning', 'ready');
CREATE TRIGGER secrets_open_namespace BEFORE INSERT ON occ.secrets
    FOR EACH ROW EXECUTE FUNCTION occ.require_open_namespace('provisioning', 'ready');
CREATE TRIGGER service_accounts_open_namespace BEFORE INSERT ON occ.service_accounts
    FOR EACH ROW EXECUTE FUNCTION occ.require_open_namespace('provisioning', 'ready');

-- In PL/pgSQL and not in the triggers' WHEN, which each statement reads anew: see the queue's.
CREATE FUNCTION occ.check_namespace_update()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.created_at <> OLD.created_at
       OR NEW.existing_namespace IS DISTINCT FROM OLD.existing_namespace THEN
        RAISE EXCEPTION 'What a Namespace is does not change.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'namespaces_fixed',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    IF OLD.deleted_at IS NOT NULL THEN
        RAISE EXCEPTION 'A tombstone does not change.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'namespaces_tombstone_final',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    IF NEW.status <> OLD.status
       AND NOT (OLD.status = 'provisioning' OR (OLD.status <> 'deleting' AND NEW.status = 'deleting')) THEN
        RAISE EXCEPTION 'A Namespace does not go this way.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'namespaces_transition',
                  SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER namespaces_update BEFORE UPDATE ON occ.namespaces
    FOR EACH ROW EXECUTE FUNCTION occ.check_namespace_update();
CREATE TRIGGER namespaces_kept BEFORE DELETE ON occ.namespaces
    FOR EACH ROW EXECUTE FUNCTION occ.refuse('namespaces_kept', 'A Namespace is never removed, only marked deleted.');
CREATE TRIGGER namespaces_not_truncated BEFORE TRUNCATE ON occ.namespaces
    FOR EACH STATEMENT
    EXECUTE FUNCTION occ.refuse('namespaces_kept', 'A Namespace is never removed, only marked deleted.');
