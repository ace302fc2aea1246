# SPDX-License-Identifier: MIT
"""The queue's statements, one by one: each row of the state table and each audit rule, on a real database."""

import threading
import uuid

import pytest
from support.queue import Probe, Queue
from support.waiting import poll

RECONCILE = "reconcile"
ENSURE = "openclaw.namespaces.lifecycle.ensure"
DELETE = "openclaw.namespaces.lifecycle.delete"


@pytest.fixture
def work(database):
    return Queue(database)


@pytest.fixture
def probes(database):
    made = []

    def start():
        made.append(Probe(database.app_url))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def probe(probes):
    return probes()


def due_in(work, key):
    """Seconds from the row's latest change until it is available."""
    return work.db.one(
        "select extract(epoch from available_at - updated_at)::float8 from occ.controller_work where idempotency_key = %s",
        key,
    )


# ---- claim


def test_claim(work, probe):
    key = work.admit(age="5 s", due="-2 s")
    got = probe.claim(lease=30000)
    assert (got["key"], got["kind"], got["attempt"]) == (key, "namespace_ensure", 1)
    assert got["actor"] == work.actor and got["namespace"] in key
    assert 5000 <= got["age_ms"] < 9000 and 2000 <= got["waited_ms"] < 6000
    assert 29000 < got["lease_ms"] <= 30000
    row = work.row(key)
    # K17: the attempt is counted by the claim.
    assert (row["state"], row["attempt_count"], row["claim_token"]) == ("claimed", 1, got["token"])
    assert not probe.claim()["found"]
    assert work.events(key) == []


@pytest.mark.parametrize("more", [{"due": "1 h"}, {"attempts": 5}])
def test_not_eligible(work, probe, more):
    work.admit(**more)
    assert not probe.claim()["found"]


def test_lane_is_free_again_when_its_claim_ends(work, probe):
    """K19: a lane is what claimed rows make it."""
    first = work.admit(due="-5 s")
    namespace = first.split(":")[1]
    second = work.admit(target="deleted", namespace=namespace)
    other = work.admit()
    got = probe.claim()
    assert got["key"] == first
    assert probe.claim()["key"] == other
    assert not probe.claim()["found"]
    assert probe("survey", 8, 5, 0)["eligible"] == 0
    work.expire(first)
    assert probe("sweep", 5)["rows"][0]["key"] == first
    assert probe.claim()["key"] in (first, second)


def test_oldest_first_and_from_a_position(work, probe):
    keys = [work.admit(due=f"-{10 - i} s") for i in range(5)]
    first = probe.claim()
    assert first["key"] == keys[0]
    work.db.execute("update occ.controller_work set available_at = (select max(available_at) from occ.controller_work)")
    left = sorted(keys[1:])
    position = work.db.one("select (extract(epoch from max(available_at)) * 1000000)::bigint from occ.controller_work")
    assert probe.claim(30000, 5, position, left[1])["key"] == left[1]
    assert probe.claim()["key"] == left[0]


def test_eight_claimers_take_each_item_once(work, probes):
    """K20, and the lanes: no row twice, no two claims in one lane, though everybody looks at the same front."""
    keys = [work.admit() for _ in range(150)]
    for key in keys[:50]:  # a second item in the lanes of the first fifty
        work.admit(target="deleted", namespace=key.split(":")[1])
    taken, overlaps = [], []
    lock = threading.Lock()
    busy = set()

    def run(probe):
        empty = 0
        while empty < 20:
            got = probe.claim()
            if "fault" in got:
                assert got["fault"] == "DATABASE_CONFLICT", got
                continue
            if not got["found"]:
                empty += 1
                continue
            empty = 0
            with lock:
                if got["namespace"] in busy:
                    overlaps.append(got["namespace"])
                busy.add(got["namespace"])
                taken.append(got["key"])
            with lock:
                busy.discard(got["namespace"])
            assert probe.outcome("close", got["token"], "SUPERSEDED_TARGET")["recorded"]

    threads = [threading.Thread(target=run, args=(probes(),)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not overlaps
    assert len(taken) == 200 and len(set(taken)) == 200
    assert {row["state"] for row in work.db.work()} == {"succeeded"}
    assert {row["attempt_count"] for row in work.db.work()} == {1}


def test_two_claims_in_one_lane_race(work, probe, database):
    first = work.admit(due="-5 s")
    work.admit(target="deleted", namespace=first.split(":")[1])
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:  # a claim that has not committed yet: its row is locked, its lane not yet seen
        cursor.execute(
            "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
            " lease_expires_at = now() + interval '1 min' where idempotency_key = %s",
            (first,),
        )
    probe.send("claim", uuid.uuid4(), 5000, 5)
    assert probe.silent(0.2)
    other.commit()
    assert probe.answer()["origin"] == "23505"
    assert [row["attempt_count"] for row in database.work()] == [1, 0]


# ---- renewal


def test_renew(work, probe):
    key = work.admit()
    got = probe.claim(lease=2000)
    assert probe("renew", got["token"], 60000) == {"renewed": 1}
    assert probe("target", got["token"])["lease_ms"] > 55000
    work.expire(key)
    assert probe("renew", got["token"], 60000) == {"renewed": 0}
    assert probe("target", got["token"]) == {"live": False}


def test_renewals_stay_heap_only(work, probe, database):
    """K33: a renewal leaves nothing in an index."""
    work.admit()
    got = probe.claim()
    for _ in range(20):
        assert probe("renew", got["token"], 60000) == {"renewed": 1}
    probe("survey", 1, 5, 0)
    seen = "select n_tup_hot_upd from pg_stat_user_tables where relname = 'controller_work'"
    poll(lambda: database.one(seen) >= 20, what="twenty heap-only updates")


# ---- outcomes


def test_ready(work, probe):
    key = work.admit()
    got = probe.claim()
    assert probe.outcome("done", got["token"]) == {
        "recorded": True, "state": "succeeded", "code": "RECONCILE_SUCCEEDED",
    }  # fmt: skip
    row = work.row(key)
    assert (row["state"], row["reason_code"]) == ("succeeded", "RECONCILE_SUCCEEDED")
    # The token stays, the lease goes.
    assert (row["claim_token"], row["lease_expires_at"]) == (got["token"], None)
    assert work.status(key) == {"status": "ready", "deleted_at": None}
    assert sorted(work.events(key)) == [
        (ENSURE, "success", "RECONCILE_SUCCEEDED"), (RECONCILE, "success", "RECONCILE_SUCCEEDED"),
    ]  # fmt: skip
    event = work.latest(key)
    assert event["details"] == {"workId": key, "reasonCode": "RECONCILE_SUCCEEDED", "attemptCount": 1}
    assert (event["kind"], event["resource_kind"], event["resource_id"]) == ("mutation", "namespace", row["namespace_id"])
    # Once more is nothing: the claim is over.
    assert probe.outcome("done", got["token"]) == {"recorded": False}
    assert len(work.events(key)) == 2


def test_target_that_moved_on_while_the_driver_worked(work, probe):
    key = work.admit()
    got = probe.claim()
    work.db.execute("update occ.namespaces set status = 'deleting'")
    assert probe.outcome("done", got["token"])["code"] == "SUPERSEDED_TARGET"
    assert work.status(key)["status"] == "deleting"
    assert work.events(key) == [(RECONCILE, "success", "SUPERSEDED_TARGET")]


def test_tombstone(work, probe):
    key = work.admit("deleted")
    namespace = key.split(":")[1]
    role = work.new_role([], namespace)
    work.bind(work.actor, role, namespace)
    work.bind(work.actor, work.role, namespace)
    got = probe.claim()
    assert probe.outcome("done", got["token"])["code"] == "RECONCILE_SUCCEEDED"
    assert work.status(key)["deleted_at"] is not None
    assert work.db.one("select count(*) from occ.iam_access_bindings where namespace_id is not null") == 0
    assert work.db.one("select count(*) from occ.iam_roles where namespace_id is not null") == 0
    assert sorted(work.events(key)) == [
        (DELETE, "success", "RECONCILE_SUCCEEDED"), (RECONCILE, "success", "RECONCILE_SUCCEEDED"),
    ]  # fmt: skip


def test_tombstone_needs_the_claim(work, probe):
    key = work.admit("deleted")
    got = probe.claim()
    work.expire(key)
    assert probe.outcome("done", got["token"]) == {"recorded": False}
    assert work.status(key)["deleted_at"] is None and work.events(key) == []


@pytest.mark.parametrize(
    "age, retry_after, least, most",
    [("0 s", 0, 0.5, 0.5), ("100 s", 0, 2.5, 2.6), ("800 s", 0, 5, 5), ("0 s", 20000, 20, 20), ("0 s", 90000, 30, 30)],
)
def test_defer(work, probe, age, retry_after, least, most):
    """K94, K80: the wait grows with the item's age, or is what the server asked for; no attempt is spent."""
    key = work.admit(age=age)
    got = probe.claim()
    answer = probe.outcome("defer", got["token"], "NAMESPACE_INCOMPLETE", retry_after)
    assert answer == {"recorded": True, "state": "queued", "code": "NAMESPACE_INCOMPLETE"}
    row = work.row(key)
    assert (row["state"], row["attempt_count"], row["reason_code"], row["completed_at"]) == ("queued", 0, None, None)
    assert least <= due_in(work, key) <= most + 0.2


def test_deferral_writes_evidence_only_when_its_code_changes(work, probe):
    """K95"""
    key = work.admit()
    for code in ["A_WAIT", "A_WAIT", "A_WAIT", "B_WAIT", "A_WAIT", "A_WAIT"]:
        got = probe.claim()
        assert probe.outcome("defer", got["token"], code)["recorded"]
        work.due(key)
    assert [code for _, _, code in work.events(key)] == ["A_WAIT", "B_WAIT", "A_WAIT"]


def test_convergence_deadline(work, probe):
    """K02, K88: the deadline counts from the admission, whatever the lease does."""
    key = work.admit(age="11 s")
    got = probe.claim()
    answer = probe.outcome("defer", got["token"], "NAMESPACE_INCOMPLETE", timeout=10000)
    assert (answer["state"], answer["code"]) == ("failed_permanent", "CONVERGENCE_DEADLINE_EXCEEDED")
    row = work.row(key)
    assert row["result_data"] == {"timeoutMs": 10000} and row["attempt_count"] == 1
    assert work.status(key)["status"] == "failed"
    assert sorted(work.events(key)) == [
        (ENSURE, "failure", "CONVERGENCE_DEADLINE_EXCEEDED"), (RECONCILE, "failure", "CONVERGENCE_DEADLINE_EXCEEDED"),
    ]  # fmt: skip


def test_retry_and_exhaustion(work, probe):
    """K88: a failure keeps the attempt; the last one fails the Namespace with it."""
    key = work.admit()
    for attempt in (1, 2, 3):
        got = probe.claim(30000, 3)
        assert got["attempt"] == attempt
        answer = probe.outcome("retry", got["token"], "DOCKER_ENGINE_UNAVAILABLE", attempts=3)
        assert answer["code"] == "DOCKER_ENGINE_UNAVAILABLE"
        if attempt < 3:
            assert answer["state"] == "queued" and work.status(key)["status"] == "provisioning"
            assert 0 <= due_in(work, key) <= 2 ** (attempt - 1)
            work.due(key)
    assert answer["state"] == "failed_permanent"
    assert work.row(key)["reason_code"] == "DOCKER_ENGINE_UNAVAILABLE"
    assert work.status(key)["status"] == "failed"
    assert [event for event in work.events(key) if event[0] == RECONCILE] == [
        (RECONCILE, "failure", "DOCKER_ENGINE_UNAVAILABLE")
    ] * 3
    assert [event[:2] for event in work.events(key) if event[0] != RECONCILE] == [(ENSURE, "failure")]


def test_backoff_is_spread_and_capped(work, probe):
    keys = [work.admit() for _ in range(40)]
    for key in keys:
        got = probe.claim(30000, 99)
        assert probe.outcome("retry", got["token"], "X_CODE", attempts=99)["state"] == "queued"
    waits = [due_in(work, key) for key in keys]
    assert all(0 <= wait <= 1 for wait in waits)
    assert min(waits) < 0.3 and max(waits) > 0.7


def test_backoff_cap(work, probe):
    key = work.admit(attempts=60)
    got = probe.claim(30000, 99)
    assert probe.outcome("retry", got["token"], attempts=99)["state"] == "queued"
    assert 0 <= due_in(work, key) <= 300


def test_permanent(work, probe):
    key = work.admit()
    got = probe.claim()
    answer = probe.outcome("fail", got["token"], "OWNERSHIP_CONFLICT")
    assert (answer["state"], answer["code"]) == ("failed_permanent", "OWNERSHIP_CONFLICT")
    assert work.status(key)["status"] == "failed"
    assert sorted(work.events(key)) == [
        (ENSURE, "failure", "OWNERSHIP_CONFLICT"), (RECONCILE, "failure", "OWNERSHIP_CONFLICT"),
    ]  # fmt: skip


def test_denied(work, probe):
    key = work.admit()
    got = probe.claim()
    assert probe.outcome("fail", got["token"], "AUTHORIZATION_DENIED", denied=1)["state"] == "failed_permanent"
    event = work.latest(key)
    assert (event["kind"], event["outcome"]) == ("authorization_denial", "denied")


def test_failed_deletion_stays_deleting(work, probe):
    key = work.admit("deleted")
    got = probe.claim()
    assert probe.outcome("fail", got["token"], "OWNERSHIP_CONFLICT")["recorded"]
    assert work.status(key) == {"status": "deleting", "deleted_at": None}
    assert work.events(key) == [(RECONCILE, "failure", "OWNERSHIP_CONFLICT")]


def test_repeated_deletion_is_claimed_under_its_new_actor(work, probe):
    """K96"""
    key = work.admit("deleted")
    got = probe.claim()
    assert probe.outcome("fail", got["token"], "OWNERSHIP_CONFLICT")["recorded"]
    other = work.identity()
    assert work.db.one("select occ.requeue_deletion(%s, %s, true)", key, other) == "requeued"
    again = probe.claim()
    assert (again["key"], again["actor"], again["attempt"]) == (key, other, 1)


def test_hand_back(work, probe):
    """K18, K60: available at once, and the attempt is given back."""
    key = work.admit()
    got = probe.claim()
    assert probe.outcome("hand_back", got["token"], "WORKER_DRAINING")["state"] == "queued"
    row = work.row(key)
    assert (row["state"], row["attempt_count"]) == ("queued", 0)
    assert probe.claim()["attempt"] == 1
    assert work.events(key) == [(RECONCILE, "failure", "WORKER_DRAINING")]


@pytest.mark.parametrize("kind", ["done", "close", "defer", "retry", "fail", "hand_back"])
@pytest.mark.parametrize("how", ["expired", "stolen"])
def test_lost_claim_publishes_nothing(work, probe, kind, how):
    """K06, K09: key, token, state and lease must all still match."""
    key = work.admit()
    got = probe.claim()
    work.expire(key)
    if how == "stolen":
        assert len(probe("sweep", 5)["rows"]) == 1
        work.due(key)
        assert probe.claim()["found"]
    before, events = work.row(key), work.events(key)
    assert probe.outcome(kind, got["token"]) == {"recorded": False}
    assert work.row(key) == before and work.events(key) == events
    assert work.status(key)["status"] == "provisioning"


def test_locks_are_taken_namespace_first(work, probe, database):
    """An outcome that waits for its Namespace holds no lock on the work: whoever holds the first may take the second."""
    key = work.admit()
    got = probe.claim()
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("select from occ.namespaces for update")
        probe.send("outcome", "done", got["token"], "X", 0, 900000, 5, 0)
        assert probe.silent(0.3)
        cursor.execute("select from occ.controller_work for update nowait")
    other.commit()
    assert probe.answer()["recorded"]
    assert work.status(key)["status"] == "ready"


def test_deletion_admitted_during_the_outcome_wins(work, probe, database):
    key = work.admit()
    got = probe.claim()
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("update occ.namespaces set status = 'deleting'")
        probe.send("outcome", "done", got["token"], "X", 0, 900000, 5, 0)
        assert probe.silent(0.3)
    other.commit()
    assert probe.answer()["code"] == "SUPERSEDED_TARGET"
    assert work.status(key)["status"] == "deleting"


# ---- reading back


@pytest.mark.parametrize(
    "kind, code, state",
    [
        ("done", "RECONCILE_SUCCEEDED", "succeeded"),
        ("close", "X_CODE", "succeeded"),
        ("defer", "X_CODE", "queued"),
        ("retry", "X_CODE", "queued"),
        ("fail", "X_CODE", "failed_permanent"),
        ("hand_back", "X_CODE", "queued"),
    ],
)
def test_fate(work, probe, kind, code, state):
    key = work.admit()
    got = probe.claim()
    ask = lambda: probe.outcome(kind, got["token"], ask="fate")
    assert (ask()["fate"], ask()["lease_ms"] > 20000) == ("pending", True)
    assert probe.outcome(kind, got["token"])["recorded"]
    assert {**ask(), "lease_ms": 0} == {"fate": "done", "state": state, "code": code, "lease_ms": 0}
    if state == "queued":
        work.due(key)
        assert probe.claim()["found"]
        assert ask()["fate"] == "unknown"


@pytest.mark.parametrize("kind", ["done", "close", "defer", "retry", "fail", "hand_back"])
def test_fate_of_a_recovered_claim(work, probe, kind):
    key = work.admit()
    got = probe.claim()
    work.expire(key)
    assert probe.outcome(kind, got["token"], ask="fate")["fate"] == "lost"
    assert len(probe("sweep", 5)["rows"]) == 1
    assert probe.outcome(kind, got["token"], ask="fate")["fate"] == "lost"


def test_find_a_claim_by_its_token(work, probe):
    key = work.admit()
    got = probe.claim()
    found = probe("find", got["token"])
    assert (found["key"], found["attempt"]) == (key, 1)
    assert not probe("find", uuid.uuid4())["found"]
    work.expire(key)
    assert not probe("find", got["token"])["found"]


# ---- recovery


def test_expired_claim_is_queued_again(work, probe):
    """K01, K03, K05, K08: the row's own lease is all that counts; the attempt is kept; there is evidence."""
    key = work.admit(age="100 days")
    live = work.admit(age="100 days")
    got = {answer["key"]: answer for answer in (probe.claim(), probe.claim())}
    assert probe("sweep", 5) == {"rows": []}
    work.expire(key)
    (row,) = probe("sweep", 5)["rows"]
    assert (row["key"], row["failed"], row["code"], row["attempt"]) == (key, False, "LEASE_EXPIRED", 1)
    now = work.row(key)
    assert (now["state"], now["attempt_count"], now["claim_token"]) == ("queued", 1, got[key]["token"])
    assert 0 <= due_in(work, key) <= 1
    assert work.events(key) == [(RECONCILE, "failure", "LEASE_EXPIRED")]
    assert work.row(live)["state"] == "claimed"


def test_expiry_on_the_last_attempt_fails_work_and_namespace(work, probe):
    """K88, K17"""
    ensure, delete = work.admit(attempts=4), work.admit("deleted", attempts=4)
    for _ in range(2):
        work.expire(probe.claim()["key"])
    assert {(row["failed"], row["code"]) for row in probe("sweep", 5)["rows"]} == {(True, "LEASE_EXPIRED")}
    assert {work.row(key)["state"] for key in (ensure, delete)} == {"failed_permanent"}
    assert work.status(ensure)["status"] == "failed"
    assert work.status(delete) == {"status": "deleting", "deleted_at": None}
    assert sorted(work.events(ensure)) == [
        (ENSURE, "failure", "LEASE_EXPIRED"), (RECONCILE, "failure", "LEASE_EXPIRED"),
    ]  # fmt: skip
    assert work.events(delete) == [(RECONCILE, "failure", "LEASE_EXPIRED")]


def test_recovery_leaves_a_ready_namespace_alone(work, probe):
    """K88"""
    key = work.admit(attempts=4)
    probe.claim()
    work.db.execute("update occ.namespaces set status = 'ready'")
    work.expire(key)
    assert probe("sweep", 5)["rows"][0]["failed"]
    assert work.status(key)["status"] == "ready"
    assert work.events(key) == [(RECONCILE, "failure", "LEASE_EXPIRED")]


def test_exhausted_while_queued(work, probe):
    key = work.admit(attempts=5)
    assert probe("survey", 1, 5, 1)["exhausted"]
    assert not probe("survey", 1, 6, 1)["exhausted"]
    (row,) = probe("sweep", 5)["rows"]
    assert (row["key"], row["failed"], row["code"]) == (key, True, "MAX_ATTEMPTS_EXHAUSTED")
    assert work.row(key)["reason_code"] == "MAX_ATTEMPTS_EXHAUSTED"
    assert work.status(key)["status"] == "failed"


def test_sweep_takes_the_oldest_hundred_and_then_the_rest(work, probe):
    """K07"""
    for _ in range(130):
        work.admit()
    for i in range(130):
        key = probe.claim()["key"]
        work.db.execute(
            "update occ.controller_work set lease_expires_at = now() - make_interval(secs => %s) where idempotency_key = %s",
            1 + i, key,
        )  # fmt: skip
    oldest = {
        row["idempotency_key"]
        for row in work.db.query(
            "select idempotency_key from occ.controller_work order by lease_expires_at limit 100"
        )
    }
    assert {row["key"] for row in probe("sweep", 5)["rows"]} == oldest
    assert len(probe("sweep", 5)["rows"]) == 30


def test_sweep_leaves_locked_rows(work, probe, database):
    """Whoever holds the row, or the Namespace it would fail, is about to finish."""
    renewing, finishing, free = (work.admit(attempts=4) for _ in range(3))
    for _ in range(3):
        probe.claim()
    for key in (renewing, finishing, free):
        work.expire(key)
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("select from occ.controller_work where idempotency_key = %s for update", (renewing,))
        cursor.execute("select from occ.namespaces where id = %s for update", (finishing.split(":")[1],))
        assert [row["key"] for row in probe("sweep", 5)["rows"]] == [free]
    other.rollback()
    assert {row["key"] for row in probe("sweep", 5)["rows"]} == {renewing, finishing}


@pytest.mark.parametrize("code", ["WORKER_CRASHED", "WORKER_HUNG"])
def test_release_of_a_dead_child(work, probe, code):
    key = work.admit()
    got = probe.claim()
    (row,) = probe("release", got["token"], code, 5)["rows"]
    assert (row["key"], row["failed"], row["code"]) == (key, False, code)
    assert work.row(key)["attempt_count"] == 1 and 0 <= due_in(work, key) <= 1
    assert probe("release", got["token"], code, 5) == {"rows": []}
    assert work.events(key) == [(RECONCILE, "failure", code)]


def test_release_of_the_last_attempt(work, probe):
    """K88: an item that keeps killing children ends with its attempts, and its Namespace with it."""
    key = work.admit(attempts=4)
    got = probe.claim()
    assert probe("release", got["token"], "WORKER_CRASHED", 5)["rows"][0]["failed"]
    assert work.row(key)["reason_code"] == "WORKER_CRASHED"
    assert work.status(key)["status"] == "failed"


def test_release_in_a_drain_gives_the_attempt_back(work, probe):
    key = work.admit(attempts=4)
    got = probe.claim()
    (row,) = probe("release", got["token"], "WORKER_DRAINING", 5)["rows"]
    assert not row["failed"]
    assert work.row(key)["attempt_count"] == 4 and due_in(work, key) == 0


# ---- survey


def test_survey(work, probe):
    empty = probe("survey", 4, 5, 1)
    assert empty == {
        "eligible": 0, "next_due_ms": -1, "next_expiry_ms": -1, "exhausted": False, "pending": 0, "oldest_ms": 0,
    }  # fmt: skip
    work.admit(due="10 s", age="3 s")
    seen = probe("survey", 4, 5, 1)
    assert 8000 < seen["next_due_ms"] <= 10001 and seen["eligible"] == 0 and seen["pending"] == 1
    assert 3000 <= seen["oldest_ms"] < 8000
    for _ in range(6):
        work.admit()
    seen = probe("survey", 4, 5, 0)
    assert seen["eligible"] == 4 and seen["next_due_ms"] == 0
    probe.claim(lease=20000)
    assert 15000 < probe("survey", 4, 5, 0)["next_expiry_ms"] <= 20001


# ---- authorization


def ask(probe, actor, action, kind, resource="-", namespace="-"):
    return probe("ask", actor, action, kind, resource, namespace)


def test_allowed_with_evidence(work, probe):
    got = ask(probe, work.actor, "create", "namespace")
    assert got == {
        "verdict": "allowed", "binding": work.binding, "role": work.role, "restriction": "",
        "permission": "namespace:create",
    }  # fmt: skip


def test_denied_by_default(work, probe):
    assert ask(probe, work.identity(), "create", "namespace")["verdict"] == "not_granted"
    assert ask(probe, work.actor, "update", "secret")["verdict"] == "not_granted"
    assert ask(probe, str(uuid.uuid4()), "create", "namespace")["verdict"] == "actor_gone"


def test_scopes(work, probe):
    one, other = work.namespace("ready"), work.namespace("ready")
    scoped, exact = work.identity(), work.identity()
    work.bind(scoped, work.role, one)
    work.bind(exact, work.role, kind="namespace", resource=one)
    for actor in (scoped, exact):
        assert ask(probe, actor, "delete", "namespace", one, one)["verdict"] == "allowed"
        assert ask(probe, actor, "delete", "namespace", other, other)["verdict"] == "not_granted"
        # A Namespace is created in the Installation, not in itself.
        assert ask(probe, actor, "create", "namespace", one, one)["verdict"] == "not_granted"
    # An exact binding is for that resource alone, and for the creation of its children.
    agent = work.id("agt")
    assert ask(probe, scoped, "operate", "agent", agent, one)["verdict"] == "allowed"
    assert ask(probe, exact, "operate", "agent", agent, one)["verdict"] == "not_granted"


def test_create_is_asked_of_the_parent(work, probe):
    namespace = work.namespace("ready")
    role = work.new_role([{"action": "create", "resourceKind": "secret"}, {"action": "create", "resourceKind": "namespace"}])
    child, root = work.identity(), work.identity()
    work.bind(child, role, kind="namespace", resource=namespace)
    work.bind(root, role, kind="installation", resource=work.installation)
    assert ask(probe, child, "create", "secret", "-", namespace)["verdict"] == "allowed"
    assert ask(probe, root, "create", "namespace")["verdict"] == "allowed"
    assert ask(probe, root, "create", "secret", "-", namespace)["verdict"] == "not_granted"


def test_groups(work, probe):
    person, group = work.person(), str(uuid.uuid4())
    work.db.execute("insert into occ.iam_groups (id, name) values (%s, 'g')", group)
    work.bind(None, work.role, group=group)
    assert ask(probe, person, "create", "namespace")["verdict"] == "not_granted"
    work.db.execute("insert into occ.iam_group_memberships (group_id, identity_id) values (%s, %s)", group, person)
    assert ask(probe, person, "create", "namespace")["verdict"] == "allowed"


def test_restrictions(work, probe):
    one, other = work.namespace(), work.namespace()
    made = work.restrict("create", "namespace", resource=one)
    got = ask(probe, work.actor, "create", "namespace", one, one)
    assert (got["verdict"], got["restriction"]) == ("restricted", made)
    assert ask(probe, work.actor, "create", "namespace", other, other)["verdict"] == "allowed"
    work.restrict("create", "namespace")
    assert ask(probe, work.actor, "create", "namespace", other, other)["verdict"] == "restricted"


def test_old_rows_without_a_result(work, probe):
    """K105: rows that ended before there was result_data are left as they are, and their lane is free."""
    key = work.admit()
    work.db.execute(
        "update occ.controller_work set state = 'claimed', claim_token = gen_random_uuid(), attempt_count = 1,"
        " lease_expires_at = now()"
    )
    work.db.execute(
        "update occ.controller_work set state = 'succeeded', lease_expires_at = null, completed_at = now(),"
        " reason_code = 'LEGACY_OUTCOME_UNKNOWN'"
    )
    assert not probe.claim()["found"]
    assert probe("sweep", 5) == {"rows": []}
    work.db.execute("update occ.namespaces set status = 'deleting'")
    assert probe("survey", 1, 5, 1)["pending"] == 0
    assert work.admit("deleted", key.split(":")[1]) == probe.claim()["key"]
