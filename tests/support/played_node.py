# SPDX-License-Identifier: MIT
"""A node without a kubelet, which a test plays: Pods that select it are put on it once their claims are bound, and are
then what the test says, at once and without an image. It is cordoned, so that the cluster's scheduler puts nobody else's
there. Everything but the two is the cluster's own.

    node = PlayedNode(kubernetes)                   a startup YAML with node.selector() puts its Pods here
    node.behave(ready())                            what becomes of each Pod that comes, and of those that are there
    node.behave(waiting("ImagePullBackOff"), role="agent")
    node.let_end = False                            Pods that are deleted stay, terminating

Its Pods end as soon as they are deleted, as the node says so. close() removes the node.
"""

import itertools
import threading
import time
import uuid

from .kubernetes import KubernetesError

_numbers = itertools.count(1)
ROLE = "openclaw.dev/workload-role"


def _now(ago=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def _status(ready, container, phase="Running"):
    conditions = [
        {"type": "Initialized", "status": "True"},
        {"type": "PodScheduled", "status": "True"},
        {"type": "ContainersReady", "status": "True" if ready else "False"},
        {"type": "Ready", "status": "True" if ready else "False"},
    ]
    whole = {"image": "played", "imageID": "", "restartCount": 0, "lastState": {}, "started": ready, "ready": ready}
    return {"phase": phase, "conditions": conditions, "container": {**whole, **container}}


def ready():
    return _status(True, {"state": {"running": {"startedAt": _now()}}})


def unready(started=True, ago=60):
    """Its readiness probe fails, or its startup probe, and it began to run so many seconds ago."""
    return _status(False, {"started": started, "state": {"running": {"startedAt": _now(ago)}}})


def waiting(reason, message=""):
    return _status(False, {"state": {"waiting": {"reason": reason, "message": message}}}, phase="Pending")


def crashing(reason="Error", status=3, restarts=4):
    ended = {"terminated": {"reason": reason, "exitCode": status}}
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}
    return _status(False, {"restartCount": restarts, "lastState": ended, "state": state})


def evicted():
    return {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.", "conditions": []}


class PlayedNode:
    def __init__(self, kubernetes):
        self.kubernetes = kubernetes
        self.name = f"played-{uuid.uuid4().hex[:10]}"
        self.let_end = True
        self._behaviours = {None: ready()}
        self._addresses = {}
        self._stop = threading.Event()
        kubernetes.request("POST", "/api/v1/nodes", self._node())
        self._beat()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _node(self):
        labels = {"kubernetes.io/hostname": self.name, "played": self.name}
        metadata = {"name": self.name, "labels": labels}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}}

    def selector(self):
        return {"played": self.name}

    def behave(self, status, role=None):
        """Of all Pods, or of those of one role."""
        self._behaviours[role] = status

    def _beat(self):
        """The node lives, and has room."""
        room = {"cpu": "64", "memory": "64Gi", "pods": "500", "ephemeral-storage": "100Gi"}
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played"}
        times = {"lastHeartbeatTime": _now(), "lastTransitionTime": _now()}
        status = {"capacity": room, "allocatable": room, "conditions": [{**condition, **times}]}
        self.kubernetes.request("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": status},
                                "application/strategic-merge-patch+json")  # fmt: skip
        # What the node controller says of a node that it has just met.
        self.kubernetes.request("PATCH", f"/api/v1/nodes/{self.name}", {"spec": {"taints": None}},
                                "application/merge-patch+json")  # fmt: skip

    def _play(self):
        beaten = time.monotonic()
        while not self._stop.wait(0.05):
            if time.monotonic() - beaten > 5:
                self._beat()
                beaten = time.monotonic()
            for pod in self._pods(""):
                if pod["spec"].get("nodeSelector") == self.selector() and self._is_bound(pod):
                    self._take(pod["metadata"])
            for pod in self._pods(self.name):
                self._play_pod(pod)

    def _pods(self, node):
        status, answer = self.kubernetes.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")
        return answer["items"] if status == 200 else ()

    def _is_bound(self, pod):
        names = [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each]
        claims = [self.kubernetes.get("persistentvolumeclaims", name, pod["metadata"]["namespace"]) for name in names]
        return all(claim and claim["status"].get("phase") == "Bound" for claim in claims)

    def _take(self, metadata):
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata["name"]}}
        target = {"apiVersion": "v1", "kind": "Node", "name": self.name}
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/binding"
        self.kubernetes.request("POST", path, {**binding, "target": target})

    def _play_pod(self, pod):
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        if metadata.get("deletionTimestamp"):
            if self.let_end:
                self.kubernetes.request("DELETE", f"{path}?gracePeriodSeconds=0")
            return
        role = metadata.get("labels", {}).get(ROLE)
        wanted = dict(self._behaviours.get(role) or self._behaviours[None])
        container = wanted.pop("container", None)
        # A Pod that has ended stays so.
        if pod["status"]["phase"] in ("Failed", "Succeeded"):
            return
        if container:
            address = self._addresses.setdefault(metadata["uid"], f"10.250.{next(_numbers) // 250 % 250}.{next(_numbers) % 250 + 1}")
            name = pod["spec"]["containers"][0]["name"]
            wanted["containerStatuses"] = [{**container, "name": name, "image": pod["spec"]["containers"][0]["image"]}]
            wanted["podIP"] = address
            wanted["podIPs"] = [{"ip": address}]
        told = {key: pod["status"].get(key) for key in wanted}
        if _plain(told) != _plain(wanted):
            self.kubernetes.request("PATCH", f"{path}/status", {"status": wanted}, "application/merge-patch+json")

    def evict(self, pod):
        """Puts an end to a Pod and leaves it lying there."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
        status, answer = self.kubernetes.request("PATCH", path, {"status": evicted()}, "application/merge-patch+json")
        if status != 200:
            raise KubernetesError("evict", status, answer)

    def close(self):
        self._stop.set()
        self._thread.join(30)
        # Nobody would tell of their end.
        status, answer = self.kubernetes.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.name}")
        for pod in answer["items"] if status == 200 else ():
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            self.kubernetes.request("DELETE", f"{path}?gracePeriodSeconds=0")
        self.kubernetes.request("DELETE", f"/api/v1/nodes/{self.name}")


def _plain(value):
    """What is compared: without what the server makes of it."""
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in value.items()
            if item not in (None, {}, "", []) and key not in ("lastTransitionTime", "lastProbeTime", "startedAt")
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
