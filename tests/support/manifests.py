# SPDX-License-Identifier: MIT
"""What contrib/kubernetes gives to a cluster's administrator, read."""

import subprocess
import uuid

import yaml

from . import tree
from .program import environment

FOLDER = tree.SOURCE / "contrib" / "kubernetes"
SYSTEM = "openclaw-system"  # the namespace that everything of it is in


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def everything():
    return [document for path in sorted(FOLDER.glob("*.yaml")) for document in documents(path.name)]


def grants(role):
    """{(group, resource, verb)} of a ClusterRole."""
    (found,) = [each for each in everything() if each["kind"] == "ClusterRole" and each["metadata"]["name"] == role]
    return {
        (group, resource, verb)
        for rule in found["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def pods():
    """{name of the Deployment: its Pods' spec}"""
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in everything() if each["kind"] == "Deployment"
    }


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


class Rights:
    """The shipped roles, given to ServiceAccounts in a namespace of the test's own, so that tests do not meet and the audit
    log tells them apart. `kubernetes` is where (support/kubernetes.py)."""

    def __init__(self, kubernetes):
        self.kubernetes = kubernetes
        self.system = f"openclaw-{uuid.uuid4().hex[:12]}"
        for name in ("worker-cluster.yaml", "worker-tenant.yaml", "occctl.yaml", "binder-rights.yaml"):
            self.apply(name)

    def apply(self, name, change=None):
        """`change(document)` may alter each one before it is applied. Roles are everybody's and stay."""
        listed = documents(name)
        for each in listed:
            self._own(each)
            if change:
                change(each)
        self.kubernetes.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=yaml.safe_dump_all(listed))

    def _own(self, document):
        metadata = document["metadata"]
        if document["kind"] == "Namespace":
            metadata["name"] = self.system
        elif "namespace" in metadata:
            metadata["namespace"] = self.system
        elif document["kind"] == "ClusterRoleBinding":
            metadata["name"] += "." + self.system
        for subject in document.get("subjects", []):
            subject["namespace"] = self.system

    def user(self, account):
        """The account's name in the audit log."""
        return f"system:serviceaccount:{self.system}:{account}"

    def kubeconfig(self, account, server=None):
        """The path of a kubeconfig of the account."""
        return self.kubernetes.write_kubeconfig({"token": self.kubernetes.token(account, self.system)}, server=server)

    def bind_by_hand(self, space):
        """What role-binding.yaml says an administrator does for a namespace that was made by one."""
        listed = documents("role-binding.yaml")
        for each in listed:
            self._own(each)
        self.kubernetes.kubectl("create", "-n", space, "-f", "-", input=yaml.safe_dump_all(listed))

    def binder(self, folder, *arguments):
        """A running binder under its own rights; ended by the caller."""
        env = {"KUBECONFIG": self.kubeconfig("occ-binder"), "BINDER_SYSTEM": self.system, "HOME": folder}
        with open(folder / "binder.log", "ab") as log:
            return subprocess.Popen([FOLDER / "binder", *arguments], env=environment(env), stdout=log, stderr=log)

    def remove(self):
        for each in everything():
            if each["kind"] == "ClusterRoleBinding":
                self._own(each)
                self.kubernetes.delete("ClusterRoleBinding", each["metadata"]["name"])
        self.kubernetes.delete("Namespace", self.system, wait=False)
