# SPDX-License-Identifier: MIT
"""The life of revisions on a cluster: made, served, replaced, stopped, retired, and the Agent deleted. The node is played
(support/played_node.py); everything else is the cluster's."""

import base64

import pytest
from support.drivers import Drivers, outcome
from support.played_node import ready, unready
from support.revisions import REVISION
from support.waiting import poll

MISSING = "KUBERNETES_TRANSPORT_SECRET_MISSING"


def value(secret, key):
    return base64.b64decode(secret["data"][key]).decode()


# ---- Embedded


def test_an_embedded_revision_is_made(stage):
    agent = stage.agent()
    one = agent.revision()
    assert set(agent.until("prepare", one)) & {"REVISION_INCOMPLETE", "REVISION_UNSCHEDULABLE"}
    assert agent.names() == sorted([
        ("pods", agent.pods()[0]["metadata"]["name"]),
        ("services", agent.name("gateway")),
        ("deployments", agent.name("gateway")),
        ("networkpolicies", agent.name("gateway")),
        ("serviceaccounts", agent.name("gateway")),
        ("secrets", agent.name("openclaw-agent-transport")),
        ("secrets", agent.name("gateway-password")),
        ("secrets", agent.name("gateway-password")),
        ("secrets", agent.name("harness-secrets", one)),
        ("configmaps", agent.name("configuration", one)),
        ("persistentvolumeclaims", agent.name("gateway-state")),
    ])  # fmt: skip
    # What the two authenticate with is the gateways' namespace's, and the gateway has a copy where it is.
    password = agent.get("secret", agent.name("gateway-password"), stage.gateways)
    assert len(value(password, "password")) == 43
    assert agent.get("secret", agent.name("gateway-password"))["data"] == password["data"]
    token = agent.get("secret", agent.name("openclaw-agent-transport"), stage.gateways)
    assert len(value(token, "app-server-token")) == 43 != value(password, "password")
    secrets = agent.get("secret", agent.name("harness-secrets", one))
    assert set(secrets["data"]) == {"model-credential"} and value(secrets, "model-credential") == "sk-model-key"
    # Prepared is not served.
    assert agent.routed() == {stage.data: "none"} and agent.addresses(stage.data) == []


def test_an_unchanged_revision_writes_nothing(stage):
    """K119"""
    agent = stage.agent()
    for mode in ("embedded", "dedicated"):
        one = agent.revision(mode)
        agent.deploy(one)
        before = {key: each["metadata"]["resourceVersion"] for key, each in agent.objects().items()}
        mark = stage.mark()
        assert outcome(agent.ask("prepare", one)) == outcome(agent.ask("activate", one)) == "ready"
        requests = stage.requests(mark)
        print(f"{mode}: {len(requests)} requests to look at a revision twice")
        assert requests and stage.writes(mark) == []
        assert {key: each["metadata"]["resourceVersion"] for key, each in agent.objects().items()} == before
        agent.until("retire", one)


def test_an_embedded_revision_replaces_another(stage, node):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    assert agent.routed() == {stage.data: one["id"]} and agent.addresses(stage.data) == [one["id"]]
    two = agent.revision(document={"second": True})
    # Beside what is served, nothing of it runs: it is prepared at once.
    assert agent.until("prepare", two) == []
    assert [pod["metadata"]["labels"][REVISION] for pod in agent.pods()] == [one["id"]]
    assert agent.routed() == {stage.data: one["id"]} and agent.addresses(stage.data) == [one["id"]]
    # A predecessor that does not end holds it up, and nobody is led anywhere meanwhile.
    node.let_end = False
    answer = agent.until_says("activate", two, "REVISION_INCOMPLETE")
    assert answer.failure["component"] == "gateway" and answer.failure["check"] == "pods"
    assert poll(lambda: agent.addresses(stage.data) == [], 20)
    assert agent.routed() == {stage.data: two["id"]}
    node.let_end = True
    agent.until("activate", two)
    assert agent.addresses(stage.data) == [two["id"]]
    (pod,) = agent.pods()
    assert pod["metadata"]["labels"][REVISION] == two["id"]
    agent.until("retire", one)
    assert agent.objects(revision=one) == {}
    assert agent.names("secrets", "configmaps", revision=two) == [
        ("configmaps", agent.name("configuration", two)),
        ("secrets", agent.name("harness-secrets", two)),
    ]


def test_a_deactivated_revision_is_not_served(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    two = agent.revision()
    # Only what is served is deactivated.
    mark = stage.mark()
    assert outcome(agent.ask("deactivate", two)) == "ready" and stage.writes(mark) == []
    assert agent.routed() == {stage.data: one["id"]}
    assert outcome(agent.ask("deactivate", one)) == "ready" and agent.routed() == {stage.data: "none"}
    assert poll(lambda: agent.addresses(stage.data) == [], 20)
    assert len(agent.pods()) == 1
    mark = stage.mark()
    assert outcome(agent.ask("deactivate", one)) == "ready" and stage.writes(mark) == []


def test_a_stopped_agent_keeps_its_claim(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    claim = agent.get("pvc", agent.name("gateway-state"))["metadata"]["uid"]
    assert "REVISION_STOPPING" in agent.until("stop", one)
    assert agent.routed() == {stage.data: "none"} and agent.names("pods", "deployments") == []
    mark = stage.mark()
    assert outcome(agent.ask("stop", one)) == "ready" and stage.writes(mark) == []
    # And runs again with the same one.
    two = agent.deploy(agent.revision(), one)
    assert agent.addresses(stage.data) == [two["id"]]
    assert agent.get("pvc", agent.name("gateway-state"))["metadata"]["uid"] == claim


# ---- Dedicated


def test_a_dedicated_revision_is_made(stage, node):
    agent = stage.agent()
    one = agent.revision("dedicated")
    node.behave(unready(), role="agent")
    answer = agent.until_says("prepare", one, "REVISION_PROBE_FAILING")
    assert (answer.failure["component"], answer.failure["check"]) == ("harness", "readiness-probe")
    node.behave(ready())
    node.behave(None, role="agent")
    agent.until("prepare", one)
    found = {(kind, space) for kind, space, _ in agent.objects()}
    places = {kind: {space for each, space in found if each == kind} for kind, _ in found}
    both = {stage.data, stage.gateways}
    assert places == {
        "pods": both, "deployments": both, "services": both, "networkpolicies": both, "serviceaccounts": both,
        "secrets": both, "configmaps": both, "persistentvolumeclaims": both,
    }  # fmt: skip
    secrets = agent.get("secret", agent.name("harness-secrets", one))
    token = agent.get("secret", agent.name("openclaw-agent-transport"), stage.gateways)
    assert value(secrets, "app-server-token") == value(token, "app-server-token")
    # The model's key is where the Harness is, and nowhere else.
    for (_, space, name), secret in agent.objects("secrets").items():
        has = any(base64.b64decode(each) == b"sk-model-key" for each in secret["data"].values())
        assert has == (space == stage.data and name == agent.name("harness-secrets", one))
    assert agent.routed() == {stage.gateways: "none"}
    agent.until("activate", one)
    assert agent.routed() == {stage.gateways: one["id"]} and agent.addresses(stage.gateways) == [one["id"]]


def test_a_dedicated_revision_waits_for_its_predecessor(stage, node):
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    two = agent.revision("dedicated")
    # The contract stops it first. Where it was not, the second Harness is not made.
    answer = agent.ask("prepare", two)
    assert outcome(answer) == ("pending", "REVISION_INCOMPLETE") and "Harness of an earlier" in answer.message
    assert agent.names("deployments", revision=two) == []
    assert outcome(agent.ask("activate", two))[0] == "pending"
    assert agent.routed() == {stage.gateways: one["id"]}
    node.let_end = False
    assert outcome(agent.ask("stop", one)) == ("pending", "REVISION_STOPPING")
    assert agent.routed() == {stage.gateways: "none"}
    assert agent.names("deployments") == []
    node.let_end = True
    agent.deploy(two, one)
    assert agent.addresses(stage.gateways) == [two["id"]]
    assert agent.objects(revision=one) == {}


def test_the_harness_goes_first(stage):
    """K93"""
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    mark = stage.mark()
    agent.until("stop", one)
    gone = [name for verb, resource, name in stage.writes(mark) if (verb, resource) == ("delete", "deployments")]
    assert gone == [agent.name("harness", one), agent.name("gateway")]


# ---- From one mode to the other


@pytest.mark.parametrize("before, after", [("embedded", "dedicated"), ("dedicated", "embedded")])
def test_the_mode_changes(stage, before, after):
    agent = stage.agent()
    one = agent.deploy(agent.revision(before))
    two = agent.deploy(agent.revision(after), one)
    assert agent.routed() == {agent.space(one): "none", agent.space(two): two["id"]}
    assert agent.addresses(agent.space(two)) == [two["id"]] and agent.addresses(agent.space(one)) == []
    assert {pod["metadata"]["labels"][REVISION] for pod in agent.pods()} == {two["id"]}
    assert agent.objects(revision=one) == {}
    # What the Agent wrote is still there, until it is deleted.
    claims = {space for _, space, _ in agent.objects("persistentvolumeclaims")}
    assert claims == {stage.data, stage.gateways}
    agent.until("retire", two)
    agent.until("delete")
    assert agent.objects() == {}


def test_what_is_not_active_any_more_is_not_served(stage, node):
    """A dedicated one still runs beside the embedded one that replaces it, in whatever state that is."""
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    two = agent.revision()
    agent.until("prepare", two)
    assert agent.routed() == {stage.gateways: one["id"], stage.data: "none"}
    node.behave(unready(), role="gateway")
    poll(lambda: agent.ask("activate", two).code in ("REVISION_INCOMPLETE", "REVISION_PROBE_FAILING"), 30, interval=0.1)
    assert agent.routed() == {stage.gateways: "none", stage.data: two["id"]}
    node.behave(None, role="gateway")
    agent.until("activate", two)
    mark = stage.mark()
    assert outcome(agent.ask("activate", two)) == "ready" and stage.writes(mark) == []
    agent.until("retire", one)
    assert agent.routed() == {stage.gateways: "none", stage.data: two["id"]}


# ---- The end of an Agent


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_a_deleted_agent_leaves_nothing(stage, node, mode):
    agent, other = stage.agent(), stage.agent()
    other.deploy(other.revision(mode))
    kept = set(other.objects())
    one = agent.deploy(agent.revision(mode))
    node.let_end = False
    assert outcome(agent.ask("delete"))[0] == "pending"  # it still runs
    node.let_end = True
    assert agent.names("persistentvolumeclaims", "secrets")
    agent.until("retire", one)
    mark = stage.mark()
    agent.until("delete")
    gone = [(resource, name) for verb, resource, name in stage.writes(mark) if verb == "delete"]
    assert gone[-1] == ("persistentvolumeclaims", agent.name("gateway-state"))
    assert agent.objects() == {} and set(other.objects()) == kept
    mark = stage.mark()
    assert outcome(agent.ask("retire", one)) == outcome(agent.ask("delete")) == "ready"
    assert stage.writes(mark) == []


def test_what_holds_an_agent_is_named(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    agent.until("retire", one)
    name = agent.name("gateway-state")
    stage.kubernetes.patch("pvc", name, stage.data, {"metadata": {"finalizers": ["example.com/held"]}})
    answer = agent.until_says("delete", None, "AGENT_INCOMPLETE")
    assert answer.message == f"PersistentVolumeClaim {stage.data}/{name} is still there"
    stage.kubernetes.patch("pvc", name, stage.data, {"metadata": {"finalizers": None}})
    agent.until("delete")


def test_nothing_that_was_never_made_is_missed(stage):
    agent = stage.agent()
    for mode in ("embedded", "dedicated"):
        one = agent.revision(mode)
        for operation in ("deactivate", "stop", "retire"):
            assert outcome(agent.ask(operation, one)) == outcome(agent.ask(operation, one, observe=True)) == "ready"
    assert outcome(agent.ask("delete")) == "ready"


def test_observing_changes_nothing(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    mark = stage.mark()
    for operation in ("deactivate", "stop", "retire", "delete"):
        answer = agent.ask(operation, one if operation != "delete" else None, observe=True)
        assert outcome(answer)[0] == "pending", (operation, answer)
    assert stage.writes(mark) == []
    two = agent.revision()
    for operation in ("prepare", "activate"):
        assert outcome(agent.ask(operation, two, observe=True))[0] == "pending"
    assert stage.writes(mark) == []


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_a_namespace_that_is_gone_has_nothing(stage, mode):
    agent = stage.agent()
    one = agent.deploy(agent.revision(mode))
    for space in (stage.gateways, stage.data):
        stage.kubernetes.delete("namespace", space, wait=False)
    # On its way out, and gone.
    agent.until("retire", one)
    agent.until("delete")
    for space in (stage.gateways, stage.data):
        stage.kubernetes.delete("namespace", space)
    assert outcome(agent.ask("retire", one)) == outcome(agent.ask("delete")) == "ready"
    answer = agent.ask("prepare", agent.revision(mode))
    assert outcome(answer) == ("pending", "NAMESPACE_INCOMPLETE"), answer


# ---- Secrets


def test_the_transport_is_made_once(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    name = agent.name("openclaw-agent-transport")
    stage.kubernetes.delete("secret", name, stage.gateways)
    answer = agent.ask("prepare", one)
    assert outcome(answer) == ("permanent", MISSING) and name in answer.message
    agent.until("stop", one)
    assert outcome(agent.ask("prepare", agent.revision("dedicated"))) == ("permanent", MISSING)
    assert agent.get("secret", name, stage.gateways) is None
    agent.until("retire", one)
    agent.until("delete")


def test_an_agent_whose_first_revision_was_refused_can_be_deployed(stage):
    """With what was made for the first one, or, where that one never came here, with what the second one makes."""
    refused = stage.agent()
    one = refused.revision(secret=None)
    answer = refused.ask("prepare", one)
    assert outcome(answer) == ("permanent", "HARNESS_AUTH_SOURCE_UNAVAILABLE")
    token = refused.get("secret", refused.name("openclaw-agent-transport"), stage.gateways)
    refused.deploy(refused.revision(), one)
    assert refused.get("secret", refused.name("openclaw-agent-transport"), stage.gateways) == token
    fresh = stage.agent()
    assert fresh.revision()["first"]
    second = fresh.revision()
    assert not second["first"]
    fresh.deploy(second)


def test_copies_are_repaired(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    before = agent.get("secret", agent.name("gateway-password"), stage.gateways)["data"]
    wrong = base64.b64encode(b"wrong").decode()
    stage.kubernetes.patch("secret", agent.name("gateway-password"), stage.data, {"data": {"password": wrong, "more": wrong}})
    stage.kubernetes.delete("secret", agent.name("harness-secrets", one), stage.data)
    assert outcome(agent.ask("prepare", one)) == "ready"
    assert agent.get("secret", agent.name("gateway-password"))["data"] == before
    assert value(agent.get("secret", agent.name("harness-secrets", one)), "model-credential") == "sk-model-key"


def test_bound_secrets_come_with_their_names(stage):
    agent = stage.agent()
    places = {name: stage.drivers.keep_secret(stage.namespace, f"value of {name}") for name in ("SEARCH_KEY", "OTHER")}
    one = agent.revision(bindings=[{"name": name, **place} for name, place in places.items()])
    agent.deploy(one)
    bound = agent.get("secret", agent.name("harness-bindings", one))
    assert {key: value(bound, key) for key in bound["data"]} == {name: f"value of {name}" for name in places}
    assert stage.drivers.secret("remove", place=places["OTHER"]).ok
    answer = agent.ask("prepare", one)
    assert outcome(answer) == ("permanent", "SECRET_SOURCE_UNAVAILABLE") and "OTHER" in answer.message
    agent.until("retire", one)
    assert agent.objects(revision=one) == {}


def test_a_value_that_is_gone_refuses_the_revision(stage):
    agent = stage.agent()
    one = agent.revision(secret=stage.drivers.keep_secret(stage.namespace, "sk-other"))
    assert stage.drivers.secret("remove", place=one["secret"]).ok
    answer = agent.ask("prepare", one)
    assert outcome(answer) == ("permanent", "HARNESS_AUTH_SOURCE_UNAVAILABLE")
    assert "sk-other" not in answer.message and agent.names("deployments", "configmaps") == []


def test_a_refused_revision_leaves_what_is_served_alone(stage, folder):
    """Also where the startup YAML has another port by now: its predecessor's gateway listens on the old one."""
    agent = stage.agent()
    agent.deploy(agent.revision())

    def served():
        return {key: each["spec"] for key, each in agent.objects("services", "networkpolicies", "deployments").items()}

    before = served()
    stage.drivers.close()
    startup = stage.kubernetes.startup(folder / "port.yaml", stage.user, drivers__compute__configuration__network__gatewayPort=9090)
    stage.drivers = Drivers(startup)
    answer = agent.ask("prepare", agent.revision(secret=None))
    assert outcome(answer) == ("permanent", "HARNESS_AUTH_SOURCE_UNAVAILABLE")
    assert served() == before


def test_why_a_value_is_gone_is_told(stage):
    """In the Secret Driver's words, which say what to do."""
    agent = stage.agent()
    place = stage.drivers.keep_secret(stage.namespace, "sk-other")
    kept = stage.kubernetes.get("secret", place["backendName"], stage.data)
    stage.kubernetes.delete("secret", place["backendName"], stage.data)
    metadata = {key: kept["metadata"][key] for key in ("name", "namespace", "labels")}
    stage.kubernetes.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": kept["data"]})
    answer = agent.ask("prepare", agent.revision(secret=place))
    assert outcome(answer) == ("permanent", "HARNESS_AUTH_SOURCE_UNAVAILABLE")
    assert place["secretId"] in answer.message and "made anew: set the value" in answer.message


# ---- Who may authenticate how

SECRET = {"kind": "secret", "namespaceId": "ns_1", "id": "sec_1"}
REFUSED = "HARNESS_AUTH_UNSUPPORTED"


@pytest.mark.parametrize(
    "harness, mode, auth, expected, words",
    [
        ("openclaw", "embedded", {"method": "api_key", "source": SECRET}, "ready", ""),
        ("codex", "dedicated", {"method": "api_key", "source": SECRET}, "ready", ""),
        ("codex", "dedicated", {"method": "codex_pat", "source": SECRET}, "ready", ""),
        ("codex", "dedicated", {"method": "chatgpt_service_account", "serviceAccountId": "sa_1"}, "ready", ""),
        ("openclaw", "embedded", {"method": "codex_pat", "source": SECRET}, REFUSED, "does not authenticate by codex_pat"),
        ("openclaw", "embedded", {"method": "chatgpt_service_account", "serviceAccountId": "sa_1"}, REFUSED, "by chatgpt"),
        ("openclaw", "embedded", {"method": "magic", "source": SECRET}, REFUSED, 'no Harness authentication "magic"'),
        ("openclaw", "embedded", {"method": "api_key"}, REFUSED, "names no Secret"),
        ("openclaw", "embedded", {"method": "api_key", "source": {"kind": "vault", "id": "x"}}, REFUSED, "names no Secret"),
        ("codex", "dedicated", {"method": "chatgpt_service_account"}, REFUSED, "names no service account"),
        ("codex", "dedicated", None, "HARNESS_AUTH_REQUIRED", "does not say how"),
        ("codex", "embedded", {"method": "api_key", "source": SECRET}, "HARNESS_UNSUPPORTED", 'no embedded Harness "codex"'),
        ("other", "dedicated", {"method": "api_key", "source": SECRET}, "HARNESS_UNSUPPORTED", 'no dedicated Harness "other"'),
        ("openclaw", "dedicated", {"method": "api_key", "source": SECRET}, "HARNESS_UNSUPPORTED", "none is selected"),
    ],
)  # fmt: skip
def test_harness_authentication(drivers, harness, mode, auth, expected, words):
    answer = drivers.compute("validate_harness_auth", harness={"id": harness, "mode": mode, "auth": auth})
    assert outcome(answer) == (expected if expected == "ready" else ("permanent", expected)), answer
    assert words in (answer.message or "")


@pytest.fixture(scope="module")
def drivers(kubernetes_session, tmp_path_factory):
    """For what asks no cluster."""
    made = Drivers(kubernetes_session.startup(tmp_path_factory.mktemp("drivers") / "startup.yaml"))
    yield made
    made.close()
