# SPDX-License-Identifier: MIT
"""A Namespace on Kubernetes as tests see it: its namespace of the cluster, and who is let into that."""

import hashlib

# What keeping Configurations and Secrets needs: in the whole cluster, and in a tenant's namespace.
CLUSTER_RULES = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]
TENANT_RULES = [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "create", "patch", "delete"]}]
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}


def hashed_name(what, identifier):
    return f"{what}-{hashlib.sha256(identifier.encode()).hexdigest()[:24]}"


def data_space(tenant):
    """Where its Harnesses, Configurations and Secrets are; `tenant` as support.drivers.new_namespace makes it."""
    return tenant.get("existing") or f"oce-{hashlib.sha256(tenant['id'].encode()).hexdigest()[:15]}"


def release(kubernetes, space):
    """What an administrator does so that a namespace may be adopted."""
    marks = {"labels": RESTRICTED, "annotations": {"openclaw.dev/namespace-lifecycle": "external"}}
    kubernetes.patch("namespace", space, None, {"metadata": marks})


def let_in(kubernetes, user, space, rules=TENANT_RULES):
    """Binds a user of kubernetes.user() to these rules in one namespace."""
    place, version = {"name": user.account, "namespace": space}, "rbac.authorization.k8s.io/v1"
    kubernetes.apply([
        {"apiVersion": version, "kind": "Role", "metadata": place, "rules": rules},
        {"apiVersion": version, "kind": "RoleBinding", "metadata": place,
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user.account},
         "subjects": [{"kind": "ServiceAccount", "name": user.account, "namespace": user.namespace}]},
    ])  # fmt: skip
