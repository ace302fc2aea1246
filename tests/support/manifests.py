# SPDX-License-Identifier: MIT
"""What contrib/kubernetes gives to a cluster's administrator, read."""

import yaml

from . import tree

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
