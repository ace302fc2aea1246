# SPDX-License-Identifier: MIT
"""occctl configuration: documents and their rows, refusals, and several writers at once."""

import json
import signal

import pytest

from support.configurations import DOCUMENT, waiting
from support.operator import Operator, events, in_background, refused, start
from support.rows import Store, new


def test_create(configurations, bootstrapped):
    created = configurations.create().ok().json
    row = configurations.row(created["id"])
    assert created == {"id": row["id"], "namespaceId": configurations.namespace, "generation": 1}
    assert row["namespace_id"] == configurations.namespace and row["kind"] == "agent"
    assert row["generation"] == 1 and row["secret_bindings"] == []
    path = configurations.path(row["id"])
    assert path.read_text() == DOCUMENT and path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o7777 == 0o700
    (event,) = events(bootstrapped, "openclaw.configurations.create")
    assert event["namespace_id"] == configurations.namespace
    assert (event["resource_kind"], event["resource_id"]) == ("configuration", row["id"])
    assert event["details"]["generation"] == 1 and event["details"]["documentBytes"] == len(DOCUMENT)
    assert event["details"]["decision"]["permission"] == "configuration:create"


def test_get_update_list_delete(configurations, bootstrapped):
    first, second = configurations.made(), configurations.made("{}")
    assert configurations.update(first, '{"a": 1}').ok().json["generation"] == 2
    assert configurations.row(first)["generation"] == 2 and configurations.row(second)["generation"] == 1
    document = configurations.get(first)
    assert document["generation"] == 2 and document["kind"] == "agent" and document["agents"] == 0
    assert document["namespaceId"] == configurations.namespace and document["namespaceName"] == "acme"
    assert document["secretBindings"] == {} and document["createdAt"].endswith("Z")
    assert configurations("get", first, "--document").ok().out == '{"a": 1}'
    table = configurations("list").ok().lines
    assert table[0].split() == ["ID", "NAMESPACE", "GENERATION", "AGENTS", "AGE"]
    assert [line.split()[0] for line in table[1:]] == [first, second]
    assert table[1].split()[1:4] == ["acme", "2", "0"]
    assert "generation: 2" in configurations("get", first, "-o", "yaml").ok().out
    assert configurations("list", "-n", "default", "-o", "json").ok().json == []
    assert len(configurations("list", "-n", "acme", "-o", "json").ok().json) == 2
    assert configurations("delete", first).ok().out == ""
    assert configurations.row(first) is None and configurations.files() == [f"{second}.json"]
    refused(configurations("get", first), 3, "CONFIGURATION_NOT_FOUND", first)
    refused(configurations("get", first, "--document"), 3, "CONFIGURATION_NOT_FOUND", first)
    refused(configurations.update(first), 3, "CONFIGURATION_NOT_FOUND", first)
    refused(configurations("delete", first), 3, "CONFIGURATION_NOT_FOUND", first)
    configurations("delete", second).ok()
    assert list(configurations.root.iterdir()) == []
    (event,) = events(bootstrapped, "openclaw.configurations.update")
    assert event["resource_id"] == first and event["details"]["generation"] == 2
    assert [event["resource_id"] for event in events(bootstrapped, "openclaw.configurations.delete")] == [first, second]


def test_bytes_stay_as_they_are(configurations):
    text = '\n{"é":\t"\\u00e9\\/", "n": [1.10, 12345678901234567890, 1e5, -0, 1E-7], "🦊": null }\r\n \r\n'.encode()
    created = json.loads(configurations.raw("create", "-n", "acme", "-", "-o", "json", stdin=text))
    assert configurations.raw("get", created["id"], "--document") == text
    assert configurations.path(created["id"]).read_bytes() == text
    largest = b'{"a":"' + b"x" * (1024 * 1024 - 8) + b'"}'
    configurations.raw("update", created["id"], "-", stdin=largest)
    assert configurations.raw("get", created["id"], "--document") == largest


def test_files_and_pipes(configurations, folder):
    path = folder / "openclaw.json"
    path.write_text(DOCUMENT)
    created = configurations("create", "-n", "acme", path, "-o", "json").ok().json["id"]
    configurations("update", created, "openclaw.json", cwd=folder).ok()
    refused(configurations("update", created, folder / "absent"), 2, "INPUT_UNREADABLE", "absent does not exist")
    refused(configurations("update", created, folder), 2, "INPUT_UNREADABLE", "is a folder")
    path.write_bytes(b" " * (1024 * 1024 + 1))
    refused(configurations("update", created, path), 2, "DOCUMENT_TOO_LARGE", "1048576 bytes")
    assert configurations.row(created)["generation"] == 2


@pytest.mark.parametrize(
    "document, code, words",
    [
        ("", "DOCUMENT_SYNTAX", ["line 1, column 1"]),
        ('{"a": [1,\n 2,]}', "DOCUMENT_SYNTAX", ['"/a', "line 2, column 4"]),
        ("[]", "DOCUMENT_NOT_AN_OBJECT", []),
        ('{"a": {"b": 1, "b": 2}}', "DOCUMENT_DUPLICATE_MEMBER", ['"/a/b"']),
        ('{"a": "\\u0000"}', "DOCUMENT_ZERO_CHARACTER", ['"/a"']),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "DOCUMENT_TOO_DEEP", ["64"]),
        ('{"a": 1e999999}', "DOCUMENT_NUMBER_RANGE", ['"/a"']),
        ('{"a": {"apiKey": "hunter2"}}', "DOCUMENT_CREDENTIAL", ['"/a/apiKey"']),
        ('{"a": "https://u:hunter2@host/"}', "DOCUMENT_CREDENTIAL", ['"/a"']),
        (b"\xff".decode("utf-8", "surrogateescape"), "DOCUMENT_SYNTAX", []),
        ('{"a": "' + b"\xff".decode("utf-8", "surrogateescape") + '"}', "DOCUMENT_ENCODING", ['"/a"']),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_documents_that_are_refused(configurations, bootstrapped, document, code, words):
    made = configurations.made()
    for result in (configurations.create(document), configurations.update(made, document)):
        line = refused(result, 2, code, *words)
        assert "hunter2" not in line
    assert configurations.count() == 1 and configurations.row(made)["generation"] == 1
    assert configurations.path(made).read_text() == DOCUMENT
    assert len(events(bootstrapped, "openclaw.configurations.create")) == 1
    assert events(bootstrapped, "openclaw.configurations.update") == []


NUMBERS = [
    *("1.10", "12345678901234567890", "1e5", "-0", "0e999999", "1e131071", "1e131072", "0.001e131074", "10e131071"),
    *("1e-16383", "1e-16384", "1.0e-16383", "0e-16384", "0.0e1073741822", "0e1073741823", "0e99999999999"),
    *("1" * 131072, "1" * 131073, "0." + "0" * 16382 + "1", "0." + "0" * 16383 + "1", "1." + "0" * 16384),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:20] + f"_{len(number)}")
def test_numbers_that_the_database_takes(configurations, bootstrapped, number):
    """What is refused here is exactly what PostgreSQL's jsonb refuses, and what is taken it keeps exactly."""
    document = f'{{"a": {number}}}'
    kept = bootstrapped.connect()
    with kept.cursor() as cursor:
        try:
            cursor.execute("select (%s::jsonb ->> 'a')::numeric = %s::numeric", (document, number))
            fits = cursor.fetchone()[0]
        except Exception:  # pylint: disable=broad-except
            fits = False
    result = configurations.create(document)
    if fits:
        assert configurations("get", result.ok().json["id"], "--document").ok().out == document
    else:
        refused(result, 2, "DOCUMENT_NUMBER_RANGE", '"/a"')


def test_bindings(configurations, bootstrapped):
    one = configurations.store.secret(configurations.namespace, name="one")
    two = configurations.store.secret(configurations.namespace, name="two=2")
    made = configurations.create("{}", "--bind", f"OPENAI={one}", "--bind", "my.other-Key_1=two=2").ok().json["id"]
    assert configurations.get(made)["secretBindings"] == {"OPENAI": one, "my.other-Key_1": two}
    source = {"kind": "secret", "namespaceId": configurations.namespace, "id": one}
    assert configurations.row(made)["secret_bindings"][0] == {"name": "OPENAI", "source": source}
    changed = configurations("update", made, "--bind", f"A={one}", "--bind", f"OPENAI={two}", "-o", "json").ok().json
    assert changed["generation"] == 2 and changed["id"] == made
    assert configurations.get(made)["secretBindings"] == {"A": one, "OPENAI": two, "my.other-Key_1": two}
    assert configurations("get", made, "--document").ok().out == "{}"
    configurations.update(made, '{"b":1}', "--unbind", "A", "--unbind", "my.other-Key_1").ok()
    assert configurations.get(made)["secretBindings"] == {"OPENAI": two}
    refused(configurations("update", made, "--unbind", "A"), 3, "BINDING_NOT_FOUND", '"A"')
    refused(configurations("update", made, "--bind", "B=three"), 3, "SECRET_NOT_FOUND", '"three"')
    elsewhere = configurations.store.secret(bootstrapped.namespace("default")["id"], name="there")
    for text in ("there", elsewhere):
        refused(configurations("update", made, "--bind", f"B={text}"), 3, "SECRET_NOT_FOUND", text)
    for wrong in ("B", "=one", "two words=one", "-B=one", ".B=one", "Ä=one", "x" * 201 + "=one"):
        refused(configurations("update", made, f"--bind={wrong}"), 2, "BINDING_INVALID", "NAME=SECRET")
    many = [f"--bind=N{number}=one" for number in range(100)]
    refused(configurations("update", made, *many), 2, "BINDING_INVALID", "at most 100", "101")
    assert configurations.row(made)["generation"] == 3
    refused(configurations("update", made), 2, "USAGE", "--bind")


def test_a_secret_that_goes_meanwhile(configurations, bootstrapped):
    """No foreign key holds what is bound: the row is held instead, by whoever is first."""
    made = configurations.made()
    secret = configurations.store.secret(configurations.namespace, name="one")
    keeper = bootstrapped.connect("postgres", autocommit=False)
    keeper.cursor().execute("delete from occ.secrets where id = %s", (secret,))
    update = in_background(configurations, "update", made, "--bind", "A=one")
    waiting(bootstrapped, 1)
    keeper.commit()
    refused(update(), 3, "SECRET_NOT_FOUND", '"one"')
    assert configurations.row(made)["generation"] == 1


def test_the_generation_that_was_looked_at(configurations):
    made = configurations.made()
    configurations.update(made, "{}", "--generation", "1").ok()
    refused(
        configurations.update(made, '{"late": 1}', "--generation", "1"),
        4,
        "CONFIGURATION_GENERATION_MOVED",
        "at generation 2",
        "not at 1",
    )
    assert configurations("get", made, "--document").ok().out == "{}"


def test_one_that_agents_use(configurations, bootstrapped):
    made = configurations.made()
    agents = [
        configurations.store.agent(configurations.namespace, configuration_id=made, name=f"agent-{number}")
        for number in range(5)
    ]
    assert configurations.get(made)["agents"] == 5
    line = refused(configurations("delete", made), 4, "CONFIGURATION_IN_USE", "5 Agents", f"agent-0 ({agents[0]})")
    assert "agent-4" not in line and "…" in line
    assert configurations.path(made).exists() and events(bootstrapped, "openclaw.configurations.delete") == []
    configurations.update(made).ok()


def test_a_namespace_that_is_not_open(configurations, bootstrapped):
    made = configurations.made()
    bootstrapped.execute("update occ.namespaces set status = 'failed' where name = 'acme'")
    refused(configurations.create(), 4, "NAMESPACE_NOT_OPEN", "acme", "failed")
    assert configurations.count() == 1 and len(configurations.files()) == 1
    configurations.update(made).ok()
    configurations("delete", made).ok()  # what is in the way of its deletion
    bootstrapped.execute("update occ.namespaces set status = 'deleting' where name = 'acme'")
    refused(configurations.create(), 4, "NAMESPACE_NOT_OPEN", "acme", "deleting")
    assert configurations.files() == []


def test_where_it_belongs(configurations, occctl):
    refused(configurations("create", "-", stdin="{}"), 2, "USAGE", "--namespace")
    refused(configurations("create", "-n", "nowhere", "-", stdin="{}"), 3, "NAMESPACE_NOT_FOUND", "nowhere")
    made = configurations.made()
    refused(occctl("namespace", "delete", "acme"), 4, "NAMESPACE_NOT_EMPTY", "1 Configuration")
    configurations("delete", made).ok()
    occctl("namespace", "delete", "acme").ok()


def test_permissions(configurations, bootstrapped, folder):
    made = configurations.made()
    secret = configurations.store.secret(configurations.namespace, name="one")
    nobody = Operator(bootstrapped, folder)
    for result in (
        configurations.create(env=nobody.env),
        configurations("get", made, env=nobody.env),
        configurations("get", made, "--document", env=nobody.env),
        configurations.update(made, env=nobody.env),
        configurations("delete", made, env=nobody.env),
    ):
        refused(result, 1, "AUTHORIZATION_DENIED", "configuration:")
    assert configurations("list", "-o", "json", env=nobody.env).ok().json == []
    denied = bootstrapped.query("select * from occ.audit_events where outcome = 'denied' order by occurred_at")
    actions = [event["action"].removeprefix("openclaw.configurations.") for event in denied]
    assert actions == ["create", "read", "read", "update", "delete"]
    assert denied[0]["resource_kind"] == "namespace" and denied[4]["resource_id"] == made

    maker = Operator(
        bootstrapped, folder, "configuration:create", "configuration:update", namespace_id=configurations.namespace
    )
    own = configurations.create(env=maker.env).ok().json["id"]
    configurations.update(own, env=maker.env).ok()
    refused(configurations("get", own, env=maker.env), 1, "AUTHORIZATION_DENIED", "configuration:read", own)
    bound = configurations("update", own, "--bind", "A=one", env=maker.env)
    refused(bound, 1, "AUTHORIZATION_DENIED", "secret:read", secret)

    reader = Operator(bootstrapped, folder, "configuration:read", resource=("configuration", made))
    configurations("get", made, "--document", env=reader.env).ok()
    refused(configurations("get", own, env=reader.env), 1, "AUTHORIZATION_DENIED", own)
    assert [row["id"] for row in configurations("list", "-o", "json", env=reader.env).ok().json] == [made]


def test_two_updates_at_once(configurations, bootstrapped):
    """They follow each other: generations 2 and 3, and the text is the later's."""
    made = configurations.made()
    keeper = bootstrapped.connect("postgres", autocommit=False)
    keeper.cursor().execute("select from occ.configurations where id = %s for update", (made,))
    updates = [in_background(configurations.update, made, f'{{"writer": {number}}}') for number in range(2)]
    waiting(bootstrapped, 2)
    keeper.rollback()
    generations = {}
    for number, update in enumerate(updates):
        generations[update().ok().json["generation"]] = number
    assert sorted(generations) == [2, 3]
    assert configurations("get", made, "--document").ok().out == f'{{"writer": {generations[3]}}}'
    assert configurations.row(made)["generation"] == 3


def test_a_reader_waits_for_a_write(configurations, bootstrapped):
    """A text whose write is not committed is not shown."""
    made = configurations.made()
    keeper = bootstrapped.connect("postgres", autocommit=False)
    keeper.cursor().execute("update occ.configurations set generation = 2 where id = %s", (made,))
    configurations.path(made).write_text('{"uncommitted": 1}')
    read = in_background(configurations, "get", made, "--document")
    waiting(bootstrapped, 1)
    configurations.path(made).write_text(DOCUMENT)
    keeper.rollback()
    assert read().ok().out == DOCUMENT


def test_a_deletion_waits_for_a_new_agent(configurations, bootstrapped):
    made = configurations.made()
    writer = Store(bootstrapped)
    writer.run("begin")
    agent, principal = new("agt_"), new()
    writer.insert(
        "agents",
        id=agent,
        namespace_id=configurations.namespace,
        name="new",
        execution_mode="embedded",
        service_principal_id=principal,
        configuration_id=made,
    )
    deletion = in_background(configurations, "delete", made)
    waiting(bootstrapped, 1)
    writer.insert(
        "iam_identities",
        id=principal,
        kind="service_principal",
        agent_id=agent,
        namespace_id=configurations.namespace,
    )
    writer.run("commit")
    refused(deletion(), 4, "CONFIGURATION_IN_USE", "1 Agent", agent)
    assert configurations.path(made).read_text() == DOCUMENT


def test_the_root(configurations, folder):
    absent = {"OCC_DEVELOPMENT_CONFIGURATION_ROOT": None}
    refused(configurations.create(env=absent), 78, "CONFIGURATION_ROOT_REQUIRED", "OCC_DEVELOPMENT_CONFIGURATION_ROOT")
    wrong = {"OCC_DEVELOPMENT_CONFIGURATION_ROOT": folder / "absent"}
    refused(configurations.create(env=wrong), 69, "CONFIGURATION_ROOT_UNUSABLE", "absent does not exist")
    assert configurations.count() == 0
    made = configurations.made()
    refused(configurations("get", made, "--document", env=wrong), 69, "CONFIGURATION_ROOT_UNUSABLE", "absent")
    configurations("get", made, env=absent).ok()  # the row needs no Driver
    flag = f"--development-configuration-root={configurations.root}"
    assert configurations("get", made, "--document", flag, env=wrong).ok().out == DOCUMENT


def test_a_driver_that_fails_changes_nothing(configurations, bootstrapped, folder):
    made = configurations.made()
    place = configurations.root / configurations.namespace
    place.rename(folder / "aside")
    place.symlink_to(folder / "aside")
    for result in (configurations.create(), configurations.update(made), configurations("delete", made)):
        refused(result, 4, "CONFIGURATION_PATH_REFUSED", str(place), "is a link")
    place.unlink()
    (folder / "aside").rename(place)
    assert configurations.count() == 1 and configurations.row(made)["generation"] == 1
    assert len(events(bootstrapped, "openclaw.configurations.create")) == 1
    configurations.path(made).unlink()
    refused(configurations("get", made, "--document"), 3, "CONFIGURATION_DOCUMENT_MISSING", made)
    assert configurations.update(made).ok().json["generation"] == 2  # a text that is lost can be given again
    configurations.path(made).unlink()
    configurations("delete", made).ok()
    assert list(configurations.root.iterdir()) == []


@pytest.mark.parametrize("operation", ["store", "remove"])
def test_an_interrupted_write_is_undone(configurations, scripted, bootstrapped, folder, operation):
    """Ctrl-C comes when the Driver has done its part: the text of the generation is back where it was."""
    scripted.select(drivers=("configuration",))
    made = configurations.create('{"a": 1}', env=scripted.env).ok().json["id"]
    (folder / "other.json").write_text('{"a": 2}')
    scripted.on(f"configuration.{operation}", "effect + gate never")
    words = ("update", made, folder / "other.json") if operation == "store" else ("delete", made)
    process = start(bootstrapped, "configuration", *words, "--config-path", scripted.env["OCC_CONFIG_PATH"])
    scripted.wait_at("never")
    assert scripted.made("configuration") != {made: b'{"a": 1}'}
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert "[INTERRUPTED]" in process.stderr.read()
    assert scripted.made("configuration") == {made: b'{"a": 1}'} and configurations.row(made)["generation"] == 1


def test_an_installed_driver(configurations, scripted, bootstrapped):
    """What it is not ready for yet is unavailable, what it refuses is a conflict; either changes nothing."""
    scripted.select(drivers=("configuration",))
    made = configurations.create('{"a": 1.10}', env=scripted.env).ok().json["id"]
    assert configurations("get", made, "--document", env=scripted.env).ok().out == '{"a": 1.10}'
    assert list(configurations.root.iterdir()) == []
    for outcome, status in (("pending NAMESPACE_INCOMPLETE", 69), ("retryable BACKEND_AWAY", 69)):
        scripted.on("configuration.store", f"{outcome} x2")
        refused(configurations.create(env=scripted.env), status, outcome.split()[1])
        refused(configurations.update(made, env=scripted.env), status, outcome.split()[1])
    # One that fails after it has done its part leaves nothing of that either.
    scripted.on("configuration.store", "effect + retryable BACKEND_AWAY x2")
    scripted.on("configuration.remove", "effect + retryable BACKEND_AWAY", subject=made)
    for result in (
        configurations.create(env=scripted.env),
        configurations.update(made, '{"other": 1}', env=scripted.env),
        configurations("delete", made, env=scripted.env),
    ):
        refused(result, 69, "BACKEND_AWAY")
        shown = configurations("get", made, "--document", env=scripted.env).ok()
        assert (shown.out, shown.err) == ('{"a": 1.10}', "")
        assert scripted.made("configuration") == {made: b'{"a": 1.10}'}
    scripted.off()
    scripted.on("configuration.store", "permanent NAMESPACE_NOT_READY")
    refused(configurations.create(env=scripted.env), 4, "NAMESPACE_NOT_READY")
    scripted.on("configuration.remove", "permanent OWNERSHIP_CONFLICT")
    refused(configurations("delete", made, env=scripted.env), 4, "OWNERSHIP_CONFLICT")
    assert configurations.count() == 1 and configurations.row(made)["generation"] == 1
    assert events(bootstrapped, "openclaw.configurations.update") == []
    scripted.off()
    assert configurations.update(made, '{"b": 2}', env=scripted.env).ok().json["generation"] == 2
    assert configurations("get", made, "--document", env=scripted.env).ok().out == '{"b": 2}'
    configurations("delete", made, env=scripted.env).ok()
    assert configurations.count() == 0
