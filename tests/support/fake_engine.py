# SPDX-License-Identifier: MIT
"""A container engine that says what a test tells it to (tests/support/fake_server.py), on a unix socket.

By default it behaves like a small, healthy Engine that keeps networks, containers and volumes in memory. Rules leave
out the version with which a path begins.
"""

import json
import os
import re
import socket
import urllib.parse
import uuid

from .fake_server import Answer, FakeServer


class FakeEngine(FakeServer):
    versioned = True

    def __init__(self, path, api_version="1.41", minimum="1.12"):
        self.socket = str(path)
        self.host = f"unix://{path}"
        self.api_version = api_version
        self.minimum = minimum
        self.networks = {}
        self.containers = {}
        self.volumes = {}
        super().__init__()

    def _listen(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        listener.bind(self.socket)
        os.chmod(self.socket, 0o666)
        listener.listen(64)
        return listener

    def close(self):
        super().close()
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    # The small, healthy Engine.

    def _default(self, request):
        with self._lock:
            for method, path, handler in DEFAULTS:
                found = re.fullmatch(path, request.path)
                if found and method == request.method:
                    return handler(self, request, *map(urllib.parse.unquote, found.groups()))
        return _refusal(404, "page not found")

    def _ping(self, _request):
        return Answer(200, b"OK", {"Api-Version": self.api_version, "Content-Type": "text/plain", "OSType": "linux"})

    def _version(self, _request):
        body = {"Version": "20.10.24", "ApiVersion": self.api_version, "MinAPIVersion": self.minimum, "Os": "linux"}
        body["Platform"] = {"Name": "Fake Engine"}
        body["Components"] = [{"Name": "Engine", "Version": "20.10.24", "Details": {}}]
        return Answer(200, body)

    def _info(self, _request):
        return Answer(200, {"ID": "fake", "ServerVersion": "20.10.24", "Driver": "overlay2", "OSType": "linux"})

    def add_network(self, name, labels=None, **more):
        """A network, as if it had been there before."""
        entry = {"Name": name, "Id": uuid.uuid4().hex * 2, "Driver": "bridge", "Scope": "local", "Labels": labels or {}}
        entry.update({"Created": "2024-01-01T00:00:00Z", "Internal": False, "Containers": {}, "Options": {}, **more})
        with self._lock:
            self.networks[entry["Id"]] = entry
        return entry

    def find_network(self, reference):
        for entry in self.networks.values():
            if reference in (entry["Id"], entry["Name"]):
                return entry
        return None

    def _networks(self, request):
        return Answer(200, _filtered(self.networks.values(), request))

    def _network(self, _request, reference):
        entry = self.find_network(reference)
        return Answer(200, entry) if entry else _refusal(404, f"network {reference} not found")

    def _create_network(self, request):
        body = request.json
        if self.find_network(body["Name"]):
            return _refusal(409, f"network with name {body['Name']} already exists")
        more = {name: body[name] for name in ("Internal", "Options", "EnableIPv6") if name in body}
        entry = self.add_network(body["Name"], body.get("Labels"), **more)
        return Answer(201, {"Id": entry["Id"], "Warning": ""})

    def _delete_network(self, _request, reference):
        entry = self.find_network(reference)
        if entry is None:
            return _refusal(404, f"network {reference} not found")
        if entry["Containers"]:
            return _refusal(403, f"error while removing network: network {entry['Name']} id {entry['Id']} has active endpoints")
        del self.networks[entry["Id"]]
        return Answer(204)

    def _disconnect(self, request, reference):
        entry = self.find_network(reference)
        if entry is None:
            return _refusal(404, f"network {reference} not found")
        wanted = request.json["Container"]
        for key, endpoint in list(entry["Containers"].items()):
            if wanted in (key, endpoint.get("Name")):
                del entry["Containers"][key]
        return Answer(200)

    def add_container(self, name, labels=None, network=None, state="running"):
        entry = {"Id": uuid.uuid4().hex * 2, "Names": [f"/{name}"], "Labels": labels or {}, "State": state}
        entry.update({"Image": "occ-test/busybox:latest", "Status": "Up 1 second"})
        with self._lock:
            self.containers[entry["Id"]] = entry
            if network is not None:
                self.find_network(network)["Containers"][entry["Id"]] = {"Name": name, "EndpointID": uuid.uuid4().hex * 2}
        return entry

    def _containers(self, request):
        return Answer(200, _filtered(self.containers.values(), request))

    def _container(self, _request, reference):
        for key, entry in self.containers.items():
            name = entry["Names"][0]
            if reference in (key, name.lstrip("/")):
                body = {"Id": key, "Name": name, "State": {"Status": entry["State"]}}
                return Answer(200, {**body, "Config": {"Labels": entry["Labels"], "Image": entry["Image"]}})
        return _refusal(404, f"No such container: {reference}")

    def _delete_container(self, _request, reference):
        for key, entry in self.containers.items():
            if reference in (key, entry["Names"][0].lstrip("/")):
                del self.containers[key]
                for network in self.networks.values():
                    network["Containers"].pop(key, None)
                return Answer(204)
        return _refusal(404, f"No such container: {reference}")

    def add_volume(self, name, labels=None):
        with self._lock:
            self.volumes[name] = {"Name": name, "Labels": labels or {}, "Driver": "local", "Scope": "local"}
        return self.volumes[name]

    def _volumes(self, request):
        return Answer(200, {"Volumes": _filtered(self.volumes.values(), request), "Warnings": None})

    def _delete_volume(self, _request, name):
        if self.volumes.pop(name, None) is None:
            return _refusal(404, f"get {name}: no such volume")
        return Answer(204)


DEFAULTS = (
    ("GET", r"/_ping", FakeEngine._ping),
    ("HEAD", r"/_ping", lambda self, request: Answer(200, b"", {"Api-Version": self.api_version, "Content-Length": "0"})),
    ("GET", r"/version", FakeEngine._version),
    ("GET", r"/info", FakeEngine._info),
    ("GET", r"/networks/?", FakeEngine._networks),
    ("POST", r"/networks/create", FakeEngine._create_network),
    ("POST", r"/networks/([^/]+)/disconnect", FakeEngine._disconnect),
    ("GET", r"/networks/([^/]+)", FakeEngine._network),
    ("DELETE", r"/networks/([^/]+)", FakeEngine._delete_network),
    ("GET", r"/containers/json", FakeEngine._containers),
    ("GET", r"/containers/([^/]+)/json", FakeEngine._container),
    ("DELETE", r"/containers/([^/]+)", FakeEngine._delete_container),
    ("GET", r"/volumes/?", FakeEngine._volumes),
    ("DELETE", r"/volumes/([^/]+)", FakeEngine._delete_volume),
)


def _refusal(status, message):
    return Answer(status, {"message": message})


def _filtered(entries, request):
    """The entries that fit the query's `filters`: {"label": ["key=value"]} or the older {"label": {"key=value": true}}."""
    filters = json.loads(request.query.get("filters", "{}"))
    kept = []
    for entry in entries:
        labels = {key: value for key, value in entry["Labels"].items()}
        wanted = [pair.partition("=") for pair in filters.get("label", [])]
        if not all(key in labels and (not equals or labels[key] == value) for key, equals, value in wanted):
            continue
        # Like the Engine, a name filter matches any part of the name.
        names = list(filters.get("name", []))
        name = entry.get("Name") or entry["Names"][0]
        if names and not any(part in name for part in names):
            continue
        if filters.get("id") and not any(entry["Id"].startswith(part) for part in filters["id"]):
            continue
        if filters.get("network"):
            continue
        kept.append(entry)
    return kept
