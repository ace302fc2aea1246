-- SPDX-License-Identifier: MIT
--
-- The database roles of OCC. An administrator runs this once in the database that OCC is to use; running it again
-- changes nothing, or puts back what was changed:
--
--   createdb --encoding=UTF8 --locale=C.UTF-8 --template=template0 occ
--   psql --dbname=occ --file=roles.sql
--
-- It sets no passwords. How a role signs in is the administrator's choice: a line in pg_hba.conf (peer, cert, …), or
--   \password occ_migrator
--   \password occ_app
--   \password occ_metrics
-- in psql, which sends a password only as its hash.
--
-- occ_migrator owns the schema `occ`; only occ-migrate signs in with it.
-- occ_app      is for occ-worker, occ-bootstrap and occctl.
-- occ_metrics  reads what the metrics need, and nothing else.
-- What the last two may do is granted by the migrations.

\set ON_ERROR_STOP on
BEGIN;

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['occ_migrator', 'occ_app', 'occ_metrics'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I', wanted);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- roles are of the whole cluster: another database's run was faster
        END;
    END LOOP;
    EXECUTE format('GRANT CONNECT, CREATE ON DATABASE %I TO occ_migrator', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO occ_app, occ_metrics', current_database());
    EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC, occ_app, occ_metrics', current_database());
END
$$;

ALTER ROLE occ_migrator WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
ALTER ROLE occ_app WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
ALTER ROLE occ_metrics WITH LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
ALTER ROLE occ_metrics SET default_transaction_read_only = on;

-- Nothing of OCC is in `public`, and nobody of OCC may put anything there.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

COMMIT;
