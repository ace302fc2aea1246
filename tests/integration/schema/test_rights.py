# SPDX-License-Identifier: MIT
"""Sign-in, and what each database role may do."""

import psycopg2
import psycopg2.errors
import pytest

from support.rows import Store

# ---- Sign-in ----


def test_users_and_keys(store):
    for bad in ("", "nobody", "a@", "@b", "a b@c", "a@b@c"):
        store.refused("check", 'insert into occ."user" (id, email, name) values (%s, %s, %s)', "u", bad, "n", by="user_email")
    store.run('insert into occ."user" (id, email, name) values (%s, %s, %s)', "u", "a@example.test", "n")
    store.refused(
        "unique", 'insert into occ."user" (id, email, name) values (%s, %s, %s)', "v", "A@example.test", "n"
    )
    for bad in ("secret", "$2b$10$abcdefghijklmnopqrstuvwxyz0123456789", None):
        by = "account_credential" if bad is None else "account_password_hash"
        store.refused_row("check", by, "account", id="a", user_id="u", password_hash=bad)
    good = "$argon2id$v=19$m=65536,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo"
    store.insert("account", id="a", user_id="u", password_hash=good)

    store.insert("iam_identities", id="person", kind="principal", issuer="i", subject="s")
    store.insert("iam_identities", id="robot", kind="service_principal")
    key = {"id": "k", "name": "k", "key_hash": "0" * 64, "service_principal_id": "robot", "expires_at": "2999-01-01"}
    store.refused_row("check", "apikey_key_hash", "apikey", **{**key, "key_hash": "plain"})
    store.refused_row("check", "apikey_lifetime", "apikey", **{**key, "expires_at": "2000-01-01"})
    store.refused_row("foreign", "apikey_service_principal_fkey", "apikey", **{**key, "service_principal_id": "person"})
    store.insert("apikey", **key)
    store.refused("check", "update occ.apikey set expires_at = expires_at + interval '1 d'", by="apikey_fixed")
    assert store.run("update occ.apikey set revoked_at = now()") == 1
    store.refused("check", "update occ.apikey set revoked_at = null", by="apikey_fixed")


# ---- Rights ----

TABLES = {
    "schema_migrations",
    "installation",
    "namespaces",
    "configurations",
    "secrets",
    "service_accounts",
    "agents",
    "agent_revisions",
    "iam_identities",
    "iam_groups",
    "iam_group_memberships",
    "iam_roles",
    "iam_access_bindings",
    "iam_restrictions",
    "audit_events",
    "controller_work",
    "user",
    "account",
    "apikey",
}


def tables_with(database, role, right):
    rows = database.query(
        "select relname from pg_class where relnamespace = 'occ'::regnamespace and relkind = 'r'"
        " and has_table_privilege(%s, oid, %s)",
        role,
        right,
    )
    return {row["relname"] for row in rows}


def columns_with(database, role, table, right):
    rows = database.query(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " and has_column_privilege(%s, attrelid, attnum, %s)",
        f'occ."{table}"',
        role,
        right,
    )
    return {row["attname"] for row in rows}


def test_rights_of_occ_app(database):
    assert tables_with(database, "occ_app", "SELECT") == TABLES
    assert tables_with(database, "occ_app", "INSERT") == TABLES - {"schema_migrations"}
    assert tables_with(database, "occ_app", "DELETE") == {
        "configurations",
        "secrets",
        "service_accounts",
        "iam_identities",
        "iam_groups",
        "iam_group_memberships",
        "iam_roles",
        "iam_access_bindings",
        "iam_restrictions",
    }
    for right in ("UPDATE", "TRUNCATE", "REFERENCES", "TRIGGER"):
        assert tables_with(database, "occ_app", right) == set()
    updates = {table: columns_with(database, "occ_app", table, "UPDATE") for table in TABLES}
    assert updates["controller_work"] == {
        "state",
        "available_at",
        "attempt_count",
        "claim_token",
        "lease_expires_at",
        "completed_at",
        "reason_code",
        "result_data",
        "updated_at",
    }
    assert updates["namespaces"] == {"status"}
    assert updates["configurations"] == {"generation", "secret_bindings", "document_digest"}
    for table in ("audit_events", "agent_revisions", "schema_migrations", "installation", "iam_identities"):
        assert updates[table] == set(), table


def test_rights_of_occ_metrics(database):
    whole = {"schema_migrations", "installation", "namespaces", "controller_work"}
    assert tables_with(database, "occ_metrics", "SELECT") == whole
    for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE"):
        assert tables_with(database, "occ_metrics", right) == set()
    for table in TABLES:
        assert columns_with(database, "occ_metrics", table, "UPDATE") == set()
        if table not in whole | {"agents", "agent_revisions"}:
            assert columns_with(database, "occ_metrics", table, "SELECT") == set(), table
    assert "admitted_spec" not in columns_with(database, "occ_metrics", "agent_revisions", "SELECT")
    assert "harness_auth" not in columns_with(database, "occ_metrics", "agents", "SELECT")
    metrics = Store(database, "occ_metrics")
    assert metrics.value("select count(*) from occ.controller_work") == 0
    with pytest.raises(psycopg2.errors.ReadOnlySqlTransaction):
        metrics.run("create table public.t ()")


@pytest.mark.parametrize("role", ["occ_app", "occ_metrics"])
def test_no_ddl(database, role):
    store = Store(database, role)
    store.run("set default_transaction_read_only = off")
    for statement in (
        "create table occ.t ()",
        "create table public.t ()",
        "create temporary table t ()",
        "create schema s",
        "alter table occ.controller_work disable trigger all",
        "drop table occ.audit_events",
        "alter table occ.namespaces add column x int",
        "create function occ.f() returns int language sql as 'select 1'",
        "set role occ_migrator",
        "set session_replication_role = replica",
    ):
        store.refused("denied", statement)


def test_roles_have_no_powers(database):
    rows = database.query(
        "select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin from pg_roles"
        " where rolname in ('occ_migrator', 'occ_app', 'occ_metrics')"
    )
    assert len(rows) == 3
    for row in rows:
        assert row["rolcanlogin"]
        assert not any(value for name, value in row.items() if name not in ("rolname", "rolcanlogin"))
    assert database.one(
        "select count(*) from pg_auth_members where member in (select oid from pg_roles where rolname like 'occ_%')"
    ) == 0


def test_everything_is_owned_by_the_migrator(database):
    rows = database.query(
        "select relname as name, relowner::regrole::text as owner from pg_class where relnamespace = 'occ'::regnamespace"
        " union all select proname, proowner::regrole::text from pg_proc where pronamespace = 'occ'::regnamespace"
        " union all select nspname, nspowner::regrole::text from pg_namespace where nspname = 'occ'"
    )
    assert rows and {row["owner"] for row in rows} == {"occ_migrator"}


def test_roles_file_can_be_repeated(own_cluster):
    """And puts back what somebody changed."""
    own_cluster.create_roles()
    with own_cluster.connect() as connection, connection.cursor() as cursor:
        cursor.execute("alter role occ_app superuser createdb")
        connection.commit()
        own_cluster.create_roles()
        cursor.execute("select rolsuper or rolcreatedb from pg_roles where rolname = 'occ_app'")
        assert cursor.fetchone() == (False,)
    connection.close()
