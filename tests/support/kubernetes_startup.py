# SPDX-License-Identifier: MIT
"""A startup YAML that selects the Kubernetes Drivers for the tests' cluster."""

import json
import pathlib

import yaml

GATEWAY_CLASS = "occ-gateway-rwo"


def compute(authentication, gateway, agent):
    """The configuration of compute-kubernetes with these images."""
    limits = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}}
    return {
        "authentication": authentication,
        "images": {"gateway": gateway, "agent": agent, "requireImmutableDigest": True},
        "resources": {
            "gateway": limits,
            "agent": limits,
            "namespace": {"quota": {"pods": "10"}, "containerDefaults": limits},
        },
        "network": {
            "dns": {"namespace": "kube-system", "podLabels": {"k8s-app": "kube-dns"}},
            "gatewayPort": 8080,
            "gatewayTrustedProxyCidrs": ["10.244.0.0/16"],
            "gatewayClients": [{"namespace": "openclaw-system", "podLabels": {"app": "approved"}}],
        },
        "servicePrincipalCredentials": {
            "mode": "projectedServiceAccountToken",
            "audience": "openclaw-enterprise",
            "expirationSeconds": 900,
        },
        "runtime": {
            "gatewayStorageClassName": GATEWAY_CLASS,
            "transportSecretPrefix": "openclaw-agent-transport",
            "nodeSelector": {},
            "gatewayNodeSelector": {},
        },
    }


def write(path, kubernetes, kubeconfig=None, **changes):
    """Writes a startup YAML for this cluster; its path.

    `kubeconfig` is a path or a User (the administrator's unless said). Changes go over the whole by name, with dots
    as double underscores: kubernetes.startup(path, drivers__compute__configuration__network__gatewayPort=18789). None removes.
    """
    authentication = {"mode": "kubeconfig", "kubeconfigPath": str(kubeconfig or kubernetes.kubeconfig), "context": kubernetes.context}
    images = kubernetes.image("gateway"), kubernetes.image("agent")
    whole = {
        "occ": {"cluster": "test"},
        "logging": {"level": "debug"},
        "drivers": {
            "iam": {"id": "native-iam", "configuration": {}},
            "configuration": {"id": "config-kubernetes", "configuration": {"authentication": authentication}},
            "secret": {"id": "secret-kubernetes", "configuration": {"authentication": authentication}},
            "compute": {"id": "compute-kubernetes", "configuration": compute(authentication, *images)},
        },
    }
    whole = json.loads(json.dumps(whole))  # nothing in it is shared
    for names, value in changes.items():
        *outer, last = names.split("__")
        place = whole
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
        if value is None:
            del place[last]
    path = pathlib.Path(path)
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path
