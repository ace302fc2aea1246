# SPDX-License-Identifier: MIT
"""What holds of an Agent's active revision, whoever writes it."""

import pytest

ACTIVATE = "update occ.agents set active_revision_id = %s where id = %s"
EVENT = {"kind": "mutation", "action": "openclaw.agents.lifecycle.activate", "resource_kind": "agent_revision"}


@pytest.fixture
def agent(store):
    """(namespace, agent, [three revisions]) of an Agent that is to run."""
    namespace = store.namespace()
    made = store.agent(namespace, desired_runtime_state="running")
    return namespace, made, [store.revision(namespace, made, number) for number in (1, 2, 3)]


def work(store, agent, revision, key="reconcile"):
    made = f"agent_revision:{revision}:{key}"
    store.insert(
        "controller_work", idempotency_key=made, namespace_id=agent[0], actor_id="actor", agent_id=agent[1],
        revision_id=revision,
    )  # fmt: skip
    store.claim(made)
    return made


def test_only_while_it_is_to_run(store, agent):
    namespace, made, revisions = agent
    store.run("update occ.agents set desired_runtime_state = 'stopped'")
    store.refused("check", ACTIVATE, revisions[0], made, by="agents_active_is_wanted")
    store.run("update occ.agents set desired_runtime_state = 'running'")
    store.run(ACTIVATE, revisions[0], made)
    # What is active stays so until the stop is carried out.
    store.run("update occ.agents set desired_runtime_state = 'stopped'")
    store.run(ACTIVATE, revisions[0], made)
    store.run("update occ.agents set status = 'deleting'")
    store.refused("check", ACTIVATE, revisions[1], made, by="agents_active_is_wanted")
    store.run(ACTIVATE, None, made)


def test_never_an_older_one(store, agent):
    _, made, revisions = agent
    store.run(ACTIVATE, revisions[0], made)
    store.run(ACTIVATE, revisions[2], made)
    store.refused("check", ACTIVATE, revisions[1], made, by="agents_active_in_order")


@pytest.mark.parametrize("reason", ["REVISION_ACTIVATED", "REVISION_ALREADY_ACTIVE"])
def test_never_one_before_a_completed_deployment(store, agent, reason):
    _, made, revisions = agent
    store.run(ACTIVATE, revisions[1], made)
    store.finish(work(store, agent, revisions[1]), reason=reason)
    store.run(ACTIVATE, None, made)
    store.refused("check", ACTIVATE, revisions[0], made, by="agents_active_in_order")
    store.run(ACTIVATE, revisions[1], made)
    store.run(ACTIVATE, revisions[2], made)


def test_a_deployment_that_came_to_nothing_is_in_nobody_s_way(store, agent):
    _, made, revisions = agent
    store.finish(work(store, agent, revisions[1]), reason="REVISION_STOPPED")
    store.finish(work(store, agent, revisions[2]), "failed_permanent", "REVISION_UNSCHEDULABLE")
    store.run(ACTIVATE, revisions[0], made)


@pytest.mark.parametrize("key", ["reconcile", "maintenance:1"])
def test_only_the_active_one_is_completed(store, agent, key):
    _, made, revisions = agent
    store.run(ACTIVATE, revisions[0], made)
    done = work(store, agent, revisions[1], key)
    finish = (
        "update occ.controller_work set state = 'succeeded', lease_expires_at = null,"
        " completed_at = statement_timestamp(), reason_code = %s where idempotency_key = %s"
    )
    for reason in ("REVISION_ACTIVATED", "REVISION_ALREADY_ACTIVE"):
        store.refused("check", finish, reason, done, by="controller_work_activation")
    store.run(ACTIVATE, revisions[1], made)
    assert store.run(finish, "REVISION_ACTIVATED", done) == 1


def test_it_is_activated_once(store, agent):
    _, _, revisions = agent
    store.insert("audit_events", **EVENT, resource_id=revisions[0], outcome="success")
    store.refused_row(
        "unique", "audit_events_activation", "audit_events", **EVENT, resource_id=revisions[0], outcome="success"
    )
    store.insert("audit_events", **EVENT, resource_id=revisions[1], outcome="success")
    for _ in range(2):
        more = {**EVENT, "action": "openclaw.agents.lifecycle.stop"}
        store.insert("audit_events", **more, resource_id=revisions[0], outcome="success")
