# SPDX-License-Identifier: MIT
"""Fixtures of the tests of passes."""

import pytest
from support.queue import Queue
from support.reconciler import Reconciler


@pytest.fixture
def work(database):
    return Queue(database)


@pytest.fixture
def reconciler(database):
    made = []

    def start(*arguments, url=None):
        made.append(Reconciler(url or database.app_url, *arguments))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def through(database, proxy):
    """(TcpProxy, url) in front of the database."""
    made = proxy(database.cluster.port)
    return made, database.url(port=made.port)
