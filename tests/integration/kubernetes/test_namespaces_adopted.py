# SPDX-License-Identifier: MIT
"""Adopted Namespaces on a real API server: released by an administrator, bound once, left standing."""

import uuid

import pytest
from support.drivers import new_agent, new_namespace, outcome
from support.kubernetes_spaces import (
    CLUSTER_RULES,
    DENY,
    DNS,
    FENCE,
    FENCE_RULES,
    GATEWAYS,
    LIFECYCLE,
    LIMITS,
    MANAGED_BY,
    NAMESPACE,
    NAMESPACE_ID,
    QUOTA,
    adopting,
    digits,
    gateway_space,
    marks,
    namespace_object,
    released,
    state,
    versions,
)
from support.kubernetes_tenant import RESTRICTED, data_space, release

CONFLICT = ("permanent", "OWNERSHIP_CONFLICT")
NOT_RELEASED = ("permanent", "KUBERNETES_NAMESPACE_NOT_RELEASED")


@pytest.fixture
def worker_user(kubernetes):
    """Who may do what a Namespace needs, everywhere; its requests are told apart in the audit log."""
    return kubernetes.user("worker", cluster_rules=CLUSTER_RULES + FENCE_RULES)


def ensure(drivers, tenant, **more):
    return outcome(drivers.compute("ensure_namespace", namespace=tenant, **more))


def delete(drivers, tenant, **more):
    return outcome(drivers.compute("delete_namespace", namespace=tenant, **more))


def metadata_of(kubernetes, name):
    return kubernetes.get("namespaces", name)["metadata"]


def managed_space(tenant):
    """Where it would be if it were ours."""
    return data_space({"id": tenant["id"]})


# ---- There


def test_a_released_namespace_is_bound_in_one_patch(kubernetes, opened, worker_user):
    """K113"""
    drivers, tenant = opened(worker_user), adopting(kubernetes)
    name = tenant["existing"]
    assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE")
    before, mark = metadata_of(kubernetes, name), kubernetes.mark()
    assert ensure(drivers, tenant) == "ready"

    bound = metadata_of(kubernetes, name)
    assert bound["labels"] == {**before["labels"], NAMESPACE: tenant["id"]}
    assert bound["annotations"] == {**before["annotations"], NAMESPACE_ID: tenant["id"]}
    (patch,) = kubernetes.audit(user=worker_user, since=mark, verb="patch")
    assert (patch["objectRef"]["resource"], patch["objectRef"]["name"]) == ("namespaces", name)
    there = state(kubernetes, tenant)
    for word in ("data", "gateways"):
        for _, fence in FENCE:
            assert there[f"{word}/{fence}"]["labels"] == {MANAGED_BY: "openclaw-enterprise", NAMESPACE: "ID"}
    assert there["gateways"]["labels"][GATEWAYS] == "ID"
    # K113: it is never made beside.
    assert kubernetes.get("namespaces", managed_space(tenant)) is None

    # K119
    before, mark = versions(kubernetes, tenant), kubernetes.mark()
    assert ensure(drivers, tenant) == ensure(drivers, tenant, observe=True) == "ready"
    assert versions(kubernetes, tenant) == before and len(before) == 10
    assert {record["verb"] for record in kubernetes.audit(user=worker_user, since=mark)} == {"get", "list"}


def test_the_fence_in_it_is_repaired_and_the_rest_is_not_ours(kubernetes, drivers):
    tenant = adopting(kubernetes)
    name = tenant["existing"]
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    theirs = [kubernetes.apply({**policy, "metadata": {"name": each, "namespace": name}}) for each in ("default-deny", "dns")]
    assert ensure(drivers, tenant) == "ready"
    meant = state(kubernetes, tenant)
    kubernetes.patch("resourcequotas", QUOTA, name, {"spec": {"hard": {"pods": "99"}}})
    kubernetes.delete("limitranges", LIMITS, name)
    assert ensure(drivers, tenant) == "ready"
    assert state(kubernetes, tenant) == meant
    assert [kubernetes.get("networkpolicies", each, name) for each in ("default-deny", "dns")] == theirs


# ---- Not released


def test_what_a_release_lacks_is_told_and_nothing_is_written(kubernetes, drivers):
    name = kubernetes.namespace()
    tenant = adopting(kubernetes, name)
    release(kubernetes, name)
    lacking = {LIFECYCLE: {"annotations": {LIFECYCLE: None}}, f"{LIFECYCLE}=external": {"annotations": {LIFECYCLE: "internal"}}}
    lacking |= {label: {"labels": {label: None}} for label in RESTRICTED}
    lacking |= {f"{label}=restricted": {"labels": {label: "baseline"}} for label in RESTRICTED}
    for what, change in lacking.items():
        kubernetes.patch("namespaces", name, None, {"metadata": change})
        before = metadata_of(kubernetes, name)["resourceVersion"]
        answer = drivers.compute("ensure_namespace", namespace=tenant)
        assert outcome(answer) == NOT_RELEASED, answer
        assert name in answer.message and what in answer.message
        assert metadata_of(kubernetes, name)["resourceVersion"] == before
        assert kubernetes.get("namespaces", gateway_space(tenant)) is None
        assert kubernetes.get("namespaces", managed_space(tenant)) is None
        assert delete(drivers, tenant) == "ready"
        release(kubernetes, name)
    assert ensure(drivers, tenant) == "ready"


def test_one_that_does_not_exist(kubernetes, drivers):
    """K113: and there is no managed one instead."""
    tenant = adopting(kubernetes, f"test-{uuid.uuid4().hex[:12]}")
    answer = drivers.compute("ensure_namespace", namespace=tenant)
    assert outcome(answer) == NOT_RELEASED and "does not exist" in answer.message
    assert kubernetes.get("namespaces", managed_space(tenant)) is None
    assert kubernetes.get("namespaces", gateway_space(tenant)) is None


def test_partial_and_foreign_marks_are_left_alone(kubernetes, drivers):
    """K113"""
    tenant = adopting(kubernetes)
    name = tenant["existing"]
    ours, other = marks(tenant), marks({"id": f"ns_{uuid.uuid4()}"})
    label, annotation = {NAMESPACE: tenant["id"]}, ours["annotations"]
    wrong = {
        "the label alone": ({"labels": label}, NAMESPACE_ID),
        "the annotation alone": ({"annotations": annotation}, NAMESPACE),
        "another's label": ({"labels": other["labels"], "annotations": annotation}, NAMESPACE),
        "another's annotation": ({"labels": label, "annotations": other["annotations"]}, NAMESPACE_ID),
        "another's": (other, NAMESPACE),
        "another manager": ({"labels": {MANAGED_BY: "Helm"}}, MANAGED_BY),
        "a gateways' one": ({"labels": {**label, GATEWAYS: tenant["id"]}, "annotations": annotation}, GATEWAYS),
    }
    for what, (change, key) in wrong.items():
        kubernetes.patch("namespaces", name, None, {"metadata": change})
        before = metadata_of(kubernetes, name)["resourceVersion"]
        answer = drivers.compute("ensure_namespace", namespace=tenant)
        assert outcome(answer) == CONFLICT, (what, answer)
        assert name in answer.message and key in answer.message, what
        assert metadata_of(kubernetes, name)["resourceVersion"] == before, what
        if what != "another manager":
            assert delete(drivers, tenant) == CONFLICT, what
        assert kubernetes.get("namespaces", gateway_space(tenant)) is None
        undo = {part: {each: None for each in entries} for part, entries in change.items()}
        kubernetes.patch("namespaces", name, None, {"metadata": undo})
    assert ensure(drivers, tenant) == "ready"


def test_one_that_somebody_owns(kubernetes, drivers):
    name = released(kubernetes)
    tenant = adopting(kubernetes, name)
    owner = metadata_of(kubernetes, "default")
    reference = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": owner["uid"]}
    kubernetes.patch("namespaces", name, None, {"metadata": {"ownerReferences": [reference]}})
    answer = drivers.compute("ensure_namespace", namespace=tenant)
    assert outcome(answer) == CONFLICT and "ownerReferences" in answer.message
    assert NAMESPACE not in metadata_of(kubernetes, name)["labels"]


def test_two_namespaces_that_claim_one(kubernetes, drivers):
    """K113: the first one has it."""
    first = adopting(kubernetes)
    second = adopting(kubernetes, first["existing"])
    assert ensure(drivers, first) == "ready"
    before = versions(kubernetes, first)
    answer = drivers.compute("ensure_namespace", namespace=second)
    assert outcome(answer) == CONFLICT and first["existing"] in answer.message
    assert delete(drivers, second) == CONFLICT
    assert versions(kubernetes, first) == before
    assert kubernetes.get("namespaces", gateway_space(second)) is None


def test_marks_that_were_copied(kubernetes, drivers):
    """K113: duplicate marks, as of an administrator who copies a manifest."""
    tenant = adopting(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    copied = f"test-{uuid.uuid4().hex[:12]}"
    there = metadata_of(kubernetes, tenant["existing"])
    kubernetes.apply(namespace_object(copied, there["labels"], there["annotations"]))
    before = versions(kubernetes, tenant)
    for word in ("ensure", "delete"):
        answer = drivers.compute(f"{word}_namespace", namespace=tenant)
        assert outcome(answer) == CONFLICT and copied in answer.message
    assert versions(kubernetes, tenant) == before
    managed = {"id": tenant["id"], "name": "acme"}
    assert ensure(drivers, managed) == CONFLICT


# ---- Gone


def test_deletion_takes_our_objects_off_and_leaves_the_rest(kubernetes, opened, worker_user):
    """K115"""
    drivers, tenant = opened(worker_user), adopting(kubernetes)
    name = tenant["existing"]
    theirs = {"name": "theirs", "namespace": name}
    spec = {"podSelector": {}, "policyTypes": ["Ingress"]}
    kubernetes.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": theirs, "data": {"a": "b"}})
    kubernetes.apply({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": theirs, "spec": spec})
    assert ensure(drivers, tenant) == "ready"
    before = metadata_of(kubernetes, name)
    assert delete(drivers, tenant, observe=True) == ("pending", "KUBERNETES_NAMESPACE_PRESENT")
    assert len(versions(kubernetes, tenant)) == 10
    mark = kubernetes.mark()
    drivers.until_ready("delete_namespace", namespace=tenant)

    deleted = [record["objectRef"]["name"] for record in kubernetes.audit(user=worker_user, since=mark, verb="delete")]
    assert deleted[0] == gateway_space(tenant)
    assert sorted(deleted[1:4]) == sorted([LIMITS, QUOTA, DNS]) and deleted[4:] == [DENY]
    assert metadata_of(kubernetes, name)["resourceVersion"] == before["resourceVersion"]
    assert list(versions(kubernetes, tenant)) == [(name, name)]
    assert kubernetes.get("configmaps", "theirs", name) and kubernetes.get("networkpolicies", "theirs", name)
    mark = kubernetes.mark()
    assert delete(drivers, tenant) == delete(drivers, tenant, observe=True) == "ready"
    assert {record["verb"] for record in kubernetes.audit(user=worker_user, since=mark)} <= {"get", "list"}
    # Its marks stay, so nobody else gets it before an administrator has looked.
    assert ensure(drivers, adopting(kubernetes, name)) == CONFLICT


def test_default_deny_stays_while_anything_of_ours_is_there(kubernetes, drivers):
    """K115"""
    tenant = adopting(kubernetes)
    name = tenant["existing"]
    assert ensure(drivers, tenant) == "ready"
    kubernetes.patch("resourcequotas", QUOTA, name, {"metadata": {"finalizers": ["example.test/hold"]}})
    try:
        answer = drivers.compute("delete_namespace", namespace=tenant)
        assert outcome(answer) == ("pending", "KUBERNETES_OBJECT_TERMINATING")
        assert f"ResourceQuota {name}/{QUOTA}" in answer.message
        assert kubernetes.get("networkpolicies", DENY, name)
    finally:
        kubernetes.patch("resourcequotas", QUOTA, name, {"metadata": {"finalizers": None}})
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert kubernetes.get("networkpolicies", DENY, name) is None


def test_deletion_leaves_a_foreign_object_with_our_name(kubernetes, drivers):
    tenant = adopting(kubernetes)
    name = tenant["existing"]
    assert ensure(drivers, tenant) == "ready"
    kubernetes.patch("resourcequotas", QUOTA, name, {"metadata": {"labels": {MANAGED_BY: "Helm"}}})
    before = kubernetes.get("resourcequotas", QUOTA, name)
    answer = drivers.compute("delete_namespace", namespace=tenant)
    assert outcome(answer) == CONFLICT
    assert f"ResourceQuota {name}/{QUOTA}" in answer.message and MANAGED_BY in answer.message
    assert kubernetes.get("resourcequotas", QUOTA, name) == before
    assert kubernetes.get("networkpolicies", DENY, name)


def test_deletion_of_one_that_is_gone_or_was_never_bound(kubernetes, drivers):
    gone = adopting(kubernetes)
    assert ensure(drivers, gone) == "ready"
    kubernetes.delete("namespaces", gone["existing"])
    drivers.until_ready("delete_namespace", namespace=gone)
    assert versions(kubernetes, gone) == {}

    name = kubernetes.namespace()
    before = metadata_of(kubernetes, name)["resourceVersion"]
    assert delete(drivers, new_namespace(existing=name)) == "ready"
    assert metadata_of(kubernetes, name)["resourceVersion"] == before


TAKEN_BACK = {
    "not external": {"annotations": {LIFECYCLE: None}},
    "less restricted": {"labels": {"pod-security.kubernetes.io/audit": "baseline"}},
    "not marked": {"annotations": {LIFECYCLE: None, NAMESPACE_ID: None}, "labels": {NAMESPACE: None}},
    "deleted": None,
}


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_an_agent_leaves_one_that_is_taken_back(kubernetes, drivers, how):
    """An administrator who wants us out of it has all of the Agent taken away, and is not told to release it again."""
    tenant, agent = adopting(kubernetes), new_agent()
    name, change = tenant["existing"], TAKEN_BACK[how]
    assert ensure(drivers, tenant) == "ready"
    labels = {MANAGED_BY: "openclaw-enterprise", NAMESPACE: tenant["id"], "openclaw.dev/agent": agent["id"]}
    account = {"name": f"gateway-{digits(agent['id'], 12)}", "namespace": name, "labels": labels}
    kubernetes.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    if change is None:
        kubernetes.delete("namespaces", name)
    else:
        kubernetes.patch("namespaces", name, None, {"metadata": change})
    drivers.until_ready("delete_agent_credentials", namespace=tenant, agent=agent)
    assert change is None or kubernetes.get("serviceaccounts", account["name"], name) is None
    assert change is None or kubernetes.get("namespaces", name)


def test_one_that_its_administrator_deletes(kubernetes, drivers):
    tenant = adopting(kubernetes)
    name = tenant["existing"]
    assert ensure(drivers, tenant) == "ready"
    kubernetes.patch("namespaces", name, None, {"metadata": {"finalizers": ["example.test/keep"]}})
    try:
        kubernetes.delete("namespaces", name, wait=False)
        answer = drivers.compute("ensure_namespace", namespace=tenant)
        assert outcome(answer) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
        assert "example.test/keep" in answer.message
        # Ours leaves it all the same, and waits for nothing of others.
        drivers.until_ready("delete_namespace", namespace=tenant)
        assert list(versions(kubernetes, tenant)) == [(name, name)]
    finally:
        kubernetes.patch("namespaces", name, None, {"metadata": {"finalizers": None}})
