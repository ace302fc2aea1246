# SPDX-License-Identifier: MIT
"""occctl iam and service-key: who there is, who may do what, and the keys that prove it."""

import hashlib
import json
import os
import re
import stat
import threading
import uuid

import pytest

from support.operator import Operator, events, refused
from support.tenant import Tenant


def created(occctl, *arguments, env=None):
    return occctl(*arguments, "-o", "json", env=env).ok().json


def listed(occctl, noun, env=None):
    return occctl("iam", noun, "list", "-o", "json", env=env).ok().json


def person(occctl, subject="anna"):
    return created(occctl, "iam", "identity", "create", "--issuer", "https://id.example", "--subject", subject)


def test_identities(occctl, bootstrapped):
    anna = person(occctl)
    assert anna["kind"] == "principal" and anna["subject"] == "anna"
    program = created(occctl, "iam", "identity", "create")
    assert program["kind"] == "service_principal" and program["issuer"] is None
    rows = listed(occctl, "identity")
    assert {row["id"] for row in rows} >= {anna["id"], program["id"]} and len(rows) == 4
    assert [row["email"] for row in rows if row["issuer"] == "local"] == ["admin@example.test"]
    refused(
        occctl("iam", "identity", "create", "--issuer", "https://id.example", "--subject", "anna"),
        4,
        "IDENTITY_EXISTS",
    )
    refused(occctl("iam", "identity", "create", "--issuer", "x"), 2, "IDENTITY_INVALID")
    assert occctl("iam", "identity", "delete", anna["id"]).ok().out == ""
    refused(occctl("iam", "identity", "delete", anna["id"]), 3, "IDENTITY_NOT_FOUND", anna["id"])
    assert [row["action"] for row in bootstrapped.query("select action from occ.audit_events order by occurred_at")][
        2:
    ] == ["openclaw.iam.identities.create"] * 2 + ["openclaw.iam.identities.delete"]


def test_the_identity_of_an_agent_goes_with_it(occctl, bootstrapped, folder):
    configuration = Tenant(bootstrapped, folder).configuration()
    arguments = ("-n", "acme", "--configuration", configuration, "--execution-mode", "embedded")
    agent = created(occctl, "agent", "create", "support", *arguments)
    principal = agent["servicePrincipalId"]
    refused(occctl("iam", "identity", "delete", principal), 4, "IDENTITY_OF_AGENT", principal, agent["id"])


def test_groups(occctl, bootstrapped):
    anna, bert = person(occctl), person(occctl, "bert")
    team = created(occctl, "iam", "group", "create", "team", "--member", anna["id"], "--member", bert["id"])
    assert sorted(team["members"]) == sorted([anna["id"], bert["id"]])
    assert listed(occctl, "group") == [team]
    assert anna["id"] in occctl("iam", "group", "list").ok().out
    refused(occctl("iam", "group", "create", "team"), 4, "GROUP_EXISTS")
    refused(occctl("iam", "group", "create", ""), 2, "NAME_INVALID")
    refused(occctl("iam", "group", "create", "x", "--member", "nobody"), 3, "IDENTITY_NOT_FOUND", "nobody")
    program = bootstrapped.one("select service_principal_id from occ.apikey")
    refused(occctl("iam", "group", "create", "x", "--member", program), 2, "GROUP_MEMBER_INVALID", "people only")
    assert len(listed(occctl, "group")) == 1
    occctl("iam", "group", "delete", "team").ok()
    refused(occctl("iam", "group", "delete", "team"), 3, "GROUP_NOT_FOUND")


def test_members_come_and_go(occctl, bootstrapped):
    anna, bert = person(occctl), person(occctl, "bert")
    team = created(occctl, "iam", "group", "create", "team", "--member", anna["id"])
    both = created(occctl, "iam", "group", "add-member", "team", bert["id"])
    assert both["id"] == team["id"] and sorted(both["members"]) == sorted([anna["id"], bert["id"]])
    assert created(occctl, "iam", "group", "add-member", team["id"], bert["id"]) == both
    assert created(occctl, "iam", "group", "remove-member", "team", anna["id"])["members"] == [bert["id"]]
    refused(occctl("iam", "group", "remove-member", "team", anna["id"]), 3, "GROUP_MEMBER_NOT_FOUND", anna["id"], "team")
    refused(occctl("iam", "group", "add-member", "none", anna["id"]), 3, "GROUP_NOT_FOUND")
    refused(occctl("iam", "group", "add-member", "team", "nobody"), 3, "IDENTITY_NOT_FOUND")
    program = bootstrapped.one("select service_principal_id from occ.apikey")
    refused(occctl("iam", "group", "add-member", "team", program), 2, "GROUP_MEMBER_INVALID")
    added, removed = events(bootstrapped, "openclaw.iam.groups.update")
    assert added["resource_id"] == team["id"] and added["details"]["addedIdentityId"] == bert["id"]
    assert removed["details"]["removedIdentityId"] == anna["id"]


def test_the_last_administrator_stays_a_member_and_the_role_allows(occctl, bootstrapped):
    """Neither a membership nor a permission goes by which alone somebody administers."""
    admins = created(occctl, "iam", "group", "create", "admins", "--member", person(occctl)["id"])
    created(occctl, "iam", "binding", "create", "--role", "administrator", "--group", "admins")
    (member,) = admins["members"]
    refused(occctl("iam", "role", "update", "administrator", "--permission", "agent:read"), 4, "IAM_LAST_ADMINISTRATOR")
    bootstrapped.execute("delete from occ.iam_access_bindings where group_subject_id is null")
    operator = bootstrapped.one("select service_principal_id from occ.apikey")
    bootstrapped.execute(
        "insert into occ.iam_roles (id, name, permissions) values ('own', 'own', %s)",
        json.dumps([{"action": "administer", "resourceKind": "installation"}]),
    )
    bootstrapped.execute(
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id, resource_kind, resource_id)"
        " select 'own', %s, 'own', 'installation', id from occ.installation",
        operator,
    )
    occctl("iam", "group", "remove-member", "admins", member).ok()
    refused(occctl("iam", "role", "update", "own", "--permission", "agent:read"), 4, "IAM_LAST_ADMINISTRATOR")


def test_a_role_changes_for_all_who_hold_it(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder)
    role = created(occctl, "iam", "role", "create", "ops", "--permission", "namespace:read")
    created(occctl, "iam", "binding", "create", "--role", "ops", "--identity", operator.id)
    refused(occctl("namespace", "create", "acme", env=operator.env), 1, "AUTHORIZATION_DENIED")
    changed = created(
        occctl, "iam", "role", "update", "ops", "--permission", "namespace:create", "--permission", "namespace:read"
    )
    assert changed["id"] == role["id"] and changed["permissions"] == ["namespace:create", "namespace:read"]
    occctl("namespace", "create", "acme", env=operator.env).ok()
    assert created(occctl, "iam", "role", "update", "ops", "--name", "operators") == {**changed, "name": "operators"}
    refused(occctl("iam", "role", "update", "operators", "--name", "administrator"), 4, "ROLE_EXISTS")
    refused(occctl("iam", "role", "update", "operators"), 2, "USAGE", "--permission")
    refused(occctl("iam", "role", "update", "operators", "--permission", "pod:read"), 2, "PERMISSION_UNKNOWN")
    refused(occctl("iam", "role", "update", "ops", "--name", "x"), 3, "ROLE_NOT_FOUND")
    first, second = events(bootstrapped, "openclaw.iam.roles.update")
    assert first["details"]["formerPermissions"] == ["namespace:read"] and first["resource_id"] == role["id"]
    assert (second["details"]["formerName"], second["details"]["name"]) == ("ops", "operators")
    refused(occctl("iam", "role", "update", "operators", "--name", "x", env=operator.env), 1, "AUTHORIZATION_DENIED")


def test_roles(occctl, bootstrapped):
    role = created(
        occctl, "iam", "role", "create", "ops", "--permission", "namespace:create", "--permission", "namespace:read"
    )
    assert role["permissions"] == ["namespace:create", "namespace:read"] and role["namespaceId"] is None
    refused(occctl("iam", "role", "create", "ops", "--permission", "agent:read"), 4, "ROLE_EXISTS")
    refused(occctl("iam", "role", "create", "none"), 2, "PERMISSION_MISSING")
    refused(
        occctl("iam", "role", "create", "x", "--permission", "namespace:administer"),
        2,
        "PERMISSION_UNKNOWN",
        "namespace:administer",
        "create, read, delete",
    )
    refused(
        occctl("iam", "role", "create", "x", "--permission", "pod:read"), 2, "PERMISSION_UNKNOWN", "pod:read", "secret"
    )
    refused(occctl("iam", "role", "create", "x", "--permission", "read"), 2, "PERMISSION_UNKNOWN", "KIND:ACTION")
    local = created(occctl, "iam", "role", "create", "ops", "-n", "default", "--permission", "agent:read")
    assert local["namespaceId"] == bootstrapped.namespace("default")["id"]
    assert [row["name"] for row in listed(occctl, "role")] == ["administrator", "ops", "ops"]
    occctl("iam", "role", "delete", "ops").ok()
    assert [row["id"] for row in listed(occctl, "role")][1:] == [local["id"]]
    refused(occctl("iam", "role", "delete", "ops"), 3, "ROLE_NOT_FOUND")
    occctl("iam", "role", "delete", "ops", "--namespace", "default").ok()
    refused(occctl("iam", "role", "create", "x", "-n", "no", "--permission", "agent:read"), 3, "NAMESPACE_NOT_FOUND")


def test_every_permission_is_one(occctl, bootstrapped):
    """The program's list and the schema's are the same."""
    known = bootstrapped.query("select resource_kind || ':' || action as name from occ.permissions()")
    flags = [part for row in known for part in ("--permission", row["name"])]
    role = created(occctl, "iam", "role", "create", "all", *flags)
    assert sorted(role["permissions"]) == sorted(row["name"] for row in known) and len(known) == 26


def test_a_binding_takes_effect_and_ends(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder)
    create = ("namespace", "create", "acme")
    refused(occctl(*create, env=operator.env), 1, "AUTHORIZATION_DENIED")
    created(occctl, "iam", "role", "create", "creator", "--permission", "namespace:create", "--permission=namespace:read")
    binding = created(occctl, "iam", "binding", "create", "--role", "creator", "--identity", operator.id)
    assert binding["roleName"] == "creator" and binding["namespaceId"] is None
    occctl(*create, env=operator.env).ok()
    refused(
        occctl("iam", "binding", "create", "--role", "creator", "--identity", operator.id), 4, "BINDING_EXISTS"
    )
    refused(occctl("iam", "role", "delete", "creator"), 4, "IAM_IN_USE", "1 access binding")
    refused(occctl("iam", "identity", "delete", operator.id), 4, "IAM_IN_USE")
    occctl("iam", "binding", "delete", binding["id"]).ok()
    refused(occctl("namespace", "create", "beta", env=operator.env), 1, "AUTHORIZATION_DENIED")
    refused(occctl("iam", "binding", "delete", binding["id"]), 3, "BINDING_NOT_FOUND")
    occctl("iam", "identity", "delete", operator.id).ok()
    refused(occctl("namespace", "list", env=operator.env), 1, "SERVICE_KEY_UNKNOWN")


def test_bindings_of_a_namespace_and_a_resource(occctl, bootstrapped, folder):
    acme = created(occctl, "namespace", "create", "acme")["id"]
    installation = bootstrapped.one("select id from occ.installation")
    created(occctl, "iam", "role", "create", "reader", "--permission", "namespace:read")
    operator = Operator(bootstrapped, folder)
    bind = ("iam", "binding", "create", "--role", "reader", "--identity", operator.id)
    assert created(occctl, *bind, "--namespace", "acme")["namespaceId"] == acme
    exact = created(occctl, *bind, "--resource", f"namespace:{acme}")
    assert (exact["resourceKind"], exact["resourceId"], exact["namespaceId"]) == ("namespace", acme, acme)
    whole = created(occctl, *bind, "--resource", f"installation:{installation}")
    assert whole["namespaceId"] is None
    missing = f"ns_{uuid.uuid4()}"
    refused(occctl(*bind, "--resource", f"namespace:{missing}"), 3, "RESOURCE_NOT_FOUND", missing)
    for wrong in ("acme", f"agent:{acme}", "namespace:acme", f"pod:{acme}"):
        refused(occctl(*bind, "--resource", wrong), 2, "RESOURCE_INVALID")
    default = bootstrapped.namespace("default")["id"]
    refused(
        occctl(*bind, "--namespace", "acme", "--resource", f"namespace:{default}"), 2, "RESOURCE_INVALID", "not belong"
    )


def test_bindings_that_name_nothing(occctl, bootstrapped):
    program = bootstrapped.one("select service_principal_id from occ.apikey")
    bind = ("iam", "binding", "create")
    refused(occctl(*bind, "--identity", program), 2, "USAGE", "--role")
    refused(occctl(*bind, "--role", "administrator"), 2, "BINDING_INVALID", "exactly one")
    refused(occctl(*bind, "--role", "administrator", "--identity", "a", "--group", "b"), 2, "BINDING_INVALID")
    refused(occctl(*bind, "--role", "administrator", "--identity", "nobody"), 3, "IDENTITY_NOT_FOUND", "nobody")
    refused(occctl(*bind, "--role", "administrator", "--group", "none"), 3, "GROUP_NOT_FOUND", "none")
    refused(occctl(*bind, "--role", "no", "--identity", program), 3, "ROLE_NOT_FOUND", "no")
    local = created(occctl, "iam", "role", "create", "local", "-n", "default", "--permission", "agent:read")["id"]
    refused(occctl(*bind, "--role", "local", "--identity", program), 3, "ROLE_NOT_FOUND")
    refused(occctl(*bind, "--role", local, "--identity", program), 2, "ROLE_MISPLACED", local, "bound only there")


def test_a_group_of_administrators(occctl, bootstrapped):
    anna = person(occctl)
    created(occctl, "iam", "group", "create", "admins", "--member", anna["id"])
    binding = created(occctl, "iam", "binding", "create", "--role", "administrator", "--group", "admins")
    assert binding["groupName"] == "admins"
    refused(occctl("iam", "group", "delete", "admins"), 4, "IAM_IN_USE")


def test_the_last_administrator_stays(occctl, bootstrapped):
    bindings = [row["id"] for row in listed(occctl, "binding")]
    own = bootstrapped.one(
        "select id from occ.iam_access_bindings where identity_subject_id in (select service_principal_id from occ.apikey)"
    )
    (other,) = set(bindings) - {own}
    occctl("iam", "binding", "delete", other).ok()
    refused(occctl("iam", "binding", "delete", own), 4, "IAM_LAST_ADMINISTRATOR")
    assert [row["id"] for row in listed(occctl, "binding")] == [own]
    refused(
        occctl("iam", "restriction", "create", "installation:administer"), 4, "IAM_LAST_ADMINISTRATOR"
    )
    assert listed(occctl, "restriction") == []
    program = bootstrapped.one("select service_principal_id from occ.apikey")
    refused(occctl("iam", "identity", "delete", program), 4, "IDENTITY_IN_USE")


def test_the_last_member_of_the_last_group_stays(occctl, bootstrapped):
    anna = person(occctl)
    created(occctl, "iam", "group", "create", "admins", "--member", anna["id"])
    created(occctl, "iam", "binding", "create", "--role", "administrator", "--group", "admins")
    bootstrapped.execute(
        "delete from occ.iam_access_bindings where identity_subject_id in"
        " (select id from occ.iam_identities where kind = 'principal')"
    )
    # The caller itself is an administrator as long as it asks, so the last one can only be lost with its binding.
    own = bootstrapped.one("select id from occ.iam_access_bindings where identity_subject_id is not null")
    occctl("iam", "binding", "delete", own).ok()
    refused(occctl("iam", "identity", "delete", anna["id"]), 1, "AUTHORIZATION_DENIED")


def test_two_administrators_do_not_remove_each_other(occctl, bootstrapped, folder):
    """Each is harmless alone; together they would leave nobody."""
    first = Operator(bootstrapped, folder, "installation:administer")
    second = Operator(bootstrapped, folder, "installation:administer")
    bootstrapped.execute(
        "delete from occ.iam_access_bindings where identity_subject_id not in (%s, %s)", first.id, second.id
    )
    bindings = {
        row["identity_subject_id"]: row["id"] for row in bootstrapped.query("select * from occ.iam_access_bindings")
    }
    results = []
    pairs = ((first, second), (second, first))
    threads = [
        threading.Thread(
            target=lambda me=me, you=you: results.append(
                occctl("iam", "binding", "delete", bindings[you.id], env=me.env)
            )
        )
        for me, you in pairs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.status for result in results) == [0, 1], results
    assert bootstrapped.one("select count(*) from occ.iam_access_bindings") == 1


def test_restrictions(occctl, bootstrapped):
    restriction = created(occctl, "iam", "restriction", "create", "namespace:delete", "-n", "default")
    default = bootstrapped.namespace("default")["id"]
    assert restriction["permission"] == "namespace:delete" and restriction["namespaceId"] == default
    assert restriction["effect"] == "deny"
    refused(occctl("namespace", "delete", "default"), 1, "AUTHORIZATION_DENIED", restriction["id"], default)
    assert [row["id"] for row in listed(occctl, "restriction")] == [restriction["id"]]
    occctl("iam", "restriction", "delete", restriction["id"]).ok()
    refused(occctl("iam", "restriction", "delete", restriction["id"]), 3, "RESTRICTION_NOT_FOUND")
    exact = created(occctl, "iam", "restriction", "create", "namespace:read", "--resource", f"namespace:{default}")
    assert exact["resourceId"] == default
    refused(occctl("namespace", "get", "default"), 1, "AUTHORIZATION_DENIED", exact["id"])
    refused(occctl("iam", "restriction", "create", "namespace:fly"), 2, "PERMISSION_UNKNOWN")
    refused(
        occctl("iam", "restriction", "create", "agent:read", "--resource", f"namespace:{default}"),
        2,
        "RESTRICTION_INVALID",
    )


COMMANDS = [
    ("iam", "identity", "list"),
    ("iam", "identity", "create"),
    ("iam", "identity", "delete", "x"),
    ("iam", "group", "list"),
    ("iam", "group", "create", "x"),
    ("iam", "group", "delete", "x"),
    ("iam", "role", "list"),
    ("iam", "role", "create", "x", "--permission", "agent:read"),
    ("iam", "role", "delete", "x"),
    ("iam", "binding", "list"),
    ("iam", "binding", "create", "--role", "x", "--identity", "x"),
    ("iam", "binding", "delete", "x"),
    ("iam", "restriction", "list"),
    ("iam", "restriction", "create", "agent:read"),
    ("iam", "restriction", "delete", "x"),
    ("service-key", "list"),
    ("service-key", "revoke", "x"),
    ("audit", "list"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_only_an_administrator(occctl, bootstrapped, folder, command):
    """Everything but that: no permission of another kind opens this, and nothing is told of what there is."""
    others = [
        row["name"]
        for row in bootstrapped.query("select resource_kind || ':' || action as name from occ.permissions()")
        if row["name"] != "installation:administer"
    ]
    operator = Operator(bootstrapped, folder, *others)
    refused(occctl(*command, env=operator.env), 1, "AUTHORIZATION_DENIED", "installation:administer", "ins_")
    denials = bootstrapped.query("select * from occ.audit_events where kind = 'authorization_denial'")
    assert len(denials) == 1 and denials[0]["actor_id"] == operator.id
    assert denials[0]["resource_kind"] == "installation"


def test_a_named_namespace_must_be_readable(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder, "installation:administer")
    for command in (
        ("iam", "role", "create", "x", "--permission", "agent:read"),
        ("iam", "restriction", "create", "agent:read"),
        ("audit", "list"),
    ):
        refused(occctl(*command, "-n", "default", env=operator.env), 1, "AUTHORIZATION_DENIED", "namespace:read")
    occctl("audit", "list", env=operator.env).ok()


# ---- Service keys


def test_service_keys(occctl, bootstrapped, folder):
    path = folder / "new-key.json"
    result = occctl("service-key", "create", "ci", "--file", path, "-o", "json").ok()
    document = json.loads(path.read_text())
    key = document["data"]["key"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert re.fullmatch(r"occ_sk_[A-Za-z0-9_-]{43}", key)
    assert key not in result.out + result.err and key[7:] not in result.out + result.err
    assert document["data"]["id"] == result.json["id"] and document["data"]["expiresAt"] == result.json["expiresAt"]
    assert document["meta"]["installationId"] == bootstrapped.one("select id from occ.installation")
    stored = bootstrapped.query("select * from occ.apikey where id = %s", result.json["id"])[0]
    assert stored["key_hash"] == hashlib.sha256(key.encode()).hexdigest()
    assert (stored["expires_at"] - stored["created_at"]).days == 30
    env = {"OCC_SERVICE_KEY_FILE": path}
    occctl("namespace", "list", env=env).ok()
    rows = occctl("service-key", "list", "-o", "json", env=env).ok().json
    assert [row["name"] for row in rows] == ["ci", "bootstrap"] and {row["state"] for row in rows} == {"valid"}
    assert "hash" not in json.dumps(rows).lower()

    refused(occctl("service-key", "revoke", result.json["id"], env=env), 4, "SERVICE_KEY_IN_USE")
    revoked = occctl("service-key", "revoke", result.json["id"], "-o", "json").ok().json
    assert revoked["state"] == "revoked" and revoked["revokedAt"]
    refused(occctl("namespace", "list", env=env), 1, "SERVICE_KEY_REVOKED", "ci", revoked["revokedAt"])
    again = occctl("service-key", "revoke", result.json["id"], "-o", "json").ok().json
    assert again["revokedAt"] == revoked["revokedAt"]
    assert len(events(bootstrapped, "openclaw.service-keys.revoke")) == 1
    refused(occctl("service-key", "revoke", "nothing"), 3, "SERVICE_KEY_NOT_FOUND")


def test_a_service_key_for_somebody_else(occctl, bootstrapped, folder):
    program = created(occctl, "iam", "identity", "create")["id"]
    path = folder / "other.json"
    created(occctl, "service-key", "create", "x", "--file", path, "--service-principal", program, "--days", "1")
    refused(occctl("status", env={"OCC_SERVICE_KEY_FILE": path}), 1, "AUTHORIZATION_DENIED", program)
    anna = person(occctl)["id"]
    path = folder / "anna.json"
    refused(
        occctl("service-key", "create", "x", "--file", path, "--service-principal", anna), 2, "SERVICE_KEY_OWNER_INVALID"
    )
    refused(
        occctl("service-key", "create", "x", "--file", path, "--service-principal", "no"), 3, "IDENTITY_NOT_FOUND"
    )
    assert not path.exists()


def test_a_service_key_file_that_cannot_be_made(occctl, bootstrapped, folder):
    taken = folder / "taken"
    taken.write_text("precious")
    create = ("service-key", "create", "ci")
    refused(occctl(*create, "--file", taken), 2, "OUTPUT_FILE_REFUSED", "taken")
    refused(occctl(*create, "--file", folder / "no" / "key"), 2, "OUTPUT_FILE_REFUSED")
    refused(occctl(*create), 2, "USAGE", "--file")
    refused(occctl("service-key", "create", "", "--file", folder / "x"), 2, "NAME_INVALID")
    assert taken.read_text() == "precious" and not (folder / "x").exists()
    assert bootstrapped.one("select count(*) from occ.apikey") == 1
    for days in ("0", "366", "1.5", "010", "-1"):
        result = occctl(*create, "--file", folder / "x", f"--days={days}")
        assert result.status == 2 and "--days" in result.err
    other = Operator(bootstrapped, folder, "namespace:read")
    refused(occctl(*create, "--file", folder / "x", env=other.env), 1, "AUTHORIZATION_DENIED")
    assert not (folder / "x").exists()
