# SPDX-License-Identifier: MIT
"""What a worker with the Kubernetes Drivers looks at before it starts, and how it tells what is wrong."""

import signal
import threading
import types

import pytest
from support import kubernetes_startup
from support.certificates import Authority
from support.compute import network_name
from support.fake_kubernetes import Answer, FakeKubernetes, refusal
from support.kubernetes_tenant import data_space
from support.program import run
from support.waiting import free_port

IMAGE = f"registry.test/runtime@sha256:{'0' * 64}"
NOWHERE = types.SimpleNamespace(context="test", image=lambda kind: IMAGE, kubeconfig="/nonexistent/kubeconfig")
SETTING = "drivers.compute.configuration.authentication"  # Drivers may have credentials of their own
WORKER_RULES = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "create", "patch", "delete"]}]


class Starting:
    """A production worker with the four Drivers of a startup YAML, checked and started."""

    def __init__(self, worker, database, folder):
        self.worker, self.database, self.folder = worker, database, folder
        self.path = folder / "occ.yaml"
        self.env = {"NODE_ENV": "production", "OCC_CONFIG_PATH": self.path, **database.environment()}

    def write(self, kubeconfig, kubernetes=NOWHERE, **changes):
        kubernetes_startup.write(self.path, kubernetes, kubeconfig, **changes)
        return self

    def check(self):
        return run("occ-worker", "--check", "-o", "json", env=self.env, deadline=60)

    def facts(self):
        """--check's report where all is well: facts and warnings."""
        return self.check().ok().json["data"]

    def problems(self):
        """{code: message} of --check's problems, whose exit status is `status`, and of a real start's."""
        checked = self.check()
        started = self.worker(env=self.env)
        assert started.wait(60) == checked.status
        told = {entry["code"]: entry["message"] for entry in checked.json["data"]["problems"]}
        records = {record["code"]: record["message"] for record in started.events("worker.startup-error")}
        assert set(records) == set(told)
        # A log record's texts are cut, and times differ.
        assert all(told[code][:80] == text[:80] for code, text in records.items()), records
        return checked.status, told

    def refused(self, status, code, *words):
        """Every Driver that asks finds it: one problem for each that does, all of one code."""
        got, told = self.problems()
        assert (got, set(told)) == (status, {code}), told
        for word in words:
            assert str(word) in told[code], told
        return told[code]


@pytest.fixture
def starting(worker, bootstrapped, folder):
    return Starting(worker, bootstrapped, folder)


@pytest.fixture
def authority(tmp_path):
    return Authority.create(tmp_path)


@pytest.fixture
def fake(tmp_path, authority):
    made = FakeKubernetes(tmp_path / "fake", authority)
    yield made
    made.close()


def test_a_start_in_production(starting, kubernetes, worker):
    """K102: an API server below 1.35 only warns."""
    user = kubernetes.user("worker", cluster_rules=WORKER_RULES)
    starting.write(user, kubernetes)
    checked = starting.facts()
    assert {name: value for name, value in checked["facts"].items() if name.endswith(("DriverId", "Implementation"))} == {
        "computeDriverId": "compute-kubernetes",
        "computeImplementation": "kubernetes",
        "secretDriverId": "secret-kubernetes",
        "configurationDriverId": "config-kubernetes",
        "iamDriverId": "native-iam",
    }
    (warning,) = checked["warnings"]
    assert warning["code"] == "KUBERNETES_VERSION_OLD" and f"127.0.0.1:{kubernetes.port}" in warning["message"]
    made = worker(env=starting.env)
    started = made.wait_for("worker.started", deadline=30)
    assert (started["mode"], started["computeDriverId"]) == ("production", "compute-kubernetes")
    (told,) = made.events("compute.preflight-warning")
    assert (told["severity"], told["code"]) == ("WARN", "KUBERNETES_VERSION_OLD") and "1.20" in told["message"]
    assert made.stop() == 0
    # Nothing was changed: it only read, and asked what it may do.
    verbs = {(record["verb"], record["objectRef"]["resource"]) for record in kubernetes.audit(user=user) if "objectRef" in record}
    assert verbs <= {("create", "selfsubjectaccessreviews"), ("list", "namespaces"), ("get", "namespaces")}


def test_a_server_that_is_new_enough_is_no_warning(starting, fake):
    assert starting.write(fake.kubeconfig()).facts()["warnings"] == []
    fake.minor = "34+"
    (warning,) = starting.facts()["warnings"]
    assert warning["code"] == "KUBERNETES_VERSION_OLD" and "1.34" in warning["message"]


def test_a_context_that_is_not_there(starting, kubernetes):
    kubeconfig = kubernetes.kubeconfig
    starting.write(kubeconfig, types.SimpleNamespace(context="production-west", image=NOWHERE.image, kubeconfig=kubeconfig))
    starting.refused(78, "KUBERNETES_AUTHENTICATION_INVALID", "production-west", "test", kubeconfig)


def test_a_client_certificate_that_has_expired(starting, kubernetes):
    person = kubernetes.certificate_user("late", groups=("system:masters",), begins=-7200, ends=-3600)
    starting.write(person.kubeconfig, kubernetes).refused(78, "KUBERNETES_AUTHENTICATION_INVALID", person, "expired")


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        ({"begins": -7200, "ends": -3600}, ("expired",)),
        ({"names": ("DNS:other.test", "IP:127.0.0.2")}, ("127.0.0.1",)),
    ],
)
def test_a_servers_certificate_that_is_not_good(starting, fake, authority, certificate, words):
    """Expired, and for another host."""
    names = {"names": ("IP:127.0.0.1",), **certificate}
    fake.show(authority.issue("bad", "/CN=bad", **names))
    starting.write(fake.kubeconfig()).refused(78, "KUBERNETES_TLS_FAILED", fake.place, *words)
    assert fake.requests == []


def test_an_authority_that_does_not_vouch_for_the_server(starting, fake, tmp_path):
    (tmp_path / "other").mkdir()
    other = Authority.create(tmp_path / "other")
    starting.write(fake.kubeconfig(ca=other.certificate)).refused(78, "KUBERNETES_TLS_FAILED", fake.place, SETTING)
    assert fake.requests == []


def test_a_token_file_that_cannot_be_read(starting, fake, folder):
    missing = folder / "token"
    starting.write(fake.kubeconfig(tokenFile=str(missing)))
    starting.refused(78, "KUBERNETES_AUTHENTICATION_INVALID", missing)
    missing.mkdir()
    starting.refused(78, "KUBERNETES_AUTHENTICATION_INVALID", missing)


@pytest.mark.parametrize(
    ("user", "scheme", "line", "words"),
    [
        ({"exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}}, "https", "", "an exec plugin"),
        ({}, "http", "", "http"),
        ({}, "https", "insecure-skip-tls-verify: true", "insecure-skip-tls-verify"),
    ],
)
def test_what_is_never_done_is_refused_by_name(starting, fake, user, scheme, line, words):
    kubeconfig = fake.kubeconfig(server=f"{scheme}://{fake.place}", **user)
    text = kubeconfig.read_text()
    kubeconfig.write_text(text.replace("    server:", f"    {line}\n    server:") if line else text)
    starting.write(kubeconfig).refused(78, "KUBERNETES_AUTHENTICATION_INVALID", kubeconfig, words)
    assert fake.requests == []


def test_a_token_that_is_refused(starting, fake):
    fake.tokens = {"another"}
    starting.write(fake.kubeconfig()).refused(78, "KUBERNETES_UNAUTHENTICATED", fake.place, SETTING)


def test_a_server_that_is_gone(starting, fake):
    """K102: host and port"""
    port = free_port()
    starting.write(fake.kubeconfig(server=f"https://127.0.0.1:{port}"))
    starting.refused(69, "KUBERNETES_API_UNAVAILABLE", f"127.0.0.1:{port}")


@pytest.mark.parametrize("answer", [Answer(503, "busy"), refusal(500, "InternalError", "etcd is away"), refusal(429, "TooManyRequests", "later")])
def test_a_server_that_cannot_answer_now(starting, fake, answer):
    fake.on("GET", "/version", answer)
    starting.write(fake.kubeconfig()).refused(69, "KUBERNETES_API_UNAVAILABLE", fake.place)


@pytest.mark.parametrize("answer", [Answer(200, "<html>", {"Content-Type": "text/html"}), Answer(302, b"", {"Location": "https://x.test/"}),
                                    Answer(200, {"gitVersion": "?"})])  # fmt: skip
def test_what_is_no_api_server(starting, fake, answer):
    fake.on("GET", "/version", answer)
    starting.write(fake.kubeconfig()).refused(78, "KUBERNETES_ANSWER_INVALID", fake.place)


def test_a_server_that_says_nothing_is_given_up(starting, fake):
    """Within what a Driver's preflight is given."""
    never = threading.Event()
    fake.on("GET", "/version", Answer(200, stall=never))
    try:
        starting.write(fake.kubeconfig()).refused(69, "KUBERNETES_API_UNAVAILABLE", fake.place)
    finally:
        never.set()


def test_rights_that_are_missing(starting, kubernetes):
    user = kubernetes.user("limited", cluster_rules=[{**WORKER_RULES[0], "verbs": ["get", "list"]}])
    message = starting.write(user, kubernetes).refused(78, "KUBERNETES_ACCESS_DENIED", "create, patch, delete namespaces")
    assert "get" not in message.partition("granted: ")[2] and f"127.0.0.1:{kubernetes.port}" in message


def test_an_installation_that_is_split_over_two_layouts(starting, fake):
    """K120"""
    identifier = "ns_6a0c5a2e-0000-4000-8000-000000000001"
    marks = {
        "labels": {"app.kubernetes.io/managed-by": "openclaw-enterprise", "openclaw.dev/namespace": identifier},
        "annotations": {"openclaw.dev/namespace-id": identifier},
    }
    older, newer = network_name(identifier), data_space({"id": identifier})
    fake.add("namespaces", None, older, metadata=marks)
    starting.write(fake.kubeconfig()).check().ok()
    fake.add("namespaces", None, newer, metadata=marks)
    starting.refused(78, "KUBERNETES_LAYOUT_SPLIT", older, newer, identifier)
    assert {request.path.rpartition("/")[2] for request in fake.writes()} == {"selfsubjectaccessreviews"}


def test_routing_without_its_api_warns(starting, fake):
    routing = {"gatewayName": "oce-agent-gateways", "gatewayNamespace": "openclaw-system", "envoyNamespace": "envoy"}
    changes = {
        "drivers__compute__configuration__network__gatewayClients": None,
        "drivers__compute__configuration__gatewayRouting": routing,
    }
    starting.write(fake.kubeconfig(), **changes)
    (warning,) = starting.facts()["warnings"]
    assert warning["code"] == "KUBERNETES_API_NOT_SERVED" and "HTTPRoute" in warning["message"]
    fake.serves["gateway.networking.k8s.io/v1"] = {"httproutes"}
    assert starting.facts()["warnings"] == []


def test_a_sandbox_driver_is_opened_for_compute(starting, fake, scripted):
    selected = {"id": "sandbox-scripted", "package": "scripted", "configuration": {"folder": str(scripted.folder)}}
    facts = starting.write(fake.kubeconfig(), drivers__sandbox=selected).facts()["facts"]
    assert (facts["sandboxDriverId"], facts["computeDriverId"]) == ("sandbox-scripted", "compute-kubernetes")
    assert scripted.calls(operation="sandbox.preflight") == ["sandbox.preflight"]


def test_a_sandbox_driver_beside_another_compute_is_refused(starting):
    starting.path.write_text("drivers:\n  sandbox: {id: openshell, package: openshell}\n")
    starting.env["NODE_ENV"] = "development"
    status, told = starting.problems()
    assert status == 78 and "drivers.sandbox: needs the Compute Driver compute-kubernetes" in told["STARTUP_FIELD_INVALID"]


def test_a_reload_takes_another_kubeconfig(starting, fake, tmp_path, authority, worker, bootstrapped):
    """Of a cluster that was moved: the path is the same, the file is another one; and one that is broken changes nothing."""
    kubeconfig = fake.kubeconfig()
    made = worker("--poll-interval-ms=50", env=starting.write(kubeconfig).env)
    made.wait_for("worker.started", deadline=30)
    good = kubeconfig.read_text()
    kubeconfig.write_text("{}")
    made.send(signal.SIGHUP)
    told = made.wait_for("worker.error", deadline=30)
    assert told["code"] == "KUBERNETES_AUTHENTICATION_INVALID" and str(kubeconfig) in told["message"]
    other = FakeKubernetes(tmp_path / "other", authority)
    kubeconfig.write_text(good.replace(str(fake.port), str(other.port)))
    fake.close()
    made.send(signal.SIGHUP)
    made.wait_for("worker.reloaded", deadline=30)
    assert other.requests
    assert made.stop() == 0
    other.close()
