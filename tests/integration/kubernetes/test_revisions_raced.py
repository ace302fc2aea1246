# SPDX-License-Identifier: MIT
"""Somebody else changes or deletes an Agent's objects between the moment at which a pass looks at them and its write. The node is
played."""

import pytest
from support.drivers import outcome
from support.kubernetes_proxy import before


@pytest.fixture
def proxy(kubernetes_proxy):
    return kubernetes_proxy


@pytest.fixture
def stage(proxied_stage):
    return proxied_stage


def replaced(stage):
    """An Agent with a revision that is served and another one that is prepared."""
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    two = agent.revision()
    agent.until("prepare", two)
    return agent, one, two


def test_a_service_that_changes_under_the_switch(stage, proxy):
    """K77: the selector is compared and set; what the other one wrote stays."""
    agent, one, two = replaced(stage)
    name = agent.name("gateway")

    def change(_):
        stage.kubernetes.patch("service", name, stage.data, {"metadata": {"annotations": {"example.test/by": "somebody"}}})

    proxy.on("PATCH", rf".*/services/{name}", before(change), nth=1)
    since = len(proxy.requests)
    agent.until("activate", two)
    assert agent.routed() == {stage.data: two["id"]}
    assert agent.get("service", name)["metadata"]["annotations"] == {"example.test/by": "somebody"}
    patches = [each.passed for each in proxy.requests[since:] if each.method == "PATCH" and each.path.endswith(f"/services/{name}")]
    assert patches == [409, 200]


def test_a_service_that_always_changes_leads_where_it_led(stage, proxy):
    """K77: given up for now, and not in a hot loop."""
    agent, one, two = replaced(stage)
    name, turns = agent.name("gateway"), []

    def disturb(_):
        turns.append(None)
        stage.kubernetes.patch("service", name, stage.data, {"metadata": {"annotations": {"turn": str(len(turns))}}})

    rule = proxy.on("PATCH", rf".*/services/{name}", before(disturb))
    answer = agent.ask("activate", two)
    assert outcome(answer) == ("pending", "KUBERNETES_CONFLICT") and agent.id in answer.message
    assert 1 < len(turns) < 10 and agent.routed() == {stage.data: one["id"]}
    assert agent.addresses(stage.data) == [one["id"]]
    proxy.off(rule)
    agent.until("activate", two)
    assert agent.routed() == {stage.data: two["id"]}


def test_a_gateway_that_is_deleted_while_it_is_rolled(stage, proxy):
    """Between read and write: it is made anew, with the revision that is being activated."""
    agent, one, two = replaced(stage)
    name = agent.name("gateway")
    former = agent.get("deployment", name)["metadata"]["uid"]
    proxy.on("PATCH", rf".*/deployments/{name}", before(lambda _: stage.kubernetes.delete("deployment", name, stage.data)), nth=1)
    agent.until("activate", two)
    assert agent.get("deployment", name)["metadata"]["uid"] != former
    assert agent.addresses(stage.data) == [two["id"]]


def test_what_is_made_by_another_one_first(stage, proxy):
    """K78: two workers at one revision, as when a lease was lost: there is one object of each, and both go on."""
    agent = stage.agent()
    one = agent.revision()
    made = []

    def first(request):
        stage.kubernetes.request("POST", request.path, request.json)
        made.append(request.path.rpartition("/")[2])

    rules = [proxy.on("POST", rf".*/namespaces/{space}/[a-z]+", before(first)) for space in (stage.data, stage.gateways)]
    agent.until("prepare", one)
    for rule in rules:
        proxy.off(rule)
    assert {"secrets", "serviceaccounts", "networkpolicies", "services", "persistentvolumeclaims", "configmaps", "deployments"} <= set(made)
    agent.until("activate", one)
    assert agent.addresses(stage.data) == [one["id"]]
    agent.until("retire", one)
    agent.until("delete")
    assert agent.objects() == {}
