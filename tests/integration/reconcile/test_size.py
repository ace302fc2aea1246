# SPDX-License-Identifier: MIT
"""What a deployment's statements cost where there are many Agents, revisions and bindings beside it.

Counted in pages that a statement looks at (pg_stat_statements), which no other process on the machine changes.
"""

import pytest
from support.agents import Agents

OTHERS = 3000


@pytest.fixture
def agents(work):
    return Agents(work)


def carry_out(reconciler, code):
    pass_ = reconciler("--agents", "--maintenance", 3600000, "ready")
    assert pass_.report()["code"] == code and pass_.rest() == "idle"


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
    # The statistics know of none that runs, which must not mislead a plan.
    db.execute("set session_replication_role = replica")
    db.execute(
        "update occ.agents a set active_revision_id = r.id from occ.agent_revisions r where r.agent_id = a.id and a.id <> %s",
        agents.agent,
    )
    db.execute("set session_replication_role = origin")


@pytest.fixture
def dear(database):
    """Begins to count; then the worker's statements that look at more than a few pages."""
    database.execute("create extension if not exists pg_stat_statements")

    def found():
        seen = database.query(
            "select left(regexp_replace(query, '\\s+', ' ', 'g'), 90) as text,"
            " (shared_blks_hit + shared_blks_read) / calls as pages"
            " from pg_stat_statements where userid = 'occ_app'::regrole and toplevel"
            " and dbid = (select oid from pg_database where datname = current_database())"
        )
        assert len(seen) > 5
        # A new session reads catalogs too, which is what most of these are.
        return [dict(row) for row in seen if row["pages"] > 400]

    def begin():
        database.execute("select pg_stat_statements_reset()")
        return found

    return begin


def test_a_deployment_reads_its_own_rows_only(work, agents, reconciler, dear):
    agents.deploy(1)
    carry_out(reconciler, "REVISION_ACTIVATED")
    fill(work, agents)
    found = dear()
    agents.deploy(2)
    carry_out(reconciler, "REVISION_ACTIVATED")
    assert found() == []


# ---- an Agent that has lived long


def grow(work, agents, revisions=0, maintenance=0, completed=True, document=10):
    """That many revisions after the first, and items of maintenance that have ended."""
    db = work.db
    db.execute("set session_replication_role = replica")
    db.execute(
        "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec, admitted_at)"
        " select 'rev_' || gen_random_uuid(), r.namespace_id, r.agent_id, n + 1, r.admitted_spec || jsonb_build_object("
        "'draft_spec', jsonb_build_object('a', (select string_agg(md5(random()::text), '') from generate_series(1, %s)"
        " where n > 0))), r.admitted_at from occ.agent_revisions r, generate_series(1, %s) n"
        " where r.agent_id = %s and r.revision_number = 1",
        document, revisions, agents.agent,
    )  # fmt: skip
    row = (
        "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id, state,"
        " attempt_count, completed_at, reason_code) select 'agent_revision:' || id ||"
    )
    db.execute(
        f"{row} ':reconcile', namespace_id, agent_id, id, %s, %s, 1, now(), %s from occ.agent_revisions"
        " where agent_id = %s and revision_number > 1",
        work.actor, "succeeded" if completed else "failed_permanent",
        "REVISION_ACTIVATED" if completed else "X_BAD", agents.agent,
    )  # fmt: skip
    db.execute(
        f"{row} ':maintenance:' || n, namespace_id, agent_id, id, %s, 'succeeded', 1, now(), 'REVISION_ALREADY_ACTIVE'"
        " from occ.agent_revisions, generate_series(1, %s) n where agent_id = %s and revision_number = 1",
        work.actor, maintenance, agents.agent,
    )  # fmt: skip
    db.execute("set session_replication_role = origin")
    for table in ("agent_revisions", "controller_work"):
        db.execute(f"vacuum analyze occ.{table}")


def test_what_an_agent_was_does_not_slow_its_next_deployment(work, agents, reconciler, dear):
    agents.deploy(1)
    carry_out(reconciler, "REVISION_ACTIVATED")
    grow(work, agents, revisions=500, maintenance=20000)
    found = dear()
    key = agents.deploy(502)
    # A newer one is there when it is published.
    agents.admit(revision=agents.deployable(503), due="1 h")
    carry_out(reconciler, "REVISION_ACTIVATED")
    assert agents.active() == key.split(":")[1]
    agents.set(desired_runtime_state="stopped")
    agents.admit("stopped")
    carry_out(reconciler, "AGENT_STOPPED")
    assert found() == []


def test_maintenance_of_long_ago_is_not_read_again(work, agents, reconciler, dear):
    key = agents.deploy(1)
    carry_out(reconciler, "REVISION_ACTIVATED")
    grow(work, agents, maintenance=20000)
    found = dear()
    agents.maintain(key.split(":")[1], bucket=99999)
    carry_out(reconciler, "REVISION_ALREADY_ACTIVE")
    assert found() == []


def test_a_deletion_reads_each_document_once(work, agents, reconciler, dear):
    """And not with each trip all of them, to see what they are pinned to."""
    agents.revision(1)
    grow(work, agents, revisions=60, document=1000)
    found = dear()
    agents.set(status="deleting")
    agents.admit("deleted")
    carry_out(reconciler, "AGENT_DELETED")
    # The list of what there is, and the end, are once.
    once = ("select r.id, r.revision_number", "select occ.delete_agent")
    assert [row for row in found() if not row["text"].startswith(once)] == []
