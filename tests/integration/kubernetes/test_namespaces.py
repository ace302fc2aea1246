# SPDX-License-Identifier: MIT
"""Managed Namespaces on a real API server: two namespaces with their fences, kept, repaired, refused and removed."""

import uuid

import pytest
from support.drivers import outcome
from support.kubernetes_spaces import (
    CLUSTER_RULES,
    DENY,
    DNS,
    FENCE,
    FENCE_RULES,
    GATEWAYS,
    LATEST,
    LIFECYCLE,
    LIMITS,
    MANAGED_BY,
    NAMESPACE,
    NAMESPACE_ID,
    QUOTA,
    gateway_space,
    managed,
    marks,
    namespace_object,
    older_space,
    state,
    versions,
)
from support.kubernetes_tenant import RESTRICTED, data_space, let_in
from support.waiting import poll

CONFLICT = ("permanent", "OWNERSHIP_CONFLICT")
PORTS = [("UDP", 53), ("TCP", 53), ("UDP", 5353), ("TCP", 5353)]
SETTINGS = "drivers__compute__configuration__resources__namespace"


@pytest.fixture
def worker_user(kubernetes):
    """Who may do what a Namespace needs, everywhere; its requests are told apart in the audit log."""
    return kubernetes.user("worker", cluster_rules=CLUSTER_RULES + FENCE_RULES)


def ensure(drivers, tenant, **more):
    return outcome(drivers.compute("ensure_namespace", namespace=tenant, **more))


def delete(drivers, tenant, **more):
    return outcome(drivers.compute("delete_namespace", namespace=tenant, **more))


def requests(kubernetes, user, since):
    """[(verb, resource/name)], in order, without what is asked of the server itself."""
    records = [record for record in kubernetes.audit(user=user, since=since) if "objectRef" in record]
    return [
        (record["verb"], "/".join(filter(None, (record["objectRef"]["resource"], record["objectRef"].get("name")))))
        for record in records
    ]


# ---- There


def test_a_namespace_has_two_with_a_fence_each(kubernetes, opened, worker_user):
    drivers, tenant = opened(worker_user), managed(kubernetes)
    mark = kubernetes.mark()
    assert ensure(drivers, tenant) == "ready"

    there = state(kubernetes, tenant)
    assert there["data"]["labels"] == {MANAGED_BY: "openclaw-enterprise", NAMESPACE: "ID", **RESTRICTED, **LATEST}
    assert there["gateways"]["labels"] == {**there["data"]["labels"], GATEWAYS: "ID"}
    for word in ("data", "gateways"):
        assert there[word]["annotations"] == {NAMESPACE_ID: "ID"}
        for _, name in FENCE:
            assert there[f"{word}/{name}"]["labels"] == {MANAGED_BY: "openclaw-enterprise", NAMESPACE: "ID"}
        assert there[f"{word}/{DENY}"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        dns = there[f"{word}/{DNS}"]["spec"]
        assert (dns["podSelector"], dns["policyTypes"]) == ({}, ["Egress"])
        (rule,) = dns["egress"]
        assert rule["to"] == [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
            }
        ]
        assert [(port["protocol"], port["port"]) for port in rule["ports"]] == PORTS
        assert there[f"{word}/{QUOTA}"]["spec"] == {"hard": {"pods": "10"}}
        (limit,) = there[f"{word}/{LIMITS}"]["spec"]["limits"]
        assert (limit["default"], limit["defaultRequest"]) == (
            {"cpu": "1", "memory": "128Mi"},
            {"cpu": "10m", "memory": "32Mi"},
        )

    # Namespaces first, and in each nothing is allowed before everything is denied.
    made = [what for verb, what in requests(kubernetes, worker_user, mark) if verb == "create"]
    names = [what.split("/")[1] for what in made if "/" in what]
    assert names == [data_space(tenant), gateway_space(tenant), *2 * [name for _, name in FENCE]]


def test_an_unchanged_namespace_is_not_written(kubernetes, opened, worker_user):
    """K119: not by the same worker, nor by another one, although the server writes amounts in its own form."""
    quota = {"pods": "10", "requests.cpu": "2000m", "limits.memory": "4096Mi", "count/configmaps": "0.1k"}
    defaults = {"requests": {"cpu": "0.1", "memory": "131072Ki"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}}
    drivers = opened(worker_user, **{f"{SETTINGS}__quota": quota, f"{SETTINGS}__containerDefaults": defaults})
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    before, mark = versions(kubernetes, tenant), kubernetes.mark()
    assert len(before) == 10
    assert ensure(drivers, tenant) == "ready"
    other = opened(worker_user, **{f"{SETTINGS}__quota": quota, f"{SETTINGS}__containerDefaults": defaults})
    assert ensure(other, tenant, observe=True) == ensure(other, tenant) == "ready"
    assert {verb for verb, _ in requests(kubernetes, worker_user, mark)} == {"get", "list"}
    assert versions(kubernetes, tenant) == before


def test_changed_settings_are_applied(kubernetes, opened):
    tenant = managed(kubernetes)
    assert ensure(opened(**{f"{SETTINGS}__quota": {"pods": "10", "services": "5"}}), tenant) == "ready"
    drivers = opened(**{f"{SETTINGS}__quota": {"pods": "11"}})
    assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE")
    assert ensure(drivers, tenant) == "ready"
    for word in ("data", "gateways"):
        assert state(kubernetes, tenant)[f"{word}/{QUOTA}"]["spec"] == {"hard": {"pods": "11"}}


DRIFTS = {
    "pod security": ("namespaces", None, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
    "pod security gone": ("namespaces", None, {"metadata": {"labels": {"pod-security.kubernetes.io/warn": None}}}),
    "quota": ("resourcequotas", QUOTA, {"spec": {"hard": {"pods": "99"}}}),
    "quota of more": ("resourcequotas", QUOTA, {"spec": {"hard": {"services": "0"}}}),
    "limits": ("limitranges", LIMITS, {"spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}}),
    "limits of more": ("limitranges", LIMITS, {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}),
    "an ingress": ("networkpolicies", DENY, {"spec": {"ingress": [{}]}}),
    "an egress": ("networkpolicies", DENY, {"spec": {"egress": [{}]}}),
    "for some Pods": ("networkpolicies", DENY, {"spec": {"podSelector": {"matchLabels": {"app": "x"}}}}),
    "one direction": ("networkpolicies", DENY, {"spec": {"policyTypes": ["Ingress"]}}),
    "DNS for some Pods": ("networkpolicies", DNS, {"spec": {"podSelector": {"matchLabels": {"app": "x"}}}}),
    "no DNS": ("networkpolicies", DNS, {"spec": {"egress": None}}),
}


@pytest.mark.parametrize("space_of", [data_space, gateway_space])
def test_what_drifted_is_repaired(kubernetes, drivers, space_of):
    tenant = managed(kubernetes)
    space = space_of(tenant)
    assert ensure(drivers, tenant) == "ready"
    meant = state(kubernetes, tenant)
    for what, (kind, name, change) in DRIFTS.items():
        kubernetes.patch(kind, name or space, space if name else None, change)
        assert state(kubernetes, tenant) != meant, what
        assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE"), what
        assert ensure(drivers, tenant) == "ready", what
        assert state(kubernetes, tenant) == meant, what
    for kind, name in FENCE:
        assert kubernetes.delete(kind, name, space)
        assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE"), name
        assert ensure(drivers, tenant) == "ready"
        assert state(kubernetes, tenant) == meant, name
    # Labels of others are none of our business.
    kubernetes.patch("namespaces", space, None, {"metadata": {"labels": {"team": "blue"}}})
    before = versions(kubernetes, tenant)
    assert ensure(drivers, tenant) == "ready"
    assert versions(kubernetes, tenant) == before


def test_looking_makes_nothing(kubernetes, drivers):
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE")
    assert not any(state(kubernetes, tenant).values())
    assert delete(drivers, tenant, observe=True) == "ready"


# ---- Whose it is


def mark_sets(tenant):
    """K78, K113: marks of a namespace that has our name and is not exactly ours."""
    ours = marks(tenant)
    other = {**tenant, "id": f"ns_{uuid.uuid4()}"}
    return {
        "none": {},
        "managed-by alone": {"labels": {MANAGED_BY: "openclaw-enterprise"}},
        "no annotation": {"labels": ours["labels"]},
        "no label": {"annotations": ours["annotations"]},
        "no managed-by": {**ours, "labels": {NAMESPACE: tenant["id"]}},
        "another manager": {**ours, "labels": {**ours["labels"], MANAGED_BY: "Helm"}},
        "another Namespace's": marks(other),
        "another's annotation": {**ours, "annotations": {NAMESPACE_ID: other["id"]}},
        "another's label": {**ours, "labels": marks(other)["labels"]},
        "a gateways' one": marks(tenant, gateways=True),
        "an Agent's": {**ours, "labels": {**ours["labels"], "openclaw.dev/agent": "agt_1"}},
        "an administrator's": {**ours, "annotations": {**ours["annotations"], LIFECYCLE: "external"}},
    }


def test_a_foreign_namespace_with_our_name_is_left_alone(kubernetes, drivers):
    tenant = managed(kubernetes)
    name = data_space(tenant)
    kubernetes.apply(namespace_object(name))
    for what, metadata in mark_sets(tenant).items():
        present = kubernetes.get("namespaces", name)["metadata"]
        change = {part: {key: None for key in present.get(part, {})} for part in ("labels", "annotations")}
        for part, entries in metadata.items():
            change[part].update(entries)
        kubernetes.patch("namespaces", name, None, {"metadata": change})
        before = kubernetes.get("namespaces", name)["metadata"]["resourceVersion"]
        for operation in ("ensure_namespace", "delete_namespace"):
            for observe in (True, False):
                answer = drivers.compute(operation, namespace=tenant, observe=observe)
                assert outcome(answer) == CONFLICT, (what, answer)
                assert name in answer.message, answer.message
        assert kubernetes.get("namespaces", name)["metadata"]["resourceVersion"] == before, what
        assert kubernetes.get("namespaces", gateway_space(tenant)) is None


def test_a_foreign_namespace_with_the_gateways_name_is_left_alone(kubernetes, drivers):
    tenant = managed(kubernetes)
    kubernetes.apply(namespace_object(gateway_space(tenant), **marks(tenant)))
    before = kubernetes.get("namespaces", gateway_space(tenant))
    answer = drivers.compute("ensure_namespace", namespace=tenant)
    assert outcome(answer) == CONFLICT and gateway_space(tenant) in answer.message and GATEWAYS in answer.message
    assert kubernetes.get("namespaces", data_space(tenant)) is None
    assert delete(drivers, tenant) == CONFLICT
    assert kubernetes.get("namespaces", gateway_space(tenant)) == before


@pytest.mark.parametrize("labels", [{}, {NAMESPACE: "ID"}, {MANAGED_BY: "openclaw-enterprise"}, {MANAGED_BY: "Helm", NAMESPACE: "ID"}])
def test_a_foreign_object_in_the_fence_is_left_alone(kubernetes, drivers, labels):
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    space = data_space(tenant)
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    for name in (DENY, DNS):
        kubernetes.delete("networkpolicies", name, space)
        labels = {key: value.replace("ID", tenant["id"]) for key, value in labels.items()}
        before = kubernetes.apply({**policy, "metadata": {"name": name, "namespace": space, "labels": labels}})
        answer = drivers.compute("ensure_namespace", namespace=tenant)
        assert outcome(answer) == CONFLICT
        assert f"NetworkPolicy {space}/{name}" in answer.message
        assert (NAMESPACE if labels.get(MANAGED_BY) == "openclaw-enterprise" else MANAGED_BY) in answer.message
        assert kubernetes.get("networkpolicies", name, space) == before
        kubernetes.delete("networkpolicies", name, space)
        assert ensure(drivers, tenant) == "ready"


def test_a_third_namespace_with_our_label_stops_everything(kubernetes, drivers):
    """K113: duplicate marks."""
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    name = kubernetes.namespace(labels=marks(tenant)["labels"])
    before = versions(kubernetes, tenant)
    for operation in ("ensure_namespace", "delete_namespace"):
        answer = drivers.compute(operation, namespace=tenant)
        assert outcome(answer) == CONFLICT and name in answer.message
    assert versions(kubernetes, tenant) == before
    kubernetes.patch("namespaces", name, None, {"metadata": {"labels": {NAMESPACE: None}}})
    assert ensure(drivers, tenant) == "ready"


# ---- Older installations


def test_an_older_name_is_kept_and_never_made(kubernetes, drivers):
    """K116"""
    tenant = managed(kubernetes)
    kubernetes.apply(namespace_object(older_space(tenant), **marks(tenant)))
    assert ensure(drivers, tenant) == "ready"
    assert kubernetes.get("namespaces", data_space(tenant)) is None
    assert {(kind, name) for kind, name in FENCE if kubernetes.get(kind, name, older_space(tenant))} == set(FENCE)
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert kubernetes.get("namespaces", older_space(tenant)) is None
    assert kubernetes.get("namespaces", gateway_space(tenant)) is None


def test_an_older_name_without_marks_is_somebody_elses(kubernetes, drivers):
    tenant = managed(kubernetes)
    kubernetes.apply(namespace_object(older_space(tenant)))
    before = kubernetes.get("namespaces", older_space(tenant))["metadata"]["resourceVersion"]
    assert ensure(drivers, tenant) == "ready"
    assert kubernetes.get("namespaces", data_space(tenant))
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert kubernetes.get("namespaces", older_space(tenant))["metadata"]["resourceVersion"] == before


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_an_older_name_with_some_marks_stops_everything(kubernetes, drivers, part):
    tenant = managed(kubernetes)
    kubernetes.apply(namespace_object(older_space(tenant), **{part: marks(tenant)[part]}))
    for answer in (drivers.compute(f"{word}_namespace", namespace=tenant) for word in ("ensure", "delete")):
        assert outcome(answer) == CONFLICT and older_space(tenant) in answer.message
    assert kubernetes.get("namespaces", data_space(tenant)) is None


def test_both_names_are_a_split_that_only_a_person_mends(kubernetes, drivers):
    """K120"""
    tenant = managed(kubernetes)
    for name in (older_space(tenant), data_space(tenant)):
        kubernetes.apply(namespace_object(name, **marks(tenant)))
    before = versions(kubernetes, tenant)
    for word in ("ensure", "delete"):
        answer = drivers.compute(f"{word}_namespace", namespace=tenant)
        assert outcome(answer) == ("permanent", "KUBERNETES_LAYOUT_SPLIT")
        assert older_space(tenant) in answer.message and data_space(tenant) in answer.message
    assert versions(kubernetes, tenant) == before
    assert kubernetes.get("namespaces", older_space(tenant))
    kubernetes.delete("namespaces", older_space(tenant))
    assert ensure(drivers, tenant) == "ready"


def test_an_older_dns_policy_gets_the_ports_it_lacks(kubernetes, drivers):
    """K117: additive, and what is complete is not written."""
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    space = data_space(tenant)
    (rule,) = kubernetes.get("networkpolicies", DNS, space)["spec"]["egress"]
    older = {**rule, "ports": rule["ports"][:2]}
    theirs = {"to": [{"ipBlock": {"cidr": "192.0.2.7/32"}}], "ports": [{"protocol": "TCP", "port": 443}]}
    kubernetes.patch("networkpolicies", DNS, space, {"spec": {"egress": [theirs, older]}})
    assert ensure(drivers, tenant, observe=True) == ("pending", "NAMESPACE_INCOMPLETE")
    assert ensure(drivers, tenant) == "ready"
    policy = kubernetes.get("networkpolicies", DNS, space)
    assert policy["spec"]["egress"] == [theirs, rule]
    assert ensure(drivers, tenant) == "ready"
    assert kubernetes.get("networkpolicies", DNS, space) == policy


# ---- Access


def test_a_role_binding_that_comes_later(kubernetes, opened):
    """K114: pending until then, and both namespaces are there to be bound."""
    user = kubernetes.user("worker", cluster_rules=CLUSTER_RULES)
    drivers, tenant = opened(user), managed(kubernetes)
    for space in (data_space(tenant), gateway_space(tenant)):
        answer = drivers.compute("ensure_namespace", namespace=tenant)
        assert outcome(answer) == ("pending", "KUBERNETES_ACCESS_DENIED")
        assert f"get networkpolicies.networking.k8s.io in namespace {space}" in answer.message
        assert kubernetes.get("namespaces", data_space(tenant)) and kubernetes.get("namespaces", gateway_space(tenant))
        let_in(kubernetes, user, space, FENCE_RULES)
        # An authorizer learns of it a moment later.
        poll(
            lambda: f"in namespace {space}" not in drivers.compute("ensure_namespace", namespace=tenant).message,
            what="the RoleBinding",
        )
    drivers.until_ready("ensure_namespace", namespace=tenant)
    # Deletion needs nothing inside of the namespaces.
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert not any(state(kubernetes, tenant).values())


# ---- Gone


def test_deletion_leaves_nothing(kubernetes, drivers):
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    assert delete(drivers, tenant, observe=True) == ("pending", "KUBERNETES_NAMESPACE_PRESENT")
    before = versions(kubernetes, tenant)
    assert len(before) == 10
    assert delete(drivers, tenant) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert versions(kubernetes, tenant) == {}
    assert delete(drivers, tenant) == delete(drivers, tenant, observe=True) == "ready"


@pytest.mark.parametrize("space_of", [data_space, gateway_space])
def test_deletion_goes_on_where_one_namespace_is_gone(kubernetes, drivers, space_of):
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    kubernetes.delete("namespaces", space_of(tenant))
    assert delete(drivers, tenant, observe=True) == ("pending", "KUBERNETES_NAMESPACE_PRESENT")
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert versions(kubernetes, tenant) == {}


def test_a_namespace_that_was_deleted_by_hand_comes_back(kubernetes, drivers):
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    meant = state(kubernetes, tenant)
    kubernetes.delete("namespaces", data_space(tenant))
    drivers.until_ready("ensure_namespace", namespace=tenant)
    assert state(kubernetes, tenant) == meant


def test_deletion_waits_for_finalizers_and_names_them(kubernetes, drivers):
    """K75: of what is inside, and of the namespace itself; K76: meanwhile nothing is made."""
    tenant = managed(kubernetes)
    assert ensure(drivers, tenant) == "ready"
    space = data_space(tenant)
    held = {"name": "held", "namespace": space, "finalizers": ["example.test/hold"]}
    kubernetes.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
    kubernetes.patch("namespaces", gateway_space(tenant), None, {"metadata": {"finalizers": ["example.test/keep"]}})

    def told(*words):
        answer = drivers.compute("delete_namespace", namespace=tenant)
        assert outcome(answer) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING"), answer
        return answer if all(word in answer.message for word in words) else None

    try:
        answer = poll(lambda: told(f"Namespace {gateway_space(tenant)}", "its finalizer example.test/keep"), 30)
        assert ensure(drivers, tenant) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
        assert delete(drivers, tenant, observe=True) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
        kubernetes.patch("namespaces", gateway_space(tenant), None, {"metadata": {"finalizers": None}})
        answer = poll(lambda: told(space, "NamespaceFinalizersRemaining (SomeFinalizersRemain)"), 60)
        assert "example.test/hold in 1 resource instances" in answer.message
        assert "NamespaceContentRemaining (SomeResourcesRemain)" in answer.message
        assert ensure(drivers, tenant) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
        # Nobody's finalizer was stripped.
        assert kubernetes.get("configmaps", "held", space)["metadata"]["finalizers"] == ["example.test/hold"]
    finally:
        kubernetes.patch("configmaps", "held", space, {"metadata": {"finalizers": None}})
        if kubernetes.get("namespaces", gateway_space(tenant)):
            kubernetes.patch("namespaces", gateway_space(tenant), None, {"metadata": {"finalizers": None}})
    drivers.until_ready("delete_namespace", namespace=tenant)
    assert versions(kubernetes, tenant) == {}
