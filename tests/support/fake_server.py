# SPDX-License-Identifier: MIT
"""An HTTP server that says what a test tells it to; tests/support/fake_engine.py and fake_kubernetes.py are two.

By default it answers as its class does. A test puts an answer of its own in front of any of that:

    fake.on("POST", "/networks/create", Answer(403, {"message": "..."}))        from now on
    fake.on("GET", r"/networks/.*", [Answer(500), Answer(503)])                 one each, then the default again
    fake.on("DELETE", r"/networks/.*", lambda request: ...)                     an Answer, or None: the default

Paths are matched whole, as regular expressions, without the query. The latest rule that fits wins. `requests` holds
what was asked, in order.
"""

import json
import re
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass, field

from .waiting import poll


@dataclass
class Answer:
    """What is sent. `body` may be bytes, text, or anything that JSON can carry.

    delay       seconds before the first byte
    stall       an Event: nothing is sent until it is set (never set: until the server is closed)
    cut_after   the connection is closed after so many bytes, head included
    raw         sent as it is, instead of a head and a body
    pieces      the body is sent one byte at a time, with this many seconds between
    endless     bytes that follow the body again and again, until the other side goes
    effect      whether the default carries the request out first (the answer is then "lost")
    """

    status: int = 200
    body: object = b""
    headers: dict = field(default_factory=dict)
    delay: float = 0.0
    stall: object = None
    cut_after: object = None
    raw: object = None
    pieces: object = None
    endless: object = None
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
    """The server is closed while a request waits."""


class FakeServer:
    """A class of its own gives _listen(), and _default(request): an Answer."""

    versioned = False  # whether paths begin with a version ("/v1.41/…"), which rules leave out

    def __init__(self):
        self.requests = []
        self._rules = []
        self._lock = threading.RLock()
        self._open = set()
        self._closed = threading.Event()
        self._listener = None
        self.start()

    def _listen(self):
        raise NotImplementedError

    def _default(self, request):
        raise NotImplementedError

    def _shake(self, connection):
        """What is done with a new connection before it is read: gives the one to read."""
        return connection

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

    @property
    def peers(self):
        """Who is connected, to tell one connection from another."""
        with self._lock:
            return {connection.getpeername() for connection in self._open}

    def start(self):
        """Listens (again)."""
        self._listener = self._listen()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True, name=type(self).__name__).start()

    def stop(self):
        """Closes the listener and its connections. A unix socket's file stays, so that a connect is refused."""
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

    # How it serves.

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name=type(self).__name__).start()

    def _serve(self, accepted):
        connection = accepted
        try:
            connection = self._shake(accepted)
            with self._lock:
                self._open.discard(accepted)
                self._open.add(connection)
            with connection.makefile("rb") as stream:
                while True:
                    request = _read_request(stream, self.versioned)
                    if request is None or not self._reply(connection, request):
                        return
        except (OSError, ValueError, Stopped):
            pass
        finally:
            with self._lock:
                self._open -= {accepted, connection}
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
            while answer.endless:
                connection.sendall(answer.endless)
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


def _read_request(stream, versioned):
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
        raise ValueError("a client has no reason to ask first")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    else:
        body = stream.read(int(headers.get("content-length", 0)))
    split = urllib.parse.urlsplit(target)
    found = versioned and re.fullmatch(r"/(v[0-9.]+)(/.*)", split.path)
    version, path = found.groups() if found else ("", split.path)
    query = {name: values[-1] for name, values in urllib.parse.parse_qs(split.query, keep_blank_values=True).items()}
    return Request(method, path, version, query, headers, body, time.monotonic())


def _drop(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
