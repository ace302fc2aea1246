# SPDX-License-Identifier: MIT
"""Agents that can be deployed, made by occctl alone with whatever Drivers are selected; a worker must run."""

import json
import subprocess
import threading

from . import tree
from .program import Result, check_log, environment
from .tenant import OPENCLAW
from .waiting import PATIENCE, DeadlineExceeded, poll

SECRET = "s3cr3t"


class Caller:
    """Calls occctl as the administrator. `env` selects the Drivers."""

    def __init__(self, occctl, database, folder, env):
        self.occctl, self.env, self.folder, self.database = occctl, env, folder, database

    def operator(self, name, *permissions):
        """Somebody else who asks: (variables that make occctl ask as this one, its id)."""
        identity = self.run("iam", "identity", "create")["id"]
        listed = [word for permission in permissions for word in ("--permission", permission)]
        self.run("iam", "role", "create", name, *listed)
        self.bind(name, identity)
        path = self.folder / "keys" / f"{name}.json"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self.run("service-key", "create", name, "--file", path, "--service-principal", identity)
        return {"OCC_SERVICE_KEY_FILE": path}, identity

    def bind(self, role, identity, *where):
        """The binding's id."""
        return self.run("iam", "binding", "create", "--role", role, "--identity", identity, *where)["id"]

    def ask(self, *arguments, env=None):
        """The Result of occctl, whatever it is."""
        return self.occctl(*arguments, "-o", "json", env={**self.env, **(env or {})}, deadline=120)

    def run(self, *arguments, env=None):
        """The document that occctl gives; fails where it refuses."""
        result = self.ask(*arguments, env=env).ok()
        return json.loads(result.out) if result.out.strip() else None

    def follow(self, *arguments, env=None):
        """occctl --wait, not waited for: a Following."""
        variables = {
            "NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": self.database.key_file, **self.database.environment(),
            **self.env, **(env or {}),
        }  # fmt: skip
        return Following([*arguments, "--wait", "-o", "json"], variables)


class Desk(Caller):
    """A Namespace "acme", made where there is none, with an Agent "support", whose Harness authenticates with the Secret
    "model", which its Configuration binds as KEY, too."""

    def __init__(self, occctl, database, folder, env):
        super().__init__(occctl, database, folder, env)
        if not database.namespace("acme"):
            self.run("namespace", "create", "acme", "--wait")
        self.namespace = self.run("namespace", "get", "acme")["id"]
        value, document = folder / "value", folder / "document.json"
        value.write_text(SECRET)
        value.chmod(0o600)
        document.write_text(json.dumps(OPENCLAW))
        self.secret = self.run("secret", "create", "model", "-n", "acme", "--value-file", value)["id"]
        self.configuration = self.run("configuration", "create", document, "-n", "acme", "--bind", "KEY=model")["id"]
        self.run("iam", "role", "create", "harness", "--permission", "secret:operate")
        self.id = self.draft("support")

    def configure(self, name, document):
        """A Configuration of its own, which binds the same Secret; its id."""
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(document))
        return self.run("configuration", "create", path, "-n", "acme", "--bind", "KEY=model")["id"]

    def draft(self, name, mode="embedded", configuration=None):
        """An Agent whose own principal is allowed what its deployment uses; its id."""
        arguments = ("--configuration", configuration or self.configuration, "--execution-mode", mode)
        made = self.run("agent", "create", name, "-n", "acme", *arguments, "--harness-auth", "api_key=model")
        self.bind("harness", made["servicePrincipalId"], "--resource", f"secret:{self.secret}")
        return made["id"]

    def deploy(self, agent=None):
        return self.run("agent", "deploy", agent or self.id, "--wait", "--timeout-ms", "90000")

    def status(self, agent=None):
        return self.run("agent", "status", agent or self.id)


class Following:
    """occctl with --wait, whose progress is read as it comes: `said` are the lines so far."""

    def __init__(self, arguments, variables):
        self.command = [tree.program("occctl"), *map(str, arguments)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(self.command, env=environment(variables), cwd="/", **pipes)
        self.said = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def wait_said(self, text, deadline=20.0):
        """A line with this text, while it still runs."""
        found = poll(lambda: [line for line in self.said if text in line], deadline, what=f"{text!r} of {self.command}")
        assert self.process.poll() is None, f"{self.command} ended: {self.said}"
        return found[0]

    def result(self, deadline=60.0):
        try:
            # Its one document is small: it never waits for somebody to read it.
            status = self.process.wait(deadline * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise DeadlineExceeded(f"{self.command} did not end within {deadline} s: {self.said}") from None
        out = self.process.stdout.read()
        self._reader.join(5 * PATIENCE)
        err = "\n".join(self.said)
        check_log(err, "occctl")
        return Result(status, out, err, tuple(self.command))
