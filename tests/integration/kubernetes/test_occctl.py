# SPDX-License-Identifier: MIT
"""occctl and a worker in production: Configurations and Secrets of a Namespace on a real API server, and without one."""

import base64
import json

import pytest
from support.kubernetes_proxy import CUT
from support.kubernetes_tenant import data_space, hashed_name, release
from support.operator import refused

DOCUMENT = '{"agents": {"defaults": {"model": "openai/gpt"}},\r\n "x": 1.50}\n'


class Production:
    """occctl with the Drivers of a startup YAML, as the Installation's administrator; worker() carries its work out."""

    def __init__(self, occctl, worker, database, kubernetes, folder):
        self.occctl, self.start, self.database, self.kubernetes, self.folder = occctl, worker, database, kubernetes, folder
        self.env = {"NODE_ENV": "production", "OCC_CONFIG_PATH": kubernetes.startup(folder / "occ.yaml")}

    def worker(self, *flags, env=None):
        return self.start("--poll-interval-ms=50", *flags, env={**self.env, **(env or {})}, database=self.database)

    def __call__(self, *arguments, **more):
        return self.occctl(*arguments, env=self.env, deadline=120, **more)

    def made(self, *arguments, **more):
        return self(*arguments, "-o", "json", **more).ok().json

    def namespace(self, *flags):
        told = self.made("namespace", "create", "acme", *flags)
        self.kubernetes.mine(told["id"])
        return {"id": told["id"]}

    def without_server(self):
        """From now on occctl has another startup YAML, whose API server nobody answers for."""
        nowhere = self.kubernetes.write_kubeconfig({"token": "x"}, server="https://127.0.0.1:1")
        self.env["OCC_CONFIG_PATH"] = self.kubernetes.startup(self.folder / "nowhere.yaml", nowhere)


@pytest.fixture
def production(occctl, worker, bootstrapped, kubernetes, folder):
    return Production(occctl, worker, bootstrapped, kubernetes, folder)


def test_configurations_and_secrets_live_and_end(production, kubernetes, bootstrapped, folder):
    made = production.worker()
    tenant = production.namespace("--wait")
    space = data_space(tenant)
    value = folder / "value"
    value.write_bytes(b"sk-\0\xff")
    value.chmod(0o600)

    secret = production.made("secret", "create", "model", "-n", "acme", "--value-file", value)["id"]
    kept = kubernetes.get("secret", hashed_name("secret", secret), space)
    assert base64.b64decode(kept["data"]["value"]) == b"sk-\0\xff"
    (row,) = bootstrapped.query("select * from occ.secrets where id = %s", secret)
    assert (row["driver_id"], row["backend_namespace_name"]) == ("secret-kubernetes", space)
    assert (row["backend_name"], row["backend_uid"]) == (kept["metadata"]["name"], kept["metadata"]["uid"])

    identifier = production.made("configuration", "create", "-n", "acme", "-", "--bind", "KEY=model", stdin=DOCUMENT)["id"]
    name = hashed_name("configuration", identifier)
    assert kubernetes.get("configmap", name, space)["data"] == {"openclaw.json": DOCUMENT}
    document = json.loads(production("configuration", "get", identifier, "-o", "json").ok().out)
    assert document["generation"] == 1
    other = DOCUMENT.replace("1.50", "2")
    production("configuration", "update", identifier, "-", stdin=other).ok()
    assert kubernetes.get("configmap", name, space)["data"] == {"openclaw.json": other}

    refused(production("secret", "delete", secret), 4, "SECRET_IN_USE")
    production("configuration", "delete", identifier).ok()
    production("secret", "delete", secret).ok()
    assert kubernetes.get("configmap", name, space) is None and kubernetes.get("secret", kept["metadata"]["name"], space) is None
    production("namespace", "delete", "acme", "--wait").ok()
    assert kubernetes.get("namespace", space) is None
    assert made.stop() == 0


def test_before_the_namespace_is_provisioned(production, bootstrapped, folder):
    """No worker runs: 69, and nothing is left of what was tried."""
    tenant = production.namespace()
    value = folder / "value"
    value.write_text("x")
    value.chmod(0o600)
    told = production("configuration", "create", "-n", "acme", "-", stdin="{}")
    refused(told, 69, "NAMESPACE_NOT_READY", data_space(tenant))
    refused(production("secret", "create", "model", "-n", "acme", "--value-file", value), 69, "NAMESPACE_NOT_READY")
    for table in ("configurations", "secrets"):
        assert bootstrapped.one(f"select count(*) from occ.{table} where namespace_id = %s", tenant["id"]) == 0


def test_before_an_adopted_namespace_is_ready(production, kubernetes, bootstrapped):
    """No worker runs: 4, as somebody else's namespace is not made by waiting; and then it is ready."""
    space = kubernetes.namespace()
    release(kubernetes, space)
    tenant = production.namespace("--existing-namespace", space)
    told = production("configuration", "create", "-n", "acme", "-", stdin="{}")
    refused(told, 4, "NAMESPACE_NOT_READY", space)
    assert bootstrapped.one("select count(*) from occ.configurations where namespace_id = %s", tenant["id"]) == 0
    production.worker().wait_for("worker.completed", deadline=60, namespaceId=tenant["id"], outcome="success")
    identifier = production.made("configuration", "create", "-n", "acme", "-", stdin="{}")["id"]
    assert kubernetes.get("configmap", hashed_name("configuration", identifier), space)["data"] == {"openclaw.json": "{}"}


def test_without_an_api_server(production, bootstrapped, kubernetes):
    """K103: occctl says which server does not answer, and nothing has changed; a pass is pending with it."""
    made = production.worker()
    tenant = production.namespace("--wait")
    identifier = production.made("configuration", "create", "-n", "acme", "-", stdin=DOCUMENT)["id"]
    assert made.stop() == 0
    production.without_server()
    for words in (("update", identifier, "-"), ("create", "-n", "acme", "-"), ("delete", identifier)):
        told = production("configuration", *words, stdin=None if words[0] == "delete" else "{}")
        refused(told, 69, "KUBERNETES_API_UNAVAILABLE", "127.0.0.1:1")
    assert bootstrapped.query("select id, generation from occ.configurations") == [{"id": identifier, "generation": 1}]
    kept = kubernetes.get("configmap", hashed_name("configuration", identifier), data_space(tenant))
    assert kept["data"] == {"openclaw.json": DOCUMENT}


def test_a_server_that_goes_away_while_the_worker_runs(production, kubernetes_proxy):
    """K103: pending with its own code, dependency and cause, and done when it is back."""
    proxy = kubernetes_proxy
    production.env["OCC_CONFIG_PATH"] = production.kubernetes.startup(production.folder / "proxied.yaml", proxy.kubeconfig())
    made = production.worker()
    made.wait_for("worker.started", deadline=30)
    rule = proxy.on(None, r".*", CUT)
    own = {"namespaceId": production.namespace()["id"]}
    told = made.wait_for("worker.completed", deadline=30, **own)
    assert (told["outcome"], told["code"]) == ("pending", "KUBERNETES_API_UNAVAILABLE")
    assert (told["dependency"], told["cause"]) == ("kubernetes", "unavailable")
    proxy.off(rule)
    made.wait_for("worker.completed", deadline=60, outcome="success", **own)
    assert made.stop() == 0
