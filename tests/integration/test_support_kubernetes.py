# SPDX-License-Identifier: MIT
"""The tests' Kubernetes cluster is a real one, ours alone, and its helper does what it says."""

import subprocess

import pytest

from support import kubernetes as support
from support import processes
from support.kubernetes import Kubernetes
from support.kubernetes_connection import KubernetesError
from support.kubernetes_startup import GATEWAY_CLASS
from support.waiting import poll

SERVER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "server", "labels": {"app": "server"}},
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "server",
                "command": ["sh", "-c", "echo hello >/kept/index.html && exec httpd -f -p 8080 -h /kept"],
                "readinessProbe": {"httpGet": {"port": 8080, "path": "/index.html"}, "periodSeconds": 1},
                "volumeMounts": [{"name": "kept", "mountPath": "/kept"}],
            }
        ],
        "volumes": [{"name": "kept", "persistentVolumeClaim": {"claimName": "kept"}}],
    },
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "kept"},
    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": GATEWAY_CLASS, "resources": {"requests": {"storage": "1Gi"}}},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "server"},
    "spec": {"selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]},
}


def in_namespace(entry, namespace):
    return {**entry, "metadata": {**entry["metadata"], "namespace": namespace}}


def served(kubernetes, namespace, image):
    """Applies SERVER, CLAIM and SERVICE, and waits until the API server's proxy reaches it; the claim's volume."""
    container = {**SERVER["spec"]["containers"][0], "image": image}
    server = {**SERVER, "spec": {**SERVER["spec"], "containers": [container]}}
    kubernetes.apply([in_namespace(entry, namespace) for entry in (CLAIM, server, SERVICE)])
    path = f"/api/v1/namespaces/{namespace}/services/server:80/proxy/index.html"
    poll(lambda: kubernetes.request("GET", path) == (200, "hello\n"), 60, interval=0.1, what="an answer of the Service")
    return kubernetes.get("persistentvolumeclaim", "kept", namespace)["spec"]["volumeName"]


def test_a_pod_of_a_pushed_image_is_reached_through_its_service(kubernetes):
    namespace = kubernetes.namespace()
    image = kubernetes.image("busybox")
    volume = served(kubernetes, namespace, image)
    status = kubernetes.get("pod", "server", namespace)["status"]["containerStatuses"][0]
    assert status["imageID"].endswith(image.partition("@")[2])
    client = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client", "namespace": namespace}}
    address = kubernetes.get("service", "server", namespace)["spec"]["clusterIP"]
    # A Pod reaches a Service, and the API server, which asks for the token that every Pod finds.
    script = f"""wget -q -O - http://{address}/index.html && wget -q -O - --no-check-certificate \\
        --header "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" \\
        https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/version"""
    container = {"name": "client", "image": image, "command": ["sh", "-c", script]}
    kubernetes.apply({**client, "spec": {"restartPolicy": "Never", "containers": [container]}})
    ended = poll(lambda: kubernetes.get("pod", "client", namespace)["status"]["phase"] in ("Succeeded", "Failed"), 60, 0.1)
    log = kubernetes.kubectl("-n", namespace, "logs", "client")
    assert ended and log.startswith("hello\n") and '"gitVersion": "v1.20.2' in log
    # The volume is emptied and can be used again once its claim is gone.
    assert (kubernetes.folder / "volumes" / volume / "index.html").exists()
    kubernetes.delete("namespace", namespace)
    poll(lambda: kubernetes.get("persistentvolume", volume)["status"]["phase"] in ("Available", "Bound"), 30, 0.1)
    assert not (kubernetes.folder / "volumes" / volume / "index.html").exists()


def test_nothing_of_it_appears_on_the_host(kubernetes):
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    assert "cluster0" not in links
    with open("/proc/self/mounts", encoding="ascii") as mounts:
        assert str(kubernetes.folder) not in mounts.read()


def test_users_may_do_what_is_bound_to_them(kubernetes):
    namespace = kubernetes.namespace()
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    user = kubernetes.user("reader", namespace, rules=rules)
    other = kubernetes.user("nobody")
    assert kubernetes.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/x", user=user)[0] == 404
    assert kubernetes.request("GET", f"/api/v1/namespaces/{namespace}/configmaps", user=user)[0] == 403
    assert kubernetes.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/x", user=other)[0] == 403
    assert "not found" in kubernetes.kubectl("-n", namespace, "get", "configmap", "x", user=user, check=False).stderr
    everywhere = kubernetes.user("lister", cluster_rules=[{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}])
    assert kubernetes.request("GET", "/api/v1/namespaces", user=everywhere)[0] == 200
    person = kubernetes.certificate_user("somebody", groups=["system:masters"])
    assert kubernetes.request("GET", "/api/v1/namespaces", user=person)[0] == 200
    late = kubernetes.certificate_user("late", groups=["system:masters"], begins=-7200, ends=-3600)
    assert kubernetes.request("GET", "/api/v1/namespaces", user=late)[0] == 401


def test_the_audit_log_tells_who_did_what(kubernetes):
    namespace = kubernetes.namespace()
    user = kubernetes.user("watched", namespace)
    mark = kubernetes.mark()
    assert kubernetes.request("GET", f"/api/v1/namespaces/{namespace}/pods?limit=7", user=user)[0] == 403
    kubernetes.list("pods", namespace)
    (record,) = poll(lambda: kubernetes.audit(user, since=mark), 5)
    assert (record["verb"], record["objectRef"]["resource"], record["responseStatus"]["code"]) == ("list", "pods", 403)
    assert record["requestURI"].endswith("/pods?limit=7")
    assert kubernetes.audit(user, since=mark, verb="get") == []
    assert kubernetes.audit("admin", since=mark, verb="list", resource="pods", namespace=namespace, code=200)
    assert kubernetes.audit(user, since=kubernetes.mark()) == []


def test_objects_are_made_changed_and_removed(kubernetes):
    namespace = kubernetes.namespace(labels={"a": "b"})
    assert kubernetes.list("namespaces", selector="a=b")[0]["metadata"]["name"] == namespace
    text = f"""
        apiVersion: v1
        kind: ConfigMap
        metadata: {{name: kept, namespace: {namespace}}}
        data: {{one: "1"}}
    """
    first = kubernetes.apply(text)
    second = kubernetes.apply(text.replace('"1"', '"2"'))
    assert first["metadata"]["uid"] == second["metadata"]["uid"] and second["data"] == {"one": "2"}
    kubernetes.patch("configmap", "kept", namespace, {"data": {"two": "2"}})
    kubernetes.patch("configmap", "kept", namespace, [{"op": "remove", "path": "/data/one"}])
    assert kubernetes.get("cm", "kept", namespace)["data"] == {"two": "2"}
    with pytest.raises(KubernetesError, match="Invalid") as refused:
        kubernetes.patch("configmap", "kept", namespace, {"data": {"/": "x"}})
    assert refused.value.status == 422
    assert kubernetes.delete("configmap", "kept", namespace)
    assert not kubernetes.delete("configmap", "kept", namespace)
    assert kubernetes.get("configmap", "kept", namespace) is None


def test_a_tests_own_things_are_removed(kubernetes):
    identifier = kubernetes.new_id()
    labelled = kubernetes.kubectl("create", "namespace", f"labelled-{identifier[3:11]}", "-o", "name").strip().partition("/")[2]
    kubernetes.patch("namespace", labelled, None, {"metadata": {"labels": {support.NAMESPACE_LABEL: identifier}}})
    maker = kubernetes.user("maker", cluster_rules=[{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}])
    made = f"made-{identifier[3:11]}"
    assert kubernetes.request("POST", "/api/v1/namespaces", {"metadata": {"name": made}}, user=maker)[0] == 201
    role = f"{maker.namespace}-{maker.account}"
    assert kubernetes.get("clusterrole", role) and kubernetes.get("clusterrolebinding", role)
    kubernetes.cleanup()
    assert kubernetes.get("clusterrole", role) is None and kubernetes.get("clusterrolebinding", role) is None
    for name in (labelled, made, maker.namespace):
        poll(lambda: kubernetes.get("namespace", name) is None, 60, interval=0.1, what=f"the end of {name}")


@pytest.mark.parametrize("kind", ["gateway", "agent"])
def test_runtime_images_have_digests(kubernetes, kind):
    image = kubernetes.image(kind)
    assert image.startswith(f"127.0.0.1:5000/occ-test/{kind}@sha256:") and kubernetes.image(kind) == image


def test_a_run_has_one_cluster_and_leaves_none():
    run = f"support-{processes.os.getpid()}"
    one, two = Kubernetes(run), Kubernetes(run)
    one.start()
    try:
        two.start()
        node = one.get("node", "test-node")["metadata"]["uid"]
        assert two.get("node", "test-node")["metadata"]["uid"] == node
        one.remove()
        assert two.request("GET", "/readyz") == (200, "ok")
        started = processes.look(int((two.folder / "cluster.pid").read_text().split()[0]))
        two.begin()
        parts = [part for part in processes.everything() if str(two.folder / "etcd") in part.arguments]
        parts[0].kill()
        started.wait_gone()
        with pytest.raises(AssertionError, match="etcd ended"):
            two.begin()
    finally:
        # As the kernel does for a process that is killed.
        one.remove()
        two.remove()
    poll(lambda: not two.folder.exists(), 30, what="the end of the cluster")
    assert not started.alive
    poll(lambda: not two.folder.with_suffix(".held").exists(), 5)
