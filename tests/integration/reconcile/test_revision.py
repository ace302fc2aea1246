# SPDX-License-Identifier: MIT
"""Deployments: a revision becomes the active one."""

import pytest
from support.agents import Agents

RECONCILE = "reconcile"
ACTIVATE = "openclaw.agents.lifecycle.activate"


@pytest.fixture
def agents(work):
    return Agents(work)


def told(pass_):
    """What the Driver was asked, in order: (operation, number of the revision)."""
    return [(effect["what"], effect.get("number")) for effect in pass_.all("effect")]


def ended(pass_, number=1):
    report = pass_.report(number)
    return report["outcome"], report["code"]


def test_first_deployment(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)]
    assert agents.active() == key.split(":")[1]
    assert work.events(key) == [(RECONCILE, "success", "REVISION_ACTIVATED"), (ACTIVATE, "success", "REVISION_ACTIVATED")]
