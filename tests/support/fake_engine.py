# SPDX-License-Identifier: MIT
"""A container engine that says what a test tells it to: an HTTP server on a unix socket.

By default it behaves like a small, healthy Engine that keeps networks, containers and volumes in memory. A test puts
an answer of its own in front of any of that:

    fake_engine.on("POST", "/networks/create", Answer(403, {"message": "..."}))        from now on
    fake_engine.on("GET", r"/networks/.*", [Answer(500), Answer(503)])                 one each, then the default again
    fake_engine.on("DELETE", r"/networks/.*", lambda request: ...)                     an Answer, or None: the default

Paths are matched whole, as regular expressions, without the version prefix and the query. The latest rule that fits
wins. `requests` holds what was asked, in order.
"""

import json
import os
import re
import socket
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field

from .waiting import poll


@dataclass
class Answer:
    """What is sent. `body` may be bytes, text, or anything that JSON can carry.

    delay       seconds before the first byte
    stall       an Event: nothing is sent until it is set (never set: until the engine is closed)
    cut_after   the connection is closed after so many bytes, head included
    raw         sent as it is, instead of a head and a body
    pieces      the body is sent one byte at a time, with this many seconds between
    effect      whether the default engine carries the request out first (the answer is then "lost")
    """

    status: int = 200
    body: object = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    stall: object = None
    cut_after: object = None
    raw: object = None
    pieces: object = None
    effect: bool = False

    def head_and_body(self):
        if self.raw is not None:
            return self.raw, b""
        if isinstance(self.body, bytes):
            body = self.body
        elif isinstance(self.body, str):
            body = self.body.encode()
        else:
            body = json.dumps(self.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **self.headers}
        if self.status in (204, 304):
            headers.pop("Content-Length")
            body = b""
        lines = [f"HTTP/1.1 {self.status} Told"] + [f"{name}: {value}" for name, value in headers.items() if value]
        return "\r\n".join(lines).encode() + b"\r\n\r\n", body


@dataclass
class Request:
    method: str
    path: str
    version: str
    query: dict
    headers: dict
    body: bytes
    time: float

    @property
    def json(self):
        return json.loads(self.body) if self.body else None


class Stopped(Exception):
    """The engine is closed while a request waits."""


class FakeEngine:
    def __init__(self, path, api_version="1.41", minimum="1.12"):
        self.socket = str(path)
        self.host = f"unix://{path}"
        self.api_version = api_version
        self.minimum = minimum
        self.requests = []
        self.networks = {}
        self.containers = {}
        self.volumes = {}
        self._rules = []
        self._lock = threading.RLock()
        self._open = set()
        self._closed = threading.Event()
        self._listener = None
        self.start()

    # What a test does.

    def on(self, method, path, answer):
        """Puts an answer, a list of answers, or a callable in front of the default. Gives the rule, for `off`."""
        rule = [method, re.compile(path), answer]
        with self._lock:
            self._rules.append(rule)
        return rule

    def off(self, rule=None):
        """Takes back one rule, or all."""
        with self._lock:
            self._rules = [] if rule is None else [other for other in self._rules if other is not rule]

    def asked(self, method=None, path=None):
        """The requests so far that fit."""
        return [
            request
            for request in list(self.requests)
            if method in (None, request.method) and (path is None or re.fullmatch(path, request.path))
        ]

    def count(self, method=None, path=None):
        return len(self.asked(method, path))

    @property
    def connected(self):
        """How many connections are open."""
        with self._lock:
            return len(self._open)

    def wait_asked(self, method=None, path=None, count=1, deadline=10.0):
        poll(lambda: self.count(method, path) >= count, deadline, what=f"{count} × {method} {path}")
        return self.asked(method, path)[-1]

    def start(self):
        """Listens (again)."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self._listener.bind(self.socket)
        os.chmod(self.socket, 0o666)
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True, name="fake engine").start()

    def stop(self):
        """Closes the listener and its connections; the socket's file stays, so that a connect is refused."""
        with self._lock:
            listener, self._listener = self._listener, None
            open_now, self._open = self._open, set()
        if listener is not None:
            # close() alone would not wake the thread in accept().
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in open_now:
            _drop(connection)

    def close(self):
        self._closed.set()
        self.stop()
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    # How it serves.

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name="fake engine").start()

    def _serve(self, connection):
        stream = connection.makefile("rb")
        try:
            while True:
                request = _read_request(stream)
                if request is None or not self._reply(connection, request):
                    return
        except (OSError, ValueError, Stopped):
            pass
        finally:
            with self._lock:
                self._open.discard(connection)
            stream.close()
            _drop(connection)

    def _reply(self, connection, request):
        """Whether the connection goes on."""
        with self._lock:
            self.requests.append(request)
            rule = self._match(request)
        answer = rule(request) if callable(rule) else rule
        if answer is None:
            answer = self._default(request)
        elif answer.effect:
            self._default(request)
        if answer.stall is not None:
            while not answer.stall.wait(0.05):
                if self._closed.is_set():
                    raise Stopped
        if answer.delay:
            time.sleep(answer.delay)
        head, body = answer.head_and_body()
        if answer.cut_after is not None:
            connection.sendall((head + body)[: answer.cut_after])
            return False
        if answer.pieces is None:
            connection.sendall(head + body)
        else:
            connection.sendall(head)
            for at in range(len(body)):
                connection.sendall(body[at : at + 1])
                if self._closed.wait(answer.pieces):
                    raise Stopped
        return answer.raw is None and request.headers.get("connection", "").lower() != "close"

    def _match(self, request):
        for rule in reversed(self._rules):
            method, path, answer = rule
            if method not in (None, request.method) or not path.fullmatch(request.path):
                continue
            if isinstance(answer, list):
                if not answer:
                    continue
                return answer.pop(0)
            return answer
        return None

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


def _read_request(stream):
    line = stream.readline(65536)
    if not line.strip():
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while True:
        line = stream.readline(65536)
        if line in (b"\r\n", b"\n", b""):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        raise ValueError("a client of the Engine has no reason to ask first")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    else:
        body = stream.read(int(headers.get("content-length", 0)))
    split = urllib.parse.urlsplit(target)
    found = re.fullmatch(r"/(v[0-9.]+)(/.*)", split.path)
    version, path = found.groups() if found else ("", split.path)
    query = {name: values[-1] for name, values in urllib.parse.parse_qs(split.query, keep_blank_values=True).items()}
    return Request(method, path, version, query, headers, body, time.monotonic())


def _drop(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
