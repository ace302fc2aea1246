# SPDX-License-Identifier: MIT
"""lib/kubernetes/api in a process of its own: tests/integration/kubernetes_probe.c, driven line by line."""

import json
import subprocess
import types

from . import tree
from .program import check_log, environment
from .waiting import PATIENCE


class KubernetesApi:
    """One client. Calls give what it said, as attributes: ok, kind (the fault's class), code, message, object …"""

    def __init__(self, kubeconfig, context="test", env=None):
        self._start("kubeconfig", str(kubeconfig), context, env=env)

    @classmethod
    def in_cluster(cls, host, port, folder):
        made = cls.__new__(cls)
        made._start("cluster", host, str(port), str(folder))
        return made

    def _start(self, *arguments, env=None):
        command = [tree.program("tests/integration/kubernetes_probe"), *arguments]
        self.process = subprocess.Popen(command, env=environment(env), cwd="/", stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, operation, kind=None, space=None, name=None, **more):
        """`more`: selector, intent, seen, patch, uid, verb, timeoutMs, watchMs, met="start"|"pass"."""
        command = {"operation": operation, "kind": kind, "space": space, "name": name, **more}
        line = json.dumps({member: value for member, value in command.items() if value is not None})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the probe ended: {self.process.communicate(timeout=30)}"
        told = json.loads(line)
        told["kind"] = told.pop("class")
        return types.SimpleNamespace(**told)

    def get(self, kind, space, name, **more):
        return self.ask("get", kind, space, name, **more)

    def list(self, kind, space=None, selector=None, **more):
        return self.ask("list", kind, space, selector=selector, **more)

    def create(self, kind, space, name, intent=None, **more):
        return self.ask("create", kind, space, name, intent=intent or {}, **more)

    def merge(self, kind, space, name, seen, patch, **more):
        return self.ask("merge", kind, space, name, seen=seen, patch=patch, **more)

    def delete(self, kind, space, name, uid, **more):
        return self.ask("delete", kind, space, name, uid=uid, **more)

    def version(self, **more):
        return self.ask("version", **more)

    def close(self):
        _, errors = self.process.communicate(timeout=30 * PATIENCE)
        check_log(errors, "kubernetes_probe")
        assert self.process.returncode == 0, f"the probe ended with {self.process.returncode}: {errors}"


def outcome(answer):
    """What a test compares: "ready", or the class and the code."""
    return "ready" if answer.ok else (answer.kind, answer.code)
