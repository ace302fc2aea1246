# SPDX-License-Identifier: MIT
"""Who speaks to the tests' cluster: ServiceAccounts with tokens, people with client certificates, and their kubeconfigs."""

import base64
import itertools
import json
import pathlib
import shutil
import uuid
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """Who speaks to the API server: `name` as the audit log shows it; str() gives the kubeconfig's path."""

    name: str
    kubeconfig: pathlib.Path
    token: str = None
    certificate: object = None
    account: str = None
    namespace: str = None

    def __str__(self):
        return str(self.kubeconfig)

    def __fspath__(self):
        return str(self.kubeconfig)


class Users:
    """`names` are those of the users so far; files go into `folder`."""

    def __init__(self, kubernetes, folder):
        self.kubernetes = kubernetes
        self.folder = pathlib.Path(folder)
        self.names = []
        self._numbers = itertools.count(1)

    def account(self, name, namespace=None, rules=None, cluster_rules=None, seconds=86400, owner=None):
        """A ServiceAccount with a token, as a kubeconfig file that is its alone (mode 0600, owned by `owner` if given).

        Without `namespace` in one of its own. `rules` and `cluster_rules` are lists of RBAC rules to bind to it, in that
        namespace or everywhere; without them it may do nothing but what a test binds to it.
        """
        namespace = namespace or self.kubernetes.namespace(f"user-{name}-{uuid.uuid4().hex[:8]}")
        self.kubernetes.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
        if rules is not None:
            self._bind(name, namespace, "Role", rules)
        if cluster_rules is not None:
            self._bind(name, namespace, "ClusterRole", cluster_rules)
        token = self.token(name, namespace, seconds)
        config = self.write_kubeconfig({"token": token}, owner=owner)
        return self._known(User(f"system:serviceaccount:{namespace}:{name}", config, token, None, name, namespace))

    def token(self, account, namespace, seconds=86400, audiences=None):
        """Another token of a ServiceAccount."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        body["spec"]["audiences"] = audiences or ["https://kubernetes.default.svc"]
        return self.kubernetes.asked("POST", self.kubernetes.path("serviceaccounts", namespace, account) + "/token", body)["status"]["token"]

    def _bind(self, name, namespace, kind, rules):
        place = {"name": f"{namespace}-{name}"} if kind == "ClusterRole" else {"name": name, "namespace": namespace}
        version = "rbac.authorization.k8s.io/v1"
        self.kubernetes.apply([
            {"apiVersion": version, "kind": kind, "metadata": place, "rules": rules},
            {"apiVersion": version, "kind": f"{kind}Binding", "metadata": place,
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": place["name"]},
             "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]},
        ])  # fmt: skip

    def person(self, name, groups=(), owner=None, **times):
        """A person with a client certificate of the cluster's authority; `begins` and `ends` as Authority.issue takes them."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={name}"
        certificate = self.kubernetes.authority.issue(f"{name}-{next(self._numbers)}", subject, **times)
        user = {
            "client-certificate-data": base64.b64encode(certificate.certificate.read_bytes()).decode(),
            "client-key-data": base64.b64encode(certificate.key.read_bytes()).decode(),
        }
        return self._known(User(name, self.write_kubeconfig(user, owner=owner), certificate=certificate))

    def write_kubeconfig(self, user, server=None, ca=None, owner=None, path=None, **cluster):
        """A kubeconfig file with this `user` entry; `cluster` adds to the cluster's entry. Its path."""
        path = pathlib.Path(path or self.folder / f"kubeconfig-{next(self._numbers)}")
        authority = base64.b64encode(pathlib.Path(ca or self.kubernetes.ca).read_bytes()).decode()
        entry = {"server": server or self.kubernetes.server, "certificate-authority-data": authority}
        entry.update({key.replace("_", "-"): value for key, value in cluster.items()})
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {key: value for key, value in entry.items() if value is not None}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))
        if owner is not None:
            shutil.chown(path, owner, owner)
        return path

    def _known(self, user):
        self.names.append(user.name)
        return user
