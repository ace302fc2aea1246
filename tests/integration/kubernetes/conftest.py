# SPDX-License-Identifier: MIT
"""Fixtures of what tests of the bundled Kubernetes Drivers have in common.

    opened   opened(user, **changes): the Drivers of kubernetes.startup() in production, closed after the test
    drivers  the same as administrator
    tenant   a Namespace that Compute has made
    node     a played node
    stage    where Agents' revisions live, on that node; a file may have one of its own
    proxied_stage   the same behind `kubernetes_proxy`
"""

import uuid

import pytest
from support.drivers import Drivers, new_namespace
from support.played_node import PlayedNode
from support.revisions import Revisions


@pytest.fixture
def opened(kubernetes, folder):
    made = []

    def start(user=None, **changes):
        startup = kubernetes.startup(folder / f"occ-{uuid.uuid4()}.yaml", user, **changes)
        made.append(Drivers(startup, "production"))
        assert made[-1].opening.opened, made[-1].opening
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def drivers(opened):
    return opened()


@pytest.fixture
def tenant(kubernetes, drivers):
    made = new_namespace()
    kubernetes.mine(made["id"])
    drivers.until_ready("ensure_namespace", namespace=made)
    return made


@pytest.fixture
def node(kubernetes):
    made = PlayedNode(kubernetes)
    yield made
    made.close()


@pytest.fixture
def stage(kubernetes, folder, node):
    with Revisions(kubernetes, folder, node) as made:
        yield made


@pytest.fixture
def proxied_stage(kubernetes, folder, node, kubernetes_proxy):
    with Revisions(kubernetes, folder, node, server=(kubernetes_proxy.server, kubernetes.ca)) as made:
        yield made
