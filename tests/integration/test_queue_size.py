# SPDX-License-Identifier: MIT
"""What the queue's statements cost when the table is large, and while vacuum is held back.

Counted in pages that a statement looks at (pg_stat_statements), which no other process on the machine changes.
"""

import pytest
from support.queue import Probe, Queue
from support.reconciler import Reconciler

TERMINAL = 100_000
QUEUED = 5_000


@pytest.fixture
def work(database):
    made = Queue(database)
    database.execute("create extension if not exists pg_stat_statements")
    return made


@pytest.fixture
def probe(database):
    made = Probe(database.app_url)
    yield made
    made.close()


def fill(work, terminal, queued, analyzed=True):
    """Rows as years of use leave them, without the triggers that admissions pass through."""
    work.db.execute("set session_replication_role = replica")
    work.db.execute(
        "create temp table fill as select 'ns_' || gen_random_uuid() as id, n from generate_series(1, %s) n",
        terminal + queued,
    )
    work.db.execute(
        "insert into occ.namespaces (id, name, status)"
        " select id, id, case when n > %s then 'provisioning' else 'ready' end from fill",
        terminal,
    )
    work.db.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, namespace_target, actor_id, state,"
        " attempt_count, completed_at, reason_code) select 'namespace:' || id || ':reconcile:ready', id, 'ready', %s,"
        " 'succeeded', 1, now(), 'RECONCILE_SUCCEEDED' from fill where n <= %s",
        work.actor, terminal,
    )  # fmt: skip
    work.db.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, namespace_target, actor_id)"
        " select 'namespace:' || id || ':reconcile:ready', id, 'ready', %s from fill where n > %s",
        work.actor, terminal,
    )  # fmt: skip
    work.db.execute("drop table fill")
    work.db.execute("set session_replication_role = origin")
    if analyzed:
        work.db.execute("vacuum analyze occ.controller_work")


def pages(work, do, *, word):
    """Pages that one call of the statement with this word in it looks at, on average over what `do` does."""
    work.db.query("select pg_stat_statements_reset()")
    do()
    return work.db.one(
        "select sum(shared_blks_hit + shared_blks_read)::float8 / sum(calls) from pg_stat_statements"
        " where query like %s and dbid = (select oid from pg_database where datname = current_database())",
        f"%{word}%",
    )


def pass_once(probe, *position):
    got = probe.claim(60000, 5, *position)
    assert probe("target", got["token"])["live"] and probe("renew", got["token"], 60000) == {"renewed": 1}
    assert probe.outcome("done", got["token"])["recorded"]
    return got["due_us"], got["key"]


def test_many_rows(work, probe):
    """K21, K36: no statement of a pass or of a turn reads the table."""
    fill(work, TERMINAL, QUEUED)
    # The backlog is counted in the index of what is queued: a page holds many of its entries.
    assert pages(work, lambda: probe("survey", 4, 5, 1), word="exhausted") < QUEUED / 10
    assert pages(work, lambda: probe("sweep", 5), word="spaces as") < QUEUED / 10

    def few():
        for _ in range(20):
            pass_once(probe)

    for word in ("candidate", "published", "lease_expires_at =", "occ.namespaces n on"):
        assert pages(work, few, word=word) < 100, word
    assert pages(work, lambda: probe("survey", 4, 5, 0), word="eligible") < 100


def test_busy_lane_in_front(work, probe):
    """K21: items that wait for their lane cost one index probe each."""
    fill(work, 1000, 200)
    for _ in range(30):
        work.admit("deleted", probe.claim(60000, 5)["namespace"], due="-1 h")
    assert pages(work, lambda: probe.claim(60000, 5), word="candidate") < 400


def test_vacuum_held_back(work, probe, database):
    """K33: what earlier passes left behind is not walked over by later ones."""
    fill(work, 1000, 1200)
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read")
        cursor.execute("select count(*) from occ.installation")
        position = ()
        for _ in range(1000):
            position = pass_once(probe, *position)

        def more():
            nonlocal position
            for _ in range(10):
                position = pass_once(probe, *position)

        for word in ("candidate", "published", "lease_expires_at =", "occ.namespaces n on"):
            assert pages(work, more, word=word) < 150, word
        # This is what it would cost to start at the beginning each time, and more with each pass.
        assert pages(work, lambda: pass_once(probe), word="candidate") > 2 * pages(work, more, word="candidate")
    other.rollback()


def test_a_burst_before_any_statistics(work, database):
    """K21: a new Installation gets thousands of items at once, and autovacuum has not looked at the table yet.

    Without statistics the planner would read and sort all that is queued for each claim.
    """
    database.execute("alter table occ.controller_work set (autovacuum_enabled = false)")
    fill(work, 0, QUEUED, analyzed=False)

    def few():
        passes = Reconciler(database.app_url, "--passes", 40, "ready")
        assert passes.rest(deadline=30) == "limit"
        passes.close()

    for word in ("candidate", "published", "occ.namespaces n on"):
        assert pages(work, few, word=word) < 100, word
