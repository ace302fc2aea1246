# SPDX-License-Identifier: MIT
"""A Compute Driver in a process of its own: tests/integration/compute_probe.c, driven line by line."""

import hashlib
import json
import re
import subprocess
import types
import uuid

from . import tree
from .program import check_log, environment
from .waiting import PATIENCE

DRIVER = "compute-docker-development"
LABEL = "org.openclaw.enterprise."


def new_namespace():
    return f"ns_{uuid.uuid4()}"


def network_name(namespace):
    slug = re.sub(r"[^a-z0-9]+", "-", namespace.lower()).lstrip("-")[:32].rstrip("-")
    return f"oce-{slug}-{hashlib.sha256(namespace.encode()).hexdigest()[:12]}"


def labels(namespace, installation="ins_probe"):
    """The labels that make something a Namespace's; installation=None leaves that one out."""
    made = {f"{LABEL}managed": "true", f"{LABEL}compute-driver": "docker", f"{LABEL}namespace-id": namespace}
    if installation is not None:
        made[f"{LABEL}installation-id"] = installation
    return made


class Compute:
    """One process with one Driver. Calls give what the Driver said, as attributes: ok, code, message …"""

    def __init__(self, socket, mode="development", driver=DRIVER, package=None, user=None):
        command = [tree.program("tests/integration/compute_probe"), mode, driver, str(socket)]
        command += [package] if package else []
        if user is not None:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]
        self.process = subprocess.Popen(command, env=environment(), cwd="/", stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.opening = self.answer()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the probe ended: {self.process.communicate(timeout=30)}"
        told = json.loads(line)
        told["kind"] = told.pop("class", None)
        return types.SimpleNamespace(**told)

    def preflight(self):
        return self.say("preflight").answer()

    def ensure(self, namespace):
        return self.say(f"ensure {namespace}").answer()

    def delete(self, namespace):
        return self.say(f"delete {namespace}").answer()

    def observe_ensure(self, namespace):
        return self.say(f"observe-ensure {namespace}").answer()

    def observe_delete(self, namespace):
        return self.say(f"observe-delete {namespace}").answer()

    def close(self):
        _, errors = self.process.communicate(timeout=30 * PATIENCE)
        check_log(errors, "compute_probe")
        assert self.process.returncode == 0, f"the probe ended with {self.process.returncode}: {errors}"


def outcome(answer):
    """What a test compares: "ready", or the class and the code."""
    return "ready" if answer.ok else (answer.kind, answer.code)
