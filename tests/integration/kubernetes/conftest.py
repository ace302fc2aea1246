# SPDX-License-Identifier: MIT
"""Fixtures of what tests of the bundled Kubernetes Drivers have in common.

    opened   opened(user, **changes): the Drivers of kubernetes.startup() in production, closed after the test
    drivers  the same as administrator
    tenant   a Namespace that Compute has made
"""

import uuid

import pytest
from support.drivers import Drivers, new_namespace


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
