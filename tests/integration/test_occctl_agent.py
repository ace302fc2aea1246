# SPDX-License-Identifier: MIT
"""occctl agent: drafts, what is shown of them, and who may."""

import json
import threading
import uuid

import pytest

from support.operator import Operator, events, in_background, refused
from support.tenant import CODEX, Tenant
from support.waiting import poll


@pytest.fixture
def tenant(bootstrapped, folder):
    return Tenant(bootstrapped, folder)


@pytest.fixture
def created(occctl, tenant):
    """One Agent "support", as its document."""
    return create(occctl, tenant, "support", tenant.configuration())


def create(occctl, tenant, name, configuration, mode="embedded", *more, **kept):
    return occctl(
        "agent", "create", name, "-n", tenant.name, "--configuration", configuration, "--execution-mode", mode, "-o",
        "json", *more, **kept,
    ).ok().json  # fmt: skip


# ---- Creation


def test_create(occctl, bootstrapped, tenant):
    configuration, secret = tenant.configuration(), tenant.secret("model")
    document = create(occctl, tenant, "support", configuration, "dedicated", "--harness-auth", "api_key=model")
    row = tenant.agent("support")
    auth = {"method": "api_key", "source": {"kind": "secret", "namespaceId": tenant.id, "id": secret}}
    assert row["id"] == document["id"] and row["configuration_id"] == configuration == document["configurationId"]
    assert row["execution_mode"] == "dedicated" == document["executionMode"]
    assert row["harness_auth"] == auth == document["harnessAuth"]
    assert row["desired_runtime_state"] == "stopped" and row["status"] == "active" and not row["active_revision_id"]
    assert document["state"] == "draft" and document["work"] is document["activeRevision"] is None
    (identity,) = bootstrapped.query("select * from occ.iam_identities where agent_id = %s", row["id"])
    assert identity["id"] == row["service_principal_id"] == document["servicePrincipalId"]
    assert identity["kind"] == "service_principal" and identity["namespace_id"] == tenant.id
    (event,) = events(bootstrapped, "openclaw.agents.create")
    assert event["resource_kind"] == "agent" and event["resource_id"] == row["id"] and event["outcome"] == "success"
    assert event["namespace_id"] == tenant.id
    details = event["details"]
    assert details["decision"]["permission"] == "agent:create" and details["serviceKeyId"]
    assert details["name"] == "support" and details["harnessAuth"] == auth
    assert details["agentServicePrincipalId"] == identity["id"]
    assert not bootstrapped.query("select 1 as x from occ.controller_work where agent_id = %s", row["id"])


@pytest.mark.parametrize("by", ["name", "id"])
@pytest.mark.parametrize("method", ["api_key", "codex_pat", "chatgpt_service_account"])
def test_harness_authentication(occctl, tenant, method, by):
    secret = tenant.secret("model=key")  # a name may hold what separates
    account = tenant.account("billing", secret)
    source = {"name": "model=key", "id": secret}[by]
    expected = {"method": method, "source": tenant.reference(secret)}
    if method == "chatgpt_service_account":
        source = {"name": "billing", "id": account}[by]
        expected = {"method": method, "serviceAccountId": account}
    document = create(
        occctl, tenant, "support", tenant.configuration(), "embedded", "--harness-auth", f"{method}={source}"
    )
    assert document["harnessAuth"] == expected == tenant.agent("support")["harness_auth"]


@pytest.mark.parametrize(
    "auth, status, code, words",
    [
        ("api_key", 2, "HARNESS_AUTH_INVALID", ["METHOD=SOURCE"]),
        ("api_key=", 2, "HARNESS_AUTH_INVALID", ["METHOD=SOURCE"]),
        ("=model", 2, "HARNESS_AUTH_INVALID", ["METHOD=SOURCE"]),
        ("oauth=model", 2, "HARNESS_AUTH_UNSUPPORTED", ["oauth", "codex_pat", "chatgpt_service_account"]),
        ("api_key=nobody", 3, "SECRET_NOT_FOUND", ["nobody"]),
        ("codex_pat=foreign", 3, "SECRET_NOT_FOUND", ["foreign"]),
        ("chatgpt_service_account=model", 3, "SERVICE_ACCOUNT_NOT_FOUND", ["model"]),
    ],
)
def test_harness_authentication_that_is_none(occctl, bootstrapped, tenant, folder, auth, status, code, words):
    tenant.secret("model")
    Tenant(bootstrapped, folder, "other").secret("foreign")
    result = occctl(
        "agent", "create", "support", "-n", "acme", "--configuration", tenant.configuration(), "--execution-mode",
        "embedded", "--harness-auth", auth,
    )  # fmt: skip
    refused(result, status, code, *words)
    assert tenant.agent("support") is None and events(bootstrapped, "openclaw.agents.create") == []


def test_what_is_of_another_namespace_is_not_there(occctl, bootstrapped, tenant, folder):
    other = Tenant(bootstrapped, folder, "other")
    foreign = other.configuration()
    arguments = ("agent", "create", "support", "-n", "acme", "--execution-mode", "embedded", "--configuration")
    refused(occctl(*arguments, foreign), 3, "CONFIGURATION_NOT_FOUND", foreign, tenant.id)
    secret = other.secret("model")
    refused(
        occctl(*arguments, tenant.configuration(), "--harness-auth", f"api_key={secret}"), 3, "SECRET_NOT_FOUND", secret
    )


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("support",), "--namespace"),
        (("support", "-n", "acme"), "--configuration"),
        (("support", "-n", "acme", "--configuration", "cfg"), "--execution-mode"),
    ],
)
def test_what_creation_needs(occctl, tenant, arguments, word):
    refused(occctl("agent", "create", *arguments), 2, "USAGE", word)


def test_a_mode_that_is_none(occctl, tenant):
    result = occctl("agent", "create", "support", "-n", "acme", "--execution-mode", "shared")
    assert result.status == 2 and "embedded" in result.err


@pytest.mark.parametrize("name, words", [("", ["empty"]), (" a", ["white space"]), ("x" * 201, ["at most 200"])])
def test_names_that_are_not(occctl, tenant, name, words):
    result = occctl(
        "agent", "create", "-n", "acme", "--configuration", tenant.configuration(), "--execution-mode", "embedded",
        "--", name,
    )  # fmt: skip
    refused(result, 2, "NAME_INVALID", *words)


def test_names_are_of_a_namespace(occctl, bootstrapped, tenant, folder, created):
    """The same name is free elsewhere, and found only in its own Namespace."""
    other = Tenant(bootstrapped, folder, "other")
    twin = create(occctl, other, "support", other.configuration())
    arguments = ("--configuration", tenant.configuration(), "--execution-mode", "embedded")
    refused(occctl("agent", "create", "support", "-n", "acme", *arguments), 4, "AGENT_NAME_TAKEN", created["id"], "acme")
    assert occctl("agent", "get", "support", "-n", "other", "-o", "json").ok().json["id"] == twin["id"]
    assert occctl("agent", "get", "support", env={"OCC_NAMESPACE": tenant.id}).ok()
    refused(occctl("agent", "get", "support"), 2, "NAMESPACE_REQUIRED", "An Agent's name", "--namespace")
    refused(occctl("agent", "get", created["id"], "-n", "other"), 3, "AGENT_NOT_FOUND", created["id"])
    assert occctl("agent", "get", created["id"], "-o", "json").ok().json["name"] == "support"


def test_a_name_that_looks_like_an_id(occctl, tenant, created):
    free = f"agt_{uuid.uuid4()}"
    for name in (free, created["id"]):
        create(occctl, tenant, name, tenant.configuration())
    assert occctl("agent", "get", free, "-n", "acme", "-o", "json").ok().json["name"] == free
    assert occctl("agent", "get", created["id"], "-n", "acme", "-o", "json").ok().json["name"] == "support"
    refused(occctl("agent", "get", free), 3, "AGENT_NOT_FOUND", free)


@pytest.mark.parametrize("status", ["failed", "deleting"])
def test_a_namespace_that_is_not_open(occctl, bootstrapped, tenant, status):
    configuration = tenant.configuration()
    bootstrapped.execute("alter table occ.namespaces disable trigger user")
    bootstrapped.execute("update occ.namespaces set status = %s where id = %s", status, tenant.id)
    arguments = ("support", "-n", "acme", "--configuration", configuration, "--execution-mode", "embedded")
    refused(occctl("agent", "create", *arguments), 4, "NAMESPACE_NOT_OPEN", "acme", status)


def test_one_that_provisions_is_open(occctl, bootstrapped, folder):
    tenant = Tenant(bootstrapped, folder, status="provisioning")
    assert create(occctl, tenant, "support", tenant.configuration())["state"] == "draft"


def test_two_creations_of_one_name(occctl, bootstrapped, tenant):
    """One wins, the others hear why."""
    arguments = ("support", "-n", "acme", "--configuration", tenant.configuration(), "--execution-mode", "embedded")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(occctl("agent", "create", *arguments))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.status for result in results) == [0, 4, 4, 4], results
    assert bootstrapped.one("select count(*) from occ.iam_identities where agent_id is not null") == 1


def test_the_namespace_is_not_deleted_under_a_creation(occctl, bootstrapped, tenant):
    """The deletion waits for the creation, and then names what remains."""
    configuration = tenant.configuration()
    other = bootstrapped.connect("postgres", autocommit=False)
    other.cursor().execute("select 1 from occ.configurations where id = %s for update", (configuration,))
    arguments = ("support", "-n", "acme", "--configuration", configuration, "--execution-mode", "embedded")
    creation = in_background(occctl, "agent", "create", *arguments)
    wait_blocked(bootstrapped, 1)
    deletion = in_background(occctl, "namespace", "delete", "acme")
    wait_blocked(bootstrapped, 2)
    other.rollback()
    assert creation().status == 0
    refused(deletion(), 4, "NAMESPACE_NOT_EMPTY", "1 Agent, 1 Configuration")


def wait_blocked(database, count):
    poll(
        lambda: database.one(
            "select count(*) from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
            " and datname = current_database()"
        )
        == count,
        what=f"{count} of occctl waiting for a lock",
    )


# ---- Changes


def test_update(occctl, bootstrapped, tenant, created):
    configuration, secret = tenant.configuration(CODEX), tenant.secret("model")
    changed = occctl(
        "agent", "update", "support", "-n", "acme", "--configuration", configuration, "--execution-mode", "dedicated",
        "--harness-auth", "codex_pat=model", "-o", "json",
    ).ok().json  # fmt: skip
    auth = {"method": "codex_pat", "source": tenant.reference(secret)}
    assert changed["configurationId"] == configuration and changed["executionMode"] == "dedicated"
    assert changed["harnessAuth"] == auth and changed["servicePrincipalId"] == created["servicePrincipalId"]
    (event,) = events(bootstrapped, "openclaw.agents.update")
    assert event["details"]["decision"]["permission"] == "agent:update"
    assert event["details"]["configurationId"] == configuration and event["details"]["harnessAuth"] == auth
    # One thing alone leaves the others.
    changed = occctl("agent", "update", created["id"], "--execution-mode", "embedded", "-o", "json").ok().json
    assert changed["harnessAuth"] == auth and changed["configurationId"] == configuration
    changed = occctl("agent", "update", created["id"], "--no-harness-auth", "-o", "json").ok().json
    assert changed["harnessAuth"] is None and tenant.agent("support")["harness_auth"] is None
    again = occctl("agent", "update", created["id"], "--no-harness-auth")
    assert again.status == 0 and "so already" in again.err
    assert len(events(bootstrapped, "openclaw.agents.update")) == 3


def test_update_asks_for_something(occctl, created):
    refused(occctl("agent", "update", created["id"]), 2, "USAGE", "nothing to change")
    refused(
        occctl("agent", "update", created["id"], "--no-harness-auth", "--harness-auth", "api_key=model"),
        2,
        "USAGE",
        "contradict",
    )
    refused(occctl("agent", "update", created["id"], "--configuration", "cfg"), 3, "CONFIGURATION_NOT_FOUND", "cfg")


# ---- Who may


def command_lines(tenant, created):
    draft = ("--configuration", created["configurationId"], "--execution-mode", "embedded")
    one = created["id"]
    return {
        "agent:create": (("agent", "create", "new", "-n", "acme", *draft), "openclaw.agents.create"),
        "agent:read": (("agent", "get", one), "openclaw.agents.read"),
        "agent:update": (("agent", "update", one, "--no-harness-auth"), "openclaw.agents.update"),
        "agent:operate": (("agent", "stop", one), "openclaw.agents.stop"),
        "agent:delete": (("agent", "delete", one), "openclaw.agents.delete"),
        "agent:deploy": (("agent", "deploy", one), "openclaw.agents.deploy"),
    }


@pytest.mark.parametrize(
    "permission", ["agent:create", "agent:read", "agent:update", "agent:operate", "agent:delete", "agent:deploy"]
)
def test_each_command_needs_its_permission(occctl, bootstrapped, tenant, created, folder, permission):
    """Without it the refusal names it and is in the audit; with it, on exactly this Agent, the command goes on."""
    command, action = command_lines(tenant, created)[permission]
    others = {"agent:create", "agent:read", "agent:update", "agent:operate", "agent:delete", "agent:deploy"}
    asking = Operator(bootstrapped, folder, *sorted(others - {permission}))
    place = tenant.id if permission == "agent:create" else created["id"]
    result = occctl(*command, env={**tenant.env, **asking.env})
    refused(result, 1, "AUTHORIZATION_DENIED", permission, place)
    event = events(bootstrapped, action)[-1]
    assert event["kind"] == "authorization_denial" and event["actor_id"] == asking.id
    assert event["details"]["decision"]["permission"] == permission
    assert event["resource_id"] == place and event["namespace_id"] == tenant.id
    resource = ("namespace", tenant.id) if permission == "agent:create" else ("agent", created["id"])
    asking.grant(permission, resource=resource)
    if permission == "agent:deploy":
        refused(occctl(*command, env={**tenant.env, **asking.env}), 4, "HARNESS_AUTH_REQUIRED", "runs no Agents")
    elif permission == "agent:create":
        # What was made is not his to read, and is made all the same.
        asking.grant("agent:read")
        occctl(*command, env=asking.env).ok()
    else:
        occctl(*command, env=asking.env).ok()


def test_what_was_made_and_cannot_be_read(occctl, bootstrapped, tenant, folder):
    asking = Operator(bootstrapped, folder, "agent:create")
    result = occctl(
        "agent", "create", "support", "-n", "acme", "--configuration", tenant.configuration(), "--execution-mode",
        "embedded", env=asking.env,
    )  # fmt: skip
    assert result.status == 1 and tenant.agent("support")["id"] in result.err


def test_a_list_shows_what_one_may_read(occctl, bootstrapped, tenant, created, folder):
    other = Tenant(bootstrapped, folder, "other")
    one, two = (create(occctl, other, name, other.configuration()) for name in ("one", "two"))
    rows = occctl("agent", "list", "-o", "json").ok().json
    assert [(row["namespaceName"], row["name"]) for row in rows] == [
        ("acme", "support"), ("other", "one"), ("other", "two"),
    ]  # fmt: skip
    assert [row["name"] for row in occctl("agent", "list", "-n", "other", "-o", "json").ok().json] == ["one", "two"]
    asking = Operator(bootstrapped, folder, "agent:read", namespace_id=tenant.id)
    asking.grant("agent:read", resource=("agent", two["id"]))
    rows = occctl("agent", "list", "-o", "json", env=asking.env).ok().json
    assert [row["id"] for row in rows] == [created["id"], two["id"]]
    refused(occctl("agent", "get", one["id"], env=asking.env), 1, "AUTHORIZATION_DENIED", "agent:read", one["id"])
    nobody = Operator(bootstrapped, folder)
    assert occctl("agent", "list", "-o", "json", env=nobody.env).ok().json == []
    refused(occctl("agent", "list", "-n", "nowhere"), 3, "NAMESPACE_NOT_FOUND", "nowhere")


def test_forms(occctl, tenant, created):
    table = occctl("agent", "list").ok().lines
    assert table[0].split() == ["NAME", "NAMESPACE", "STATE", "MODE", "REVISION", "AGE", "WORK", "CODE", "ID"]
    cells = table[1].split()
    assert cells[:5] == ["support", "acme", "draft", "embedded", "-"] and cells[-1] == created["id"]
    assert json.loads(occctl("agent", "list", "-o", "json").ok().out)[0]["id"] == created["id"]
    assert f"id: {created['id']}" in occctl("agent", "list", "-o", "yaml").ok().out
    fields = occctl("agent", "get", created["id"]).ok().out
    assert "Execution mode:" in fields and "Service principal ID:" in fields
    fields = occctl("agent", "status", created["id"]).ok().out
    assert "State:" in fields and "draft" in fields and "Warnings:" in fields
    assert occctl("agent", "revisions", created["id"]).ok().lines == [
        "NUMBER  ACTIVE  HARNESS  MODE  COMPUTE  GENERATION  AGE  WORK  CODE  ID"
    ]
    assert occctl("agent", "revisions", created["id"], "-o", "json").ok().json == []


@pytest.mark.parametrize("command", ["get", "update", "deploy", "stop", "delete", "status", "revisions"])
def test_what_is_not_there(occctl, tenant, command):
    more = ("--no-harness-auth",) if command == "update" else ()
    missing = f"agt_{uuid.uuid4()}"
    for name, arguments in ((missing, ()), (missing, ("-n", "acme")), ("nobody", ("-n", tenant.id))):
        refused(occctl("agent", command, name, *arguments, *more, env=tenant.env), 3, "AGENT_NOT_FOUND", name)
    refused(
        occctl("agent", command, "nobody", "-n", "nowhere", *more, env=tenant.env), 3, "NAMESPACE_NOT_FOUND", "nowhere"
    )
