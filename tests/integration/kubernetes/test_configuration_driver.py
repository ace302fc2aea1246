# SPDX-License-Identifier: MIT
"""config-kubernetes on a real API server: a Configuration is a ConfigMap of its Namespace."""

import json

import pytest
from support.drivers import new_id, new_namespace, outcome
from support.fake_kubernetes import refusal
from support.kubernetes_tenant import CLUSTER_RULES, data_space, hashed_name, let_in, release

LIMIT = 1024 * 1024


@pytest.fixture
def about(tenant):
    return {"namespace": tenant, "configurationId": new_id("cfg")}


def found(kubernetes, about):
    return kubernetes.get("configmap", hashed_name("configuration", about["configurationId"]), data_space(about["namespace"]))


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"ä": 1.50, "b": [1e400, 12345678901234567890]}\n\n',
        ' \t{"line":\r\n"\\u0000 \\ud83d\\ude00 \U0001f600"}',
        json.dumps({"quotes": '"' * 1000}),
    ],
)
def test_a_document_is_kept_byte_by_byte(drivers, kubernetes, about, text):
    assert drivers.configuration("store", document=text, **about).ok
    assert drivers.configuration("read", **about).document == text
    made = found(kubernetes, about)
    assert made["data"] == {"openclaw.json": text}
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "openclaw-enterprise",
        "openclaw.dev/namespace": about["namespace"]["id"],
        "openclaw.dev/configuration": about["configurationId"],
    }


def test_the_largest_document_and_one_byte_more(drivers, kubernetes, about):
    largest = json.dumps("x" * (LIMIT - 2))
    assert len(largest) == LIMIT and drivers.configuration("store", document=largest, **about).ok
    assert drivers.configuration("read", **about).document == largest
    refused = drivers.configuration("store", document=largest + "\n", **about)
    assert outcome(refused) == ("permanent", "CONFIGURATION_DOCUMENT_TOO_LARGE")
    assert str(LIMIT) in refused.message and str(LIMIT + 1) in refused.message
    assert found(kubernetes, about)["data"] == {"openclaw.json": largest}


def test_a_server_that_takes_less_than_kubernetes_allows(opened, kubernetes_proxy, about):
    kubernetes_proxy.on("POST", r".*/configmaps", refusal(413, "RequestEntityTooLarge", "etcdserver: request is too large"))
    refused = opened(kubernetes_proxy.kubeconfig()).configuration("store", document='{"a": "b"}', **about)
    assert outcome(refused) == ("permanent", "CONFIGURATION_DOCUMENT_REFUSED")
    assert "The document has 10 bytes" in refused.message and str(LIMIT) in refused.message


def test_a_document_is_replaced_and_the_same_one_is_not_written(drivers, kubernetes, about):
    """K119"""
    drivers.configuration("store", document='{"first": 1}', **about)
    first = found(kubernetes, about)
    assert drivers.configuration("store", document='{"first": 1}', **about).ok
    assert found(kubernetes, about) == first
    assert drivers.configuration("store", document='{"second": 2}', **about).ok
    second = found(kubernetes, about)
    assert second["data"] == {"openclaw.json": '{"second": 2}'}
    assert second["metadata"]["uid"] == first["metadata"]["uid"]


def test_entries_that_others_add_go(drivers, kubernetes, about):
    drivers.configuration("store", document="{}", **about)
    name, space = hashed_name("configuration", about["configurationId"]), data_space(about["namespace"])
    kubernetes.patch("configmap", name, space, {"data": {"other": "x"}})
    assert drivers.configuration("store", document="{}", **about).ok
    assert found(kubernetes, about)["data"] == {"openclaw.json": "{}"}


def test_what_was_removed_is_missing_and_is_removed_again(drivers, kubernetes, about):
    assert drivers.configuration("remove", **about).ok
    missing = drivers.configuration("read", **about)
    assert outcome(missing) == ("permanent", "CONFIGURATION_DOCUMENT_MISSING")
    assert hashed_name("configuration", about["configurationId"]) in missing.message
    drivers.configuration("store", document="{}", **about)
    assert outcome(drivers.configuration("remove", observe=True, **about)) == ("pending", "CONFIGURATION_NOT_REMOVED")
    assert drivers.configuration("remove", **about).ok
    assert found(kubernetes, about) is None
    assert drivers.configuration("remove", observe=True, **about).ok


@pytest.mark.parametrize("wrong", [{"openclaw.dev/namespace": None}, {"openclaw.dev/configuration": "cfg_other"},
                                   {"app.kubernetes.io/managed-by": "Helm"}, {"openclaw.dev/agent": "agt_x"}])  # fmt: skip
def test_an_object_of_that_name_that_is_not_ours_stays(drivers, kubernetes, about, wrong):
    """K78, K113"""
    drivers.configuration("store", document='{"mine": 1}', **about)
    name, space = hashed_name("configuration", about["configurationId"]), data_space(about["namespace"])
    kubernetes.patch("configmap", name, space, {"metadata": {"labels": wrong}})
    before = found(kubernetes, about)
    for operation, more in (("store", {"document": "{}"}), ("read", {}), ("remove", {})):
        refused = drivers.configuration(operation, **about, **more)
        assert outcome(refused) == ("permanent", "OWNERSHIP_CONFLICT"), operation
        assert name in refused.message and next(iter(wrong)) in refused.message
    assert found(kubernetes, about) == before


def test_a_managed_namespace_that_is_still_provisioned(drivers, kubernetes):
    about = {"namespace": new_namespace(), "configurationId": new_id("cfg")}
    refused = drivers.configuration("store", document="{}", **about)
    assert outcome(refused) == ("pending", "NAMESPACE_NOT_READY")
    assert data_space(about["namespace"]) in refused.message and f"127.0.0.1:{kubernetes.port}" in refused.message
    assert drivers.configuration("remove", **about).ok
    assert drivers.configuration("read", **about).code == "CONFIGURATION_DOCUMENT_MISSING"


def test_a_managed_namespace_whose_role_binding_has_not_come(opened, kubernetes, about, tenant):
    """K114"""
    user = kubernetes.user("occctl", cluster_rules=CLUSTER_RULES)
    drivers = opened(user)
    assert drivers.configuration("preflight").ok
    for operation, verb, more in (("store", "get", {"document": "{}"}), ("read", "get", {}), ("remove", "get", {})):
        refused = drivers.configuration(operation, **about, **more)
        assert outcome(refused) == ("pending", "KUBERNETES_ACCESS_DENIED"), operation
        assert f"{verb} configmaps" in refused.message and data_space(tenant) in refused.message
    let_in(kubernetes, user, data_space(tenant))
    assert drivers.configuration("store", document="{}", **about).ok


def test_an_adopted_namespace_until_it_is_ready(opened, kubernetes):
    """Conflicts, as somebody must do something: release it, let Compute bind it, give us the RoleBinding."""
    space = kubernetes.namespace()
    about = {"namespace": new_namespace(existing=space), "configurationId": new_id("cfg")}
    kubernetes.mine(about["namespace"]["id"])
    user = kubernetes.user("occctl", cluster_rules=CLUSTER_RULES)
    drivers, administrator = opened(user), opened()

    def stored():
        return outcome(drivers.configuration("store", document="{}", **about))

    assert stored() == ("permanent", "KUBERNETES_NAMESPACE_NOT_RELEASED")
    release(kubernetes, space)
    assert stored() == ("permanent", "NAMESPACE_NOT_READY")
    administrator.until_ready("ensure_namespace", namespace=about["namespace"])
    assert stored() == ("permanent", "KUBERNETES_ACCESS_DENIED")
    let_in(kubernetes, user, space)
    assert stored() == "ready"
    assert found(kubernetes, about)["data"] == {"openclaw.json": "{}"}


@pytest.mark.parametrize("how", ["taken back", "unmarked", "deleted"])
def test_an_adopted_namespace_that_its_administrator_takes_back(drivers, kubernetes, how):
    """What is ours leaves it, and nothing new is put into it."""
    space = kubernetes.namespace()
    about = {"namespace": new_namespace(existing=space), "configurationId": new_id("cfg")}
    kubernetes.mine(about["namespace"]["id"])
    release(kubernetes, space)
    drivers.until_ready("ensure_namespace", namespace=about["namespace"])
    assert drivers.configuration("store", document="{}", **about).ok
    back = {"annotations": {"openclaw.dev/namespace-lifecycle": None}}
    if how == "unmarked":
        back["annotations"]["openclaw.dev/namespace-id"] = None
        back["labels"] = {"openclaw.dev/namespace": None}
    if how == "deleted":
        kubernetes.delete("namespace", space)
    else:
        kubernetes.patch("namespace", space, None, {"metadata": back})
    refused = drivers.configuration("store", document="{}", **about)
    assert outcome(refused) == ("permanent", "KUBERNETES_NAMESPACE_NOT_RELEASED")
    assert drivers.configuration("remove", **about).ok
    assert found(kubernetes, about) is None
    assert drivers.configuration("remove", **about).ok


def test_another_tenants_namespace_is_never_written(drivers, kubernetes, about, tenant):
    other = new_namespace(existing=data_space(tenant))
    refused = drivers.configuration("store", namespace=other, configurationId=about["configurationId"], document="{}")
    assert refused.kind == "permanent" and not kubernetes.list("configmaps", selector=f"openclaw.dev/namespace={other['id']}")


def test_a_server_that_is_gone(opened, kubernetes, about):
    """K103"""
    drivers = opened(kubernetes.write_kubeconfig({"token": "x"}, server="https://127.0.0.1:1"))
    assert drivers.configuration("preflight").ok
    refused = drivers.configuration("store", document="{}", **about)
    assert outcome(refused) == ("pending", "KUBERNETES_API_UNAVAILABLE")
    assert (refused.dependency, refused.cause) == ("kubernetes", "unreachable") and "127.0.0.1:1" in refused.message


@pytest.mark.parametrize("user", [{"token": None}, {"exec": {"command": "x", "apiVersion": "v1"}}])
def test_preflight_reads_the_credentials_alone(opened, kubernetes, user):
    drivers = opened(kubernetes.write_kubeconfig(user, server="https://127.0.0.1:1"))
    refused = drivers.configuration("preflight")
    assert outcome(refused) == ("configuration", "KUBERNETES_AUTHENTICATION_INVALID")
    assert "drivers.configuration.configuration.authentication" in refused.message
