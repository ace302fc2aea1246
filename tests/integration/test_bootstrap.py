# SPDX-License-Identifier: MIT
"""occ-bootstrap: the one Installation is created whole, once, and verified for ever after."""

import base64
import hashlib
import json
import os
import re
import stat
import subprocess

import pytest

from conftest import ADMINISTRATOR, bootstrap
from support import tree
from support.program import environment, run

COUNTS = """
select (select count(*) from occ.installation) as installations, (select count(*) from occ."user") as users,
       (select count(*) from occ.account) as accounts, (select count(*) from occ.iam_identities) as identities,
       (select count(*) from occ.iam_roles) as roles, (select count(*) from occ.iam_access_bindings) as bindings,
       (select count(*) from occ.apikey) as keys, (select count(*) from occ.namespaces) as namespaces,
       (select count(*) from occ.controller_work) as work, (select count(*) from occ.audit_events) as events
"""
NOTHING = dict.fromkeys(
    "installations users accounts identities roles bindings keys namespaces work events".split(), 0
)
WHOLE = {
    "installations": 1,
    "users": 1,
    "accounts": 1,
    "identities": 2,
    "roles": 1,
    "bindings": 2,
    "keys": 1,
    "namespaces": 1,
    "work": 1,
    "events": 2,
}


def counts(database):
    return dict(database.query(COUNTS)[0])


def failure(result, status, code):
    """The one failure record, which is on stderr and says `code`."""
    assert result.status == status, result
    assert result.out == ""
    (record,) = result.records
    assert record["event"] == "installation.bootstrap-failed" and record["severity"] == "ERROR"
    assert record["code"] == code, record
    return record


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_fresh_database(database, folder):
    result = bootstrap(database, folder).ok()
    assert result.err == ""
    record = result.json
    assert record["event"] == "installation.bootstrapped" and record["service"] == "occ-bootstrap"
    assert counts(database) == WHOLE
    assert mode(folder / "password") == 0o600 and mode(folder / "service-key.json") == 0o600

    document = json.loads((folder / "service-key.json").read_text())
    assert set(document) == {"data", "meta"}
    assert set(document["data"]) == {"id", "servicePrincipalId", "name", "expiresAt", "key"}
    assert document["meta"] == {"installationId": record["installationId"]}
    key = document["data"]["key"]
    assert re.fullmatch(r"occ_sk_[A-Za-z0-9_-]{43}", key)
    assert len(base64.urlsafe_b64decode(key[7:] + "=")) == 32

    (stored,) = database.query("select *, expires_at - created_at as lifetime from occ.apikey")
    assert stored["key_hash"] == hashlib.sha256(key.encode()).hexdigest()
    assert stored["id"] == document["data"]["id"] == record["serviceKeyId"]
    assert stored["service_principal_id"] == document["data"]["servicePrincipalId"]
    assert stored["lifetime"].days == 30 and stored["lifetime"].seconds == 0
    told = document["data"]["expiresAt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told)
    assert database.one("select abs(extract(epoch from expires_at - %s::timestamptz)) < 0.001 from occ.apikey", told)

    password = (folder / "password").read_text()
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", password)
    hashed = database.one("select password_hash from occ.account")
    assert hashed.startswith("$argon2id$v=19$m=65536,t=2,p=1$")
    assert database.one('select email from occ."user"') == ADMINISTRATOR
    # Nothing of either in what was written, nor anywhere in the database.
    dump = subprocess.run(
        ["pg_dump", "--data-only", database.admin_url], capture_output=True, text=True, check=True
    ).stdout
    for secret in (key, key[7:], password):
        assert secret not in result.out + result.err + dump


def test_the_administrator_holds_every_permission(database, folder):
    bootstrap(database, folder).ok()
    held = database.query(
        "select item ->> 'action' as action, item ->> 'resourceKind' as kind from occ.iam_roles,"
        " jsonb_array_elements(permissions) as item"
    )
    known = database.query("select action, resource_kind as kind from occ.permissions()")
    assert len(known) == 26
    assert {tuple(row.values()) for row in held} == {tuple(row.values()) for row in known}
    kinds = database.query(
        "select identity.kind, identity.issuer from occ.iam_access_bindings as binding"
        " join occ.iam_identities as identity on identity.id = binding.identity_subject_id"
        " where binding.namespace_id is null and binding.resource_kind is null order by 1"
    )
    assert [row["kind"] for row in kinds] == ["principal", "service_principal"]


def test_the_default_namespace_is_admitted(database, folder):
    record = bootstrap(database, folder).ok().json
    (work,) = database.work()
    assert work["idempotency_key"] == f"namespace:{record['namespaceId']}:reconcile:ready"
    assert work["state"] == "queued" and work["actor_id"] == record["servicePrincipalId"]
    assert database.namespace("default")["status"] == "provisioning"
    events = database.query("select kind, action, outcome, details from occ.audit_events order by occurred_at")
    assert sorted((row["kind"], row["action"]) for row in events) == [
        ("bootstrap", "openclaw.installation.bootstrap"),
        ("mutation", "openclaw.namespaces.create"),
    ]


def test_development_defaults(database, folder):
    bootstrap(database, folder, OCC_BOOTSTRAP_ADMIN_EMAIL=None, OCC_BOOTSTRAP_INSTALLATION_NAME=None).ok()
    assert database.one("select name from occ.installation") == "OpenClaw Development"
    assert database.one('select email from occ."user"') == "admin@example.com"


def test_production_must_say(database, folder):
    result = bootstrap(
        database,
        folder,
        NODE_ENV="production",
        OCC_BOOTSTRAP_ADMIN_EMAIL=None,
        OCC_BOOTSTRAP_INSTALLATION_NAME=None,
        OCC_BOOTSTRAP_PASSWORD_FILE=None,
        OCC_BOOTSTRAP_SERVICE_KEY_FILE=None,
    )
    assert result.status == 78
    said = {record["setting"] for record in result.records}
    assert said >= {
        "OCC_BOOTSTRAP_ADMIN_EMAIL",
        "OCC_BOOTSTRAP_INSTALLATION_NAME",
        "OCC_BOOTSTRAP_PASSWORD_FILE",
        "OCC_BOOTSTRAP_SERVICE_KEY_FILE",
    }
    bootstrap(database, folder, NODE_ENV="production").ok()


@pytest.mark.parametrize("value", [None, "", "staging", "Production"])
def test_mode_is_needed(database, folder, value):
    result = bootstrap(database, folder, NODE_ENV=value)
    assert result.status == 78
    assert any("Worker mode is rejected" in record["message"] for record in result.records)
    assert counts(database) == NOTHING


@pytest.mark.parametrize("value", [None, "", "mysql://localhost/occ"])
def test_a_database_url_is_needed(database, folder, value):
    record = failure(bootstrap(database, folder, OCC_DATABASE_URL=value), 78, "DATABASE_CONFIGURATION_INVALID")
    assert "A valid PostgreSQL connection URL must be explicitly configured." in record["message"]


def test_a_wrong_password_is_told_without_it(database, folder):
    url = database.url(password="pw-wrong-5c5c")
    record = failure(bootstrap(database, folder, OCC_DATABASE_URL=url), 78, "DATABASE_AUTHENTICATION_FAILED")
    assert "5c5c" not in json.dumps(record)


def test_an_unreachable_database_ends_with_69(database, folder):
    url = database.url(port=1)
    record = failure(bootstrap(database, folder, OCC_DATABASE_URL=url), 69, "PERSISTENCE_UNAVAILABLE")
    assert record["dependency"] == "postgresql"
    assert not (folder / "password").exists()


def test_usage(database, folder):
    result = run("occ-bootstrap", "--no-such-flag", env={"NODE_ENV": "development"})
    assert result.status == 2 and "--no-such-flag" in result.err and result.out == ""
    result = run("occ-bootstrap", "--help")
    assert result.status == 0 and "OCC_BOOTSTRAP_SERVICE_KEY_FILE" in result.out and result.err == ""


def test_again_verifies_and_changes_nothing(database, folder):
    first = bootstrap(database, folder).ok().json
    before = counts(database)
    files = [(folder / name).read_bytes() for name in ("password", "service-key.json")]
    for _ in range(2):
        result = bootstrap(database, folder).ok()
        assert result.json["event"] == "installation.already-bootstrapped"
        assert result.json["installationId"] == first["installationId"]
    assert counts(database) == before
    assert [(folder / name).read_bytes() for name in ("password", "service-key.json")] == files


def test_again_without_the_files(database, folder):
    """The files were taken away to where secrets are kept, as they should be."""
    bootstrap(database, folder).ok()
    for name in ("password", "service-key.json"):
        (folder / name).unlink()
    assert bootstrap(database, folder).ok().json["event"] == "installation.already-bootstrapped"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "variable, value, code",
    [
        ("OCC_BOOTSTRAP_INSTALLATION_NAME", "Another", "INSTALLATION_NAME_MISMATCH"),
        ("OCC_BOOTSTRAP_ADMIN_EMAIL", "other@example.test", "ADMINISTRATOR_MISMATCH"),
    ],
)
def test_a_mismatch_is_refused(database, folder, variable, value, code):
    bootstrap(database, folder).ok()
    before = counts(database)
    failure(bootstrap(database, folder, **{variable: value}), 4, code)
    assert counts(database) == before


def test_a_key_of_another_installation(database, folder):
    bootstrap(database, folder).ok()
    path = folder / "service-key.json"
    document = json.loads(path.read_text())
    document["meta"]["installationId"] = "ins_11111111-1111-4111-8111-111111111111"
    path.write_text(json.dumps(document))
    failure(bootstrap(database, folder), 4, "SERVICE_KEY_MISMATCH")
    document = json.loads(path.read_text())
    document["meta"]["installationId"] = database.one("select id from occ.installation")
    document["data"]["key"] = "occ_sk_" + "A" * 43
    path.write_text(json.dumps(document))
    failure(bootstrap(database, folder), 4, "SERVICE_KEY_MISMATCH")
    path.write_text("{}")
    failure(bootstrap(database, folder), 4, "SERVICE_KEY_FILE_INVALID")


# What a hand in the tables, or a dump that was restored in part, may leave behind.
BROKEN = {
    "no Installation": ("delete from occ.installation", "INSTALLATION_HALF_DONE"),
    "no user": ('delete from occ.account; delete from occ."user"', "ADMINISTRATOR_MISMATCH"),
    "no password": ("delete from occ.account", "INSTALLATION_INCOMPLETE"),
    "no identity": (
        "delete from occ.iam_access_bindings where identity_subject_id in"
        " (select id from occ.iam_identities where kind = 'principal');"
        " delete from occ.iam_identities where kind = 'principal'",
        "INSTALLATION_INCOMPLETE",
    ),
    "no key": ("delete from occ.apikey", "INSTALLATION_INCOMPLETE"),
    "no evidence": ("delete from occ.audit_events", "INSTALLATION_INCOMPLETE"),
    "no Namespace": (
        "delete from occ.controller_work; delete from occ.namespaces",
        "INSTALLATION_INCOMPLETE",
    ),
    "no binding": ("delete from occ.iam_access_bindings", "IAM_ADMINISTRATOR_BINDING_MISSING"),
    "no role": (
        "delete from occ.iam_access_bindings; delete from occ.iam_roles",
        "IAM_ADMINISTRATOR_ROLE_MISSING",
    ),
    "a weaker role": (
        "update occ.iam_roles set permissions = '[{\"action\":\"read\",\"resourceKind\":\"installation\"}]'",
        "IAM_ADMINISTRATOR_ROLE_MISSING",
    ),
    "a dangling binding": (
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id)"
        " select 'dangling', 'nobody', id from occ.iam_roles",
        "IAM_BINDING_DANGLING",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_refused_and_left_alone(database, folder, what):
    bootstrap(database, folder).ok()
    for name in ("password", "service-key.json"):
        (folder / name).unlink()
    sql, code = BROKEN[what]
    database.execute("set session_replication_role = replica")
    database.execute(sql)
    database.execute("set session_replication_role = default")
    before = counts(database)
    failure(bootstrap(database, folder), 4, code)
    assert counts(database) == before
    assert list(folder.iterdir()) == []


NOWHERE = "ns_11111111-1111-4111-8111-111111111111"
UNSOUND = {
    "a binding to a group that is not there": (
        "insert into occ.iam_access_bindings (id, group_subject_id, role_id) select 'b', 'no', id from occ.iam_roles",
        "IAM_BINDING_DANGLING",
        "the group no,",
    ),
    "a binding of a role that is not there": (
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id)"
        " select 'b', id, 'no' from occ.iam_identities limit 1",
        "IAM_BINDING_DANGLING",
        "the role no,",
    ),
    "a binding in a Namespace that is not there": (
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id, namespace_id)"
        f" select 'b', identity.id, role.id, '{NOWHERE}' from occ.iam_identities as identity, occ.iam_roles as role"
        " limit 1",
        "IAM_BINDING_DANGLING",
        f"the Namespace {NOWHERE},",
    ),
    "a binding to a tombstone": (
        "update occ.namespaces set status = 'deleting', deleted_at = now();"
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id, resource_kind, resource_id)"
        " select 'b', identity.id, role.id, 'namespace', space.id from occ.iam_identities as identity,"
        " occ.iam_roles as role, occ.namespaces as space limit 1",
        "IAM_BINDING_DANGLING",
        "the namespace ns_",
    ),
    "a binding of another Namespace's role": (
        "insert into occ.iam_roles (id, namespace_id, name, permissions)"
        " select 'local', id, 'local', '[]' from occ.namespaces;"
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id)"
        " select 'b', id, 'local' from occ.iam_identities limit 1",
        "IAM_BINDING_MISPLACED",
        "the role local,",
    ),
    "a member who is not there": (
        "insert into occ.iam_groups (id, name) values ('g', 'g');"
        "insert into occ.iam_group_memberships (group_id, identity_id) values ('g', 'no')",
        "IAM_MEMBERSHIP_DANGLING",
        "the member no,",
    ),
    "a member who is a program": (
        "insert into occ.iam_groups (id, name) values ('g', 'g');"
        "insert into occ.iam_group_memberships (group_id, identity_id)"
        " select 'g', id from occ.iam_identities where kind = 'service_principal'",
        "IAM_MEMBERSHIP_DANGLING",
        "The group g",
    ),
    "a role of a Namespace that is not there": (
        f"insert into occ.iam_roles (id, namespace_id, name, permissions) values ('r', '{NOWHERE}', 'r', '[]')",
        "IAM_ROLE_DANGLING",
        NOWHERE,
    ),
    "a role with what is no permission": (
        "insert into occ.iam_roles (id, name, permissions)"
        " values ('r', 'r', '[{\"action\":\"fly\",\"resourceKind\":\"agent\"}]')",
        "IAM_ROLE_INVALID",
        "The role r ",
    ),
    "a restriction in a Namespace that is not there": (
        "insert into occ.iam_restrictions (id, namespace_id, action, resource_kind)"
        f" values ('x', '{NOWHERE}', 'read', 'agent')",
        "IAM_RESTRICTION_DANGLING",
        "The restriction x ",
    ),
    "a service principal of an Agent that is not there": (
        "insert into occ.iam_identities (id, kind, agent_id, namespace_id)"
        f" values ('p', 'service_principal', 'agt_11111111-1111-4111-8111-111111111111', '{NOWHERE}')",
        "IAM_IDENTITY_DANGLING",
        "The service principal p ",
    ),
    "a key of nobody": (
        "insert into occ.apikey (id, name, key_hash, service_principal_id, expires_at)"
        " values ('k', 'k', repeat('0', 64), 'no', now() + interval '1 day')",
        "IAM_SERVICE_KEY_DANGLING",
        "The service key k ",
    ),
    "an empty group of administrators": (
        "insert into occ.iam_groups (id, name) values ('g', 'g');"
        "insert into occ.iam_access_bindings (id, group_subject_id, role_id) select 'b', 'g', id from occ.iam_roles;"
        "delete from occ.iam_access_bindings where identity_subject_id is not null",
        "IAM_ADMINISTRATOR_BINDING_MISSING",
        "Nobody",
    ),
    "an administrator of one Namespace only": (
        "update occ.iam_access_bindings set namespace_id = (select id from occ.namespaces)",
        "IAM_ADMINISTRATOR_BINDING_MISSING",
        "Nobody",
    ),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_an_unsound_iam_state_is_told(database, folder, what):
    bootstrap(database, folder).ok()
    sql, code, words = UNSOUND[what]
    database.execute("set session_replication_role = replica")
    database.execute(sql)
    database.execute("set session_replication_role = default")
    record = failure(bootstrap(database, folder), 4, code)
    assert words in record["message"], record


def test_what_is_sound_although_odd(database, folder):
    """A group as administrator, a restriction on what is gone, an empty role."""
    bootstrap(database, folder).ok()
    database.execute(
        "insert into occ.iam_groups (id, name) values ('g', 'g');"
        "insert into occ.iam_group_memberships (group_id, identity_id)"
        " select 'g', id from occ.iam_identities where kind = 'principal';"
        "insert into occ.iam_access_bindings (id, group_subject_id, role_id) select 'b', 'g', id from occ.iam_roles;"
        "delete from occ.iam_access_bindings where identity_subject_id is not null;"
        "insert into occ.iam_roles (id, name, permissions) values ('empty', 'empty', '[]');"
        "insert into occ.iam_restrictions (id, action, resource_kind, resource_id)"
        f" values ('r', 'delete', 'namespace', '{NOWHERE}')"
    )
    bootstrap(database, folder).ok()


def test_rows_before_the_installation(database, folder):
    database.execute("insert into occ.iam_groups (id, name) values ('g', 'early')")
    record = failure(bootstrap(database, folder), 4, "INSTALLATION_HALF_DONE")
    assert "1 group:" in record["message"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["password", "service-key.json"])
def test_an_output_that_exists_is_never_written(database, folder, name):
    (folder / name).write_text("precious")
    record = failure(bootstrap(database, folder), 78, "OUTPUT_FILE_REFUSED")
    assert name in record["message"]
    assert (folder / name).read_text() == "precious"
    assert [path.name for path in folder.iterdir()] == [name]
    assert counts(database) == NOTHING


def test_a_link_is_not_followed(database, folder):
    (folder / "password").symlink_to(folder / "elsewhere")
    failure(bootstrap(database, folder), 78, "OUTPUT_FILE_REFUSED")
    assert not (folder / "elsewhere").exists()


def test_a_folder_that_others_can_write(database, folder):
    folder.chmod(0o777)
    failure(bootstrap(database, folder), 78, "OUTPUT_FILE_REFUSED")
    assert list(folder.iterdir()) == [] and counts(database) == NOTHING


def test_one_file_for_both(database, folder):
    result = bootstrap(database, folder, OCC_BOOTSTRAP_SERVICE_KEY_FILE=folder / "password")
    failure(result, 78, "OUTPUT_FILE_REFUSED")


def test_a_relative_output(database, folder):
    result = bootstrap(database, folder, OCC_BOOTSTRAP_PASSWORD_FILE="password")
    assert result.status == 78 and result.records[0]["setting"] == "OCC_BOOTSTRAP_PASSWORD_FILE"


def test_a_failure_after_a_file_leaves_and_names_it(database, folder):
    """The second file cannot be made: the first stays, nothing is committed, and nothing is tried again."""
    missing = folder / "missing" / "service-key.json"
    record = failure(bootstrap(database, folder, OCC_BOOTSTRAP_SERVICE_KEY_FILE=missing), 78, "OUTPUT_FILE_REFUSED")
    assert record["leftPasswordFile"] == str(folder / "password")
    assert "leftServiceKeyFile" not in record
    assert (folder / "password").exists()
    assert counts(database) == NOTHING
    failure(bootstrap(database, folder), 78, "OUTPUT_FILE_REFUSED")


def test_a_failing_commit_leaves_and_names_both(database, folder):
    database.execute(
        "create function public.fail() returns trigger language plpgsql as"
        " $$begin raise exception 'no' using errcode = 'P0001'; end$$"
    )
    database.execute(
        "create constraint trigger fail after insert on occ.installation deferrable initially deferred"
        " for each row execute function public.fail()"
    )
    result = bootstrap(database, folder)
    assert result.status == 70
    (record,) = result.records
    assert record["leftPasswordFile"] == str(folder / "password")
    assert record["leftServiceKeyFile"] == str(folder / "service-key.json")
    assert counts(database) == NOTHING


def test_an_unmigrated_database(empty_database, folder):
    failure(bootstrap(empty_database, folder), 78, "SCHEMA_EMPTY")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("role", ["postgres", "occ_migrator"])
def test_a_role_with_too_many_rights(database, folder, role):
    failure(bootstrap(database, folder, OCC_DATABASE_URL=database.url(role)), 78, "DATABASE_ROLE_REFUSED")
    assert list(folder.iterdir()) == []


def test_a_startup_yaml_that_is_named_must_be_good(database, folder):
    path = folder / "occ.yaml"
    path.write_text("logging:\n  level: loud\n")
    result = bootstrap(database, folder, OCC_CONFIG_PATH=path)
    assert result.status == 78 and any("occ.yaml:2" in record["setting"] for record in result.records)
    assert counts(database) == NOTHING


@pytest.mark.parametrize(
    "level, severities", [("debug", ["WARN", "DEBUG"]), ("warn", ["WARN"]), ("error", [])]
)
def test_the_level_is_the_startup_files(database, folder, level, severities):
    path = folder / "occ.yaml"
    path.write_text(f"logging: {{level: {level}}}\nobservability: {{}}\n")
    result = bootstrap(database, folder, OCC_CONFIG_PATH=path).ok()
    assert [record["severity"] for record in result.records] == severities, result.err
    for record in result.records:
        if record["severity"] == "WARN":
            assert record["event"] == "installation.bootstrap-warning"
            assert record["code"] == "STARTUP_SECTION_IGNORED" and "observability" in record["message"]
        else:
            assert record["event"] == "installation.bootstrap-started"
            assert record["databaseName"] == database.name


def test_two_at_once(database, folder):
    """One creates, the other waits for it and verifies; with files of their own, as two hosts would have."""
    running = []
    for name in ("one", "two"):
        (folder / name).mkdir(mode=0o700)
        variables = {
            "NODE_ENV": "development",
            "OCC_BOOTSTRAP_PASSWORD_FILE": folder / name / "password",
            "OCC_BOOTSTRAP_SERVICE_KEY_FILE": folder / name / "service-key.json",
            **database.environment(),
        }
        running.append(
            subprocess.Popen(
                [tree.program("occ-bootstrap")],
                env=environment(variables),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    results = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], results
    events = sorted(json.loads(out)["event"] for out, _ in results)
    assert events == ["installation.already-bootstrapped", "installation.bootstrapped"]
    assert counts(database) == WHOLE
    written = [name for name in ("one", "two") if (folder / name / "service-key.json").exists()]
    assert len(written) == 1


def test_behind_a_pooler(database, folder, pgbouncer):
    url = pgbouncer.url(database)
    bootstrap(database, folder, OCC_DATABASE_URL=url).ok()
    assert bootstrap(database, folder, OCC_DATABASE_URL=url).ok().json["event"] == "installation.already-bootstrapped"


def test_the_url_from_a_file(database, folder):
    path = folder / "url"
    path.write_text(database.app_url + "\n")
    path.chmod(0o600)
    bootstrap(database, folder, OCC_DATABASE_URL=None, OCC_DATABASE_URL_FILE=path).ok()
