# SPDX-License-Identifier: MIT
"""A dump of the database can be restored: no check, generated column or trigger stands in its own way."""

import os
import subprocess

from support.database import Database
from support.program import run


def tool(database, name, *arguments, **more):
    cluster = database.cluster
    return subprocess.run(
        [name, "--host=127.0.0.1", f"--port={cluster.port}", "--username=postgres", f"--dbname={database.name}", *arguments],
        env={**os.environ, "PGPASSWORD": cluster.passwords["postgres"]},
        capture_output=True,
        text=True,
        check=True,
        **more,
    )


def everything(database):
    tables = database.query("select relname from pg_class where relnamespace = 'occ'::regnamespace and relkind = 'r'")
    return {
        row["relname"]: database.query(f'select t::text as row from occ."{row["relname"]}" as t order by 1')
        for row in tables
    }


def test_dump_and_restore(store, subjects, database):
    namespace = subjects
    agent = store.agent(namespace)
    secret = store.secret(namespace)
    account = store.service_account(namespace, secret)
    store.run(
        "update occ.agents set harness_auth = jsonb_build_object('method', 'chatgpt_service_account',"
        " 'serviceAccountId', %s) where id = %s",
        account,
        agent,
    )
    revision = store.revision(namespace, agent)
    store.run(
        "update occ.agents set active_revision_id = %s, desired_runtime_state = 'running' where id = %s", revision, agent
    )
    store.insert("iam_access_bindings", id="b", role_id="local", identity_subject_id="person", namespace_id=namespace)
    done = store.work(namespace)
    store.fail(done)
    store.claim(store.agent_deletion(namespace, agent), lease="1 h")
    gone = store.namespace()
    key = store.deletion(gone)
    assert store.value("select occ.tombstone_namespace(%s, %s)", key, store.claim(key))
    store.insert("audit_events", kind="mutation", action="x", outcome="success")

    dump = tool(database, "pg_dump").stdout
    restored = Database.create(database.cluster)
    try:
        tool(restored, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", input=dump)
        assert everything(restored) == everything(database)
        env = {"OCC_MIGRATION_DATABASE_URL": restored.migrator_url}
        assert run("occ-migrate", "--check", env=env).ok().json["status"] == "current"
    finally:
        restored.drop()
