-- SPDX-License-Identifier: MIT
--
-- The schema itself, the history of its migrations, and the types that every later table is made of.
--
-- Each file runs once, in one transaction, as occ_migrator. Never edit a file that has been released: its hash is
-- recorded, and an edited history is refused. Change the schema by adding the next number.

DO $$
DECLARE
    missing text;
BEGIN
    SELECT string_agg(format('"%s"', wanted), ', ' ORDER BY wanted)
      INTO missing
      FROM unnest(ARRAY['occ_migrator', 'occ_app', 'occ_metrics']) AS wanted
     WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'The database role % is missing.', missing
            USING ERRCODE = 'undefined_object',
                  HINT = 'Run contrib/postgresql/roles.sql once as an administrator.';
    END IF;
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'The database is encoded in %, and UTF8 is needed.', current_setting('server_encoding')
            USING ERRCODE = 'feature_not_supported';
    END IF;
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'PostgreSQL % is too old: 15 or newer is needed.', current_setting('server_version')
            USING ERRCODE = 'feature_not_supported';
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS occ;
REVOKE ALL ON SCHEMA occ FROM PUBLIC;

-- What is called from SQL by a role needs EXECUTE; nothing here is for everybody.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- One row for each migration that was applied, written in that migration's own transaction.
CREATE TABLE occ.schema_migrations (
    number     integer NOT NULL CONSTRAINT schema_migrations_pkey PRIMARY KEY
                       CONSTRAINT schema_migrations_number CHECK (number BETWEEN 1 AND 9999),
    name       text NOT NULL CONSTRAINT schema_migrations_name CHECK (name ~ '^[a-z0-9_]{1,100}$'),
    hash       text NOT NULL CONSTRAINT schema_migrations_hash CHECK (hash ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz NOT NULL DEFAULT now()
);
-- Granted here already: whoever connects to a half-migrated database can tell that it is one.
GRANT USAGE ON SCHEMA occ TO occ_app, occ_metrics;
GRANT SELECT ON occ.schema_migrations TO occ_app, occ_metrics;

-- Identifiers of platform resources: a prefix and a lower-case version-4 UUID.
CREATE DOMAIN occ.installation_id AS text COLLATE "C" CONSTRAINT installation_id_format
    CHECK (VALUE ~ '^ins_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.namespace_id AS text COLLATE "C" CONSTRAINT namespace_id_format
    CHECK (VALUE ~ '^ns_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.agent_id AS text COLLATE "C" CONSTRAINT agent_id_format
    CHECK (VALUE ~ '^agt_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.revision_id AS text COLLATE "C" CONSTRAINT revision_id_format
    CHECK (VALUE ~ '^rev_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.configuration_id AS text COLLATE "C" CONSTRAINT configuration_id_format
    CHECK (VALUE ~ '^cfg_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.secret_id AS text COLLATE "C" CONSTRAINT secret_id_format
    CHECK (VALUE ~ '^sec_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.service_account_id AS text COLLATE "C" CONSTRAINT service_account_id_format
    CHECK (VALUE ~ '^sa_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
CREATE DOMAIN occ.audit_id AS text COLLATE "C" CONSTRAINT audit_id_format
    CHECK (VALUE ~ '^aud_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');

-- Identifiers of identities, groups, roles, bindings, restrictions, users, accounts and keys.
CREATE DOMAIN occ.iam_id AS text COLLATE "C" CONSTRAINT iam_id_length
    CHECK (char_length(VALUE) BETWEEN 1 AND 200);

-- A name as people give it: trimmed of everything that Unicode calls white space, and without control characters.
CREATE DOMAIN occ.resource_name AS text COLLATE "C"
    CONSTRAINT resource_name_length CHECK (char_length(VALUE) BETWEEN 1 AND 200)
    CONSTRAINT resource_name_control CHECK (VALUE !~ '[\u0001-\u001f\u007f-\u009f]')
    CONSTRAINT resource_name_trimmed CHECK (VALUE = btrim(VALUE,
        U&' \00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF'));

-- A stable code of an outcome.
CREATE DOMAIN occ.reason_code AS text COLLATE "C" CONSTRAINT reason_code_format
    CHECK (VALUE ~ '^[A-Z][A-Z0-9_]{0,63}$');

-- Whether an object has exactly these required keys, and beyond them only the optional ones.
CREATE FUNCTION occ.is_closed_object(value jsonb, required text[], optional text[] DEFAULT '{}')
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_typeof(value) = 'object' AND value ?& required AND value - required - optional = '{}'::jsonb
$$;

-- Whether a member is a string of 1 to 200 characters.
CREATE FUNCTION occ.is_text_member(value jsonb, member text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(jsonb_typeof(value -> member) = 'string'
                    AND char_length(value ->> member) BETWEEN 1 AND 200, false)
$$;

-- Whether an identifier is one of that kind of resource.
CREATE FUNCTION occ.is_id_of_kind(kind text, id text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        starts_with(id, CASE kind WHEN 'installation' THEN 'ins_' WHEN 'namespace' THEN 'ns_'
                                  WHEN 'configuration' THEN 'cfg_' WHEN 'service_account' THEN 'sa_'
                                  WHEN 'secret' THEN 'sec_' WHEN 'agent' THEN 'agt_'
                                  WHEN 'agent_revision' THEN 'rev_' END)
        AND id ~ '^[a-z]+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$', false)
$$;

-- Whether a value is a reference to a Secret: {"kind":"secret","namespaceId":…,"id":…}.
CREATE FUNCTION occ.is_secret_reference(value jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(occ.is_closed_object(value, ARRAY['kind', 'namespaceId', 'id'])
                    AND value -> 'kind' = '"secret"'::jsonb
                    AND jsonb_typeof(value -> 'namespaceId') = 'string' AND jsonb_typeof(value -> 'id') = 'string'
                    AND occ.is_id_of_kind('namespace', value ->> 'namespaceId')
                    AND occ.is_id_of_kind('secret', value ->> 'id'), false)
$$;

-- Whether a value is a list of Secret bindings: [{"name":…,"source":{"kind":"secret","namespaceId":…,"id":…}}].
CREATE FUNCTION occ.is_secret_bindings(value jsonb)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value IS NULL OR jsonb_typeof(value) <> 'array' THEN
        RETURN false;
    END IF;
    RETURN NOT EXISTS (
        SELECT FROM jsonb_array_elements(value) AS item
         WHERE NOT (coalesce(occ.is_closed_object(item, ARRAY['name', 'source']), false)
                    AND occ.is_text_member(item, 'name')
                    AND occ.is_secret_reference(item -> 'source')))
       AND (SELECT count(*) = count(DISTINCT item ->> 'name') FROM jsonb_array_elements(value) AS item);
END
$$;

-- Whether a value says how a Harness authenticates: by a Secret, or by a service account. References only.
CREATE FUNCTION occ.is_harness_auth(value jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        CASE value ->> 'method'
            WHEN 'api_key' THEN occ.is_closed_object(value, ARRAY['method', 'source'])
                                AND occ.is_secret_reference(value -> 'source')
            WHEN 'codex_pat' THEN occ.is_closed_object(value, ARRAY['method', 'source'])
                                  AND occ.is_secret_reference(value -> 'source')
            WHEN 'chatgpt_service_account' THEN
                occ.is_closed_object(value, ARRAY['method', 'serviceAccountId'])
                AND jsonb_typeof(value -> 'serviceAccountId') = 'string'
                AND occ.is_id_of_kind('service_account', value ->> 'serviceAccountId')
        END, false)
$$;

-- Refuses the statement that fired it. The trigger's arguments: the constraint's name, and what to say.
CREATE FUNCTION occ.refuse()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[1]
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_ARGV[0], SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$$;
