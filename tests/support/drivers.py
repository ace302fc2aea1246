# SPDX-License-Identifier: MIT
"""The Drivers of a startup YAML in a process of their own: tests/integration/driver_probe.c, driven command by command.

    drivers = Drivers(path_of_a_startup_yaml, mode="production")
    tenant, agent = new_namespace(), new_agent()
    assert drivers.compute("ensure_namespace", namespace=tenant).ok
    answer = drivers.compute("prepare_revision", namespace=tenant, agent=agent, revision=new_revision(mode="dedicated"))
    assert outcome(answer) == ("pending", "REVISION_INCOMPLETE")

Every answer has ok, kind (the fault's class), code, message, dependency, cause, retryAfterMs, exit, namespaceId,
agentId, revisionId, failure, warnings, turns, elapsedMs, and what the operation gave: document, kept, value, stopped.
"""

import base64
import json
import subprocess
import types
import uuid

from . import tree
from .program import check_log, environment
from .waiting import PATIENCE, poll


def new_id(prefix):
    return f"{prefix}_{uuid.uuid4()}"


def new_namespace(name="acme", existing=None):
    return {"id": new_id("ns"), "name": name, **({"existing": existing} if existing else {})}


def new_agent(name="support"):
    return {"id": new_id("agt"), "name": name, "servicePrincipalId": str(uuid.uuid4())}


def new_revision(number=1, harness="openclaw", mode="embedded", secret=None, bindings=(), **more):
    """As a deployment with an API key admits it; `secret` is the place of the key, a binding a place with a "name"."""
    made = {
        "id": new_id("rev"),
        "number": number,
        "first": number == 1,
        "document": {"agents": {"defaults": {"model": "openai/gpt"}}},
        "configurationId": new_id("cfg"),
        "harness": {"id": harness, "mode": mode, "version": "1"},
        "bindings": list(bindings),
    }
    if secret:
        made["secret"] = secret
        made["secretDriverId"] = secret["driverId"]
        source = {"kind": "secret", "namespaceId": secret["namespaceId"], "id": secret["secretId"]}
        made["harnessAuth"] = {"method": "api_key", "source": source}
    return {**made, **more}


class Drivers:
    """One process with the Drivers of one startup YAML, bundled or installed."""

    def __init__(self, startup, mode="development", env=None, user=None, docker_socket=None, root=None):
        command = [tree.program("tests/integration/driver_probe"), mode, str(startup)]
        command += [str(docker_socket or "/nonexistent")] + ([str(root)] if root else [])
        if user is not None:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]
        self.process = subprocess.Popen(command, env=environment(env), cwd="/", stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.opening = self.answer()

    # One command, whole or in two halves, so that a test can act while it runs.

    def say(self, capability, operation, **fields):
        self.process.stdin.write(json.dumps({"capability": capability, "operation": operation, **fields}) + "\n")
        self.process.stdin.flush()
        return self

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the probe ended: {self.process.communicate(timeout=30 * PATIENCE)}"
        told = json.loads(line)
        told["kind"] = told.pop("class", None)
        return types.SimpleNamespace(**told)

    def compute(self, operation, **fields):
        return self.say("compute", operation, **fields).answer()

    def sandbox(self, operation, **fields):
        return self.say("sandbox", operation, **fields).answer()

    def configuration(self, operation, **fields):
        return self.say("configuration", operation, **fields).answer()

    def secret(self, operation, **fields):
        return self.say("secret", operation, **fields).answer()

    # What tests do again and again.

    def until_ready(self, operation, deadline=60.0, **fields):
        """Repeats an operation of Compute while it is pending, as passes do; its last answer, which is ready."""
        answers = []

        def once():
            answers.append(self.compute(operation, **fields))
            assert answers[-1].ok or answers[-1].kind == "pending", answers[-1]
            return answers[-1] if answers[-1].ok else None

        try:
            return poll(once, deadline, interval=0.2, what=f"{operation} being ready")
        except AssertionError as problem:
            raise AssertionError(f"{problem}; last: {answers[-1]}") from None

    def keep_secret(self, namespace, value, identifier=None):
        """Stores a value (bytes or text) in the Secret Driver; its place."""
        identifier = identifier or new_id("sec")
        told = self.secret("store", namespace=namespace, secretId=identifier, value=encoded(value))
        assert told.ok, told
        return {"secretId": identifier, "driverId": "secret-kubernetes", "namespaceId": namespace["id"], **told.kept}

    def secret_value(self, place):
        told = self.secret("read", place=place)
        assert told.ok, told
        return base64.b64decode(told.value)

    def close(self):
        _, errors = self.process.communicate(timeout=30 * PATIENCE)
        check_log(errors, "driver_probe")
        assert self.process.returncode == 0, f"the probe ended with {self.process.returncode}: {errors}"


def encoded(value):
    """A value as the commands have it."""
    return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()


def outcome(answer):
    """What a test compares: "ready", or the class and the code."""
    return "ready" if answer.ok else (answer.kind, answer.code)
