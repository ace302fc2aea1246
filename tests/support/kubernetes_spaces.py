# SPDX-License-Identifier: MIT
"""A Namespace on the tests' cluster as lib/kubernetes/tenant makes it: its two namespaces, their marks and their fences."""

import hashlib
import json

from .drivers import new_namespace
from .kubernetes_tenant import RESTRICTED, data_space, release

GROUPS = ["", "networking.k8s.io"]
VERBS = ["get", "list", "create", "patch", "delete"]
CLUSTER_RULES = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": VERBS}]
FENCE_RULES = [{"apiGroups": GROUPS, "resources": ["resourcequotas", "limitranges", "networkpolicies"], "verbs": VERBS}]

MANAGED_BY = "app.kubernetes.io/managed-by"
NAMESPACE = "openclaw.dev/namespace"
GATEWAYS = "openclaw.dev/gateway-namespace"
NAMESPACE_ID = "openclaw.dev/namespace-id"
LIFECYCLE = "openclaw.dev/namespace-lifecycle"
LATEST = {f"{label}-version": "latest" for label in RESTRICTED}

DENY, DNS, QUOTA, LIMITS = "openclaw-default-deny", "openclaw-dns", "openclaw-quota", "openclaw-limits"
FENCE = (("networkpolicies", DENY), ("networkpolicies", DNS), ("resourcequotas", QUOTA), ("limitranges", LIMITS))


def digits(text, count):
    return hashlib.sha256(text.encode()).hexdigest()[:count]


def gateway_space(tenant):
    return f"oce-gateways-{digits(tenant['id'], 24)}"


def older_space(tenant):
    """As older versions named it (K116)."""
    slug = tenant["id"].replace("_", "-")[:32].strip("-")
    return f"oce-{slug}-{digits(tenant['id'], 12)}"


def marks(tenant, gateways=False):
    """The metadata of a namespace that is this Namespace's."""
    labels = {MANAGED_BY: "openclaw-enterprise", NAMESPACE: tenant["id"]}
    if gateways:
        labels[GATEWAYS] = tenant["id"]
    return {"labels": labels, "annotations": {NAMESPACE_ID: tenant["id"]}}


def namespace_object(name, labels=None, annotations=None, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}, **metadata},
    }


def managed(kubernetes):
    """A Namespace whose namespaces go after the test."""
    tenant = new_namespace()
    kubernetes.mine(tenant["id"])
    return tenant


def released(kubernetes):
    """A namespace that an administrator has released for adoption; its name."""
    name = kubernetes.namespace(labels={"team": "blue"})
    release(kubernetes, name)
    return name


def adopting(kubernetes, name=None):
    """A Namespace that adopts a namespace: a released one of its own unless said."""
    tenant = new_namespace(existing=name or released(kubernetes))
    kubernetes.mine(tenant["id"])
    return tenant


def cleaned(entry):
    """What somebody wrote into an object, without what the server makes of it."""
    if entry is None:
        return None
    metadata = entry["metadata"]
    labels = {key: value for key, value in metadata.get("labels", {}).items() if key != "kubernetes.io/metadata.name"}
    return {
        "labels": labels,
        "annotations": metadata.get("annotations", {}),
        "finalizers": metadata.get("finalizers", []),
        "terminating": "deletionTimestamp" in metadata,
        **({"spec": entry["spec"]} if entry["kind"] != "Namespace" else {}),
    }


def state(kubernetes, tenant):
    """Everything of the Namespace, its own id and names made words, so that two Namespaces can be compared."""
    found = {}
    for word, space in (("data", data_space(tenant)), ("gateways", gateway_space(tenant))):
        found[word] = cleaned(kubernetes.get("namespaces", space))
        for kind, name in FENCE:
            entry = kubernetes.get(kind, name, space) if found[word] else None
            found[f"{word}/{name}"] = cleaned(entry)
    text = json.dumps(found)
    for word, name in (("GATEWAYS", gateway_space(tenant)), ("DATA", data_space(tenant)), ("ID", tenant["id"])):
        text = text.replace(name, word)
    return json.loads(text)


def versions(kubernetes, tenant):
    """{object: (uid, resourceVersion)} of all that is there: equal as long as nobody writes."""
    found = {}
    for space in (data_space(tenant), gateway_space(tenant)):
        for kind, name, inside in [("namespaces", space, None), *((kind, name, space) for kind, name in FENCE)]:
            entry = kubernetes.get(kind, name, inside)
            if entry:
                found[space, name] = (entry["metadata"]["uid"], entry["metadata"]["resourceVersion"])
    return found
