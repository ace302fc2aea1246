# SPDX-License-Identifier: MIT
"""Dedicated revisions in a selected Sandbox Driver: what it is asked, in which order, and what stays the Compute Driver's.
The Sandbox is tests/drivers/scripted*.c; the node is played."""

import pytest
from support.drivers import new_id, outcome
from support.revisions import Revisions

SANDBOX = "sandbox-scripted"


@pytest.fixture
def stage(kubernetes, folder, node, scripted):
    with Revisions(kubernetes, folder, node, drivers__sandbox=selection(scripted)) as made:
        yield made


def selection(scripted, package="scripted"):
    return {"id": SANDBOX, "package": package, "configuration": {"folder": str(scripted.folder)}}


def asked(scripted, agent=None):
    entries = scripted.journal(what="begin")
    return [entry["operation"] for entry in entries if agent is None or entry.get("agentId") == agent.id]


def environment(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry.get("value") for entry in container["env"]}


def test_a_namespace_is_the_sandboxes_too(stage, scripted):
    assert "sandbox.ensure_namespace" in asked(scripted)


@pytest.mark.parametrize("harness", ["codex", "openclaw"])
def test_the_harness_is_the_sandboxes(stage, scripted, harness):
    auth = {"method": "api_key", "source": {"kind": "secret", "namespaceId": "ns_1", "id": "sec_1"}}
    answer = stage.drivers.compute("validate_harness_auth", harness={"id": harness, "mode": "dedicated", "auth": auth})
    assert answer.ok, answer
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated", harness, sandboxDriverId=SANDBOX))
    assert asked(scripted, agent)[:2] == ["sandbox.configure_agent", "sandbox.provision_harness"]
    assert set(asked(scripted, agent)) == {"sandbox.configure_agent", "sandbox.provision_harness"}
    # All that is left to us: the gateway, which is told where the Harness is, and the Secrets of both.
    assert agent.names("deployments", "services", "persistentvolumeclaims", "pods")[:1] == [("deployments", agent.name("gateway"))]
    assert [kind for kind, _ in agent.names("deployments", "pods")] == ["deployments", "pods"]
    assert agent.names("networkpolicies") == [
        ("networkpolicies", agent.name("gateway")), ("networkpolicies", agent.name("harness", one))]  # fmt: skip
    assert agent.names("persistentvolumeclaims") == [("persistentvolumeclaims", agent.name("gateway-state"))]
    gateway = agent.get("deployment", agent.name("gateway"), stage.gateways)
    assert environment(gateway)["OPENCLAW_HARNESS_ENDPOINT"].startswith(f"http://{one['id']}.scripted.invalid")
    assert set(agent.get("secret", agent.name("harness-secrets", one))["data"]) == {"model-credential", "app-server-token"}
    assert agent.routed() == {stage.gateways: one["id"]}
    # K119
    mark = stage.mark()
    assert outcome(agent.ask("prepare", one)) == outcome(agent.ask("activate", one)) == "ready"
    assert stage.writes(mark) == []
    agent.until("retire", one)
    assert scripted.made("sandbox") == {} or one["id"] not in scripted.made("sandbox")
    agent.until("delete")
    assert asked(scripted, agent)[-1] == "sandbox.cleanup" and agent.objects() == {}


def test_it_comes_before_what_it_is_about(stage, scripted):
    agent = stage.agent()
    one = agent.revision("dedicated", sandboxDriverId=SANDBOX)
    scripted.on("sandbox.configure_agent", "pending SANDBOX_BUSY 700 x2", "ready")
    scripted.on("sandbox.provision_harness", "pending SANDBOX_STARTING + failure harness boot STARTING x2", "ready")
    answer = agent.ask("prepare", one)
    assert outcome(answer) == ("pending", "SANDBOX_BUSY") and answer.retryAfterMs == 700
    assert agent.objects() == {}
    agent.until_says("prepare", one, "SANDBOX_STARTING")
    assert agent.names("deployments") == []
    assert agent.names("secrets", revision=one) == [("secrets", agent.name("harness-secrets", one))]
    agent.until("prepare", one)
    assert agent.names("deployments") == [("deployments", agent.name("gateway"))]


def test_it_is_cleaned_up_before_the_gateway_goes(stage, scripted):
    """K93"""
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated", sandboxDriverId=SANDBOX))
    scripted.on("sandbox.cleanup", "pending SANDBOX_ENDING", "ready")
    assert outcome(agent.ask("stop", one)) == ("pending", "SANDBOX_ENDING")
    assert agent.routed() == {stage.gateways: "none"} and agent.names("deployments")
    agent.until("stop", one)
    assert agent.names("deployments") == []


@pytest.mark.parametrize("step, code", [
    ("permanent SANDBOX_REFUSES", "SANDBOX_REFUSES"),
    ("foreign revision", "INVALID_DRIVER_OBSERVATION"),
    ("foreign agent", "INVALID_DRIVER_OBSERVATION"),
    ("mute", "INVALID_DRIVER_OBSERVATION"),
])  # fmt: skip
def test_its_refusals_are_ours(stage, scripted, step, code):
    agent = stage.agent()
    scripted.on("sandbox.provision_harness", step)
    answer = agent.ask("prepare", agent.revision("dedicated", sandboxDriverId=SANDBOX))
    assert outcome(answer) == ("permanent", code), answer
    assert agent.names("deployments") == []


def test_its_warnings_are_told(stage, scripted):
    agent = stage.agent()
    scripted.on("sandbox.configure_agent", "warn SANDBOX_OLD its-version + ready")
    answer = agent.ask("prepare", agent.revision("dedicated", sandboxDriverId=SANDBOX))
    assert [each["code"] for each in answer.warnings] == ["SANDBOX_OLD"]


def test_what_froze_none_is_not_surrounded(stage, scripted):
    agent = stage.agent()
    for mode in ("embedded", "dedicated"):
        one = agent.deploy(agent.revision(mode))
        agent.until("retire", one)
    assert asked(scripted, agent) == []


def test_another_sandbox_is_none(stage, scripted, kubernetes, folder, node):
    agent = stage.agent()
    one = agent.revision("dedicated", sandboxDriverId="sandbox-other")
    for operation in ("prepare", "stop", "retire"):
        answer = agent.ask(operation, one)
        assert outcome(answer) == ("permanent", "SANDBOX_DRIVER_MISMATCH"), (operation, answer)
    answer = agent.ask("prepare", {**agent.revision("dedicated", "openclaw"), "id": new_id("rev")})
    assert outcome(answer) == ("permanent", "HARNESS_UNSUPPORTED")


@pytest.mark.parametrize(
    "package, ours",
    [
        # Provides no Harness: it is ours, in what the Sandbox has prepared.
        ("scripted-early", {"deployments", "services", "persistentvolumeclaims", "networkpolicies"}),
        # Provides one, and separates processes only: network and claim are ours.
        ("scripted-maintained", {"persistentvolumeclaims", "networkpolicies"}),
    ],
)
def test_what_it_does_not_do_is_ours(kubernetes, folder, node, scripted, package, ours):
    with Revisions(kubernetes, folder, node, drivers__sandbox=selection(scripted, package)) as stage:
        agent = stage.agent()
        answer = agent.ask("prepare", agent.revision("dedicated", "openclaw", sandboxDriverId=SANDBOX))
        assert outcome(answer) == ("permanent", "HARNESS_UNSUPPORTED")
        one = agent.deploy(agent.revision("dedicated", sandboxDriverId=SANDBOX))
        assert asked(scripted, agent)[0] == "sandbox.configure_agent"
        mine = {kind for kind, space, name in agent.objects() if space == stage.data and name.startswith("harness-")}
        assert mine - {"pods", "secrets", "serviceaccounts"} == ours
        agent.until("retire", one)
        agent.until("delete")
        assert agent.objects() == {}
