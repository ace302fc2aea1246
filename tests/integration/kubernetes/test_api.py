# SPDX-License-Identifier: MIT
"""lib/kubernetes/api against a real API server: each verb, and the answers that a real one gives to what is wrong.

tests/faults/test_kubernetes_api.py has the rest, against one that says what it is told to.
"""

import json

import pytest

from support.kubernetes_api import outcome
from support.waiting import poll


@pytest.fixture
def api(kubernetes, kubernetes_api):
    return kubernetes_api(kubernetes.kubeconfig)


@pytest.fixture
def space(kubernetes):
    """A namespace of this test's."""
    name = kubernetes.namespace()
    yield name
    for each in kubernetes.list("configmaps", name):
        if each["metadata"].get("finalizers"):
            kubernetes.patch("configmap", each["metadata"]["name"], name, {"metadata": {"finalizers": None}})
    kubernetes.delete("namespace", name, wait=False)


def test_an_object_is_made_read_listed_changed_and_deleted(kubernetes, api, space):
    mark = kubernetes.mark()
    made = api.create("ConfigMap", space, "map", {"metadata": {"labels": {"a": "b", "gone": None}}, "data": {"k": "v"}})
    assert made.ok and made.object["apiVersion"] == "v1" and made.object["metadata"]["labels"] == {"a": "b"}
    assert api.get("ConfigMap", space, "map").object == made.object
    assert [each["metadata"]["name"] for each in api.list("ConfigMap", space, "a=b").objects] == ["map"]
    assert api.list("ConfigMap", space, "a=c").objects == []
    changed = api.merge("ConfigMap", space, "map", made.object, {"data": {"k": None, "l": "w"}, "metadata": {"labels": {"c": "d"}}})
    assert changed.ok and not changed.raced
    assert changed.object["data"] == {"l": "w"} and changed.object["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert api.delete("ConfigMap", space, "map", made.object["metadata"]["uid"]).ok
    gone = api.get("ConfigMap", space, "map")
    assert gone.ok and gone.object is None
    verbs = [record["verb"] for record in kubernetes.audit(since=mark, namespace=space, resource="configmaps")]
    # The administrator's; the cluster's own controllers only list and watch.
    assert [verb for verb in verbs if verb != "watch"].count("patch") == 1


@pytest.mark.parametrize(
    "kind, api_version, intent",
    [
        ("ResourceQuota", "v1", {"spec": {"hard": {"pods": "10"}}}),
        ("LimitRange", "v1", {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}),
        ("NetworkPolicy", "networking.k8s.io/v1", {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}),
        ("ServiceAccount", "v1", {"automountServiceAccountToken": False}),
        ("Secret", "v1", {"type": "Opaque", "data": {"value": "dmFsdWU="}}),
        ("Service", "v1", {"spec": {"ports": [{"port": 80}], "selector": {"a": "b"}}}),
        ("PersistentVolumeClaim", "v1", {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                                                  "resources": {"requests": {"storage": "1Gi"}}}}),
        ("EndpointSlice", "discovery.k8s.io/v1beta1", {"addressType": "IPv4", "endpoints": []}),
        ("Deployment", "apps/v1", {"spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_each_kind_is_where_the_server_has_it(api, space, kind, api_version, intent):
    assert api.ask("resolve", kind).apiVersion == api_version
    made = api.create(kind, space, "thing", intent)
    assert made.ok, made
    assert made.object["apiVersion"] == api_version
    assert "thing" in [each["metadata"]["name"] for each in api.list(kind, space).objects]
    assert api.delete(kind, space, "thing", made.object["metadata"]["uid"]).ok


def test_a_kind_whose_definition_is_not_installed(api, space):
    assert api.ask("served", "HTTPRoute").served is False
    assert outcome(api.get("HTTPRoute", space, "route")) == ("pending", "KUBERNETES_API_NOT_SERVED")


def test_version_and_access(kubernetes, api, kubernetes_api, space):
    said = api.version()
    assert (said.major, said.minor) == (1, 20)
    assert api.ask("access", "Deployment", space, verb="create").allowed is True
    user = kubernetes.user("nobody", space, rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
    weak = kubernetes_api(user.kubeconfig)
    assert weak.ask("access", "ConfigMap", space, verb="get").allowed is True
    assert weak.ask("access", "ConfigMap", space, verb="create").allowed is False
    assert weak.ask("access", "ConfigMap", verb="get").allowed is False


def test_a_grant_that_is_missing_may_come(kubernetes, kubernetes_api, space):
    """K114"""
    user = kubernetes.user("nobody", space)
    weak = kubernetes_api(user.kubeconfig)
    refused = weak.create("ConfigMap", space, "map")
    assert outcome(refused) == ("pending", "KUBERNETES_ACCESS_DENIED")
    assert f"granted: create configmaps in namespace {space}" in refused.message
    place = {"name": "late", "namespace": space}
    version = "rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    kubernetes.apply([
        {"apiVersion": version, "kind": "Role", "metadata": place, "rules": rules},
        {"apiVersion": version, "kind": "RoleBinding", "metadata": place,
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "late"},
         "subjects": [{"kind": "ServiceAccount", "name": "nobody", "namespace": space}]},
    ])  # fmt: skip
    poll(lambda: weak.create("ConfigMap", space, "map").ok, 30, what="the grant to count")


def test_a_token_that_is_no_more_is_told(kubernetes, kubernetes_api, space):
    user = kubernetes.user("short", space)
    weak = kubernetes_api(user.kubeconfig)
    assert outcome(weak.get("ConfigMap", space, "map")) == ("pending", "KUBERNETES_ACCESS_DENIED")
    kubernetes.delete("serviceaccount", "short", space)
    said = poll(
        lambda: (answer := weak.get("ConfigMap", space, "map")).code == "KUBERNETES_UNAUTHENTICATED" and answer,
        60, interval=0.2, what="the token to be refused",
    )  # fmt: skip
    assert said.kind == "pending"


def test_conflicts_of_a_real_server(kubernetes, api, space):
    """K77, K78"""
    made = api.create("ConfigMap", space, "map", {"data": {"a": "1"}}).object
    taken = api.create("ConfigMap", space, "map")
    assert taken.ok and taken.object is None
    kubernetes.patch("configmap", "map", space, {"data": {"a": "somebody else's"}})
    assert api.merge("ConfigMap", space, "map", made, {"data": {"a": "ours"}}).raced
    assert api.delete("ConfigMap", space, "map", "00000000-0000-4000-8000-000000000000").ok
    kept = api.get("ConfigMap", space, "map").object
    assert kept["data"] == {"a": "somebody else's"}
    # Another object of that name, whatever its version.
    other = json.loads(json.dumps(kept))
    other["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    assert api.merge("ConfigMap", space, "map", other, {"data": {"a": "ours"}}).raced
    kubernetes.delete("configmap", "map", space)
    assert api.merge("ConfigMap", space, "map", kept, {"data": {"a": "ours"}}).raced


def test_refusals_of_a_real_server(kubernetes, api, space):
    """K83, K84"""
    named = api.create("ConfigMap", space, "Not_A_Name")
    assert outcome(named) == ("permanent", "KUBERNETES_REJECTED") and "because of metadata.name" in named.message
    immutable = api.create("ConfigMap", space, "map", {"immutable": True, "data": {"a": "1"}}).object
    said = api.merge("ConfigMap", space, "map", immutable, {"data": {"a": "2"}})
    assert outcome(said) == ("permanent", "KUBERNETES_FIELD_IMMUTABLE") and "because of data:" in said.message
    absent = api.create("ConfigMap", f"{space}-x", "map")
    assert outcome(absent) == ("retryable", "KUBERNETES_OBJECT_MISSING")
    assert f"namespace {space}-x does not exist" in absent.message
    kubernetes.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": space},
                      "spec": {"hard": {"count/secrets": "0"}}})  # fmt: skip
    full = poll(
        lambda: not (answer := api.create("Secret", space, f"s-{len(kubernetes.list('secrets', space))}", {})).ok and answer,
        30, what="the quota to count",
    )  # fmt: skip
    assert outcome(full) == ("pending", "KUBERNETES_QUOTA_EXCEEDED") and "ResourceQuota small" in full.message


def test_a_namespace_on_its_way_out(kubernetes, api, space):
    """K75, K76: a finalizer that nobody answers for holds it."""
    held = api.create("ConfigMap", space, "held", {"metadata": {"finalizers": ["example.test/hold"]}})
    own = api.get("Namespace", None, space).object
    assert api.delete("Namespace", None, space, own["metadata"]["uid"]).ok
    assert api.delete("Namespace", None, space, own["metadata"]["uid"]).ok, "twice is no fault"
    assert api.get("Namespace", None, space).object["metadata"]["deletionTimestamp"]
    refused = api.create("ConfigMap", space, "new")
    assert outcome(refused) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
    again = api.create("Namespace", None, space)
    assert again.ok and again.object is None
    # Going is gone enough: finalizers are others' business.
    assert api.delete("ConfigMap", space, "held", held.object["metadata"]["uid"]).ok
    assert api.get("ConfigMap", space, "held").object["metadata"]["finalizers"] == ["example.test/hold"]


def test_a_list_in_pages_and_a_continuation_that_a_server_refuses(kubernetes, api, space):
    """K79"""
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"n-{number:03}", "namespace": space,
              "labels": {"page": "yes"}}} for number in range(260)]  # fmt: skip
    kubernetes.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    mark = kubernetes.mark()
    names = [each["metadata"]["name"] for each in api.list("ConfigMap", space, "page=yes").objects]
    assert names == [f"n-{number:03}" for number in range(260)]
    poll(lambda: len(pages(kubernetes, space, mark)) == 2, 10, what="both pages in the audit log")


def pages(kubernetes, space, mark):
    records = kubernetes.audit(since=mark, verb="list", resource="configmaps", namespace=space)
    return [record for record in records if "limit=250" in record["requestURI"]]


def test_a_certificate_that_the_server_does_not_know(kubernetes, kubernetes_api, fake_authority):
    """A client certificate of another authority is refused as credentials are."""
    stranger = fake_authority[0].issue("stranger", "/O=system:masters/CN=admin")
    user = {"client-certificate": str(stranger.certificate), "client-key": str(stranger.key)}
    said = kubernetes_api(kubernetes.write_kubeconfig(user)).version(met="start")
    assert outcome(said) in (("configuration", "KUBERNETES_UNAUTHENTICATED"), ("configuration", "KUBERNETES_TLS_FAILED"))
