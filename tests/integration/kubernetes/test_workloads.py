# SPDX-License-Identifier: MIT
"""What is wanted of an Agent runs on a real cluster, and a server's form of it is no difference.

The objects are made here, not by a Driver, so that these tests are about the objects alone; the image is the tests' own,
which tells what it finds inside (tests/services/runtime)."""

import copy
import hashlib
import json

import pytest
from support.drivers import new_agent, new_id, new_revision
from support.intents import Intents, container, find, variables
from support.waiting import poll

PLACE = {"secretId": "sec_1", "driverId": "secret-kubernetes", "namespaceId": "ns_1"}
BINDINGS = [{"name": name, **PLACE} for name in ("9lives", "GITHUB_TOKEN", "HOME")]


class Deployed:
    """One Agent's revision, with its objects as they are wanted."""

    def __init__(self, kubernetes, intents, harness, mode, document=None, **revision):
        self.kubernetes = kubernetes
        self.intents = intents
        revision = new_revision(harness=harness, mode=mode, secret=PLACE, bindings=BINDINGS, **revision)
        if document is not None:
            revision["document"] = document
        self.subjects = {
            "namespace": {"id": kubernetes.new_id(), "name": "acme"},
            "agent": new_agent(),
            "revision": revision,
            "selected": revision["id"],
        }
        self.objects = intents.objects(**self.subjects)
        self.gateway = find(self.objects, "Deployment", "gateway-")
        self.harness = find(self.objects, "Deployment", "harness-") if mode == "dedicated" else None

    def apply(self):
        owner = self.subjects["namespace"]["id"]
        for name in {entry["metadata"]["namespace"] for entry in self.objects}:
            self.kubernetes.namespace(name, {"openclaw.dev/namespace": owner})
        self.kubernetes.apply(copy.deepcopy(self.objects))
        return self

    def live(self):
        return [
            self.kubernetes.get(entry["kind"], entry["metadata"]["name"], entry["metadata"]["namespace"])
            for entry in self.objects
        ]

    def differences(self):
        return self.intents.differences(self.live(), **self.subjects)

    def pod(self, deployment):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        pods = self.kubernetes.list("pods", deployment["metadata"]["namespace"], selector)
        return pods[0] if pods else None

    def status(self, deployment):
        """Of the one container; {} before there is one."""
        pod = self.pod(deployment)
        return ((pod or {}).get("status", {}).get("containerStatuses") or [{}])[0]

    def is_ready(self, deployment):
        return self.status(deployment).get("ready")

    def until_ready(self):
        for deployment in filter(None, (self.harness, self.gateway)):
            what = f"{deployment['metadata']['name']} being ready"
            poll(lambda: self.is_ready(deployment), 90, interval=0.2, what=what)  # noqa: B023
        return self

    def ask(self, deployment, path):
        """(status, body) of the Pod's port, through the API server."""
        pod = self.pod(deployment)
        port = container(deployment)["ports"][0]["containerPort"]
        where = self.kubernetes.path("pods", pod["metadata"]["namespace"], f"{pod['metadata']['name']}:{port}")
        return self.kubernetes.request("GET", where.replace("%3A", ":") + f"/proxy{path}")

    def inside(self, deployment):
        status, told = self.ask(deployment, "/inspect")
        assert status == 200, told
        return told


@pytest.fixture
def startup(kubernetes, tmp_path):
    return kubernetes.startup(tmp_path / "installation.yaml")


@pytest.fixture
def intents(startup):
    made = Intents(startup)
    yield made
    made.close()


@pytest.fixture
def deployed(kubernetes, intents):
    return lambda *words, **more: Deployed(kubernetes, intents, *words, **more)


def is_restricted(told):
    """As the process sees it, whatever the objects say."""
    assert (told["user"], told["group"]) == (65532, 65532)
    assert int(told["capabilities"], 16) == 0
    assert told["noNewPrivileges"] == "1"
    assert told["seccomp"] == "2"  # a filter
    # The document belongs to root, and is mounted read-only.
    assert told["writable"] == {"root": "EROFS", "temporary": "yes", "state": "yes", "document": "EACCES"}
    assert not told["serviceAccountMounted"]


def has_variables_of(told, deployment):
    # The container's engine sets two more, and Kubernetes always tells where its API is.
    others = {name for name in told["environment"] if name in ("PATH", "HOSTNAME") or name.startswith("KUBERNETES_")}
    assert set(told["environment"]) - others == set(variables(deployment))


def test_an_embedded_agent_runs(deployed):
    agent = deployed("openclaw", "embedded", document={"agents": {}, "text": "ä\n\"quoted\""}).apply().until_ready()
    told = agent.inside(agent.gateway)
    is_restricted(told)
    has_variables_of(told, agent.gateway)
    assert (told["role"], told["mode"], told["revision"]) == ("gateway", "embedded", agent.subjects["revision"]["id"])
    (written,) = [entry["data"]["openclaw.json"] for entry in agent.objects if entry["kind"] == "ConfigMap"]
    assert json.loads(written) == agent.subjects["revision"]["document"]
    assert told["documentSha256"] == hashlib.sha256(written.encode()).hexdigest()
    assert told["token"] and told["starts"] == 1
    # A name that is no variable's is a file like all others, and HOME stays what is promised.
    assert sorted(told["bindings"]) == ["9lives", "GITHUB_TOKEN", "HOME"]
    assert "9lives" not in told["environment"] and "GITHUB_TOKEN" in told["environment"]
    # The Service leads to it.
    service = find(agent.objects, "Service", "gateway-")["metadata"]
    path = f"/api/v1/namespaces/{service['namespace']}/services/{service['name']}:8080/proxy/"
    poll(lambda: agent.kubernetes.request("GET", path) == (200, told["revision"]), 30, 0.1, what="the Service's answer")


def test_a_dedicated_agent_runs(deployed):
    agent = deployed("codex", "dedicated").apply().until_ready()
    gateway, harness = agent.inside(agent.gateway), agent.inside(agent.harness)
    for told, deployment in ((gateway, agent.gateway), (harness, agent.harness)):
        is_restricted(told)
        has_variables_of(told, deployment)
        assert (told["mode"], told["revision"]) == ("dedicated", agent.subjects["revision"]["id"])
    assert (gateway["role"], harness["role"]) == ("gateway", "agent")
    assert gateway["documentSha256"] == harness["documentSha256"]
    # What is secret is in the Harness's Pod, and the gateway reached that with the token.
    assert (gateway["token"], harness["token"]) == (False, True)
    assert (gateway["bindings"], sorted(harness["bindings"])) == ([], ["9lives", "GITHUB_TOKEN", "HOME"])
    assert agent.ask(agent.harness, "/app-server")[0] == 401


# K119: servers add defaults, and drop what is false or empty.
@pytest.mark.parametrize(("harness", "mode"), [("openclaw", "embedded"), ("codex", "dedicated")])
def test_what_a_server_makes_of_it_is_no_difference(deployed, harness, mode):
    agent = deployed(harness, mode).apply()
    assert agent.differences() == [None] * len(agent.objects)
    agent.until_ready()
    assert agent.differences() == [None] * len(agent.objects)


SECURITY = "/spec/template/spec/containers/0/securityContext"
DRIFTS = {
    "host-network": ("Deployment", {"spec": {"template": {"spec": {"hostNetwork": True}}}}),
    "host-pid": ("Deployment", {"spec": {"template": {"spec": {"hostPID": True}}}}),
    "root": ("Deployment", {"spec": {"template": {"spec": {"securityContext": {"runAsUser": 0}}}}}),
    "sysctl": ("Deployment", {"spec": {"template": {"spec": {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}}}}}),
    "token": ("Deployment", {"spec": {"template": {"spec": {"automountServiceAccountToken": True}}}}),
    "replicas": ("Deployment", {"spec": {"replicas": 0}}),
    "paused": ("Deployment", {"spec": {"paused": True}}),
    "strategy": ("Deployment", {"spec": {"strategy": {"type": "RollingUpdate"}}}),
    "node": ("Deployment", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
    "label": ("Deployment", {"spec": {"template": {"metadata": {"labels": {"openclaw.dev/extra": "b"}}}}}),
    "escalation": ("Deployment", [{"op": "add", "path": f"{SECURITY}/allowPrivilegeEscalation", "value": True}]),
    "privileged": ("Deployment", [{"op": "add", "path": f"{SECURITY}/privileged", "value": True},
                                  {"op": "remove", "path": f"{SECURITY}/allowPrivilegeEscalation"}]),
    "capability": ("Deployment", [{"op": "add", "path": f"{SECURITY}/capabilities/add", "value": ["NET_ADMIN"]}]),
    "command": ("Deployment", [{"op": "add", "path": "/spec/template/spec/containers/0/command", "value": ["sh"]}]),
    "variable": ("Deployment", [{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "A", "value": "b"}}]),
    "sidecar": ("Deployment", [{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "a", "image": "b"}}]),
    "first": ("Deployment", {"spec": {"template": {"spec": {"initContainers": [{"name": "a", "image": "b"}]}}}}),
    "selector": ("Service", {"spec": {"selector": {"openclaw.dev/revision": "none"}}}),
    "wider-selector": ("Service", {"spec": {"selector": {"openclaw.dev/revision": None}}}),
    "narrower-selector": ("Service", {"spec": {"selector": {"a": "b"}}}),
    "port": ("Service", [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]),
    "client": ("NetworkPolicy", [{"op": "add", "path": "/spec/ingress/0/from/-", "value": {"podSelector": {}}}]),
    "ingress": ("NetworkPolicy", [{"op": "add", "path": "/spec/ingress/-", "value": {}}]),
    "egress": ("NetworkPolicy", [{"op": "replace", "path": "/spec/egress", "value": [{}]}]),
    "end": ("NetworkPolicy", {"spec": {"policyTypes": ["Ingress"]}}),
    "pods": ("NetworkPolicy", {"spec": {"podSelector": {"matchLabels": {"openclaw.dev/workload-role": None}}}}),
    "account": ("ServiceAccount", {"automountServiceAccountToken": True}),
    "secret": ("Secret", {"data": {"extra": "YQ=="}}),
}  # fmt: skip


def test_drift_is_a_difference_and_its_patch_ends_it(kubernetes, deployed):
    """Each of these, done by hand, is found, and the patch that follows from it is taken by a real server and ends it."""
    agent = deployed("openclaw", "embedded").apply()
    for name, (kind, change) in DRIFTS.items():
        index = next(index for index, entry in enumerate(agent.objects) if entry["kind"] == kind)
        where = (kind, agent.objects[index]["metadata"]["name"], agent.objects[index]["metadata"]["namespace"])
        kubernetes.patch(*where, change)
        patches = agent.differences()
        assert patches[index] is not None, name
        assert [entry for entry in patches if entry] == [patches[index]], name
        kubernetes.patch(*where, patches[index])
        assert agent.differences()[index] is None, name


# K83: nobody changes a revision under its Pods, and a server says which field it was.
def test_a_snapshot_cannot_be_changed(kubernetes, deployed):
    agent = deployed("openclaw", "embedded").apply()
    snapshot = find(agent.objects, "ConfigMap", "configuration-")["metadata"]
    path = kubernetes.path("configmaps", snapshot["namespace"], snapshot["name"])
    change = json.dumps({"data": {"openclaw.json": "{}"}})
    status, answer = kubernetes.request("PATCH", path, change, "application/merge-patch+json")
    assert status == 422 and "immutable" in answer["message"]


# K83, K119: another revision of an Agent is another template of the same Deployment, which a server takes.
def test_the_next_revision_replaces_the_gateway(kubernetes, deployed):
    agent = deployed("openclaw", "embedded").apply().until_ready()
    state = agent.inside(agent.gateway)["starts"]
    revision = agent.subjects["revision"]
    following = {**revision, "id": new_id("rev"), "number": 2, "first": False}
    agent.subjects.update(revision=following, selected=following["id"])
    agent.objects = agent.intents.objects(**agent.subjects)
    agent.gateway = find(agent.objects, "Deployment", "gateway-")
    agent.apply().until_ready()
    told = agent.inside(agent.gateway)
    assert told["revision"] == following["id"]
    assert told["starts"] == state + 1  # the same state folder
    assert agent.differences() == [None] * len(agent.objects)


def test_a_gateway_with_another_token_is_not_ready(kubernetes, deployed):
    agent = deployed("codex", "dedicated")
    for entry in agent.objects:
        if entry["kind"] == "Secret" and entry["metadata"]["name"].startswith("openclaw-agent-transport-"):
            entry["data"]["app-server-token"] = "b3RoZXI="
    agent.apply()
    poll(lambda: agent.is_ready(agent.harness), 90, interval=0.2, what="the Harness being ready")
    poll(lambda: agent.status(agent.gateway).get("started"), 60, interval=0.2, what="the gateway's start")
    assert agent.ask(agent.gateway, "/readyz") == (503, "the Harness refuses the transport token\n")
    assert not agent.is_ready(agent.gateway)


def behaving(behaviour):
    return {"test": {"behaviour": behaviour}}


@pytest.mark.parametrize(
    ("behaviour", "seen"),
    [("crash", {"exitCode": 139}), ("exit-3", {"exitCode": 3, "reason": "Error"}), ("fill-memory", {"reason": "OOMKilled"})],
)
def test_the_image_ends_as_the_document_says(deployed, behaviour, seen):
    agent = deployed("openclaw", "embedded", document=behaving(behaviour)).apply()

    def ended():
        status = agent.status(agent.gateway)
        return status.get("lastState", {}).get("terminated") or status.get("state", {}).get("terminated")

    found = poll(ended, 90, interval=0.2, what="the end of the container")
    assert {name: found.get(name) for name in seen} == seen


def test_the_image_is_ready_when_the_document_says(deployed):
    late, never = (deployed("openclaw", "embedded", document=behaving(how)).apply() for how in ("slow-ready", "never-ready"))
    late.until_ready()
    poll(lambda: never.status(never.gateway).get("started"), 60, interval=0.2, what="the start")
    assert never.ask(never.gateway, "/readyz")[0] == 503
    assert never.ask(never.gateway, "/healthz")[0] == 200
    assert not never.is_ready(never.gateway)
