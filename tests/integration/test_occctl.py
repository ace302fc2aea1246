# SPDX-License-Identifier: MIT
"""occctl itself: usage, settings, authentication, the forms of its output, and its exit statuses."""

import json
import os
import pty
import re
import shutil
import subprocess

import pytest
import yaml

from support import tree
from support.operator import Operator, finish, refused, start
from support.program import run

COMMANDS = """
installation get
status
namespace create
namespace list
namespace get
namespace delete
configuration create
configuration list
configuration get
configuration update
configuration delete
secret create
secret list
secret get
secret update
secret delete
service-account create
service-account list
service-account get
service-account update
service-account delete
agent create
agent list
agent get
agent update
agent deploy
agent stop
agent delete
agent status
agent revisions
work list
work get
work retry
audit list
iam identity list
iam identity create
iam identity delete
iam group list
iam group create
iam group add-member
iam group remove-member
iam group delete
iam role list
iam role create
iam role update
iam role delete
iam binding list
iam binding create
iam binding delete
iam restriction list
iam restriction create
iam restriction delete
service-key create
service-key list
service-key revoke
""".split(
    "\n"
)[1:-1]


# ---- Usage


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command):
    result = run("occctl", *command.split(), "--help").ok()
    assert result.err == "" and result.out.startswith(f"Usage: occctl {command} [FLAG]...")
    assert "occctl(1)" in result.out and "--output" in result.out


def test_the_overview_names_every_command():
    told = run("occctl", "--help").ok().out
    listed = re.findall(r"^  ((?:[a-z-]+ ?)+)", told.split("Commands:\n")[1].split("\n\n")[0], re.MULTILINE)
    assert sorted(name.strip() for name in listed) == sorted(COMMANDS)
    assert "namespace list" not in run("occctl", "iam", "role", "--help").ok().out
    role = run("occctl", "iam", "role", "-h").ok().out
    assert role.startswith("Usage: occctl iam role COMMAND") and "iam role create NAME\n        Makes a role" in role
    assert run("occctl", "help", "iam", "role").ok().out == role
    assert run("occctl", "help", "namespace", "get").out == run("occctl", "namespace", "get", "--help").out


def test_only_commands_that_work_in_a_namespace_take_one(occctl, bootstrapped):
    with_it = {command for command in COMMANDS if "--namespace" in run("occctl", *command.split(), "--help").out.split()}
    assert with_it == {
        *(command for command in COMMANDS if command.startswith("agent ")),
        "configuration create",
        "configuration list",
        *(f"{noun} {verb}" for noun in ("secret", "service-account") for verb in ("create", "list", "get", "update", "delete")),
        "work list",
        "audit list",
        "iam role create",
        "iam role update",
        "iam role delete",
        "iam binding create",
        "iam restriction create",
    }
    assert occctl("namespace", "list", env={"OCC_NAMESPACE": "none"}).ok().out.count("default") == 1


def test_help_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        for arguments in (("--help",), ("--version",), ("status", "--help")):
            done = subprocess.run(
                [tree.program("occctl"), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
            assert done.returncode == 69 and "[OUTPUT_FAILED]" in done.stderr


def test_version():
    for arguments in (("--version",), ("-V",), ("namespace", "list", "--version")):
        assert re.fullmatch(r"occctl \(occ-worker\) \d+\.\d+\.\d+\n", run("occctl", *arguments).ok().out)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((), "a command is needed"),
        (("namespace",), 'not complete: after "occctl namespace" comes one of create, list, get, delete;'),
        (("iam",), 'after "occctl iam" comes one of identity, group, role, binding, restriction;'),
        (("iam", "role"), "not complete"),
        (("nonsense",), 'no such command: after "occctl" comes one of installation, status, namespace, configuration, secret, service-account, agent'),
        (("namespace", "frobnicate"), 'no such command: after "occctl namespace" comes'),
        (("namespace", "list", "--namespace=acme"), "unknown flag --namespace"),
        (("namespace", "create", "acme", "--timeout-ms", "5"), "--timeout-ms needs --wait"),
        (("namespaces", "list"), "no such command"),
        (("namespace", "list", "extra"), "takes no arguments"),
        (("namespace", "create"), "needs NAME"),
        (("namespace", "create", "a", "b"), "at most 1"),
        (("namespace", "list", "--no-such-flag"), "--no-such-flag"),
        (("namespace", "list", "--output", "xml"), "--output"),
        (("namespace", "list", "-o"), "-o"),
        (("namespace", "create", "x", "--timeout-ms", "0"), "--timeout-ms"),
        (("work", "list", "--limit", "010"), "--limit"),
        (("work", "list", "--limit", "1.5"), "--limit"),
        (("work", "list", "--limit", "99999999999999999999"), "--limit"),
        (("work", "list", "--state", "done"), "--state"),
        (("work", "list", "--kind", "pod"), "--kind"),
    ],
)
def test_usage(occctl, arguments, words):
    """K122."""
    result = occctl(*arguments)
    assert result.status == 2 and result.out == "", result
    assert words in result.err and all(line.startswith("occctl: ") for line in result.err.splitlines())


def test_flags_before_and_after_the_command(occctl):
    for arguments in (
        ("-o", "json", "namespace", "list"),
        ("--output=json", "namespace", "list"),
        ("namespace", "-o", "json", "list"),
        ("namespace", "list", "-ojson"),
    ):
        assert occctl(*arguments).ok().json[0]["name"] == "default"


# ---- Settings


@pytest.mark.parametrize("value", [None, "", "test", "PRODUCTION"])
def test_the_mode_is_needed(occctl, value):
    result = occctl("status", env={"NODE_ENV": value})
    assert result.status == 78 and "Worker mode is rejected" in result.err and result.out == ""


@pytest.mark.parametrize("value", [None, "", "mysql://x/y", "localhost"])
def test_the_database_url_is_needed(occctl, value):
    result = occctl("status", env={"OCC_DATABASE_URL": value})
    assert result.status == 78 and "A valid PostgreSQL connection URL must be explicitly configured." in result.err


def test_an_unreachable_database(occctl, bootstrapped):
    line = refused(
        occctl("status", env={"OCC_DATABASE_URL": bootstrapped.url(port=1)}), 69, "PERSISTENCE_UNAVAILABLE", "127.0.0.1"
    )
    assert "pw-" not in line


def test_a_wrong_password(occctl, bootstrapped):
    """K68."""
    url = bootstrapped.url(password="pw-secret-77a1")
    line = refused(occctl("status", env={"OCC_DATABASE_URL": url}), 78, "DATABASE_AUTHENTICATION_FAILED")
    assert "77a1" not in line


def test_a_missing_database(occctl, bootstrapped):
    url = bootstrapped.url().replace(bootstrapped.name, "no_such_database")
    refused(occctl("status", env={"OCC_DATABASE_URL": url}), 78, "DATABASE_NOT_FOUND")


def test_production_needs_the_startup_yaml(occctl, folder):
    """It says which IAM Driver decides, of reading too: without it nobody knows who may."""
    refused(occctl("namespace", "list", env={"NODE_ENV": "production"}), 78, "CONFIG_PATH_REQUIRED")
    path = folder / "occ.yaml"
    path.write_text("drivers: {iam: {id: nobody}}\n")
    refused(occctl("namespace", "list", env={"OCC_CONFIG_PATH": path}), 78, "STARTUP_DRIVER_UNAVAILABLE", "drivers.iam.id")
    path.write_text("drivers: {iam: {id: native-iam, configuration: {}}}\n")
    occctl("namespace", "list", env={"OCC_CONFIG_PATH": path}).ok()


def test_the_database_url_from_a_file(occctl, bootstrapped, folder):
    path = folder / "url"
    path.write_text(bootstrapped.app_url)
    path.chmod(0o600)
    occctl("status", env={"OCC_DATABASE_URL": None, "OCC_DATABASE_URL_FILE": path}).ok()
    occctl("status", "--database-url-file", path, env={"OCC_DATABASE_URL": None}).ok()


def test_behind_a_pooler(occctl, bootstrapped, pgbouncer):
    """K30: admissions are transactions of several trips."""
    env = {"OCC_DATABASE_URL": pgbouncer.url(bootstrapped)}
    occctl("namespace", "create", "acme", env=env).ok()
    occctl("iam", "role", "create", "x", "--permission", "agent:read", env=env).ok()
    occctl("namespace", "delete", "acme", env=env).ok()
    assert len(occctl("work", "list", "-o", "json", env=env).ok().json) == 3


def test_no_installation(occctl, database, bootstrapped):
    refused(
        occctl("status", env=database.environment()), 78, "INSTALLATION_NOT_BOOTSTRAPPED", "occ-bootstrap"
    )


# ---- Who asks


def test_no_key(occctl):
    result = occctl("status", env={"OCC_SERVICE_KEY_FILE": None})
    assert result.status == 78 and "OCC_SERVICE_KEY_FILE" in result.err


def test_a_key_file_that_is_missing(occctl, folder):
    path = folder / "missing.json"
    refused(
        occctl("status", env={"OCC_SERVICE_KEY_FILE": path}),
        1,
        "SERVICE_KEY_FILE_UNREADABLE",
        f"OCC_SERVICE_KEY_FILE: {path} does not exist",
    )
    result = occctl("status", "--service-key-file", path)
    assert "--service-key-file" in refused(result, 1, "SERVICE_KEY_FILE_UNREADABLE")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o666])
def test_a_key_file_that_others_can_read(occctl, bootstrapped, mode):
    bootstrapped.key_file.chmod(mode)
    said = "writable" if mode & 0o022 else "readable"
    words = f"OCC_SERVICE_KEY_FILE: {bootstrapped.key_file} is {said} by other users"
    refused(occctl("status"), 1, "SERVICE_KEY_FILE_UNREADABLE", words)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_a_key_file_of_somebody_else(occctl, bootstrapped):
    shutil.chown(bootstrapped.key_file, "postgres")
    refused(occctl("status"), 1, "SERVICE_KEY_FILE_UNREADABLE", "is owned by neither root nor this user")


def test_a_key_file_that_is_a_folder(occctl, folder):
    refused(occctl("status", env={"OCC_SERVICE_KEY_FILE": folder}), 1, "SERVICE_KEY_FILE_UNREADABLE", "is a folder")


def test_a_key_file_that_is_relative(occctl):
    result = occctl("status", env={"OCC_SERVICE_KEY_FILE": "key.json"})
    assert result.status == 78 and "OCC_SERVICE_KEY_FILE" in result.err
    assert occctl("status", "--service-key-file", "key.json").status == 2


KEY = "occ_sk_" + "A" * 43
INSTALLATION = "ins_11111111-1111-4111-8111-111111111111"
GOOD = {
    "data": {"id": "i", "servicePrincipalId": "p", "name": "n", "expiresAt": "2999-01-01T00:00:00.000Z", "key": KEY},
    "meta": {"installationId": INSTALLATION},
}


def changed(part, name, value):
    document = json.loads(json.dumps(GOOD))
    document[part][name] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "content",
    [
        "x",
        "{",
        "[]",
        "{}",
        "null",
        '"' + KEY + '"',
        KEY,
        '{"data":{},"meta":{}}',
        '{"data":[],"meta":[]}',
        json.dumps(GOOD) + "x",
        changed("data", "key", "occ_sk_short"),
        changed("data", "key", "A" * 50),
        changed("data", "key", 17),
        changed("data", "key", None),
        changed("data", "key", KEY[:-1] + "\n"),
        changed("data", "id", None),
        changed("data", "servicePrincipalId", ""),
        changed("meta", "installationId", "nonsense"),
        "\x00\x01\x02",
        "é" * 100,
    ],
)
def test_a_key_file_that_is_garbage(occctl, bootstrapped, content):
    bootstrapped.key_file.write_text(content)
    line = refused(occctl("status"), 1, "SERVICE_KEY_FILE_INVALID", f"{bootstrapped.key_file} is not a service key file: ")
    assert "AAAAAA" not in line


def test_a_key_file_that_is_empty_or_huge(occctl, bootstrapped):
    for content in ("", " " * 20000):
        bootstrapped.key_file.write_text(content)
        assert occctl("status").status == 1


def test_a_key_that_nobody_knows(occctl, bootstrapped):
    document = json.loads(bootstrapped.key_file.read_text())
    document["data"]["key"] = KEY
    bootstrapped.key_file.write_text(json.dumps(document))
    line = refused(occctl("status"), 1, "SERVICE_KEY_UNKNOWN")
    assert "AAAAAA" not in line


def test_a_key_of_another_installation(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder, "installation:read")
    operator.write(installationId=INSTALLATION)
    refused(occctl("status", env=operator.env), 1, "SERVICE_KEY_INSTALLATION_MISMATCH", INSTALLATION)


def test_an_expired_key(occctl, bootstrapped, folder):
    """The database says when; the file's own words do not count."""
    operator = Operator(bootstrapped, folder, "installation:read", expires="-1 s")
    refused(occctl("status", env=operator.env), 1, "SERVICE_KEY_EXPIRED", "operator")
    valid = Operator(bootstrapped, folder, "installation:read")
    valid.write(expiresAt="2001-01-01T00:00:00.000Z")
    occctl("status", env=valid.env).ok()


def test_a_revoked_key(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder, "installation:read")
    bootstrapped.execute("update occ.apikey set revoked_at = now() where id = %s", operator.key_id)
    refused(occctl("status", env=operator.env), 1, "SERVICE_KEY_REVOKED", "operator")


def test_a_principal_that_is_gone(occctl, bootstrapped, folder):
    operator = Operator(bootstrapped, folder)
    bootstrapped.execute("delete from occ.iam_identities where id = %s", operator.id)
    refused(occctl("status", env=operator.env), 1, "SERVICE_KEY_UNKNOWN")


def test_secrets_are_nowhere(occctl, bootstrapped):
    """K68: not in the process list, nor in what /proc shows of the environment, nor in any output."""
    key = json.loads(bootstrapped.key_file.read_text())["data"]["key"]
    process = start(bootstrapped, "audit", "list", "--follow")
    try:
        process.stdout.readline()
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            assert b"pw-" not in file.read()
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            shown = file.read()
        assert b"pw-" not in shown and key.encode() not in shown
    finally:
        process.kill()
        process.communicate()


# ---- Output


NAMES = [
    "true",
    "null",
    "~",
    "1234",
    "0x1f",
    "1e3",
    "1_000",
    "12:30:45",
    "2026-01-31",
    ".inf",
    "no",
    "y",
    "- dash",
    "key: value",
    "# hash",
    "a #b",
    "&anchor",
    "*alias",
    "!tag",
    "%directive",
    "@at",
    "`tick",
    "{brace}",
    "[bracket]",
    "a, b",
    '"quoted"',
    "it's",
    "back\\slash",
    "? what",
    "| pipe",
    "> fold",
    "=",
    "<<",
    "名前 🦊",
    "line\u2028separator",
    "plain-word",
    "a" * 200,
]


def test_json_and_yaml_say_the_same(occctl, bootstrapped):
    """Every name comes back as the string that it is, with any YAML reader."""
    for name in NAMES:
        bootstrapped.execute(
            "insert into occ.namespaces (id, name) values ('ns_' || gen_random_uuid(), %s)", name
        )
    as_json = occctl("namespace", "list", "-o", "json").ok().json
    as_yaml = yaml.safe_load(occctl("namespace", "list", "-o", "yaml").ok().out)
    assert {row["name"] for row in as_json} == set(NAMES) | {"default"}

    def comparable(rows):
        return [{name: value for name, value in row.items() if name != "ageMs"} for row in rows]

    assert comparable(as_yaml) == comparable(as_json)


@pytest.mark.parametrize(
    "command",
    [
        ("installation", "get"),
        ("namespace", "get", "default"),
        ("work", "list"),
        ("audit", "list"),
        ("iam", "identity", "list"),
        ("iam", "group", "list"),
        ("iam", "role", "list"),
        ("iam", "binding", "list"),
        ("iam", "restriction", "list"),
        ("service-key", "list"),
        ("status",),
    ],
    ids=" ".join,
)
def test_each_form_of_each_command(occctl, command):
    as_json = occctl(*command, "-o", "json").ok().json
    as_yaml = yaml.safe_load(occctl(*command, "-o", "yaml").ok().out)

    def shape(value):
        if isinstance(value, dict):
            return {name: shape(each) for name, each in value.items()}
        if isinstance(value, list):
            return [shape(each) for each in value]
        return type(value)

    assert shape(as_yaml) == shape(as_json)
    table = occctl(*command, "-o", "table").ok().out
    assert table.endswith("\n") and "\033" not in table and occctl(*command).ok().lines[0] == table.splitlines()[0]


def test_yaml_of_evidence_with_anything_in_it(occctl, bootstrapped):
    details = {
        "text": 'quote " backslash \\ newline \n tab \t nel \u0085 bom \ufeff end',
        "empty": {},
        "none": [],
        "nested": [{"a": [1, [2, {"b": None}]], "c d": True}, [], {}, "x"],
        "number": 1.5,
        "yes": "no",
        "": "empty key",
    }
    bootstrapped.execute(
        "insert into occ.audit_events (kind, action, outcome, details) values ('mutation', 'odd', 'success', %s)",
        json.dumps(details),
    )
    command = ("audit", "list", "--action", "odd")
    assert yaml.safe_load(occctl(*command, "-o", "yaml").ok().out)[0]["details"] == details
    assert occctl(*command, "-o", "json").ok().json[0]["details"] == details
    assert len(occctl(*command).ok().lines) == 2


def terminal(bootstrapped, *arguments, **variables):
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ}
    process = subprocess.Popen(
        [tree.program("occctl"), *arguments],
        env={
            "PATH": env["PATH"],
            "NODE_ENV": "development",
            "OCC_SERVICE_KEY_FILE": str(bootstrapped.key_file),
            **bootstrapped.environment(),
            **variables,
        },
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=30) == 0, shown
    return shown.decode()


def test_a_table_that_is_wider_than_the_terminal(occctl, bootstrapped):
    """80 columns, as this terminal tells none: the name is cut there, and nowhere else."""
    name = "x" * 200
    occctl("namespace", "create", name).ok()
    assert "x" * 31 + "\N{HORIZONTAL ELLIPSIS}  " in terminal(bootstrapped, "namespace", "list")
    assert name in occctl("namespace", "list").ok().out
    assert name in terminal(bootstrapped, "namespace", "list", "-o", "json")


def test_colours_only_on_a_terminal(bootstrapped):
    assert "\033[33mprovisioning\033[0m" in terminal(bootstrapped, "namespace", "list")
    assert "\033" not in terminal(bootstrapped, "namespace", "list", NO_COLOR="1")
    assert "\033" in terminal(bootstrapped, "namespace", "list", NO_COLOR="")
    assert "\033" not in terminal(bootstrapped, "namespace", "list", "-o", "json")
    assert "\033" not in terminal(bootstrapped, "namespace", "list", "-o", "yaml")


def test_a_table_is_aligned_with_wide_characters(occctl, bootstrapped):
    occctl("namespace", "create", "名前").ok()
    occctl("namespace", "create", "ascii-name").ok()
    lines = occctl("namespace", "list").ok().lines
    starts = []
    for line in lines[1:]:
        at = line.index("provisioning")
        starts.append(sum(2 if ord(each) > 0x2E80 else 1 for each in line[:at]))
    assert len(set(starts)) == 1 and lines[0].index("STATUS") == starts[0]


def test_output_that_cannot_be_written(bootstrapped):
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = start(bootstrapped, "namespace", "list", stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 69 and "[OUTPUT_FAILED]" in err


# ---- Rights and statuses


def test_it_works_as_the_applications_role_alone(occctl, bootstrapped):
    """No statement of the whole life of a Namespace asks for more than occ_app has."""
    created = occctl("namespace", "create", "acme", "-o", "json").ok().json
    finish(bootstrapped, created["work"]["id"])
    deletion = occctl("namespace", "delete", "acme", "-o", "json").ok().json["work"]["id"]
    finish(bootstrapped, deletion, "MAX_ATTEMPTS_EXHAUSTED", "failed_permanent")
    occctl("work", "retry", deletion).ok()
    finish(bootstrapped, deletion)
    assert occctl("namespace", "get", "acme", "-o", "json").ok().json["status"] == "deleted"
    assert "occ_app" in bootstrapped.app_url


def test_a_role_without_rights(occctl, bootstrapped):
    """Not an answer that looks like none: an error."""
    result = occctl("status", env={"OCC_DATABASE_URL": bootstrapped.metrics_url})
    assert result.status != 0 and result.out == "", result


@pytest.mark.parametrize("role", ["postgres", "occ_migrator"])
def test_a_role_with_too_many_rights(occctl, bootstrapped, role):
    refused(occctl("status", env={"OCC_DATABASE_URL": bootstrapped.url(role)}), 78, "DATABASE_ROLE_REFUSED", role)


def test_a_schema_that_is_not_this_programs(occctl, empty_database, bootstrapped):
    refused(occctl("status", env=empty_database.environment()), 78, "SCHEMA_EMPTY")
    newest = bootstrapped.one("select max(number) from occ.schema_migrations")
    bootstrapped.execute("delete from occ.schema_migrations where number = %s", newest)
    refused(occctl("namespace", "list"), 78, "SCHEMA_BEHIND")
    assert occctl("status", "-o", "json").ok().json["schema"]["state"] == "behind"
    bootstrapped.execute("insert into occ.schema_migrations (number, name, hash) values (9999, 'x', repeat('0', 64))")
    refused(occctl("namespace", "list"), 78, "SCHEMA_UNSUPPORTED")
    assert occctl("status", "-o", "json").ok().json["schema"]["state"] == "unsupported"
