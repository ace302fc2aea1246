# SPDX-License-Identifier: MIT
"""A Kubernetes cluster of the tests' own (tests/services/kubernetes): one for all processes of a test run, started by
the first one that asks, and gone when the last of them is, however they end.

    kubernetes.apply(text)                          like kubectl apply; also takes one object, or a list of them
    kubernetes.get("deployment", "web", "oce-1")    the object, or None
    kubernetes.list("pods", "oce-1", "app=web")     the objects; without a namespace those of all namespaces
    kubernetes.request("GET", "/readyz")            (status, parsed body or text), as administrator or as=user
    user = kubernetes.user("worker")                a ServiceAccount's kubeconfig; str(user) is its path
    mark = kubernetes.mark(); ...; kubernetes.audit(user=user, since=mark)

Tests that run beside each other share the cluster: each uses Namespaces of its own, whose ids come from `new_id()` or
are told to `mine()`. After a test the fixture removes their namespaces, what this test's users made, and what `apply`
put outside of namespaces.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import uuid

import yaml

from . import kubernetes_startup, processes, tree
from .certificates import Authority
from .kubernetes_connection import Connection, KubernetesError
from .kubernetes_users import User, Users
from .waiting import poll

SERVICE = tree.SOURCE / "tests" / "services" / "kubernetes"
RUNTIME = tree.SOURCE / "tests" / "services" / "runtime" / "build"
NAMESPACE_LABEL = "openclaw.dev/namespace"


class Kubernetes:
    def __init__(self, run=None):
        """`run` names the processes that share the cluster; by default those of this run of pytest."""
        run = run or os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}-{time.time_ns()}"
        self.folder = pathlib.Path(f"/tmp/occ-kubernetes-{hashlib.sha256(run.encode()).hexdigest()[:10]}")
        self.kubeconfig = self.folder / "kubeconfig"
        self.context = "test"
        self._held_path = self.folder.with_suffix(".held")
        self._held = None
        self._own = None
        self.users = None
        self._resources = {}
        self._images = {}
        self._forget()

    # The cluster's life.

    def start(self):
        """Joins this run's cluster, or makes it. It ends when nobody holds the lock any more, which the kernel sees to."""
        self._hold()
        with self._alone():
            subprocess.run([SERVICE, "build"], check=True, stdin=subprocess.DEVNULL)
            # Stopped with us, so that its watcher is not left with half a cluster.
            command = ["setpriv", "--pdeathsig", "KILL", "--", SERVICE, "up", self.folder, "--while-held", self._held_path]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"no Kubernetes cluster:\n{done.stderr}"
        self._own = pathlib.Path(tempfile.mkdtemp(prefix="occ-users-", dir="/tmp"))
        self._own.chmod(0o711)
        self.port = int((self.folder / "port").read_text())
        self.server = f"https://127.0.0.1:{self.port}"
        self.ca = self.folder / "pki" / "ca.crt"
        self.admin = (self.folder / "pki" / "admin.crt", self.folder / "pki" / "admin.key")
        self.authority = Authority(self.ca, self.folder / "pki" / "ca.key", self._own / "certificates")
        self.users = Users(self, self._own)
        self._admin = Connection(self.port, self.ca, self.admin)
        return self

    def _hold(self):
        while True:
            held = os.open(self._held_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Waits while an earlier cluster of this run is being ended, which removes the file.
            fcntl.flock(held, fcntl.LOCK_SH)
            try:
                if os.stat(self._held_path).st_ino == os.fstat(held).st_ino:
                    self._held = held
                    return
            except FileNotFoundError:
                pass
            os.close(held)

    @contextlib.contextmanager
    def _alone(self):
        """Without the other processes of the run: a POSIX lock on the same file, which is independent of the flock."""
        fcntl.lockf(self._held, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._held, fcntl.LOCK_UN)

    def remove(self):
        """Leaves the cluster; it ends with the last one."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    # Objects.

    def kubectl(self, *arguments, input=None, user=None, check=True):
        """kubectl's standard output; AssertionError where it fails, unless check=False: then subprocess's result."""
        done = subprocess.run(
            ["kubectl", "--kubeconfig", str(user or self.kubeconfig), "--cache-dir", str(self._own / "cache"), *map(str, arguments)],
            input=input, stdin=subprocess.DEVNULL if input is None else None, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not check:
            return done
        assert done.returncode == 0, f"kubectl {' '.join(map(str, arguments))} failed:\n{done.stderr}"
        return done.stdout

    def request(self, method, path, body=None, content_type=None, user=None):
        """One request as the administrator, or as a user with a token: (status, parsed body or text)."""
        connection = self._admin
        if user is not None:
            pair = (user.certificate.certificate, user.certificate.key) if user.certificate else None
            connection = Connection(self.port, self.ca, pair, user.token)
        return connection.request(method, path, body, content_type)

    def asked(self, method, path, body=None, content_type=None):
        """The parsed body of a request of the administrator that must succeed; KubernetesError."""
        status, answer = self._admin.request(method, path, body, content_type)
        if status >= 300:
            raise KubernetesError(f"{method} {path}", status, answer)
        return answer

    def path(self, kind, namespace=None, name=None):
        """The path of a kind's objects ("pods", "pod", "Pod", "deployments.apps"), or of one object."""
        prefix, plural, namespaced = self._resource(kind)
        path = f"{prefix}/namespaces/{namespace}/{plural}" if namespaced and namespace else f"{prefix}/{plural}"
        return f"{path}/{urllib.parse.quote(name)}" if name else path

    def _resource(self, kind):
        kind = kind.lower()
        if kind not in self._resources:
            self._discover()
        assert kind in self._resources, f"this cluster serves no {kind}"
        return self._resources[kind]

    def _discover(self):
        versions = ["/api/v1"]
        versions += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in self.asked("GET", "/apis")["groups"]]
        for prefix in versions:
            for entry in self.asked("GET", prefix)["resources"]:
                if "/" not in entry["name"]:
                    found = (prefix, entry["name"], entry["namespaced"])
                    group = prefix.split("/")[2] if prefix.count("/") == 3 else ""
                    for name in (entry["name"], entry["kind"].lower(), *entry.get("shortNames", ())):
                        self._resources.setdefault(name, found)
                        self._resources[f"{name}.{group}"] = found

    def get(self, kind, name, namespace=None):
        status, answer = self._admin.request("GET", self.path(kind, namespace, name))
        if status == 404:
            return None
        if status >= 300:
            raise KubernetesError(f"get {kind} {name}", status, answer)
        return answer

    def list(self, kind, namespace=None, selector=None):
        query = f"?labelSelector={urllib.parse.quote(selector)}" if selector else ""
        return self.asked("GET", self.path(kind, namespace) + query)["items"]

    def apply(self, objects):
        """Makes objects, or merges them into those that are there; gives the last one as it is then. Those that it made
        outside of namespaces go after the test."""
        if isinstance(objects, str):
            objects = [entry for entry in yaml.safe_load_all(objects) if entry]
        answer = None
        for entry in [objects] if isinstance(objects, dict) else objects:
            if entry["kind"] == "List":
                answer = self.apply(entry["items"])
                continue
            group = f".{entry['apiVersion'].rpartition('/')[0]}" if "/" in entry["apiVersion"] else ""
            kind = f"{entry['kind']}{group}"
            namespaced = self._resource(kind)[2]
            name = entry["metadata"]["name"]
            space = entry["metadata"].get("namespace", "default") if namespaced else None
            # The version that the text names, not the preferred one.
            path = (f"/apis/{entry['apiVersion']}" if group else "/api/v1") + self.path(kind, space)[len(self._resource(kind)[0]) :]
            status, answer = self._admin.request("POST", path, entry)
            if status == 409 and answer["reason"] == "AlreadyExists":
                answer = self.asked("PATCH", f"{path}/{name}", json.dumps(entry), "application/merge-patch+json")
                continue
            if status >= 300:
                raise KubernetesError(f"create {entry['kind']} {name}", status, answer)
            if not namespaced:
                self._applied.append((kind, name))
            if entry["kind"] == "CustomResourceDefinition":
                self._resources.clear()
        return answer

    def patch(self, kind, name, namespace, change):
        """A JSON merge patch (a dict) or a JSON patch (a list)."""
        content_type = "application/merge-patch+json" if isinstance(change, dict) else "application/json-patch+json"
        return self.asked("PATCH", self.path(kind, namespace, name), change, content_type)

    def delete(self, kind, name, namespace=None, wait=True, grace=None, deadline=60.0):
        """Whether there was such an object; waits until it is gone."""
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        status, answer = self._admin.request("DELETE", self.path(kind, namespace, name) + query)
        if status == 404:
            return False
        if status >= 300 and status != 409:  # a namespace that is going already
            raise KubernetesError(f"delete {kind} {name}", status, answer)
        if wait:
            poll(lambda: self.get(kind, name, namespace) is None, deadline, interval=0.1, what=f"the end of {kind} {name}")
        return True

    def namespace(self, name=None, labels=None):
        """A namespace for this test alone; its name."""
        name = name or f"test-{uuid.uuid4().hex[:12]}"
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
        # Before that, Pods are refused.
        poll(lambda: (self.get("serviceaccount", "default", name) or {}).get("secrets"), 30, what="the ServiceAccount `default`")
        return name

    # Users: see support/kubernetes_users.py.

    def user(self, name, *arguments, **more):
        """A ServiceAccount with a token, as a User."""
        return self.users.account(name, *arguments, **more)

    def certificate_user(self, name, *arguments, **more):
        """A person with a client certificate of the cluster's authority, as a User."""
        return self.users.person(name, *arguments, **more)

    def token(self, account, namespace, **more):
        """Another token of a ServiceAccount."""
        return self.users.token(account, namespace, **more)

    def write_kubeconfig(self, user, **more):
        """A kubeconfig file with this `user` entry; its path."""
        return self.users.write_kubeconfig(user, **more)

    # The audit log.

    def mark(self):
        """A place in the audit log, for audit(since=)."""
        return (self.folder / "audit.log").stat().st_size

    def audit(self, user=None, since=0, verb=None, resource=None, namespace=None, code=None):
        """Records of answered requests, oldest first, as the API server writes them (audit.k8s.io/v1 Event).

        `user` is a User or a name; `resource` is like "pods" or "pods/log"; a record is there when its answer was sent.
        """
        wanted = user.name if isinstance(user, User) else user
        with open(self.folder / "audit.log", "rb") as log:
            log.seek(since)
            # A mark may have been set in the middle of a line that was being written, and the last one may be.
            records = [json.loads(line) for line in log if line.startswith(b"{") and line.endswith(b"\n")]
        found = []
        for record in records:
            about = record.get("objectRef", {})
            named = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
            if (
                record["stage"] == "ResponseComplete"
                and wanted in (None, record["user"]["username"])
                and verb in (None, record["verb"])
                and resource in (None, named)
                and namespace in (None, about.get("namespace"))
                and code in (None, record.get("responseStatus", {}).get("code"))
            ):
                found.append(record)
        return found

    # Images.

    def push(self, name, root, *changes):
        """Makes an image of a folder, with changes like 'CMD ["/bin/x"]', and pushes it; NAME@sha256:… to put into Pods."""
        done = subprocess.run([SERVICE, "push", self.folder, name, root, *changes], capture_output=True, text=True, check=False)
        image = done.stdout.strip()
        assert done.returncode == 0 and re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image), f"no image {name}: {done.stderr}{image}"
        return image

    def image(self, kind):
        """The tests' runtime image "gateway" or "agent", or "busybox" (Debian's, with a shell), with its digest."""
        if kind not in self._images:
            with self._alone():
                # Made once for all processes of the run.
                known = self.folder / f"image-{kind}"
                if not known.exists():
                    made = self._make_image(kind)
                    known.with_suffix(".new").write_text(made)
                    known.with_suffix(".new").rename(known)
                self._images[kind] = known.read_text()
        return self._images[kind]

    def _make_image(self, kind):
        root = pathlib.Path(tempfile.mkdtemp(prefix="occ-image-", dir="/tmp"))
        try:
            if kind == "busybox":
                (root / "bin").mkdir()
                shutil.copy("/bin/busybox", root / "bin")
                for name in ("sh", "sleep", "cat", "ls", "wget", "httpd"):
                    (root / "bin" / name).symlink_to("busybox")
                return self.push("occ-test/busybox", root, "USER 65532", 'CMD ["/bin/sleep", "1000000"]')
            assert kind in ("gateway", "agent"), kind
            subprocess.run([RUNTIME, root], check=True, stdin=subprocess.DEVNULL)
            return self.push(f"occ-test/{kind}", root, 'ENTRYPOINT ["/runtime"]')
        finally:
            shutil.rmtree(root)

    def startup(self, path, kubeconfig=None, **changes):
        """Writes a startup YAML for this cluster (support/kubernetes_startup.py); its path."""
        return kubernetes_startup.write(path, self, kubeconfig, **changes)

    # Cleaning up.

    def _forget(self):
        self._ids = []
        self._applied = []
        if self.users is not None:
            self.users.names.clear()
        self._began = self.mark() if self._own is not None else 0

    def new_id(self):
        """The id of a Namespace of this test."""
        return self.mine(f"ns_{uuid.uuid4()}")

    def mine(self, identifier):
        """What carries this Namespace's label goes after the test."""
        self._ids.append(identifier)
        return identifier

    def begin(self):
        """From now on it is another test's. AssertionError where the cluster came to an end."""
        pid, started = (self.folder / "cluster.pid").read_text().split()
        process = processes.look(int(pid))
        if process is None or process.started != int(started) or process.state in "ZX":
            raise AssertionError(f"the cluster ended: {(self.folder / 'log' / 'cluster.log').read_text()[-2000:]}")
        self._forget()

    def cleanup(self):
        """Removes what the test left, without waiting for the end of namespaces: no other test uses the same ones."""
        made_by_users = {
            record["objectRef"]["name"]
            for record in self.audit(since=self._began, verb="create", resource="namespaces", code=201)
            if record["user"]["username"] in self.users.names and record["objectRef"].get("name")
        }
        for identifier in self._ids:
            made_by_users |= {entry["metadata"]["name"] for entry in self.list("namespaces", selector=f"{NAMESPACE_LABEL}={identifier}")}
        for name in made_by_users:
            self.delete("namespaces", name, wait=False)
        for kind, name in reversed(self._applied):
            self.delete(kind, name, wait=False)
        self._forget()
