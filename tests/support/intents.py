# SPDX-License-Identifier: MIT
"""What Kubernetes is to have for a revision of an Agent, as tests/integration/intent_probe.c prints it.

    intents = Intents(path_of_a_startup_yaml)
    objects = intents.objects(namespace=new_namespace(), agent=new_agent(), revision=new_revision())
    gateway = find(objects, "Deployment", "gateway-")
    intents.differences(live_objects, namespace=…, agent=…, revision=…)    a merge patch or None for each
"""

import json
import subprocess

from . import tree
from .kubernetes import Kubernetes
from .program import check_log, environment


class Intents:
    def __init__(self, startup):
        command = [tree.program("tests/integration/intent_probe"), str(startup)]
        self.process = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)  # fmt: skip

    def _ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the probe ended: {self.process.communicate(timeout=30)}"
        return json.loads(line)

    def objects(self, **subjects):
        return self._ask(**subjects)["objects"]

    def differences(self, live, **subjects):
        return self._ask(live=live, **subjects)["differences"]

    def close(self):
        _, errors = self.process.communicate(timeout=30)
        check_log(errors, "intent_probe")
        assert self.process.returncode == 0, errors


class Unconnected(Kubernetes):
    """Writes a startup YAML for a cluster that is nowhere."""

    def __init__(self):
        self.kubeconfig = "/etc/occ/kubeconfig"
        self.context = "nowhere"

    def image(self, kind):
        return f"registry.example/{kind}@sha256:{'0' * 64}"


def find(objects, kind, prefix):
    """The one object of a kind whose name begins so."""
    found = [entry for entry in objects if entry["kind"] == kind and entry["metadata"]["name"].startswith(prefix)]
    assert len(found) == 1, [entry["metadata"]["name"] for entry in found]
    return found[0]


def container(deployment):
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only


def variables(deployment):
    """{name: value, or (Secret, key)} of the one container."""
    told = {}
    for entry in container(deployment)["env"]:
        source = entry.get("valueFrom", {}).get("secretKeyRef")
        assert entry["name"] not in told
        told[entry["name"]] = (source["name"], source["key"]) if source else entry["value"]
    return told
