# SPDX-License-Identifier: MIT
"""Namespaces while somebody else writes at the same moment: between a read and the write that follows from it."""

import pytest
from support.drivers import outcome
from support.fake_kubernetes import conflict, refusal
from support.kubernetes_proxy import CUT, before
from support.kubernetes_spaces import (
    CLUSTER_RULES,
    DENY,
    DNS,
    FENCE,
    FENCE_RULES,
    MANAGED_BY,
    NAMESPACE,
    NAMESPACE_ID,
    QUOTA,
    adopting,
    gateway_space,
    managed,
    marks,
    namespace_object,
    state,
    versions,
)
from support.kubernetes_tenant import data_space, let_in
from support.waiting import poll

CONFLICT = ("permanent", "OWNERSHIP_CONFLICT")
RACED = ("pending", "KUBERNETES_CONFLICT")


@pytest.fixture
def proxied_drivers(kubernetes, kubernetes_proxy, opened):
    """Drivers that speak through the proxy."""
    user = kubernetes.user("worker", cluster_rules=CLUSTER_RULES + FENCE_RULES)
    return opened(kubernetes_proxy.kubeconfig(user))


def ensure(drivers, tenant):
    return outcome(drivers.compute("ensure_namespace", namespace=tenant))


def policy(tenant, name, space, labels=None):
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": space, "labels": labels or {}},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
    }


def test_a_name_that_another_worker_takes_first(kubernetes, kubernetes_proxy, proxied_drivers):
    """K78: the winner is read, and it is ours."""
    tenant = managed(kubernetes)
    meant = None
    for made in (data_space(tenant), gateway_space(tenant)):
        ours = marks(tenant, gateways=made == gateway_space(tenant))
        kubernetes_proxy.on("POST", r".*/namespaces", before(lambda _, made=made, ours=ours: kubernetes.apply(namespace_object(made, **ours))), nth=1)
    assert ensure(proxied_drivers, tenant) == "ready"
    meant = state(kubernetes, tenant)
    assert set(marks(tenant)["labels"]) < set(meant["data"]["labels"])
    assert proxied_drivers.compute("ensure_namespace", namespace=tenant, observe=True).ok


@pytest.mark.parametrize("labels", [{}, {MANAGED_BY: "openclaw-enterprise"}])
def test_a_name_that_somebody_else_takes_first(kubernetes, kubernetes_proxy, proxied_drivers, labels):
    """K78: the winner is read, and it is not ours."""
    tenant = managed(kubernetes)
    space = data_space(tenant)
    foreign = policy(tenant, DENY, space, labels)
    kubernetes_proxy.on("POST", rf".*/{space}/networkpolicies", before(lambda _: kubernetes.apply(foreign)), nth=1)
    assert ensure(proxied_drivers, tenant) == CONFLICT
    assert kubernetes.get("networkpolicies", DENY, space)["metadata"].get("labels", {}) == labels
    # It is the first in there, so nothing else was made.
    assert [name for kind, name in FENCE if kubernetes.get(kind, name, space)] == [DENY]


def test_an_object_that_changes_under_us_is_read_again(kubernetes, kubernetes_proxy, proxied_drivers):
    """K77: what the other one wrote stays."""
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    space = data_space(tenant)
    kubernetes.patch("resourcequotas", QUOTA, space, {"spec": {"hard": {"pods": "99"}}})
    theirs = {"metadata": {"annotations": {"example.test/by": "somebody"}}}
    kubernetes_proxy.on("PATCH", r".*/resourcequotas/.*", before(lambda _: kubernetes.patch("resourcequotas", QUOTA, space, theirs)), nth=1)
    assert ensure(proxied_drivers, tenant) == "ready"
    quota = kubernetes.get("resourcequotas", QUOTA, space)
    assert quota["spec"]["hard"] == {"pods": "10"}
    assert quota["metadata"]["annotations"] == {"example.test/by": "somebody"}


def test_an_object_that_always_changes_is_given_up_for_now(kubernetes, kubernetes_proxy, proxied_drivers):
    """K77: neither permanent, nor a hot loop."""
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    space = data_space(tenant)
    kubernetes.patch("resourcequotas", QUOTA, space, {"spec": {"hard": {"pods": "99"}}})
    turns = iter(range(1000))

    def disturb(_):
        kubernetes.patch("resourcequotas", QUOTA, space, {"metadata": {"annotations": {"turn": str(next(turns))}}})

    rule = kubernetes_proxy.on("PATCH", r".*/resourcequotas/.*", before(disturb))
    answer = proxied_drivers.compute("ensure_namespace", namespace=tenant)
    assert outcome(answer) == RACED and QUOTA in answer.message
    assert 1 < next(turns) < 10
    kubernetes_proxy.off(rule)
    assert ensure(proxied_drivers, tenant) == "ready"


def test_the_watch_ends_the_waiting(kubernetes, kubernetes_proxy, proxied_drivers):
    """A lost claim is not waited out between two rounds."""
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    kubernetes.patch("resourcequotas", QUOTA, data_space(tenant), {"spec": {"hard": {"pods": "99"}}})
    kubernetes_proxy.on("PATCH", r".*/resourcequotas/.*", refusal(409, "Conflict", "refused by the test"))
    answer = proxied_drivers.compute("ensure_namespace", namespace=tenant, watchMs=1)
    assert outcome(answer) == ("cancelled", "PROBE_CANCELLED")


@pytest.mark.parametrize("what", ["object", "namespace"])
def test_what_is_deleted_under_us_is_made_anew(kubernetes, kubernetes_proxy, proxied_drivers, what):
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    meant, space = state(kubernetes, tenant), data_space(tenant)
    kubernetes.patch("resourcequotas", QUOTA, space, {"spec": {"hard": {"pods": "99"}}})
    gone = {"object": ("resourcequotas", QUOTA, space), "namespace": ("namespaces", space)}[what]
    kubernetes_proxy.on("PATCH", r".*/resourcequotas/.*", before(lambda _: kubernetes.delete(*gone)), nth=1)
    answer = proxied_drivers.compute("ensure_namespace", namespace=tenant)
    if what == "object":
        assert outcome(answer) == "ready"
    else:
        assert outcome(answer) == ("retryable", "KUBERNETES_OBJECT_MISSING") and space in answer.message
        assert ensure(proxied_drivers, tenant) == "ready"
    assert state(kubernetes, tenant) == meant


def test_a_raced_dns_policy_fails_the_pass_and_loses_nothing(kubernetes, kubernetes_proxy, proxied_drivers):
    """K117"""
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    space = data_space(tenant)
    (rule,) = kubernetes.get("networkpolicies", DNS, space)["spec"]["egress"]
    older = {**rule, "ports": rule["ports"][:2]}
    theirs = {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}]}
    kubernetes.patch("networkpolicies", DNS, space, {"spec": {"egress": [older]}})
    theirs_too = {"spec": {"egress": [older, theirs]}}
    kubernetes_proxy.on("PATCH", rf".*/{DNS}", before(lambda _: kubernetes.patch("networkpolicies", DNS, space, theirs_too)), nth=1)
    assert ensure(proxied_drivers, tenant) == RACED
    assert kubernetes.get("networkpolicies", DNS, space)["spec"]["egress"] == [older, theirs]
    assert len([each for each in kubernetes_proxy.writes() if each.method == "PATCH"]) == 1
    assert ensure(proxied_drivers, tenant) == "ready"
    assert kubernetes.get("networkpolicies", DNS, space)["spec"]["egress"] == [rule, theirs]


def test_one_namespace_that_two_adopt_at_once(kubernetes, kubernetes_proxy, proxied_drivers):
    """K113: the patch is guarded, so the second one neither wins nor mixes its marks in."""
    first = adopting(kubernetes)
    second = adopting(kubernetes, first["existing"])
    change = {"metadata": {"labels": {NAMESPACE: first["id"]}, "annotations": {NAMESPACE_ID: first["id"]}}}
    kubernetes_proxy.on("PATCH", r".*/namespaces/.*", before(lambda _: kubernetes.patch("namespaces", first["existing"], None, change)), nth=1)
    assert ensure(proxied_drivers, second) == RACED
    assert ensure(proxied_drivers, second) == CONFLICT
    assert ensure(proxied_drivers, first) == "ready"
    (patch,) = [each for each in kubernetes_proxy.writes() if each.method == "PATCH"]
    assert {"uid", "resourceVersion"} <= set(patch.json["metadata"])


def test_an_adopted_namespace_that_goes_with_our_rights_in_it(kubernetes, kubernetes_proxy, opened):
    """Where a namespace is gone its RoleBinding is gone: the server says "denied", and nothing is left all the same."""
    user = kubernetes.user("worker", cluster_rules=CLUSTER_RULES)
    drivers, tenant = opened(kubernetes_proxy.kubeconfig(user)), adopting(kubernetes)
    space = tenant["existing"]
    let_in(kubernetes, user, space, FENCE_RULES)
    poll(lambda: f"in namespace {gateway_space(tenant)}" in drivers.compute("ensure_namespace", namespace=tenant).message, 30)
    let_in(kubernetes, user, gateway_space(tenant), FENCE_RULES)
    drivers.until_ready("ensure_namespace", namespace=tenant)
    begun = len(kubernetes_proxy.requests)
    kubernetes_proxy.on("GET", rf".*/{space}/limitranges/.*", before(lambda _: kubernetes.delete("namespaces", space)), nth=1)
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert 403 in [request.passed for request in kubernetes_proxy.requests[begun:]]
    assert versions(kubernetes, tenant) == {}


def test_what_keeps_us_from_looking_into_a_denial_is_told(kubernetes, kubernetes_proxy, proxied_drivers):
    """Whether the namespace is gone is asked next; what ends that question, such as a lost claim, is no denial."""
    tenant = adopting(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    space = tenant["existing"]

    def deny(_):
        kubernetes_proxy.on("GET", rf".*/namespaces/{space}", CUT)
        return refusal(403, "Forbidden", 'limitranges is forbidden: User "u" cannot get resource "limitranges"')

    kubernetes_proxy.on("GET", rf".*/{space}/limitranges/.*", deny)
    assert outcome(proxied_drivers.compute("delete_namespace", namespace=tenant)) == ("pending", "KUBERNETES_API_UNAVAILABLE")


def test_a_deletion_that_meets_a_conflict_has_not_begun(kubernetes, kubernetes_proxy, proxied_drivers):
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    rule = kubernetes_proxy.on("DELETE", rf".*/namespaces/{gateway_space(tenant)}", conflict("namespaces", gateway_space(tenant)))
    assert outcome(proxied_drivers.compute("delete_namespace", namespace=tenant)) == ("pending", "KUBERNETES_NAMESPACE_PRESENT")
    kubernetes_proxy.off(rule)
    proxied_drivers.until_ready("delete_namespace", namespace=tenant)


def test_deletion_never_meets_a_successor(kubernetes, kubernetes_proxy, proxied_drivers):
    """Deleted by UID: a namespace of our name that somebody made a moment ago stays."""
    tenant = managed(kubernetes)
    assert ensure(proxied_drivers, tenant) == "ready"
    space = gateway_space(tenant)

    def replace(_):
        kubernetes.delete("namespaces", space)
        kubernetes.apply(namespace_object(space, {"theirs": "yes"}))

    kubernetes_proxy.on("DELETE", rf".*/namespaces/{space}", before(replace), nth=1)
    assert outcome(proxied_drivers.compute("delete_namespace", namespace=tenant)) == CONFLICT
    successor = kubernetes.get("namespaces", space)["metadata"]
    assert successor["labels"]["theirs"] == "yes" and "deletionTimestamp" not in successor
    assert (space, space) in versions(kubernetes, tenant)
