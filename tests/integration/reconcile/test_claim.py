# SPDX-License-Identifier: MIT
"""A claim while its pass runs: its lease, and what the host says meanwhile."""

import uuid

from support.queue import Probe
from support.reconciler import LEASE
from support.waiting import poll


# ---- the lease


def test_a_long_effect_is_renewed(work, reconciler):
    """K08: whoever renews is never recovered, however long it takes."""
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, "gate")
    token = pass_.wait("effect") and work.row(key)["claim_token"]
    first = work.row(key)["lease_expires_at"]
    poll(lambda: (work.row(key)["lease_expires_at"] - first).total_seconds() > LEASE / 1000, 20)
    assert work.row(key)["claim_token"] == token
    assert len(pass_.all("renewed")) >= 4
    pass_.order("open")
    assert pass_.report()["outcome"] == "success" and work.settled(key)[2] == 1


def test_many_short_waits_are_renewed(work, reconciler):
    """K92"""
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, f"short={LEASE // 10}")
    assert pass_.report(deadline=20)["outcome"] == "success"
    assert len(pass_.all("renewed")) >= 4 and work.settled(key)[2] == 1


def test_renewal_comes_before_an_effect_when_a_third_has_gone(work, reconciler):
    """K92: after an effect during which nothing was heard, the next one does not start on an old lease."""
    key = work.admit("deleted", age="1 h")
    pass_ = reconciler("--lease", LEASE, f"late+{LEASE // 2}", "gate")
    pass_.wait("effect", 2)
    row = work.row(key)
    left = work.db.one("select extract(epoch from lease_expires_at - updated_at)::float8 from occ.controller_work")
    assert row["state"] == "claimed" and left == LEASE / 1000
    # It was renewed after the first effect had begun: the claim alone would have been updated when it was available.
    assert (row["updated_at"] - row["available_at"]).total_seconds() >= LEASE / 2000
    pass_.order("open")
    assert pass_.report()["outcome"] == "success" and work.status(key)["deleted_at"] is not None


def test_stolen_during_the_effect(work, reconciler):
    """K09, K15: the renewal is refused, the effect ends, nothing is published, one event tells it."""
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, "hang")
    pass_.wait("effect")
    thief = str(uuid.uuid4())
    work.db.execute("update occ.controller_work set lease_expires_at = now() - interval '1 s'")
    work.db.execute("update occ.controller_work set state = 'queued', lease_expires_at = null")
    work.db.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 2, claim_token = %s,"
        " lease_expires_at = now() + interval '1 h'",
        thief,
    )
    before = work.row(key)
    report = pass_.report()
    assert (report["outcome"], report["code"]) == ("claim_lost", "CLAIM_LOST")
    assert pass_.rest() == "idle"
    assert work.row(key) == before and work.events(key) == []
    (event,) = pass_.errors("CLAIM_LOST", 1)
    assert (event["event"], event["workId"], event["attempt"]) == ("worker.error", key, 1)


def test_expired_while_it_could_not_be_heard(work, reconciler):
    """K15: the outcome of a pass that slept over its lease publishes nothing."""
    key = work.admit()
    pass_ = reconciler("--lease", LEASE, f"blind={LEASE + LEASE // 2}")
    assert pass_.report(deadline=20)["outcome"] == "claim_lost"
    assert work.row(key)["state"] == "claimed" and work.status(key)["status"] == "provisioning"
    assert pass_.rest() == "idle" and len(pass_.errors("CLAIM_LOST", 1)) == 1


def test_claim_lost_and_the_next_one_is_carried_out(work, reconciler):
    first, second = work.admit(due="-1 s"), work.admit()
    pass_ = reconciler("gate", "ready")
    pass_.wait("effect")
    work.expire(first)
    pass_.order("open")
    assert pass_.report(1)["outcome"] == "claim_lost" and pass_.report(2)["outcome"] == "success"
    assert work.row(second)["state"] == "succeeded"
    assert len(pass_.errors("CLAIM_LOST", 1)) == 1


# ---- the host


def test_abort_hands_the_claim_back(work, reconciler):
    """K18, K57, K60"""
    key = work.admit()
    pass_ = reconciler("hang")
    pass_.wait("effect")
    pass_.order("abort")
    report = pass_.report()
    assert (report["outcome"], report["handed_back"], report["code"]) == ("pending", True, "WORKER_DRAINING")
    assert pass_.rest() == "stopped"
    row = work.row(key)
    assert (row["state"], row["attempt_count"]) == ("queued", 0) and row["available_at"] <= row["updated_at"]


def test_finish_ends_the_pass_and_claims_nothing_more(work, reconciler):
    first, second = work.admit(due="-1 s"), work.admit()
    pass_ = reconciler("gate")
    pass_.wait("effect")
    pass_.order("finish")
    pass_.order("open")
    assert pass_.report()["outcome"] == "success"
    assert pass_.rest() == "stopped"
    assert work.row(first)["state"] == "succeeded" and work.row(second)["state"] == "queued"
    assert len(pass_.all("token")) == 1


def test_the_end_of_the_host_hands_the_claim_back(work, reconciler):
    key = work.admit()
    pass_ = reconciler("hang")
    pass_.wait("effect")
    pass_.process.stdin.close()
    assert pass_.rest() == "stopped"
    assert work.settled(key) == ("queued", None, 0)


def test_limit(work, reconciler):
    keys = [work.admit() for _ in range(5)]
    pass_ = reconciler("--passes", 3, "ready")
    assert pass_.wait("rest")["rest"] == "limit" and pass_.wait("rest")["passes"] == 3
    assert sorted(work.row(key)["state"] for key in keys) == ["queued"] * 2 + ["succeeded"] * 3
    # Nothing was claimed that nobody carries out.
    assert len(pass_.all("token")) == 3


def test_killed_in_the_effect(work, reconciler):
    """K01, K09, K10: expiry alone frees the item, and another one finishes it."""
    key = work.admit()
    first = reconciler("hang")
    first.wait("effect")
    first.kill()
    work.expire(key)
    assert reconciler("ready").rest() == "idle"
    assert work.row(key)["state"] == "claimed"  # nobody but recovery takes it
    probe = Probe(work.db.app_url)
    assert len(probe("sweep", 5)["rows"]) == 1
    probe.close()
    work.due(key)
    assert reconciler("ready").report()["attempt"] == 2
    assert work.status(key)["status"] == "ready"


def test_four_reconcilers_share_the_queue(work, reconciler):
    keys = [work.admit() for _ in range(200)]
    passes = [reconciler("ready") for _ in range(4)]
    for each in passes:
        assert each.rest(deadline=60) == "idle"
    reports = [report for each in passes for report in each.all("report")]
    assert sorted(report["key"] for report in reports) == sorted(keys)
    assert {report["outcome"] for report in reports} == {"success"}
    assert work.db.one("select count(*) from occ.audit_events where action = 'reconcile'") == 200
    assert {row["attempt_count"] for row in work.db.work()} == {1}
