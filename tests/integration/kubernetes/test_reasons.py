# SPDX-License-Identifier: MIT
"""Why an Agent does not run, as its operator sees it: real Pods that go wrong, and `occctl agent status`."""

import pytest
from support.desk import Desk
from support.fake_server import Answer
from support.production import Production
from support.tenant import OPENCLAW
from support.waiting import poll

GATEWAY = "drivers__compute__configuration__"
NOWHERE = f"127.0.0.1:5000/occ-test/gateway@sha256:{'0' * 64}"


@pytest.fixture
def production(kubernetes, kubernetes_proxy, worker, folder):
    made = Production(kubernetes, worker, folder, server=kubernetes_proxy.server)
    yield made
    made.close()


def behaving(how):
    """A document that the tests' runtime obeys."""
    return {**OPENCLAW, "test": {"behaviour": how}}


def seen(desk, agent, code, said):
    """What agent status says once the work waits with this code and the failure's `said` is true of it."""

    def waits():
        told = desk.status(agent)
        return told if told["work"] and told["work"]["code"] == code and told["failure"] and said(told["failure"]) else None

    return poll(waits, 60, interval=0.2, what=f"{code} of {desk.status(agent)}")


def test_each_reason_is_visible(production, kubernetes, kubernetes_proxy, occctl, bootstrapped, folder):
    production.start_binder()
    desk = Desk(occctl, bootstrapped, folder, production.env)
    for name in ("acme", "default"):
        kubernetes.mine(desk.run("namespace", "get", name)["id"])

    def deploy(name, document=OPENCLAW):
        agent = desk.draft(name, configuration=desk.configure(name, document))
        desk.run("agent", "deploy", agent)
        return agent

    # The container's own end, and not only that it waits to be started again.
    crashing = deploy("crashing", behaving("exit-3"))
    told = seen(desk, crashing, "REVISION_CRASHING", lambda failure: failure["code"].endswith("_3"))
    assert told["state"] == "deploying" and told["failure"]["component"] == "gateway"

    probed = deploy("probed", behaving("never-ready"))
    seen(desk, probed, "REVISION_PROBE_FAILING", lambda failure: failure["check"] == "readiness-probe")

    production.reload(**{f"{GATEWAY}images__gateway": NOWHERE})
    seen(desk, deploy("imageless"), "REVISION_IMAGE_UNAVAILABLE", lambda failure: failure["check"] == "image")

    production.reload(**{f"{GATEWAY}runtime__gatewayNodeSelector": {"nowhere": "here"}})
    seen(desk, deploy("homeless"), "REVISION_UNSCHEDULABLE", lambda failure: failure["component"] == "gateway")

    production.reload()
    empty = {"kind": "EndpointSliceList", "metadata": {}, "items": []}
    served = kubernetes_proxy.on("GET", r".*/endpointslices", lambda _: Answer(200, empty))
    agent = deploy("unserved")
    seen(desk, agent, "REVISION_ENDPOINT_NOT_READY", bool)
    served[2] = []
    poll(lambda: desk.status(agent)["state"] == "running", 60, what="it is served after all")
    for name in ("crashing", "probed", "imageless", "homeless", "unserved"):
        desk.run("agent", "delete", desk.run("agent", "get", name, "-n", "acme")["id"], "--wait")
