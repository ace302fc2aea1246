# SPDX-License-Identifier: MIT
"""gatewayRouting: an HTTPRoute for each Agent, where the cluster has the Gateway API's definitions, and what is said where
it has none. The node is played; nobody carries out the routes."""

import pytest
from support.drivers import Drivers, outcome
from support.revisions import Revisions
from support.waiting import poll

GROUP = "gateway.networking.k8s.io"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"httproutes.{GROUP}",
        # Without it nobody may define something in a group of *.k8s.io.
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "HTTPRoute", "plural": "httproutes", "singular": "httproute"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
ROUTING = {"gatewayName": "agents", "gatewayNamespace": "openclaw-system", "envoyNamespace": "envoy-gateway-system"}


@pytest.fixture
def stage(kubernetes, folder, node):
    with Revisions(kubernetes, folder, node, drivers__compute__configuration__gatewayRouting=ROUTING,
                   drivers__compute__configuration__network__gatewayClients=None) as made:  # fmt: skip
        yield made


LESS = [{"apiGroups": ["", "apps", "networking.k8s.io", "discovery.k8s.io"], "resources": ["*"], "verbs": ["*"]}]


def test_an_agent_has_a_route(stage, kubernetes, folder):
    agent = stage.agent()
    one = agent.revision()
    mark = stage.mark()
    answer = agent.ask("prepare", one)
    assert outcome(answer) == ("pending", "KUBERNETES_API_NOT_SERVED") and f"HTTPRoute of {GROUP}" in answer.message
    assert outcome(agent.ask("activate", one))[0] == "pending"
    # Nothing of it can become active that nobody could reach.
    assert not any(resource == "secrets" for _, resource, _ in stage.writes(mark))
    for operation in ("stop", "retire"):
        agent.until(operation, one)
    agent.until("delete")

    # It may come while we wait.
    kubernetes.apply(DEFINITION)
    poll(lambda: kubernetes.request("GET", f"/apis/{GROUP}/v1/httproutes")[0] == 200, 30, what="HTTPRoutes being served")
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    routes = list(agent.objects("httproutes"))
    assert routes == [("httproutes", stage.data, agent.name("gateway"))]
    route = kubernetes.get("httproutes", agent.name("gateway"), stage.data)
    (rule,) = route["spec"]["rules"]
    assert rule["matches"][0]["path"]["value"] == f"/agents/{agent.id}"
    mark = stage.mark()
    assert outcome(agent.ask("activate", one)) == "ready" and stage.writes(mark) == []
    # Of two with one path the older one would win: there is one.
    two = agent.deploy(agent.revision("dedicated"), one)
    assert list(agent.objects("httproutes")) == [("httproutes", stage.gateways, agent.name("gateway"))]
    agent.until("retire", two)
    agent.until("delete")
    assert agent.objects("httproutes") == {} == agent.objects()

    # One that was made before gatewayRouting was taken out of the startup YAML goes as well.
    agent = stage.agent()
    one = agent.deploy(agent.revision())
    assert list(agent.objects("httproutes"))
    stage.drivers.close()
    stage.drivers = Drivers(kubernetes.startup(folder / "without.yaml", stage.user))
    agent.until("retire", one)
    agent.until("delete")
    assert agent.objects("httproutes") == {} == agent.objects()
    # Where the right to HTTPRoutes was taken away with it, the rest goes all the same.
    stage.drivers.close()
    less = kubernetes.user("less", cluster_rules=LESS)
    stage.drivers = Drivers(kubernetes.startup(folder / "less.yaml", less))
    stage.agent().until("delete")
    assert {each["objectRef"]["resource"] for each in kubernetes.audit(user=less, code=403)} == {"httproutes"}
