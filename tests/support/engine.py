# SPDX-License-Identifier: MIT
"""A real container engine of our own, Docker's or Podman's, and a small client for its API."""

import http.client
import json
import pathlib
import socket
import subprocess
import tempfile
import urllib.parse

from . import tree
from .processes import finish
from .waiting import poll

SERVICE = tree.SOURCE / "tests" / "services" / "engine"
MANAGED = "org.openclaw.enterprise.managed=true"
IMAGE = "occ-test/busybox:latest"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30.0):
        super().__init__("engine", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class EngineError(AssertionError):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Engine:
    """`kind` is docker or podman; `socket` its socket's path; `host` what DOCKER_HOST takes."""

    def __init__(self, kind, env=None):
        self.kind = kind
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"occ-{kind}-", dir="/tmp"))
        self.socket = self.folder / "engine.sock"
        self.host = f"unix://{self.socket}"
        self.log = self.folder / "engine.log"
        self.process = None
        self._env = env

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [SERVICE, "run", self.kind, self.folder],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        poll(self._answers, 60.0, interval=0.05, what=f"the start of {self.kind} (see {self.log})")
        subprocess.run([SERVICE, "load", self.folder], check=True)
        return self

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.kind} ended:\n{self.log.read_text(errors='replace')[-3000:]}")
        try:
            return self.call("GET", "/_ping", parse=False) is not None
        except (OSError, EngineError, http.client.HTTPException):
            return False

    def stop(self):
        """Ends the engine and, where it runs in namespaces of its own, all that it started."""
        if self.process is not None:
            self.process.kill()
            finish(self.process)
            self.process = None

    def remove(self):
        self.stop()
        subprocess.run([SERVICE, "clean", self.folder], check=False)

    def call(self, method, path, body=None, version="v1.40", parse=True):
        """One request; EngineError for an answer that is no success."""
        connection = UnixConnection(self.socket)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/{version}{path}", content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            try:
                message = json.loads(data).get("message", data)
            except ValueError:
                message = data
            raise EngineError(answer.status, message)
        if not parse or not data:
            return data
        return json.loads(data)

    @staticmethod
    def _filters(labels):
        return "filters=" + urllib.parse.quote(json.dumps({"label": [labels] if isinstance(labels, str) else labels}))

    def networks(self, labels=MANAGED):
        """Networks with these labels (KEY or KEY=VALUE; None: all)."""
        return self.call("GET", "/networks" + (f"?{self._filters(labels)}" if labels else "")) or []

    def network(self, name):
        """The network with exactly this name, or None."""
        return next((entry for entry in self.networks(None) if entry["Name"] == name), None)

    def create_network(self, name, labels=None, **more):
        body = {"Name": name, "CheckDuplicate": True, "Driver": "bridge", "Labels": labels or {}, **more}
        return self.call("POST", "/networks/create", body)["Id"]

    def remove_network(self, reference):
        self.call("DELETE", f"/networks/{reference}")

    def run(self, name, network=None, labels=None, command=("sleep", "1000000"), volumes=()):
        """Starts a container of the test image; gives its ID."""
        host = {"Binds": list(volumes)}
        if network:
            host["NetworkMode"] = network
        body = {"Image": IMAGE, "Cmd": list(command), "Labels": labels or {}, "HostConfig": host}
        created = self.call("POST", f"/containers/create?name={name}", body)["Id"]
        self.call("POST", f"/containers/{created}/start")
        return created

    def containers(self, labels=None):
        more = f"&{self._filters(labels)}" if labels else ""
        return self.call("GET", f"/containers/json?all=true{more}") or []

    def create_volume(self, name, labels=None):
        return self.call("POST", "/volumes/create", {"Name": name, "Labels": labels or {}})

    def volumes(self, labels=None):
        more = f"?{self._filters(labels)}" if labels else ""
        return self.call("GET", f"/volumes{more}")["Volumes"] or []

    def clean(self):
        """Removes every container, volume and network of a test. The engine is ours alone, so all of them are."""
        for container in self.containers():
            self.call("DELETE", f"/containers/{container['Id']}?force=true&v=true")
        for volume in self.volumes():
            self.call("DELETE", f"/volumes/{volume['Name']}?force=true")
        for network in self.networks(None):
            if network["Name"] not in ("bridge", "host", "none", "podman"):
                self.call("DELETE", f"/networks/{network['Id']}")
