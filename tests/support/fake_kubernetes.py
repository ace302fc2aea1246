# SPDX-License-Identifier: MIT
"""An API server of Kubernetes that says what a test tells it to (tests/support/fake_server.py), over TLS.

By default it behaves like a small, healthy API server of a release that a test may pick by what it `serves`, keeps
objects in memory, and does what a request on them asks for: get, list by labels and in pages, create, merge patch and
delete, with UIDs, resourceVersions and their conflicts. Nothing is validated, and nothing happens by itself.

    fake.on("GET", "/api/v1/namespaces/x", refusal(403, "Forbidden", "..."))    an answer of the test's own
    fake.add("configmaps", "ns", "name", data={...})                            an object, as if it had been there
    fake.get("configmaps", "ns", "name")                                        or None
    fake.kubeconfig(token="abc")                                                a file that names it, context "test"
    fake.tokens = {"abc"}                                                       others get 401
"""

import base64
import copy
import json
import pathlib
import re
import uuid

import yaml

from .fake_server import Answer
from .tls_server import TlsServer

CORE = "namespaces resourcequotas limitranges serviceaccounts configmaps secrets services persistentvolumeclaims pods"
SERVED = {
    "v1": CORE,
    "apps/v1": "deployments",
    "networking.k8s.io/v1": "networkpolicies",
    "discovery.k8s.io/v1": "endpointslices",
    "authorization.k8s.io/v1": "selfsubjectaccessreviews",
}
KINDS = {
    "namespaces": "Namespace",
    "resourcequotas": "ResourceQuota",
    "limitranges": "LimitRange",
    "serviceaccounts": "ServiceAccount",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "services": "Service",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "pods": "Pod",
    "deployments": "Deployment",
    "networkpolicies": "NetworkPolicy",
    "endpointslices": "EndpointSlice",
    "httproutes": "HTTPRoute",
    "selfsubjectaccessreviews": "SelfSubjectAccessReview",
}
PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/(?P<space>[^/]+)(?=/[^/]))?/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?"
)
UNKNOWN_PATH = Answer(404, "404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})


def refusal(code, reason, message, details=None, **more):
    """A Status object as an API server answers with, as an Answer; `more` is the Answer's."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason}
    return Answer(code, {**body, "details": details or {}, "code": code}, **more)


def not_found(resource, name):
    return refusal(404, "NotFound", f'{resource} "{name}" not found', {"name": name, "kind": resource})


NOT_SERVED = refusal(404, "NotFound", "the server could not find the requested resource")
UNAUTHORIZED = refusal(401, "Unauthorized", "Unauthorized")


def conflict(resource, name, why="the object has been modified; please apply your changes to the latest version and try again"):
    words = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return refusal(409, "Conflict", words, {"name": name, "kind": resource})


class FakeKubernetes(TlsServer):
    def __init__(self, folder, authority, certificate=None, serves=None, demand_certificate=False):
        """`certificate` is what the server shows, one of `authority` for 127.0.0.1 where none is told."""
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority = authority
        self.serves = {version: set(resources.split()) for version, resources in (serves or SERVED).items()}
        self.minor = "35"
        self.tokens = None
        self.allowed = True
        self.objects = {}
        self.revision = 100
        self._kubeconfigs = 0
        certificate = certificate or authority.issue("server", "/CN=fake", names=("IP:127.0.0.1", "DNS:localhost"))
        super().__init__(certificate, authority if demand_certificate else None)

    # What a test does.

    def kubeconfig(self, server=None, certificate=None, ca=None, **user):
        """A kubeconfig's path. `user` is its user ("token" or "tokenFile" …), a token of "fake" where none is told;
        `certificate` a client certificate beside it."""
        if certificate is not None:
            user["client-certificate"] = str(certificate.certificate)
            user["client-key"] = str(certificate.key)
        elif not user:
            user = {"token": "fake"}
        cluster = {
            "server": server or f"https://{self.place}",
            "certificate-authority-data": base64.b64encode(pathlib.Path(ca or self.authority.certificate).read_bytes()).decode(),
        }
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": cluster}],
            "users": [{"name": "fake", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "fake", "user": "fake"}}],
        }
        self._kubeconfigs += 1
        path = self.folder / f"kubeconfig-{self._kubeconfigs}"
        path.write_text(yaml.safe_dump(document))
        path.chmod(0o600)
        return path

    def add(self, resource, space, name, **members):
        """An object, as if it had been there before; `metadata` may tell labels, annotations and the like."""
        with self._lock:
            return self._keep(resource, space, {**members, "metadata": {**members.get("metadata", {}), "name": name}})

    def get(self, resource, space, name):
        return self.objects.get((resource, space, name))

    def writes(self):
        return [request for request in self.requests if request.method != "GET"]

    # How it serves.

    def _match(self, request):
        if self.tokens is not None:
            word, _, token = request.headers.get("authorization", "").partition(" ")
            if word != "Bearer" or token not in self.tokens:
                return UNAUTHORIZED
        return super()._match(request)

    def _default(self, request):
        with self._lock:
            return self._answer(request)

    def _answer(self, request):
        if request.path == "/version":
            return Answer(200, {"major": "1", "minor": self.minor, "gitVersion": f"v1.{self.minor}.0"})
        discovered = re.fullmatch(r"/(?:api|apis)/((?:[^/]+/)?v[^/]+)", request.path)
        if discovered:
            return self._resources(discovered[1])
        found = PATH.fullmatch(request.path)
        if not found:
            return UNKNOWN_PATH
        group, version, space, resource, name = found.group("group", "version", "space", "resource", "name")
        served = f"{group}/{version}" if group else version
        if served not in self.serves:
            return UNKNOWN_PATH
        if resource not in self.serves[served]:
            return NOT_SERVED
        if resource == "selfsubjectaccessreviews":
            return self._review(request.json)
        if name is None:
            return self._collection(request, served, resource, space)
        return self._single(request, served, resource, space, name)

    def _resources(self, served):
        if served not in self.serves:
            # A group of which another version is served answers in another way than one that is unknown.
            known = any(other.split("/")[0] == served.split("/")[0] for other in self.serves)
            return NOT_SERVED if known else UNKNOWN_PATH
        names = sorted(self.serves[served])
        resources = [{"name": name, "kind": KINDS[name], "namespaced": name != "namespaces", "verbs": ["get"]} for name in names]
        return Answer(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": served, "resources": resources})

    def _review(self, body):
        allowed = self.allowed(body["spec"]["resourceAttributes"]) if callable(self.allowed) else self.allowed
        return Answer(201, {**body, "status": {"allowed": allowed}})

    def _keep(self, resource, space, value):
        self.revision += 1
        kept = copy.deepcopy(value)
        kept["kind"] = KINDS[resource]
        metadata = kept["metadata"]
        if space is not None:
            metadata["namespace"] = space
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        metadata["resourceVersion"] = str(self.revision)
        self.objects[resource, space, metadata["name"]] = kept
        return kept

    def _collection(self, request, served, resource, space):
        if request.method == "GET":
            return self._list(request, served, resource, space)
        if request.method != "POST":
            return refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        name = request.json["metadata"]["name"]
        if (resource, space, name) in self.objects:
            return refusal(409, "AlreadyExists", f'{resource} "{name}" already exists', {"name": name, "kind": resource})
        if space is not None and ("namespaces", None, space) not in self.objects:
            return not_found("namespaces", space)
        return Answer(201, {**self._keep(resource, space, request.json), "apiVersion": served})

    def _list(self, request, served, resource, space):
        wanted = [pair.partition("=") for pair in request.query.get("labelSelector", "").split(",") if pair]
        fitting = []
        for (kind, where, _), value in sorted(self.objects.items(), key=str):
            labels = value["metadata"].get("labels", {})
            if kind == resource and space in (None, where) and _selected(labels, wanted):
                fitting.append({member: each for member, each in value.items() if member not in ("kind", "apiVersion")})
        begin = int(request.query.get("continue", 0))
        end = begin + int(request.query.get("limit", len(fitting) or 1))
        metadata = {"resourceVersion": str(self.revision)}
        if end < len(fitting):
            metadata["continue"] = str(end)
        body = {"kind": f"{KINDS[resource]}List", "apiVersion": served, "metadata": metadata, "items": fitting[begin:end]}
        return Answer(200, body)

    def _single(self, request, served, resource, space, name):
        value = self.objects.get((resource, space, name))
        if value is None:
            return not_found(resource, name)
        if request.method == "GET":
            return Answer(200, {**value, "apiVersion": served})
        if request.method == "PATCH":
            return self._patch(request.json, served, resource, space, value)
        if request.method != "DELETE":
            return refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        uid = (request.json or {}).get("preconditions", {}).get("uid", value["metadata"]["uid"])
        if uid != value["metadata"]["uid"]:
            return conflict(resource, name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: …")
        if value["metadata"].get("finalizers"):
            value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            return Answer(200, {**value, "apiVersion": served})
        del self.objects[resource, space, name]
        details = {"name": name, "kind": resource, "uid": uid}
        return Answer(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})

    def _patch(self, patch, served, resource, space, value):
        name = value["metadata"]["name"]
        guard = patch.get("metadata", {})
        if any(guard.get(member, value["metadata"][member]) != value["metadata"][member] for member in ("uid", "resourceVersion")):
            return conflict(resource, name)
        return Answer(200, {**self._keep(resource, space, merged(value, patch)), "apiVersion": served})


def _selected(labels, wanted):
    """`wanted` are a selector's (key, "=" or "", value): equal, or there at all."""
    return all(key in labels and (not equals or labels[key] == value) for key, equals, value in wanted)


def merged(value, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for name, member in patch.items():
        if member is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), member)
    return json.loads(json.dumps(result))
