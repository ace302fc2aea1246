# SPDX-License-Identifier: MIT
"""Revisions in trouble: Pods that do not become ready, each for its own reason; objects of others with our names; objects
deleted and changed under us. The node is played."""

import threading

import pytest
from support import played_node
from support.drivers import outcome
from support.revisions import REVISION, Revisions
from support.waiting import never, poll


# ---- Why it is not ready

REASONS = [
    ("ImagePullBackOff", "REVISION_IMAGE_UNAVAILABLE", "image", "IMAGE_PULL_BACK_OFF", "(ImagePullBackOff): 127.0.0.1:"),
    ("ErrImagePull", "REVISION_IMAGE_UNAVAILABLE", "image", "ERR_IMAGE_PULL", "(ErrImagePull): 127.0.0.1:"),
    ("InvalidImageName", "REVISION_IMAGE_UNAVAILABLE", "image", "INVALID_IMAGE_NAME", "(InvalidImageName): 127.0.0.1:"),
    ("CreateContainerConfigError", "REVISION_CONTAINER_INVALID", "container", "CREATE_CONTAINER_CONFIG_ERROR", ": what it says"),
    ("ContainerCreating", "REVISION_INCOMPLETE", "container", "CONTAINER_CREATING", "starts: ContainerCreating"),
]  # fmt: skip
STATES = [(played_node.waiting(reason, "what it says"), *expected) for reason, *expected in REASONS] + [
    (played_node.unready(ago=-86400), "REVISION_INCOMPLETE", "readiness-probe", "STARTING", "readiness-probe does not succeed"),
    (played_node.crashing("Error", 3), "REVISION_CRASHING", "container", "ERROR_3", "Error, status 3, 4 restarts"),
    (played_node.crashing("OOMKilled", 137), "REVISION_CRASHING", "container", "OOM_KILLED_137", "OOMKilled, status 137"),
    (played_node.unready(), "REVISION_PROBE_FAILING", "readiness-probe", "PROBE_FAILING", "readiness-probe does not succeed"),
    (played_node.unready(started=False), "REVISION_PROBE_FAILING", "startup-probe", "PROBE_FAILING", "startup-probe does not"),
]  # fmt: skip


def test_each_reason_is_told(stage, node):
    agent = stage.agent()
    one = agent.revision()
    for status, code, check, failure, words in STATES:
        node.behave(status)

        def told(wanted=("gateway", check, failure)):
            answer = agent.ask("prepare", one)
            seen = tuple(answer.failure[key] for key in ("component", "check", "code")) if not answer.ok else None
            return seen == wanted and answer

        answer = poll(told, 30, interval=0.1, what=f"{failure} of {check} being told")
        assert outcome(answer) == ("pending", code)
        assert words in answer.message, answer.message
    node.behave(played_node.ready())
    agent.until("prepare", one)


def test_no_node_takes_it(kubernetes, folder):
    with Revisions(kubernetes, folder, None,
                   drivers__compute__configuration__runtime__gatewayNodeSelector={"no": "such"}) as stage:  # fmt: skip
        agent = stage.agent()
        answer = agent.until_says("prepare", agent.revision(), "REVISION_UNSCHEDULABLE")
        assert "nodes are available" in answer.message and answer.failure["check"] == "scheduling"


def test_its_claim_is_not_bound(kubernetes, folder, node):
    with Revisions(kubernetes, folder, node,
                   drivers__compute__configuration__runtime__gatewayStorageClassName="no-such-class") as stage:  # fmt: skip
        agent = stage.agent()
        answer = agent.until_says("prepare", agent.revision(), "REVISION_UNSCHEDULABLE")
        assert answer.failure["check"] == "volume" and answer.failure["code"] == "CLAIM_UNBOUND"


def test_a_quota_refuses_its_pod(stage):
    """K84"""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": stage.data}}
    stage.kubernetes.apply({**quota, "spec": {"hard": {"pods": "0"}}})
    poll(lambda: stage.kubernetes.get("resourcequota", "none", stage.data).get("status", {}).get("hard"), 30)
    agent = stage.agent()
    answer = agent.until_says("prepare", agent.revision(), "REVISION_QUOTA_EXCEEDED")
    assert "exceeded quota: none, requested: pods=1" in answer.message and answer.failure["check"] == "admission"


def test_an_evicted_pod_that_lingers_is_no_rival(stage, node):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    (pod,) = agent.pods()
    node.evict(pod)
    poll(lambda: len(agent.pods()) == 2, 30, what="another Pod beside the one that was evicted")
    agent.until("prepare", one)
    agent.until("activate", one)
    # Not even by lying there does it hold up the end.
    agent.until("stop", one)


def test_a_pod_that_ends_slowly_is_waited_for(stage, node):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    node.let_end = False
    answer = agent.ask("stop", one)
    assert outcome(answer) == ("pending", "REVISION_STOPPING") and "1 of the revision's Pods" in answer.message
    (pod,) = agent.pods()
    assert f"{stage.data}/{pod['metadata']['name']} on node {node.name}" in answer.message
    never(lambda: agent.ask("stop", one).ok, 1, interval=0.2)
    node.let_end = True
    agent.until("stop", one)


# ---- What is not ours


def foreign(agent, one, kind, name, space):
    spec = {
        "service": {"ports": [{"port": 1}]},
        "networkpolicy": {"podSelector": {}},
        "persistentvolumeclaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "deployment": {
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b", REVISION: one["id"]}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    versions = {"networkpolicy": "networking.k8s.io/v1", "deployment": "apps/v1"}
    kinds = {"networkpolicy": "NetworkPolicy", "persistentvolumeclaim": "PersistentVolumeClaim", "configmap": "ConfigMap",
             "serviceaccount": "ServiceAccount"}  # fmt: skip
    made = {
        "apiVersion": versions.get(kind, "v1"),
        "kind": kinds.get(kind, kind.capitalize()),
        "metadata": {"name": name, "namespace": space, "labels": {"whose": "somebody-else"}},
    }
    if kind in spec:
        made["spec"] = spec[kind]
    agent.kubernetes.apply(made)
    return whole(agent, kind, name, space)


def whole(agent, kind, name, space):
    """An object but for what the cluster itself adds to it: a token's name, a volume's."""
    found = agent.kubernetes.get(kind, name, space)
    metadata = {key: found["metadata"].get(key) for key in ("uid", "labels", "deletionTimestamp")}
    spec = {key: each for key, each in found.get("spec", {}).items() if key != "volumeName"}
    return {"metadata": metadata, "spec": spec, "data": found.get("data")}


NAMES = {
    "embedded": [
        ("secret", "openclaw-agent-transport", False, "gateways"),
        ("secret", "gateway-password", False, "data"),
        ("serviceaccount", "gateway", False, "data"),
        ("networkpolicy", "gateway", False, "data"),
        ("service", "gateway", False, "data"),
        ("persistentvolumeclaim", "gateway-state", False, "data"),
        ("secret", "harness-secrets", True, "data"),
        ("configmap", "configuration", True, "data"),
        ("deployment", "gateway", False, "data"),
    ],
    "dedicated": [
        ("serviceaccount", "harness", False, "data"),
        ("persistentvolumeclaim", "harness-state", False, "data"),
        ("networkpolicy", "harness", True, "data"),
        ("networkpolicy", "harness", True, "gateways"),
        ("service", "harness", True, "data"),
        ("deployment", "harness", True, "data"),
        ("configmap", "configuration", True, "gateways"),
        ("deployment", "gateway", False, "gateways"),
        ("service", "gateway", False, "gateways"),
    ],
}


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_what_is_not_ours_is_left_alone(stage, mode):
    """The deployment is refused, and the refusal can be published: stop, retirement and deletion get by (K93)."""
    for kind, what, of_revision, where in NAMES[mode]:
        agent = stage.agent()
        one = agent.revision(mode)
        name = agent.name(what, one if of_revision else None)
        space = stage.data if where == "data" else stage.gateways
        before = foreign(agent, one, kind, name, space)
        # None is met only by the activation, when the revision is the active one already.
        answer = agent.ask("prepare", one)
        assert outcome(answer) == ("permanent", "OWNERSHIP_CONFLICT"), (kind, name, answer)
        assert name in answer.message
        warned = []
        for operation in ("stop", "retire", "delete"):
            revision = one if operation != "delete" else None
            agent.until(operation, revision)
            warned += [each["code"] for each in agent.ask(operation, revision).warnings]
        assert set(warned) <= {"OWNERSHIP_CONFLICT"} and (warned or kind == "service"), (kind, name)
        assert whole(agent, kind, name, space) == before
        agent.kubernetes.delete(kind, name, space, wait=False)
        assert agent.objects() == {}


def test_a_gateway_that_is_not_ours_is_no_predecessors(stage):
    """Else its revision would be prepared, published, and refused when it is the active one."""
    agent = stage.agent()
    one = agent.revision()
    before = foreign(agent, agent.revision(), "deployment", agent.name("gateway"), stage.data)
    assert outcome(agent.ask("prepare", one)) == ("permanent", "OWNERSHIP_CONFLICT")
    agent.until("stop", one)
    assert whole(agent, "deployment", agent.name("gateway"), stage.data) == before


def test_what_runs_can_be_ended_in_a_namespace_without_its_marks(stage):
    """K93: nothing new is made there, but nothing that runs is out of reach."""
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    for space in (stage.data, stage.gateways):
        stage.kubernetes.patch("namespace", space, None, {"metadata": {"annotations": {"openclaw.dev/namespace-id": None}}})
    assert outcome(agent.ask("prepare", agent.revision("dedicated"))) == ("permanent", "OWNERSHIP_CONFLICT")
    assert outcome(agent.ask("stop", one, observe=True))[0] == "pending"
    for operation in ("deactivate", "stop", "retire"):
        agent.until(operation, one)
    agent.until("delete")
    assert agent.objects() == {}


def test_another_document_is_a_conflict(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    answer = agent.ask("prepare", {**one, "document": {"changed": 1}})
    assert outcome(answer) == ("permanent", "KUBERNETES_SNAPSHOT_CONFLICT")
    assert agent.name("configuration", one) in answer.message


# ---- What is changed under us


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_what_is_deleted_is_made_again(stage, mode):
    agent = stage.agent()
    one = agent.deploy(agent.revision(mode))
    before = {key for key in agent.objects() if key[0] != "pods"}
    for kind, space, name in sorted(before):
        if kind == "persistentvolumeclaims" or (space == stage.gateways and kind == "secrets"):
            continue  # what is lost with these does not come back
        stage.kubernetes.delete(kind, name, space)
        agent.until("prepare", one)
        agent.until("activate", one)
    assert {key for key in agent.objects() if key[0] != "pods"} == before
    assert agent.addresses(agent.space(one)) == [one["id"]]


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_drift_is_repaired(stage, mode):
    agent = stage.agent()
    one = agent.deploy(agent.revision(mode))
    space, name = agent.space(one), agent.name("gateway")
    drifts = [
        ("service", {"spec": {"selector": {REVISION: "rev_other"}}}),
        ("service", {"spec": {"selector": {"more": "labels"}}}),
        ("networkpolicy", {"spec": {"ingress": []}}),
        ("deployment", {"spec": {"replicas": 3}}),
        ("serviceaccount", {"automountServiceAccountToken": True}),
    ]
    for kind, change in drifts:
        before = stage.kubernetes.get(kind, name, space)
        stage.kubernetes.patch(kind, name, space, change)
        agent.until("prepare", one)
        agent.until("activate", one)
        after = stage.kubernetes.get(kind, name, space)
        field = "automountServiceAccountToken" if kind == "serviceaccount" else "spec"
        assert after[field] == before[field], (kind, change)


# ---- No moment leads to a wrong revision


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_no_moment_leads_elsewhere(stage, mode):
    """Where the Service leads, and to whose Pods, seen without a pause during three replacements."""
    agent = stage.agent()
    space = stage.data if mode == "embedded" else stage.gateways
    revisions = [agent.revision(mode) for _ in range(3)]
    allowed, seen, wrong, end = set(), set(), [], threading.Event()

    def watch():
        while not end.is_set():
            before = set(allowed)
            routed = agent.routed().get(space)
            served = agent.addresses(space)
            after = set(allowed)
            seen.add((routed, *served))
            if routed not in {None, "none"} | before | after or not set(served) <= before | after | {"gone"}:
                wrong.append((routed, served, sorted(before), sorted(after)))

    sampler = threading.Thread(target=watch)
    sampler.start()
    try:
        previous = []
        for revision in revisions:
            if mode == "dedicated":
                for each in previous:
                    agent.until("stop", each)
            agent.until("prepare", revision)
            allowed.add(revision["id"])
            agent.until("activate", revision)
            poll(lambda wanted=(revision["id"],) * 2: wanted in seen, 20, what="the revision being seen as served")
            for each in previous:
                agent.until("retire", each)
                allowed.discard(each["id"])
            previous = [revision]
    finally:
        end.set()
        sampler.join()
    print(f"{mode}: {len(seen)} different sights")
    assert wrong == []
