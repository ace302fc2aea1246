# SPDX-License-Identifier: MIT
"""A proxy in front of the tests' real API server, for what that server does not do on demand. It ends TLS with a
certificate of the cluster's authority, passes requests on with the client's token, and does what a test puts in the way:

    proxy.on("GET", r".*/pods", refusal(429, "TooManyRequests", "…", headers={"Retry-After": "1"}))   from now on
    proxy.on("POST", r".*/deployments", CUT, nth=2)                    the second one is not passed on, its client cut off
    proxy.on("PATCH", r".*/services/.*", CUT_AFTERWARDS, nth=1)        passed on, and its answer lost
    proxy.on("PATCH", r".*", before(lambda request: kubernetes.delete(...)), nth=1)   something happens in between
    proxy.on("GET", r"/version", passed(delay=0.5))                    passed on; also cut_after=, pieces=, stall=
    Drivers(kubernetes.startup(path, kubeconfig=proxy.kubeconfig(user)))

`refusal` is that of fake_kubernetes.py. Paths are matched whole, without the query; the latest rule that fits wins, and one
with `nth` fits the nth request of its kind only, counted from the rule's making. `requests` holds what was asked, in
order, each with its `json` body and `passed`, the status of the real server's answer (None: it was not asked).
"""

import dataclasses
import http.client
import re
import ssl
import urllib.parse

from .fake_server import Answer
from .tls_server import TlsServer

# Of one connection only, or made anew for the next.
BETWEEN_HOPS = ("connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade", "host")

CUT = Answer(cut_after=0)
CUT_AFTERWARDS = Answer(cut_after=0, effect=True)


def before(act):
    """act(request) is called first, and then the request is passed on."""

    def rule(request):
        act(request)

    return rule


class passed:
    """The real answer, with these members of an Answer changed; afterwards(request) is called before it is sent."""

    def __init__(self, afterwards=None, **changes):
        self.afterwards = afterwards
        self.changes = changes


class KubernetesProxy(TlsServer):
    def __init__(self, kubernetes):
        self.kubernetes = kubernetes
        self._upstream = {}
        for administrator in (True, False):
            self._upstream[administrator] = ssl.create_default_context(cafile=str(kubernetes.ca))
        self._upstream[True].load_cert_chain(*map(str, kubernetes.admin))
        super().__init__(kubernetes.authority.issue("proxy", "/CN=proxy", names=("IP:127.0.0.1", "DNS:localhost")))

    # What a test does.

    @property
    def server(self):
        return f"https://{self.place}"

    def kubeconfig(self, user=None, **more):
        """A kubeconfig that names the proxy, for a User with a token, or for the administrator."""
        entry = {"token": user.token} if user is not None else {
            "client-certificate": str(self.kubernetes.admin[0]),
            "client-key": str(self.kubernetes.admin[1]),
        }  # fmt: skip
        return self.kubernetes.write_kubeconfig(entry, server=self.server, **more)

    def on(self, method, path, answer, nth=None):
        """`method` None is any; `answer` as above, or a list of answers, one each, or a callable that gives one."""
        rule = [method, re.compile(path), answer, nth, 0]
        with self._lock:
            self._rules.append(rule)
        return rule

    def writes(self):
        return [request for request in list(self.requests) if request.method != "GET"]

    # How it serves.

    def _match(self, request):
        request.passed = None
        chosen = None
        # Every rule counts, whichever one wins.
        for rule in self._rules:
            method, path, answer, nth, _ = rule
            if method in (None, request.method) and path.fullmatch(request.path):
                rule[4] += 1
                if nth in (None, rule[4]) and answer != []:
                    chosen = rule
        if chosen is None:
            return None
        answer = chosen[2]
        if isinstance(answer, list):
            answer = answer.pop(0)
        return self._real(answer) if isinstance(answer, passed) else answer

    def _real(self, how):
        def rule(request):
            answer = self._default(request)
            if how.afterwards is not None:
                how.afterwards(request)
            return dataclasses.replace(answer, **how.changes)

        return rule

    def _default(self, request):
        administrator = "authorization" not in request.headers
        headers = {name: value for name, value in request.headers.items() if name not in BETWEEN_HOPS}
        query = f"?{urllib.parse.urlencode(request.query)}" if request.query else ""
        context = self._upstream[administrator]
        connection = http.client.HTTPSConnection("127.0.0.1", self.kubernetes.port, timeout=60, context=context)
        try:
            connection.request(request.method, request.path + query, request.body or None, headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        request.passed = answer.status
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in BETWEEN_HOPS}
        return Answer(answer.status, body, kept)
