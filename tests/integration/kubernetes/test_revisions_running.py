# SPDX-License-Identifier: MIT
"""Revisions with Pods that run: the tests' runtime image on the cluster's own node, reached through their Service by the
API server's proxy (tests/services/runtime)."""

import pytest
from support.revisions import Revisions
from support.waiting import poll


@pytest.fixture
def stage(kubernetes, folder):
    with Revisions(kubernetes, folder) as made:
        yield made


def inspect(agent, revision):
    """What the gateway says of itself, asked through its Service."""
    path = f"/api/v1/namespaces/{agent.space(revision)}/services/{agent.name('gateway')}:gateway/proxy/inspect"
    status, answer = agent.kubernetes.request("GET", path)
    return answer if status == 200 else None


def served(agent, revision):
    """The revision that answers."""
    told = inspect(agent, revision)
    return told and told["revision"]


def test_an_embedded_agent_answers(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    assert poll(lambda: served(agent, one), 30) == one["id"]
    two = agent.deploy(agent.revision(), one)
    assert poll(lambda: served(agent, two), 30) == two["id"]
    agent.until("stop", two)
    assert served(agent, two) is None
    agent.until("retire", two)
    agent.until("delete")
    assert agent.objects() == {}


def test_a_dedicated_agent_answers(stage):
    agent = stage.agent()
    one = agent.deploy(agent.revision("dedicated"))
    assert poll(lambda: served(agent, one), 30) == one["id"]
    two = agent.deploy(agent.revision("dedicated"), one)
    assert poll(lambda: served(agent, two), 30) == two["id"]
    # And back into one Pod.
    three = agent.deploy(agent.revision(), two)
    assert poll(lambda: served(agent, three), 30) == three["id"]
    agent.until("retire", three)
    agent.until("delete")
    assert agent.objects() == {}
