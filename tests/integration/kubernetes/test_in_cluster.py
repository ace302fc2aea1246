# SPDX-License-Identifier: MIT
"""The worker in the cluster that it works on: worker.yaml as it is shipped, with an image of what was built."""

import json

import pytest
from support import processes, tree, worker_image
from support.admission import Admission
from support.desk import Caller
from support.manifests import Rights
from support.pod_proxy import NODE, PodProxy
from support.production import digits
from support.waiting import poll

IN_CLUSTER = {
    f"drivers__{each}__configuration__authentication": {"mode": "inCluster"} for each in ("compute", "configuration", "secret")
}


@pytest.fixture
def rights(kubernetes):
    made = Rights(kubernetes)
    yield made
    made.remove()


@pytest.fixture
def database_for_pods(kubernetes, bootstrapped):
    """The URL of `bootstrapped` as Pods reach it."""
    pid = int((kubernetes.folder / "cluster.pid").read_text().split()[0])
    made = PodProxy(bootstrapped.cluster.port, pid)
    yield bootstrapped.url(host=NODE, port=made.port)
    made.close()


def is_sanitized():
    return any("libasan" in path for path in worker_image.libraries(tree.program("occ-worker")))


class Deployed:
    """worker.yaml, after the ConfigMap and the Secret that README.md asks for."""

    def __init__(self, rights, folder, url):
        self.kubernetes, self.rights = rights.kubernetes, rights
        image = worker_image.push(self.kubernetes, folder)
        (folder / "url").write_text(url)
        startup = self.kubernetes.startup(folder / "occ-installation.yaml", **IN_CLUSTER)
        self.make("configmap", "occ-installation", f"--from-file={startup}")
        self.make("secret", "generic", "occ-worker-database", f"--from-file=url={folder / 'url'}")
        rights.apply("worker.yaml", lambda document: self.fit(document, image))

    def make(self, *arguments):
        self.kubernetes.kubectl("-n", self.rights.system, "create", *arguments)

    @staticmethod
    def fit(document, image):
        """Its image's name is for whoever deploys it to say. The limit is a release's: with the sanitizers it needs more."""
        pod = document["spec"]["template"]["spec"]
        for container in pod["initContainers"] + pod["containers"]:
            container["image"] = image
        if is_sanitized():
            pod["containers"][0]["resources"]["limits"]["memory"] = "2Gi"

    def pods(self):
        return self.kubernetes.list("pods", self.rights.system, "app=occ-worker")

    def log(self):
        (pod,) = self.pods()
        done = self.kubernetes.kubectl("-n", self.rights.system, "logs", pod["metadata"]["name"], "-c", "worker", check=False)
        return done.stdout

    def events(self, name):
        records = [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]
        return [record for record in records if record["event"] == name]

    def wait_ready(self):
        def ready():
            shown = self.kubernetes.get("deployment", "occ-worker", self.rights.system)
            return shown["status"].get("readyReplicas") == 1

        poll(ready, 90, what="the Deployment is ready")
        return self


def memory(process):
    """Its share of memory in bytes (Pss)."""
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024


@pytest.mark.release
def test_the_shipped_limit_is_far(rights, database_for_pods, bootstrapped, folder):
    """Of worker.yaml's memory not half is used, with all reconcilers at work."""
    assert not is_sanitized()
    deployed = Deployed(rights, folder, database_for_pods).wait_ready()
    (pod,) = deployed.pods()
    assert pod["spec"]["containers"][0]["resources"]["limits"]["memory"] == "256Mi"
    binder = rights.binder(folder)
    try:
        made = [Admission(bootstrapped) for _ in range(8)]
        for identifier in [bootstrapped.namespace("default")["id"], *(each.id for each in made)]:
            rights.kubernetes.mine(identifier)
        for each in made:
            each.wait_ready(120)
    finally:
        binder.terminate()
        binder.wait()
    (pod,) = deployed.pods()
    (worker,) = [each for each in pod["status"]["containerStatuses"] if each["name"] == "worker"]
    assert worker["restartCount"] == 0 and worker["ready"]
    # Its supervisor is the container's first process; what it started is in the same session.
    (first,) = [process for process in processes.everything() if process.arguments == ("/usr/sbin/occ-worker",)]
    there = processes.in_session(first.pid)
    used = sum(memory(process) for process in there)
    print(f"{len(there)} processes of the Pod use {used >> 20} MiB")
    assert len(there) >= 6 and used < 128 << 20


def test_the_shipped_deployment_works(rights, database_for_pods, bootstrapped, occctl, folder):
    deployed = Deployed(rights, folder, database_for_pods).wait_ready()
    (pod,) = deployed.pods()
    (worker,) = [each for each in pod["status"]["containerStatuses"] if each["name"] == "worker"]
    assert worker["restartCount"] == 0
    (started,) = deployed.events("worker.started")
    assert (started["mode"], started["computeDriverId"]) == ("production", "compute-kubernetes")

    startup = rights.kubernetes.startup(folder / "occctl.yaml", kubeconfig=rights.kubeconfig("occctl"))
    caller = Caller(occctl, bootstrapped, folder, {"NODE_ENV": "production", "OCC_CONFIG_PATH": startup})
    creating = caller.follow("namespace", "create", "acme")
    creating.wait_said("KUBERNETES_ACCESS_DENIED")
    identifier = rights.kubernetes.mine(caller.run("namespace", "get", "acme")["id"])
    rights.kubernetes.mine(caller.run("namespace", "get", "default")["id"])
    binder = rights.binder(folder)
    try:
        creating.result().ok()
    finally:
        binder.terminate()
        binder.wait()
    assert rights.kubernetes.get("namespace", f"oce-{digits(identifier, 15)}")["status"]["phase"] == "Active"

    # A Pod that goes hands over to the next one, and says that it stopped.
    name = pod["metadata"]["name"]
    assert rights.kubernetes.delete("pod", name, rights.system, wait=False)
    poll(lambda: [each["metadata"]["name"] for each in deployed.pods()] not in ([], [name]) and len(deployed.pods()) == 1, 60)
    deployed.wait_ready()
    caller.run("namespace", "delete", "acme", "--wait")
