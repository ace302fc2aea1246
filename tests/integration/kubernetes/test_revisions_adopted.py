# SPDX-License-Identifier: MIT
"""Agents in a namespace that an administrator keeps, whatever becomes of it. The node is played."""

import pytest
from support.drivers import outcome
from support.kubernetes_spaces import LIFECYCLE, NAMESPACE, NAMESPACE_ID, released
from support.revisions import Revisions

WARN = "pod-security.kubernetes.io/warn"


@pytest.fixture
def stage(kubernetes, folder, node):
    with Revisions(kubernetes, folder, node, existing=released(kubernetes)) as made:
        yield made


def end(agent, revision):
    for operation in ("deactivate", "stop", "retire"):
        agent.until(operation, revision)
    agent.until("delete")


@pytest.mark.parametrize("mode", ["embedded", "dedicated"])
def test_an_agent_leaves_nothing_in_it(stage, mode):
    """K115"""
    agent = stage.agent()
    one = agent.deploy(agent.revision(mode))
    assert agent.addresses(agent.space(one)) == [one["id"]]
    end(agent, one)
    assert agent.objects() == {}
    assert stage.kubernetes.get("namespace", stage.data)["metadata"]["labels"][NAMESPACE] == stage.namespace["id"]


@pytest.mark.parametrize("metadata", [
    {"labels": {WARN: None}},
    {"annotations": {LIFECYCLE: None}},
    {"labels": {NAMESPACE: None}},
    {"labels": {NAMESPACE: None}, "annotations": {NAMESPACE_ID: None}},
], ids=["not restricted", "not released", "half bound", "not bound"])  # fmt: skip
def test_what_runs_in_it_can_be_ended_without_its_marks(stage, metadata):
    """Nothing new is made there, but nothing that runs is out of reach (K93)."""
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    stage.kubernetes.patch("namespace", stage.data, None, {"metadata": metadata})
    answer = agent.ask("prepare", agent.revision("dedicated"))
    assert answer.code in ("KUBERNETES_NAMESPACE_NOT_RELEASED", "OWNERSHIP_CONFLICT", "NAMESPACE_INCOMPLETE"), answer
    assert outcome(agent.ask("stop", one, observe=True))[0] == "pending"
    agent.until("stop", one)
    assert agent.names("pods", "deployments") == []
    end(agent, one)
    assert agent.objects() == {}


def test_what_was_in_it_is_gone_with_it(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    stage.kubernetes.delete("namespace", stage.data)
    end(agent, one)
    assert agent.objects() == {}
