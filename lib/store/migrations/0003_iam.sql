-- SPDX-License-Identifier: MIT
--
-- Native identity and access management: who there is, what roles allow, who holds them where, and what is denied.

-- The permissions that exist.
CREATE FUNCTION occ.permissions()
RETURNS TABLE (action text, resource_kind text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    VALUES ('read', 'installation'), ('administer', 'installation'),
           ('create', 'namespace'), ('read', 'namespace'), ('delete', 'namespace'),
           ('create', 'configuration'), ('read', 'configuration'), ('update', 'configuration'),
           ('delete', 'configuration'),
           ('create', 'service_account'), ('read', 'service_account'), ('update', 'service_account'),
           ('delete', 'service_account'),
           ('create', 'secret'), ('read', 'secret'), ('update', 'secret'), ('delete', 'secret'), ('operate', 'secret'),
           ('create', 'agent'), ('read', 'agent'), ('update', 'agent'), ('delete', 'agent'), ('deploy', 'agent'),
           ('operate', 'agent'), ('administer', 'agent'),
           ('read', 'agent_revision')
$$;

CREATE FUNCTION occ.is_permission(wanted_action text, wanted_kind text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT EXISTS (SELECT FROM occ.permissions() AS known
                    WHERE known.action = wanted_action AND known.resource_kind = wanted_kind)
$$;

-- A person (principal: issuer and subject) or a program (service principal: of an Agent, or of the Installation).
CREATE TABLE occ.iam_identities (
    id           occ.iam_id NOT NULL CONSTRAINT iam_identities_pkey PRIMARY KEY,
    namespace_id occ.namespace_id
        CONSTRAINT iam_identities_namespace_id_fkey REFERENCES occ.namespaces (id),
    agent_id     occ.agent_id CONSTRAINT iam_identities_agent_id_key UNIQUE,
    kind         text NOT NULL
        CONSTRAINT iam_identities_kind CHECK (kind IN ('principal', 'service_principal')),
    issuer       text COLLATE "C" CONSTRAINT iam_identities_issuer CHECK (char_length(issuer) BETWEEN 1 AND 512),
    subject      text COLLATE "C" CONSTRAINT iam_identities_subject CHECK (char_length(subject) BETWEEN 1 AND 512),
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT iam_identities_external_key UNIQUE (issuer, subject),
    CONSTRAINT iam_identities_kind_key UNIQUE (id, kind),
    CONSTRAINT iam_identities_owner_key UNIQUE (id, agent_id, namespace_id),
    CONSTRAINT iam_identities_principal CHECK (
        CASE kind WHEN 'principal' THEN issuer IS NOT NULL AND subject IS NOT NULL
                                        AND namespace_id IS NULL AND agent_id IS NULL
                  ELSE issuer IS NULL AND subject IS NULL AND (agent_id IS NULL) = (namespace_id IS NULL) END)
);

-- A named set of people.
CREATE TABLE occ.iam_groups (
    id         occ.iam_id NOT NULL CONSTRAINT iam_groups_pkey PRIMARY KEY,
    name       occ.resource_name NOT NULL CONSTRAINT iam_groups_name_key UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Who is in a group. People only: the generated kind is half of the key that it points at.
CREATE TABLE occ.iam_group_memberships (
    group_id      occ.iam_id NOT NULL
        CONSTRAINT iam_group_memberships_group_id_fkey REFERENCES occ.iam_groups (id) ON DELETE CASCADE,
    identity_id   occ.iam_id NOT NULL,
    identity_kind text NOT NULL GENERATED ALWAYS AS ('principal') STORED,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT iam_group_memberships_pkey PRIMARY KEY (group_id, identity_id),
    CONSTRAINT iam_group_memberships_people_only
        FOREIGN KEY (identity_id, identity_kind) REFERENCES occ.iam_identities (id, kind) ON DELETE CASCADE
);
CREATE INDEX iam_group_memberships_identity_id ON occ.iam_group_memberships (identity_id);

-- A named list of permissions, [{"action":…,"resourceKind":…}], of the Installation or of one Namespace.
CREATE TABLE occ.iam_roles (
    id           occ.iam_id NOT NULL CONSTRAINT iam_roles_pkey PRIMARY KEY,
    namespace_id occ.namespace_id CONSTRAINT iam_roles_namespace_id_fkey REFERENCES occ.namespaces (id),
    name         occ.resource_name NOT NULL,
    permissions  jsonb NOT NULL
        CONSTRAINT iam_roles_permissions_list CHECK (jsonb_typeof(permissions) = 'array'),
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT iam_roles_name_key UNIQUE NULLS NOT DISTINCT (namespace_id, name)
);

CREATE FUNCTION occ.check_role_permissions()
RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    item jsonb;
    seen jsonb := '[]';
BEGIN
    IF jsonb_typeof(NEW.permissions) IS DISTINCT FROM 'array' THEN
        RETURN NEW; -- the table's own check refuses it
    END IF;
    FOR item IN SELECT * FROM jsonb_array_elements(NEW.permissions) LOOP
        IF NOT coalesce(occ.is_closed_object(item, ARRAY['action', 'resourceKind'])
                        AND jsonb_typeof(item -> 'action') = 'string'
                        AND jsonb_typeof(item -> 'resourceKind') = 'string', false) THEN
            RAISE EXCEPTION 'A permission must be an object with exactly "action" and "resourceKind", not %.',
                left(item::text, 200)
                USING ERRCODE = 'check_violation', CONSTRAINT = 'iam_roles_permissions_shape',
                      SCHEMA = 'occ', TABLE = 'iam_roles';
        END IF;
        IF NOT occ.is_permission(item ->> 'action', item ->> 'resourceKind') THEN
            RAISE EXCEPTION 'There is no permission %:%.',
                left(item ->> 'resourceKind', 100), left(item ->> 'action', 100)
                USING ERRCODE = 'check_violation', CONSTRAINT = 'iam_roles_permissions_known',
                      SCHEMA = 'occ', TABLE = 'iam_roles';
        END IF;
        IF seen @> jsonb_build_array(item) THEN
            RAISE EXCEPTION 'The permission %:% is listed twice.', item ->> 'resourceKind', item ->> 'action'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'iam_roles_permissions_distinct',
                      SCHEMA = 'occ', TABLE = 'iam_roles';
        END IF;
        seen := seen || item;
    END LOOP;
    RETURN NEW;
END
$$;
CREATE TRIGGER iam_roles_permissions BEFORE INSERT OR UPDATE OF permissions ON occ.iam_roles
    FOR EACH ROW EXECUTE FUNCTION occ.check_role_permissions();
-- A role that moved to another Namespace would carry its bindings with it.
CREATE TRIGGER iam_roles_fixed BEFORE UPDATE ON occ.iam_roles
    FOR EACH ROW WHEN (NEW.id <> OLD.id OR NEW.namespace_id IS DISTINCT FROM OLD.namespace_id)
    EXECUTE FUNCTION occ.refuse('iam_roles_fixed', 'A role stays with its Namespace.');

-- Gives a role to an identity or a group: Installation-wide, in one Namespace, or for one exact resource.
CREATE TABLE occ.iam_access_bindings (
    id                  occ.iam_id NOT NULL CONSTRAINT iam_access_bindings_pkey PRIMARY KEY,
    namespace_id        occ.namespace_id
        CONSTRAINT iam_access_bindings_namespace_id_fkey REFERENCES occ.namespaces (id),
    identity_subject_id occ.iam_id
        CONSTRAINT iam_access_bindings_identity_subject_id_fkey REFERENCES occ.iam_identities (id),
    group_subject_id    occ.iam_id
        CONSTRAINT iam_access_bindings_group_subject_id_fkey REFERENCES occ.iam_groups (id),
    role_id             occ.iam_id NOT NULL
        CONSTRAINT iam_access_bindings_role_id_fkey REFERENCES occ.iam_roles (id),
    resource_kind       text COLLATE "C",
    resource_id         text COLLATE "C",
    created_at          timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT iam_access_bindings_one_subject CHECK (num_nonnulls(identity_subject_id, group_subject_id) = 1),
    CONSTRAINT iam_access_bindings_resource CHECK (
        num_nonnulls(resource_kind, resource_id) = 0
        OR (num_nonnulls(resource_kind, resource_id) = 2 AND occ.is_id_of_kind(resource_kind, resource_id))),
    CONSTRAINT iam_access_bindings_scope CHECK (
        CASE resource_kind WHEN 'installation' THEN namespace_id IS NULL
                           WHEN 'namespace' THEN namespace_id IS NULL OR namespace_id = resource_id
                           ELSE true END),
    CONSTRAINT iam_access_bindings_key UNIQUE NULLS NOT DISTINCT
        (identity_subject_id, group_subject_id, role_id, namespace_id, resource_kind, resource_id)
);
CREATE INDEX iam_access_bindings_group_subject_id ON occ.iam_access_bindings (group_subject_id)
    WHERE group_subject_id IS NOT NULL;
CREATE INDEX iam_access_bindings_role_id ON occ.iam_access_bindings (role_id);
CREATE INDEX iam_access_bindings_namespace_id ON occ.iam_access_bindings (namespace_id)
    WHERE namespace_id IS NOT NULL;
CREATE INDEX iam_access_bindings_resource_id ON occ.iam_access_bindings (resource_id)
    WHERE resource_id IS NOT NULL;

-- Denies, to everybody, whatever was granted.
CREATE TABLE occ.iam_restrictions (
    id            occ.iam_id NOT NULL CONSTRAINT iam_restrictions_pkey PRIMARY KEY,
    namespace_id  occ.namespace_id CONSTRAINT iam_restrictions_namespace_id_fkey REFERENCES occ.namespaces (id),
    action        text COLLATE "C" NOT NULL,
    resource_kind text COLLATE "C" NOT NULL,
    resource_id   text COLLATE "C",
    effect        text NOT NULL DEFAULT 'deny' CONSTRAINT iam_restrictions_effect CHECK (effect = 'deny'),
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT iam_restrictions_permission CHECK (occ.is_permission(action, resource_kind)),
    CONSTRAINT iam_restrictions_resource CHECK (resource_id IS NULL OR occ.is_id_of_kind(resource_kind, resource_id)),
    CONSTRAINT iam_restrictions_scope CHECK (resource_kind <> 'installation' OR namespace_id IS NULL)
);
CREATE INDEX iam_restrictions_permission ON occ.iam_restrictions (resource_kind, action);
