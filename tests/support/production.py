# SPDX-License-Identifier: MIT
"""An Installation in production mode on a cluster: a worker and occctl, each under exactly the rights that contrib/kubernetes
gives it, and what an administrator of the cluster sees of it."""

import hashlib
import signal

from .manifests import Rights
from .waiting import poll

NAMESPACE, AGENT, REVISION = "openclaw.dev/namespace", "openclaw.dev/agent", "openclaw.dev/revision"
ROLE = "openclaw.dev/workload-role"
MANAGED = "app.kubernetes.io/managed-by=openclaw-enterprise"


def digits(identifier, count):
    return hashlib.sha256(identifier.encode()).hexdigest()[:count]


class Production:
    """`env` makes occctl work on it. It is closed by its fixture, before the worker's."""

    def __init__(self, kubernetes, worker, folder, server=None, **changes):
        """`server` is where the worker finds the API server, where that is not its own address."""
        self.kubernetes, self.folder = kubernetes, folder
        self.rights = Rights(kubernetes)
        self.worker_startup = folder / "worker.yaml"
        self._kubeconfigs = {"occ-worker": self.rights.kubeconfig("occ-worker", server), "occctl": self.rights.kubeconfig("occctl")}
        kubernetes.startup(folder / "occctl.yaml", kubeconfig=self._kubeconfigs["occctl"])
        self.write_startup(**changes)
        self.env = {"NODE_ENV": "production", "OCC_CONFIG_PATH": folder / "occctl.yaml"}
        marker = folder / "ready"
        env = {"NODE_ENV": "production", "OCC_CONFIG_PATH": self.worker_startup}
        self.worker = worker(f"--readiness-path={marker}", "--reconcilers=3", env=env)
        poll(lambda: marker.exists() or not self.worker.running, 30, what="readiness")
        assert self.worker.running, self.worker.log
        self._binder = None

    def write_startup(self, **changes):
        self.kubernetes.startup(self.worker_startup, kubeconfig=self._kubeconfigs["occ-worker"], **changes)

    def reload(self, **changes):
        """The worker goes on with another startup YAML."""
        self.write_startup(**changes)
        since = self.worker.mark()
        self.worker.send(signal.SIGHUP)
        self.worker.wait_for("worker.reloaded", deadline=60, since=since)

    def start_binder(self):
        self._binder = self.rights.binder(self.folder)

    def close(self):
        if self._binder:
            self._binder.terminate()
            self._binder.wait()
        self.rights.remove()

    # What the cluster shows.

    def data_space(self, namespace):
        return f"oce-{digits(namespace, 15)}"

    def gateway_space(self, namespace):
        return f"oce-gateways-{digits(namespace, 24)}"

    def answer(self, agent, space, path="", port=8080):
        """What the Agent's gateway says, through its Service and the API server's proxy: (status, body)."""
        name = f"gateway-{digits(agent, 12)}"
        return self.kubernetes.request("GET", f"/api/v1/namespaces/{space}/services/{name}:{port}/proxy/{path}")

    def pods(self, agent):
        """{(role, revision): phase} of the Agent's Pods; one that is ending is "Terminating"."""
        listed = self.kubernetes.list("pods", selector=f"{AGENT}={agent}")
        return {
            (pod["metadata"]["labels"][ROLE], pod["metadata"]["labels"][REVISION]): "Terminating"
            if "deletionTimestamp" in pod["metadata"]
            else pod["status"]["phase"]
            for pod in listed
        }

    def ours(self, selector):
        """{"kind namespace/name"} of everything in the cluster that carries the labels."""
        done = self.kubernetes.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = ",".join(each for each in done if not each.startswith(("events", "componentstatuses")))
        listed = self.kubernetes.kubectl(
            "get", kinds, "-A", "-l", selector, "--ignore-not-found", "-o",
            'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}',
        )  # fmt: skip
        return set(listed.splitlines())

    def used(self, account, since=0):
        """{(group, resource, verb)} that the account asked for, of what roles can grant."""
        return {
            (record["objectRef"].get("apiGroup", ""), record["objectRef"]["resource"], record["verb"])
            for record in self.kubernetes.audit(user=self.rights.user(account), since=since)
            if "objectRef" in record and record["objectRef"].get("apiGroup") != "authorization.k8s.io"
        }

    def refused(self, account, since=0):
        """What was forbidden to the account: "verb resource namespace"."""
        return [
            f"{record['verb']} {record['objectRef']['resource']} {record['objectRef'].get('namespace', '')}"
            for record in self.kubernetes.audit(user=self.rights.user(account), since=since, code=403)
        ]
