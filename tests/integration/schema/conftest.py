# SPDX-License-Identifier: MIT
"""Fixtures of the schema's tests."""

import pytest

from support.database import Database
from support.rows import Store, permissions


@pytest.fixture
def store(database):
    return Store(database)


@pytest.fixture(scope="module")
def shared_database(cluster, migrated_template):
    made = Database.create(cluster, template=migrated_template.name)
    yield made
    made.drop()


@pytest.fixture
def shared(shared_database):
    """For tests of single rows, which do not care what else is there."""
    made = Store(shared_database)
    yield made
    made.connection.close()


@pytest.fixture
def subjects(store):
    """A person, a group, a role, and one of a Namespace."""
    store.insert("iam_identities", id="person", kind="principal", issuer="i", subject="s")
    store.insert("iam_groups", id="group", name="g")
    store.insert("iam_roles", id="role", name="role", permissions=permissions(("read", "agent")))
    namespace = store.namespace()
    store.insert("iam_roles", id="local", name="local", permissions="[]", namespace_id=namespace)
    return namespace
