# SPDX-License-Identifier: MIT
"""Passes whose database goes away, is silent, or loses an answer."""

import time

import pytest
from support.database import Database
from support.queue import Probe, Queue
from support.reconciler import LEASE
from support.waiting import PATIENCE, never, poll

RECONCILE = "reconcile"
ENSURE = "openclaw.namespaces.lifecycle.ensure"


def test_two_trips_and_one_commit_a_pass(work, reconciler, database):
    """The steady state: outcome and next claim in one transaction; re-read and authorization in one trip."""
    count = 30
    for _ in range(count):
        work.admit()
    database.execute("create extension if not exists pg_stat_statements")
    database.execute("select pg_stat_statements_reset()")
    assert reconciler("ready").rest() == "idle"
    calls = {
        row["query"]: row["calls"]
        for row in database.query(
            "select query, calls from pg_stat_statements s join pg_roles r on r.oid = s.userid"
            " where rolname = 'occ_app' and dbid = (select oid from pg_database where datname = current_database())"
            " and toplevel"
        )
    }
    kinds = {
        "claim": sum(n for text, n in calls.items() if "candidate" in text),
        "outcome": sum(n for text, n in calls.items() if "published" in text),
        "target": sum(n for text, n in calls.items() if "left join" not in text and "occ.namespaces n on" in text),
        "question": sum(n for text, n in calls.items() if "denying" in text),
    }
    # The claim that finds nothing; twice where the search was so slow that it began at the last row (see claim.h).
    assert kinds.pop("claim") in (count + 1, count + 2)
    assert kinds == {"outcome": count, "target": count, "question": count}
    # Besides, what opens the session.
    assert sum(calls.values()) <= 4 * count + 2 + 2, calls


def test_behind_a_pooler(work, reconciler, database, pgbouncer):
    """K30"""
    keys = [work.admit() for _ in range(20)]
    passes = [reconciler("ready", url=database.url(port=pgbouncer.port)) for _ in range(3)]
    for each in passes:
        assert each.rest(deadline=30) == "idle"
    assert {work.row(key)["state"] for key in keys} == {"succeeded"}


def test_long_effect_behind_a_pooler(work, reconciler, database, pgbouncer):
    work.admit()
    pass_ = reconciler("--lease", LEASE, f"slow={2 * LEASE}", url=database.url(port=pgbouncer.port))
    assert pass_.report(deadline=20)["outcome"] == "success"


def test_database_away_at_first(work, reconciler, through):
    """K25, K37: it waits, and says so once."""
    path, url = through
    path.down()
    work.admit()
    pass_ = reconciler("ready", url=url)
    poll(lambda: pass_.errors("WORKER_UNAVAILABLE"), what="the event")
    never(lambda: len(pass_.errors("WORKER_UNAVAILABLE")) > 1, 0.5)
    path.restore()
    assert pass_.report()["outcome"] == "success"
    (event,) = pass_.errors("WORKER_UNAVAILABLE", 1)
    assert (event["dependency"], event["cause"]) == ("postgresql", "unreachable")


def test_a_flapping_database(work, reconciler, through):
    """K66: who has just said that it is away does not say so each time."""
    path, url = through
    pass_ = reconciler("ready", url=url)
    for number in range(1, 4):
        path.down()
        work.admit()
        pass_.order("go")
        never(lambda: pass_.process.poll() is not None, 0.3)
        path.restore()
        assert pass_.report(number)["outcome"] == "success"
        pass_.rest(number + 1)
    assert len(pass_.errors("WORKER_UNAVAILABLE", 1)) == 1


def test_stop_while_the_database_is_away(work, reconciler, through):
    """K59"""
    path, url = through
    path.down()
    pass_ = reconciler("ready", url=url)
    poll(lambda: pass_.errors("WORKER_UNAVAILABLE"), what="the event")
    pass_.order("finish")
    assert pass_.rest() == "stopped"


def test_abort_while_the_database_is_silent(work, reconciler, through):
    path, url = through
    path.silence()
    pass_ = reconciler("ready", url=url)
    pass_.order("abort")
    assert pass_.rest() == "stopped"


def test_connection_cut_during_the_effect(work, reconciler, through):
    path, url = through
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, f"slow={2 * LEASE}", url=url)
    pass_.wait("effect")
    path.cut()
    assert pass_.report(deadline=20)["outcome"] == "success"
    assert work.settled(key) == ("succeeded", "RECONCILE_SUCCEEDED", 1)
    assert not pass_.errors("CLAIM_LOST")


@pytest.mark.parametrize("how", ["down", "silence"])
def test_database_away_longer_than_the_lease(work, reconciler, through, how):
    """The effect ends when the last confirmed lease does, not when a renewal is answered (K13)."""
    path, url = through
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, "hang", url=url)
    pass_.wait("effect")
    began = time.monotonic()
    getattr(path, how)()
    report = pass_.report(deadline=LEASE / 1000 * 3)
    assert time.monotonic() - began <= LEASE / 1000 + 0.5 * PATIENCE
    assert (report["outcome"], report["dependency"]) == ("claim_lost", "postgresql" if how == "down" else report["dependency"])
    path.restore()
    assert pass_.rest() == "idle" and len(pass_.errors("CLAIM_LOST", 1)) == 1
    assert work.events(key) == []


def test_restart_in_the_middle_of_a_pass(own_cluster, reconciler):
    database = Database.create(own_cluster).migrate()
    work = Queue(database)
    keys = [work.admit(due="-1 s"), work.admit()]
    pass_ = reconciler("--lease", 30000, "gate", "ready", url=database.app_url)
    pass_.wait("effect")
    own_cluster.restart()
    pass_.order("open")
    assert pass_.report(1, deadline=30)["outcome"] == "success"
    assert pass_.report(2, deadline=30)["outcome"] == "success"
    assert {work.row(key)["state"] for key in keys} == {"succeeded"}
    assert {work.row(key)["attempt_count"] for key in keys} == {1}


def test_the_answer_of_a_commit_is_lost(work, reconciler, through):
    """The row is read back under the token, and the next claim, of the same transaction, by its own."""
    path, url = through
    keys = [work.admit(due="-1 s"), work.admit()]
    pass_ = reconciler("gate", "ready", url=url)
    pass_.wait("effect")
    path.cut_after(0)
    pass_.order("open")
    assert [pass_.report(n)["outcome"] for n in (1, 2)] == ["success", "success"]
    assert [report["key"] for report in pass_.all("report")] == keys
    assert [work.row(key)["state"] for key in keys] == ["succeeded"] * 2
    assert [work.row(key)["attempt_count"] for key in keys] == [1, 1]
    assert len(work.events(keys[0])) == 2 and not pass_.errors("CLAIM_LOST")


@pytest.mark.parametrize(
    "step, outcome, state",
    [
        ("pending=NAMESPACE_INCOMPLETE", "pending", "queued"),
        ("retry=X_FAILED", "retry", "queued"),
        ("permanent=X_FAILED", "permanent", "failed_permanent"),
    ],
)
def test_the_answer_of_another_outcome_is_lost(work, reconciler, through, step, outcome, state):
    path, url = through
    key = work.admit()
    pass_ = reconciler("gated+" + step, url=url)
    pass_.wait("effect")
    path.cut_after(0)
    pass_.order("open")
    assert pass_.report()["outcome"] == outcome
    assert work.row(key)["state"] == state and not pass_.errors("CLAIM_LOST")
    assert len([event for event in work.events(key) if event[0] == RECONCILE]) == 1


def test_the_answer_of_a_claim_is_lost(work, reconciler, through):
    path, url = through
    pass_ = reconciler("ready", url=url)
    assert pass_.rest() == "idle"
    key = work.admit()
    path.cut_after(0)
    pass_.order("go")
    assert pass_.report()["outcome"] == "success"
    assert work.settled(key) == ("succeeded", "RECONCILE_SUCCEEDED", 1)


def test_cut_at_any_moment_nothing_is_lost_or_doubled(work, reconciler, through):
    """Connections are cut again and again, at whatever byte they are; each item still ends exactly once."""
    path, url = through
    keys = [work.admit() for _ in range(600)]
    passes = [reconciler("--lease", 3000, "--attempts", 1000, "ready", url=url) for _ in range(2)]
    probe = Probe(work.db.app_url)
    cuts = seen = 0

    def done():
        nonlocal cuts, seen
        if path.accepted > seen:  # there are connections that were not cut yet
            seen = path.accepted
            cuts += 1
            path.cut_after(3000 + cuts * 397 % 9000)
        probe("sweep", 1000)
        work.db.execute(
            "update occ.controller_work set available_at = now() where state = 'queued' and available_at > now()"
        )
        for each in passes:
            each.order("go")
        return all(row["state"] == "succeeded" for row in work.db.work())

    poll(done, 120, interval=0.02, what="the end of all items")
    probe.close()
    assert cuts >= 3
    for key in keys:
        ended = [event for event in work.events(key) if event[1] == "success"]
        assert sorted(ended) == [
            (ENSURE, "success", "RECONCILE_SUCCEEDED"), (RECONCILE, "success", "RECONCILE_SUCCEEDED"),
        ]  # fmt: skip
    reported = [report["key"] for each in passes for report in each.all("report") if report["outcome"] == "success"]
    assert len(set(reported)) == len(reported)


def test_conflict_at_the_outcome(work, reconciler, database):
    """A deadlock that the outcome loses is met by sending it again, alone."""
    key = work.admit()
    pass_ = reconciler("gate")
    pass_.wait("effect")
    database.execute("alter database " + database.name + " set deadlock_timeout = '50ms'")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("set deadlock_timeout = '10s'")
        cursor.execute("select from occ.controller_work for update")
        pass_.order("open")
        poll(
            lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the outcome at the lock"
        )
        cursor.execute("select from occ.namespaces for update")
    other.commit()
    assert pass_.report()["outcome"] == "success"
    assert work.status(key)["status"] == "ready" and len(work.events(key)) == 2


def test_an_outcome_that_the_database_refuses(work, reconciler, database):
    """It ends as a failed attempt, and the item with its attempts, instead of turning for ever."""
    key = work.admit("deleted")
    work.db.execute(
        "create function occ.refuse_test() returns trigger language plpgsql as"
        " $$ begin raise exception 'no' using errcode = 'OC003'; end $$"
    )
    work.db.execute(
        "create trigger aaa before update on occ.namespaces for each row when (new.deleted_at is not null)"
        " execute function occ.refuse_test()"
    )
    report = reconciler("ready").report()
    assert (report["outcome"], report["code"]) == ("retry", "OUTCOME_REFUSED")
    assert work.row(key)["state"] == "queued" and work.status(key)["deleted_at"] is None


def test_a_role_that_is_refused_ends_the_process(database, reconciler):
    pass_ = reconciler("ready", url=database.url(password="wrong"))
    assert pass_.wait("failed")["code"] == "DATABASE_AUTHENTICATION_FAILED"
    assert pass_.process.wait(10) == 78
