-- SPDX-License-Identifier: MIT
--
-- Who may sign in, and the service keys of programs. Hashes only: nothing here opens a door by itself.

-- A person with a sign-in.
CREATE TABLE occ."user" (
    id         occ.iam_id NOT NULL CONSTRAINT user_pkey PRIMARY KEY,
    email      text COLLATE "C" NOT NULL CONSTRAINT user_email CHECK (
        char_length(email) BETWEEN 3 AND 320 AND email ~ '^[^@\u0001-\u0020\u007f-\u00a0]+@[^@\u0001-\u0020\u007f-\u00a0]+$'),
    name       occ.resource_name NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX user_email_key ON occ."user" (lower(email));

-- A way to sign in; the password is an argon2id hash.
CREATE TABLE occ.account (
    id            occ.iam_id NOT NULL CONSTRAINT account_pkey PRIMARY KEY,
    user_id       occ.iam_id NOT NULL
        CONSTRAINT account_user_id_fkey REFERENCES occ."user" (id) ON DELETE CASCADE,
    provider      text COLLATE "C" NOT NULL DEFAULT 'credential'
        CONSTRAINT account_provider CHECK (provider ~ '^[a-z][a-z0-9_-]{0,63}$'),
    password_hash text CONSTRAINT account_password_hash CHECK (
        password_hash ~ '^\$argon2id\$[!-~]+$' AND char_length(password_hash) BETWEEN 30 AND 512),
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT account_provider_key UNIQUE (user_id, provider),
    CONSTRAINT account_credential CHECK (provider <> 'credential' OR password_hash IS NOT NULL)
);

-- A service key: the hash (SHA-256, lower-case hex) of what a program shows, and the service principal it speaks for.
CREATE TABLE occ.apikey (
    id                   occ.iam_id NOT NULL CONSTRAINT apikey_pkey PRIMARY KEY,
    name                 occ.resource_name NOT NULL,
    key_hash             text COLLATE "C" NOT NULL CONSTRAINT apikey_key_hash_key UNIQUE
        CONSTRAINT apikey_key_hash CHECK (key_hash ~ '^[0-9a-f]{64}$'),
    service_principal_id occ.iam_id NOT NULL,
    identity_kind        text NOT NULL GENERATED ALWAYS AS ('service_principal') STORED,
    created_at           timestamptz NOT NULL DEFAULT now(),
    expires_at           timestamptz NOT NULL,
    revoked_at           timestamptz,
    CONSTRAINT apikey_lifetime CHECK (expires_at > created_at),
    CONSTRAINT apikey_service_principal_fkey FOREIGN KEY (service_principal_id, identity_kind)
        REFERENCES occ.iam_identities (id, kind) ON DELETE CASCADE
);
CREATE INDEX apikey_service_principal_id ON occ.apikey (service_principal_id);

CREATE TRIGGER apikey_fixed BEFORE UPDATE ON occ.apikey
    FOR EACH ROW WHEN (NEW.id <> OLD.id OR NEW.key_hash <> OLD.key_hash OR NEW.created_at <> OLD.created_at
                       OR NEW.service_principal_id <> OLD.service_principal_id OR NEW.expires_at > OLD.expires_at
                       OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at))
    EXECUTE FUNCTION occ.refuse('apikey_fixed', 'A service key is only ever revoked or shortened.');
