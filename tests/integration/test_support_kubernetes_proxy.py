# SPDX-License-Identifier: MIT
"""The proxy in front of the API server does to requests what it was told to, and passes on all others."""

import http.client
import threading

import pytest

from support.fake_kubernetes import refusal
from support.kubernetes_connection import Connection
from support.kubernetes_proxy import CUT, CUT_AFTERWARDS, before, passed


@pytest.fixture
def direct(kubernetes):
    """A namespace with one ConfigMap `kept`, and what the API server itself says of a ConfigMap."""
    namespace = kubernetes.namespace()
    kubernetes.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": namespace}})

    def look(name="kept"):
        return kubernetes.get("configmap", name, namespace)

    look.path = f"/api/v1/namespaces/{namespace}/configmaps"
    look.namespace = namespace
    return look


@pytest.fixture
def ask(kubernetes, kubernetes_proxy):
    """ask(method, path, body) through the proxy: (status, body)"""

    def call(method, path, body=None, user=None, timeout=20):
        connection = Connection(kubernetes_proxy.port, kubernetes.ca, token=user and user.token)
        content_type = "application/merge-patch+json" if method == "PATCH" else None
        return connection.request(method, path, body, content_type, timeout)

    return call


def test_requests_are_passed_on_with_their_user(kubernetes, kubernetes_proxy, direct, ask):
    user = kubernetes.user("through", direct.namespace)
    mark = kubernetes.mark()
    assert ask("GET", direct.path + "/kept")[1] == direct()
    assert ask("GET", direct.path + "?labelSelector=a%3Db%2Cc&limit=1", user=user)[0] == 403
    assert ask("PATCH", direct.path + "/kept", {"data": {"a": "ä"}})[1]["data"] == {"a": "ä"}
    assert direct()["data"] == {"a": "ä"}
    (seen,) = kubernetes.audit(user, since=mark)
    assert seen["requestURI"] == direct.path + "?labelSelector=a%3Db%2Cc&limit=1"
    assert [request.passed for request in kubernetes_proxy.requests] == [200, 403, 200]
    assert kubernetes_proxy.writes()[0].json == {"data": {"a": "ä"}}
    config = kubernetes_proxy.kubeconfig(kubernetes.user("lister", cluster_rules=[{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]))
    assert "test-node" in kubernetes.kubectl("get", "nodes", user=config)
    assert kubernetes_proxy.count("GET", "/api/v1/nodes") == 1


def test_the_nth_request_is_answered_otherwise(kubernetes_proxy, direct, ask):
    kubernetes_proxy.on("GET", r".*/configmaps/kept", refusal(429, "TooManyRequests", "slow down", headers={"Retry-After": "1"}), nth=2)
    kubernetes_proxy.on("GET", r".*/configmaps/kept", refusal(500, "InternalError", "boom"), nth=3)
    kubernetes_proxy.on("GET", r".*/configmaps/other", [refusal(503, "ServiceUnavailable", "later")])
    assert [ask("GET", direct.path + "/kept")[0] for _ in range(4)] == [200, 429, 500, 200]
    assert [ask("GET", direct.path + "/other")[0] for _ in range(2)] == [503, 404]
    assert [request.passed for request in kubernetes_proxy.asked("GET", r".*/kept")] == [200, None, None, 200]
    kubernetes_proxy.on("GET", r".*/kept", refusal(403, "Forbidden", "no", details={"kind": "configmaps"}))
    status, body = ask("GET", direct.path + "/kept")
    assert (status, body["reason"], body["code"], body["details"]) == (403, "Forbidden", 403, {"kind": "configmaps"})
    kubernetes_proxy.off()
    assert ask("GET", direct.path + "/kept")[0] == 200


def test_a_request_is_cut_before_or_after_it_took_effect(kubernetes_proxy, direct, ask):
    for name, how in (("before", CUT), ("after", CUT_AFTERWARDS)):
        kubernetes_proxy.on("POST", r".*/configmaps", how, nth=1)
        with pytest.raises((http.client.HTTPException, ConnectionError, OSError)):
            ask("POST", direct.path, {"metadata": {"name": name}})
    assert direct("before") is None and direct("after") is not None
    assert [request.passed for request in kubernetes_proxy.writes()] == [None, 201]


def test_something_happens_before_or_after_a_request(kubernetes, kubernetes_proxy, direct, ask):
    def lose(_request):
        kubernetes.delete("configmap", "kept", direct.namespace)

    assert ask("GET", direct.path + "/kept")[0] == 200
    kubernetes_proxy.on("PATCH", r".*/kept", before(lose), nth=1)
    assert ask("PATCH", direct.path + "/kept", {"data": {"a": "b"}})[0] == 404
    assert ask("POST", direct.path, {"metadata": {"name": "kept"}})[0] == 201
    kubernetes_proxy.on("GET", r".*/kept", passed(afterwards=lose))
    assert ask("GET", direct.path + "/kept")[0] == 200
    assert direct() is None


def test_an_answer_is_truncated_held_back_or_made_huge(kubernetes_proxy, direct, ask):
    kubernetes_proxy.on("GET", r".*/kept", passed(cut_after=300), nth=1)
    with pytest.raises(http.client.IncompleteRead):
        ask("GET", direct.path + "/kept")
    held = threading.Event()
    kubernetes_proxy.on("GET", r".*/kept", passed(stall=held), nth=1)
    with pytest.raises(TimeoutError):
        ask("GET", direct.path + "/kept", timeout=0.3)
    held.set()
    kubernetes_proxy.on("GET", r".*/kept", passed(body=b"x" * 5_000_000), nth=1)
    assert len(ask("GET", direct.path + "/kept")[1]) == 5_000_000
    assert ask("GET", direct.path + "/kept")[0] == 200


def test_it_shows_another_certificate_and_goes_away(kubernetes, kubernetes_proxy, direct, ask):
    kubernetes_proxy.show(kubernetes.authority.issue("elsewhere", "/CN=elsewhere", names=("DNS:elsewhere",)))
    with pytest.raises(OSError, match="not valid for '127.0.0.1'"):
        ask("GET", direct.path + "/kept")
    kubernetes_proxy.stop()
    with pytest.raises(ConnectionRefusedError):
        ask("GET", direct.path + "/kept")
    port = kubernetes_proxy.port
    kubernetes_proxy.start()
    assert kubernetes_proxy.port == port
