# SPDX-License-Identifier: MIT
"""occctl service-account: names for Secrets, with which Agents authenticate at a provider."""

import json
import uuid

import pytest

from support.operator import Operator, events, in_background, refused
from support.waiting import poll


@pytest.fixture
def acme(occctl):
    """A Namespace; its id."""
    return occctl("namespace", "create", "acme", "-o", "json").ok().json["id"]


@pytest.fixture
def secret(bootstrapped, acme):
    """Makes a Secret of acme by name; its id."""

    def make(name, namespace=acme):
        made = f"sec_{uuid.uuid4()}"
        bootstrapped.execute(
            "insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name, backend_key)"
            " values (%s, %s, %s, 'secret-test', 'backend', %s, 'value')",
            made,
            namespace,
            name,
            made,
        )
        return made

    return make


@pytest.fixture
def inside(occctl):
    """occctl in the Namespace acme."""

    def call(*arguments, env=None):
        return occctl("service-account", *arguments, env={"OCC_NAMESPACE": "acme", **(env or {})})

    return call


def agent(database, namespace, account):
    """An Agent that authenticates with the account; its id."""
    made, principal, draft = f"agt_{uuid.uuid4()}", str(uuid.uuid4()), f"cfg_{uuid.uuid4()}"
    auth = json.dumps({"method": "chatgpt_service_account", "serviceAccountId": account})
    database.execute("insert into occ.configurations (id, namespace_id) values (%s, %s)", draft, namespace)
    database.execute(
        "with made as (insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode, harness_auth,"
        " service_principal_id) values (%s, %s, 'support', %s, 'dedicated', %s, %s) returning id)"
        " insert into occ.iam_identities (id, namespace_id, agent_id, kind) select %s, %s, id, 'service_principal' from made",
        *(made, namespace, draft, auth, principal, principal, namespace),
    )
    return made


def test_a_service_account(inside, secret, bootstrapped, acme):
    one, two = secret("one"), secret("two")
    made = inside("create", "robot", "--credential", "one", "-o", "json").ok().json
    assert made["id"].startswith("sa_") and made["namespaceId"] == acme and made["secretName"] == "one"
    assert made["credential"] == {"kind": "secret", "namespaceId": acme, "id": one}
    assert inside("get", "robot", "-o", "json").ok().json["id"] == made["id"]
    assert inside("get", made["id"], "-o", "yaml", env={"OCC_NAMESPACE": None}).ok().out.startswith(f"id: {made['id']}")
    changed = inside("update", "robot", "--name", "worker", "--credential", two, "-o", "json").ok().json
    assert (changed["id"], changed["name"], changed["credential"]["id"]) == (made["id"], "worker", two)
    assert [row["name"] for row in inside("list", "-o", "json").ok().json] == ["worker"]
    assert "worker" in inside("list").ok().out
    assert inside("delete", "worker").ok().out == ""
    assert inside("list", "-o", "json").ok().json == [] and bootstrapped.one("select count(*) from occ.secrets") == 2
    for verb in ("create", "update", "delete"):
        (event,) = events(bootstrapped, f"openclaw.service-accounts.{verb}")
        assert (event["resource_kind"], event["resource_id"], event["namespace_id"]) == ("service_account", made["id"], acme)
        assert event["details"]["secretId"] == (one if verb == "create" else two)


def test_refusals(inside, secret, bootstrapped):
    secret("one")
    secret("elsewhere", bootstrapped.namespace("default")["id"])
    made = inside("create", "robot", "--credential", "one", "-o", "json").ok().json
    inside("create", "other", "--credential", "one").ok()
    refused(inside("create", "robot", "--credential", "one"), 4, "SERVICE_ACCOUNT_NAME_TAKEN", "robot", "acme")
    refused(inside("update", "other", "--name", "robot"), 4, "SERVICE_ACCOUNT_NAME_TAKEN")
    inside("update", "robot", "--name", "robot").ok()
    refused(inside("create", "x"), 2, "USAGE", "--credential")
    refused(inside("update", "robot"), 2, "USAGE", "--name")
    refused(inside("create", "x", "--credential", "elsewhere"), 3, "SECRET_NOT_FOUND", "elsewhere")
    refused(inside("update", "robot", "--credential", "none"), 3, "SECRET_NOT_FOUND")
    refused(inside("create", "x ", "--credential", "one"), 2, "NAME_INVALID")
    refused(inside("update", "robot", "--name", ""), 2, "SETTING_INVALID")
    refused(inside("get", "none"), 3, "SERVICE_ACCOUNT_NOT_FOUND")
    refused(inside("delete", f"sa_{uuid.uuid4()}", env={"OCC_NAMESPACE": None}), 3, "SERVICE_ACCOUNT_NOT_FOUND")
    refused(inside("get", "robot", env={"OCC_NAMESPACE": None}), 2, "NAMESPACE_REQUIRED")
    refused(inside("get", made["id"], env={"OCC_NAMESPACE": "default"}), 3, "SERVICE_ACCOUNT_NOT_FOUND")
    refused(inside("create", "x", "--credential", "one", env={"OCC_NAMESPACE": "none"}), 3, "NAMESPACE_NOT_FOUND")
    bootstrapped.execute("update occ.namespaces set status = 'failed' where name = 'acme'")
    refused(inside("create", "x", "--credential", "one"), 4, "NAMESPACE_NOT_OPEN")


def test_an_agent_that_uses_it(inside, secret, bootstrapped, acme):
    secret("one")
    made = inside("create", "robot", "--credential", "one", "-o", "json").ok().json
    used = agent(bootstrapped, acme, made["id"])
    refused(inside("delete", "robot"), 4, "SERVICE_ACCOUNT_IN_USE", '"support"', used)
    bootstrapped.execute("update occ.agents set harness_auth = null")
    inside("delete", "robot").ok()


def test_permissions(inside, secret, bootstrapped, acme, folder):
    one = secret("one")
    made = inside("create", "robot", "--credential", "one", "-o", "json").ok().json
    operator = Operator(bootstrapped, folder)
    commands = {
        "create": ("create", "x", "--credential", "one"),
        "read": ("get", "robot"),
        "update": ("update", "robot", "--credential", "one"),
        "delete": ("delete", "robot"),
    }
    for action, command in commands.items():
        refused(inside(*command, env=operator.env), 1, "AUTHORIZATION_DENIED", f"service_account:{action}")
    assert inside("list", "-o", "json", env={**operator.env, "OCC_NAMESPACE": None}).ok().json == []
    operator.grant("service_account:create", "service_account:update", namespace_id=acme)
    for action in ("create", "update"):
        refused(inside(*commands[action], env=operator.env), 1, "AUTHORIZATION_DENIED", f"secret:read on the secret {one}")
    operator.grant("secret:read", resource=("secret", one))
    operator.grant("service_account:read", "service_account:delete", resource=("service_account", made["id"]))
    for action in commands:
        inside(*commands[action], env=operator.env).ok()


def test_a_secret_is_kept_while_it_is_named(occctl, secret, bootstrapped, acme):
    """Who deletes a Secret at the same moment waits, and is then refused by what was created."""
    made, account = secret("one"), f"sa_{uuid.uuid4()}"
    beside = bootstrapped.connect(autocommit=False)
    beside.cursor().execute(
        "insert into occ.service_accounts (id, namespace_id, name, credential) values (%s, %s, 'robot', %s)",
        (account, acme, json.dumps({"kind": "secret", "namespaceId": acme, "id": made})),
    )
    deletion = in_background(occctl, "secret", "delete", made)
    waiting = "select count(*) from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
    poll(lambda: bootstrapped.one(waiting) == 1, what="the deletion to wait")
    beside.commit()
    beside.close()
    refused(deletion(), 4, "SECRET_IN_USE", account)
