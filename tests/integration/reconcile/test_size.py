# SPDX-License-Identifier: MIT
"""What a deployment's statements cost where there are many Agents, revisions and bindings beside it.

Counted in pages that a statement looks at (pg_stat_statements), which no other process on the machine changes.
"""

from support.agents import Agents

OTHERS = 3000


def fill(work, agents):
    """Other Agents of the Namespace as use leaves them: each with a principal, its rights, and a revision that runs."""
    db = work.db
    db.execute("set session_replication_role = replica")
    db.execute(
        "insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode, service_principal_id,"
        " desired_runtime_state) select 'agt_' || gen_random_uuid(), %s, 'other ' || n, %s, 'embedded',"
        " gen_random_uuid()::text, 'running' from generate_series(1, %s) n",
        agents.namespace, agents.configuration, OTHERS,
    )  # fmt: skip
    others = "occ.agents where id <> %s"
    db.execute(
        "insert into occ.iam_identities (id, namespace_id, agent_id, kind)"
        f" select service_principal_id, namespace_id, id, 'service_principal' from {others}",
        agents.agent,
    )
    db.execute(
        "insert into occ.iam_access_bindings (id, namespace_id, identity_subject_id, role_id)"
        f" select gen_random_uuid()::text, namespace_id, service_principal_id, %s from {others}",
        work.role, agents.agent,
    )  # fmt: skip
    db.execute(
        "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec)"
        " select 'rev_' || gen_random_uuid(), o.namespace_id, o.id, 1, r.admitted_spec"
        " from occ.agents o join occ.agent_revisions r on r.agent_id = %s and r.revision_number = 1 where o.id <> %s",
        agents.agent, agents.agent,
    )  # fmt: skip
    db.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id, state,"
        " attempt_count, completed_at, reason_code) select 'agent_revision:' || id || ':reconcile', namespace_id, agent_id,"
        " id, %s, 'succeeded', 1, now(), 'REVISION_ACTIVATED' from occ.agent_revisions where agent_id <> %s",
        work.actor, agents.agent,
    )  # fmt: skip
    db.execute("set session_replication_role = origin")
    for table in ("agents", "agent_revisions", "iam_identities", "iam_access_bindings", "controller_work"):
        db.execute(f"vacuum analyze occ.{table}")


def test_a_deployment_reads_its_own_rows_only(work, reconciler, database):
    agents = Agents(work)
    agents.deploy(1)
    assert reconciler("--agents", "ready").report()["code"] == "REVISION_ACTIVATED"
    fill(work, agents)
    database.execute("create extension if not exists pg_stat_statements")
    database.execute("select pg_stat_statements_reset()")
    agents.deploy(2)
    assert reconciler("--agents", "ready").report()["code"] == "REVISION_ACTIVATED"
    seen = database.query(
        "select left(regexp_replace(query, '\\s+', ' ', 'g'), 90) as text, (shared_blks_hit + shared_blks_read) / calls as pages"
        " from pg_stat_statements where userid = 'occ_app'::regrole and toplevel"
        " and dbid = (select oid from pg_database where datname = current_database())"
    )
    assert len(seen) > 5
    # A new session reads catalogs too, which is what most of these are.
    assert not [dict(row) for row in seen if row["pages"] > 400], "statements that read what is others'"
