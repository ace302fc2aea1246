# SPDX-License-Identifier: MIT
"""occctl secret: values go to the Secret Driver and nowhere else; the database keeps where they are."""

import json
import os
import pty
import signal
import subprocess
import threading
import uuid

import pytest

from support.operator import Operator, events, finish, refused, start
from support.waiting import poll

VALUE = "sk-live-9c1f77e2b4"
PLACE = ("--backend-namespace", "tenant-a", "--backend-name", "model-key", "--backend-key", "token")


@pytest.fixture
def acme(occctl, bootstrapped):
    """A Namespace that is ready; its id."""
    document = occctl("namespace", "create", "acme", "-o", "json").ok().json
    finish(bootstrapped, document["work"]["id"])
    return document["id"]


@pytest.fixture
def keeper(occctl, scripted, acme):
    """occctl with the scripted Secret Driver, in the Namespace acme."""
    scripted.select(drivers=("secret",))

    def call(*arguments, env=None, **more):
        return occctl(*arguments, env={**scripted.env, "OCC_NAMESPACE": "acme", **(env or {})}, **more)

    return call


@pytest.fixture
def registrar(occctl, acme, folder):
    """The same with a Driver that is selected and never needed."""
    path = folder / "selects.yaml"
    path.write_text("drivers: {secret: {id: secret-kubernetes, configuration: {authentication: {mode: inCluster}}}}\n")

    def call(*arguments, env=None, **more):
        return occctl(*arguments, env={"OCC_CONFIG_PATH": path, "OCC_NAMESPACE": "acme", **(env or {})}, **more)

    return call


def create(call, name="model-key", value=VALUE, *arguments, **more):
    return call("secret", "create", name, "--value-file", "-", "-o", "json", *arguments, stdin=value, **more)


def dump(database):
    """Every row of every table as text."""
    tables = database.query("select table_name as name from information_schema.tables where table_schema = 'occ'")
    rows = [database.query(f'select to_jsonb(t)::text as row from occ."{table["name"]}" as t') for table in tables]
    return "\n".join(row["row"] for part in rows for row in part)


# ---- Without a value: registered places


def test_a_registered_secret(registrar, bootstrapped, acme):
    made = registrar("secret", "create", "model-key", *PLACE, "--backend-uid", "u-1", "-o", "json").ok().json
    assert made["id"].startswith("sec_") and made["namespaceId"] == acme and made["registered"] is True
    assert made["driverId"] == "secret-kubernetes"
    assert made["backend"] == {"namespaceName": "tenant-a", "name": "model-key", "key": "token", "uid": "u-1"}
    assert registrar("secret", "get", "model-key", "-o", "json").ok().json["id"] == made["id"]
    assert registrar("secret", "get", made["id"], "-o", "json", env={"OCC_NAMESPACE": None}).ok().json["name"] == "model-key"
    (row,) = registrar("secret", "list", "-o", "json").ok().json
    assert row["id"] == made["id"]
    assert "model-key" in registrar("secret", "list").ok().out and "model-key" in registrar("secret", "get", made["id"]).ok().out
    (event,) = events(bootstrapped, "openclaw.secrets.create")
    assert event["resource_kind"] == "secret" and event["resource_id"] == made["id"] and event["namespace_id"] == acme
    assert event["details"]["registered"] is True and event["details"]["decision"]["driver"] == "native-iam"
    moved = registrar("secret", "update", "model-key", *PLACE[:-1], "other", "-o", "json").ok().json
    assert moved["backend"] == {"namespaceName": "tenant-a", "name": "model-key", "key": "other", "uid": None}
    assert registrar("secret", "delete", "model-key").ok().out == ""
    refused(registrar("secret", "get", "model-key"), 3, "SECRET_NOT_FOUND", "model-key", "acme")
    assert len(events(bootstrapped, "openclaw.secrets.update")) == len(events(bootstrapped, "openclaw.secrets.delete")) == 1


def test_what_is_refused_of_registering(registrar, bootstrapped, acme, folder):
    made = registrar("secret", "create", "one", *PLACE, "-o", "json").ok().json
    refused(registrar("secret", "create", "one", *PLACE), 4, "SECRET_NAME_TAKEN", made["id"])
    refused(registrar("secret", "create", "two", *PLACE), 4, "SECRET_PLACE_TAKEN", made["id"])
    refused(registrar("secret", "create", "two", *PLACE[:4]), 2, "USAGE", "--backend-key")
    refused(registrar("secret", "create", "two"), 2, "USAGE", "--value-file")
    refused(registrar("secret", "create", "two", "--value-file", "-", "--backend-key", "k", stdin="x"), 2, "USAGE")
    refused(registrar("secret", "create", "two", *PLACE[:-1], "k" * 254), 2, "SECRET_PLACE_INVALID", "key")
    refused(registrar("secret", "create", " two", *PLACE), 2, "NAME_INVALID")
    refused(registrar("secret", "create", "two", *PLACE, env={"OCC_NAMESPACE": None}), 2, "NAMESPACE_REQUIRED")
    refused(registrar("secret", "create", "two", *PLACE, env={"OCC_NAMESPACE": "nowhere"}), 3, "NAMESPACE_NOT_FOUND")
    refused(registrar("secret", "get", "one", env={"OCC_NAMESPACE": None}), 2, "NAMESPACE_REQUIRED")
    refused(registrar("secret", "get", f"sec_{uuid.uuid4()}", env={"OCC_NAMESPACE": None}), 3, "SECRET_NOT_FOUND")
    bootstrapped.execute("update occ.namespaces set status = 'deleting' where name = 'default'")
    refused(registrar("secret", "create", "two", *PLACE, "-n", "default"), 4, "NAMESPACE_NOT_OPEN", "being deleted")
    # A place may be another tenant's: who has only this Namespace does not get to name one.
    operator = Operator(bootstrapped, folder, "secret:create", "secret:update", namespace_id=acme)
    refused(registrar("secret", "create", "two", *PLACE[:-1], "b", env=operator.env), 1, "AUTHORIZATION_DENIED", "installation:administer")
    refused(registrar("secret", "update", "one", *PLACE[:-1], "b", env=operator.env), 1, "AUTHORIZATION_DENIED")
    assert bootstrapped.one("select count(*) from occ.secrets") == 1


def test_no_driver_is_selected(occctl, acme, bootstrapped):
    line = refused(create(occctl, "model-key", VALUE, "-n", "acme"), 78, "SECRET_DRIVER_UNAVAILABLE", "drivers.secret")
    assert VALUE not in line and bootstrapped.one("select count(*) from occ.secrets") == 0


def test_permissions(registrar, bootstrapped, acme, folder):
    """Each command asks for its own, of exactly this Secret."""
    made = registrar("secret", "create", "one", *PLACE, "-o", "json").ok().json
    registrar("secret", "create", "two", *PLACE[:-1], "two").ok()
    operator = Operator(bootstrapped, folder)
    for command in (("get", "one"), ("delete", "one"), ("update", "one", *PLACE), ("create", "three", *PLACE)):
        refused(registrar("secret", *command, env=operator.env), 1, "AUTHORIZATION_DENIED", f"secret:{'read' if command[0] == 'get' else command[0]}")
    denials = bootstrapped.query("select action, resource_id from occ.audit_events where kind = 'authorization_denial'")
    assert sorted(row["action"].rpartition(".")[2] for row in denials) == ["create", "delete", "read", "update"]
    refused(registrar("secret", "list", env=operator.env), 1, "AUTHORIZATION_DENIED", "namespace:read")
    assert registrar("secret", "list", "-o", "json", env={**operator.env, "OCC_NAMESPACE": None}).ok().json == []
    operator.grant("secret:read", resource=("secret", made["id"]))
    rows = registrar("secret", "list", "-o", "json", env={**operator.env, "OCC_NAMESPACE": None}).ok().json
    assert [row["name"] for row in rows] == ["one"]
    assert registrar("secret", "get", "one", "-o", "json", env=operator.env).ok().json["id"] == rows[0]["id"]
    operator.grant("secret:delete", namespace_id=acme)
    registrar("secret", "delete", "one", env=operator.env).ok()


def test_what_refers_to_it(registrar, bootstrapped, acme):
    secret = registrar("secret", "create", "one", *PLACE, "-o", "json").ok().json["id"]
    source = json.dumps({"kind": "secret", "namespaceId": acme, "id": secret})
    account = f"sa_{uuid.uuid4()}"
    bootstrapped.execute(
        "insert into occ.service_accounts (id, namespace_id, name, credential) values (%s, %s, 'robot', %s)", account, acme, source
    )
    for number in range(4):
        bootstrapped.execute(
            "insert into occ.configurations (id, namespace_id, secret_bindings) values (%s, %s, %s)",
            f"cfg_{uuid.uuid4()}",
            acme,
            f'[{{"name": "KEY", "source": {source}}}]',
        )
    refused(registrar("secret", "delete", "one"), 4, "SECRET_IN_USE", "the Configuration cfg_", "and 2 more")
    bootstrapped.execute("delete from occ.configurations")
    refused(registrar("secret", "delete", "one"), 4, "SECRET_IN_USE", 'the service account "robot"', account)
    bootstrapped.execute("delete from occ.service_accounts")
    registrar("secret", "delete", "one").ok()


# ---- Values


def test_a_value_goes_to_the_driver_and_nowhere_else(keeper, scripted, bootstrapped, acme):
    result = create(keeper).ok()
    made = result.json
    assert made["driverId"] == "secret-scripted" and made["registered"] is False
    assert scripted.made("secret") == {made["id"]: VALUE.encode()}
    again = keeper("secret", "update", "model-key", "--value-file", "-", "-o", "json", stdin="another-" + VALUE).ok()
    assert scripted.made("secret") == {made["id"]: b"another-" + VALUE.encode()}
    shown = [keeper("secret", *words, "-o", form).ok() for words in (("list",), ("get", "model-key")) for form in ("table", "json", "yaml")]
    for each in (result, again, *shown):
        assert VALUE not in each.out + each.err
    assert VALUE not in dump(bootstrapped)
    keeper("secret", "delete", "model-key").ok()
    assert scripted.made("secret") == {} and VALUE not in dump(bootstrapped)
    assert bootstrapped.one("select count(*) from occ.secrets") == 0
    (event,) = events(bootstrapped, "openclaw.secrets.delete")
    assert event["details"]["valueRemoved"] is True and event["details"]["name"] == "model-key"


@pytest.mark.parametrize("value", ["x", "ends with a line break\n", "zero \0 within", "ä\n\n", "k" * 1024 * 1024])
def test_every_byte_is_kept(keeper, scripted, value):
    result = create(keeper, "k", value).ok()
    assert list(scripted.made("secret").values()) == [value.encode()]
    assert ("--trim-newline" in result.err) == value.endswith("\n")


def test_a_line_break_is_cut_off_when_asked(keeper, scripted):
    for name, value in (("a", "one\n"), ("b", "one\r\n"), ("c", "one")):
        assert create(keeper, name, value, "--trim-newline").ok().err == ""
    assert set(scripted.made("secret").values()) == {b"one"}
    refused(create(keeper, "d", "\n", "--trim-newline"), 2, "SECRET_VALUE_INVALID")


def test_what_no_value_can_be_read_from(keeper, scripted, folder, bootstrapped):
    path = folder / "value"
    path.write_text(VALUE)
    path.chmod(0o644)
    file = ("secret", "create", "k", "--value-file")
    refused(keeper(*file, str(path)), 2, "INPUT_UNREADABLE", str(path), "others")
    path.chmod(0o600)
    keeper(*file, str(path)).ok()
    assert list(scripted.made("secret").values()) == [VALUE.encode()]
    refused(keeper(*file, str(folder / "missing")), 2, "INPUT_UNREADABLE", "missing")
    refused(keeper(*file, "-", stdin=""), 2, "SECRET_VALUE_INVALID")
    refused(keeper(*file, "-", stdin="k" * (1024 * 1024 + 1)), 2, "INPUT_TOO_LARGE", "1048576")
    refused(keeper(*file, str(folder)), 2, "INPUT_UNREADABLE", "folder")
    assert bootstrapped.one("select count(*) from occ.secrets") == 1


def test_nothing_is_typed_at_a_terminal(bootstrapped, scripted, acme):
    scripted.select(drivers=("secret",))
    ours, theirs = pty.openpty()
    try:
        process = start(
            bootstrapped, "secret", "create", "k", "-n", "acme", "--value-file", "-", "--config-path", scripted.env["OCC_CONFIG_PATH"], stdin=theirs
        )
        out, err = process.communicate(timeout=30)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 2 and "is a terminal" in err and out == ""


# ---- What the Driver does wrong


@pytest.mark.parametrize(
    "answer,status", [("pending NAMESPACE_INCOMPLETE", 69), ("retryable BACKEND_BUSY", 69), ("permanent QUOTA_EXCEEDED", 4)]
)
def test_a_driver_that_refuses(keeper, scripted, bootstrapped, answer, status):
    scripted.on("secret.store", answer)
    result = create(keeper)
    assert result.status == status and answer.split()[1] in result.err and "secret-scripted" in result.err
    # A refusal is one; what failed may have been done all the same.
    assert ("may keep the value of sec_" in result.err) == (status == 69)
    assert bootstrapped.one("select count(*) from occ.secrets") == 0 and scripted.made("secret") == {}
    assert events(bootstrapped, "openclaw.secrets.create") == []
    create(keeper).ok()
    scripted.on("secret.remove", answer)
    refused(keeper("secret", "delete", "model-key"), status, answer.split()[1])
    assert bootstrapped.one("select count(*) from occ.secrets") == 1
    keeper("secret", "delete", "model-key").ok()
    assert scripted.made("secret") == {}


def test_a_driver_that_fails_after_it_has_stored(keeper, scripted):
    """What a failed update has left with the Driver does not stay there without evidence."""
    made = create(keeper).ok().json
    scripted.on("secret.store", "effect + retryable ANSWER_LOST")
    refused(keeper("secret", "update", "model-key", "--value-file", "-", stdin="new-" + VALUE), 69, "ANSWER_LOST")
    assert scripted.made("secret") == {made["id"]: VALUE.encode()}


@pytest.mark.parametrize("step", ["kill", "effect + kill"])
def test_a_driver_that_crashes(keeper, scripted, bootstrapped, step):
    """The row goes with the transaction; what is left is a value that nothing refers to."""
    scripted.on("secret.store", step)
    assert create(keeper, check=False).status < 0
    poll(lambda: bootstrapped.one("select count(*) from pg_stat_activity where application_name = 'occctl'") == 0, what="the session's end")
    assert bootstrapped.one("select count(*) from occ.secrets") == 0
    assert create(keeper).ok().json["id"] in scripted.made("secret")
    scripted.on("secret.remove", step)
    assert keeper("secret", "delete", "model-key", check=False).status < 0
    assert bootstrapped.one("select count(*) from occ.secrets") == 1
    keeper("secret", "delete", "model-key").ok()
    assert bootstrapped.one("select count(*) from occ.secrets") == 0


@pytest.mark.parametrize("step", ["hang", "gate never"])
def test_a_driver_that_hangs_is_interrupted(bootstrapped, keeper, scripted, acme, step):
    """Ctrl-C ends it at once; nobody sees the value in the process's words meanwhile."""
    scripted.on("secret.store", step)
    process = start(
        bootstrapped,
        *("secret", "create", "k", "-n", "acme", "--value-file", "-", "--config-path", scripted.env["OCC_CONFIG_PATH"]),
        stdin=subprocess.PIPE,
    )
    process.stdin.write(VALUE)
    process.stdin.close()
    scripted.wait_for("secret.store")
    for name in ("cmdline", "environ"):
        with open(f"/proc/{process.pid}/{name}", "rb") as file:
            assert VALUE.encode() not in file.read()
    with open(f"/proc/{process.pid}/limits") as file:
        (core,) = [line.split() for line in file if line.startswith("Max core")]
        assert core[4:6] == ["0", "0"]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert VALUE not in process.stdout.read() + process.stderr.read()
    assert bootstrapped.one("select count(*) from occ.secrets") == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_update_is_undone(bootstrapped, keeper, scripted, acme, number):
    """The Driver has the new value already: it gets the former one back, as there is no evidence of the new."""
    made = create(keeper).ok().json
    scripted.on("secret.store", "effect + gate never")
    process = start(
        bootstrapped,
        *("secret", "update", "model-key", "-n", "acme", "--value-file", "-"),
        *("--config-path", scripted.env["OCC_CONFIG_PATH"]),
        stdin=subprocess.PIPE,
    )
    process.stdin.write("new-" + VALUE)
    process.stdin.close()
    scripted.wait_at("never")
    assert scripted.made("secret") == {made["id"]: b"new-" + VALUE.encode()}
    process.send_signal(number)
    assert process.wait(timeout=10) == -number
    assert "[INTERRUPTED]" in process.stderr.read()
    assert scripted.made("secret") == {made["id"]: VALUE.encode()}
    assert events(bootstrapped, "openclaw.secrets.update") == []


def test_an_update_that_is_interrupted_before_it_stores(bootstrapped, keeper, scripted, acme):
    made = create(keeper).ok().json
    scripted.on("secret.read", "gate never")
    process = start(
        bootstrapped,
        *("secret", "update", "model-key", "-n", "acme", "--value-file", "-"),
        *("--config-path", scripted.env["OCC_CONFIG_PATH"]),
        stdin=subprocess.PIPE,
    )
    process.stdin.write("new-" + VALUE)
    process.stdin.close()
    scripted.wait_at("never")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert scripted.made("secret") == {made["id"]: VALUE.encode()} and len(scripted.journal("secret.store", "begin")) == 1


def test_a_commit_that_fails_takes_the_value_back(keeper, scripted, bootstrapped):
    made = create(keeper, "old").ok().json
    bootstrapped.execute(
        "create function occ.stop_commit() returns trigger language plpgsql as"
        " $$ begin raise exception 'no' using errcode = 'check_violation'; end $$;"
        " create constraint trigger stop_commit after insert or update or delete on occ.secrets"
        " deferrable initially deferred for each row execute function occ.stop_commit()"
    )
    refused(create(keeper, "new", "new-" + VALUE), 2, "VALUE_REFUSED")
    refused(keeper("secret", "update", "old", "--value-file", "-", stdin="new-" + VALUE), 2, "VALUE_REFUSED")
    assert scripted.made("secret") == {made["id"]: VALUE.encode()}
    assert len(scripted.journal("secret.store", "end")) >= 3 and scripted.journal("secret.remove", "end")
    scripted.on("secret.remove", "permanent REMOVAL_REFUSED")
    result = create(keeper, "new", "new-" + VALUE)
    assert result.status == 2 and "keeps the new value of sec_" in result.err and "new-" not in result.err
    scripted.off()
    scripted.on("secret.read", "permanent SECRET_READ_DENIED forever")
    result = keeper("secret", "update", "old", "--value-file", "-", stdin="newer-" + VALUE)
    assert result.status == 2 and "the former value is not known" in result.err
    bootstrapped.execute("drop trigger stop_commit on occ.secrets; drop function occ.stop_commit()")
    keeper("secret", "update", "old", "--value-file", "-", stdin="newest").ok()
    assert scripted.made("secret")[made["id"]] == b"newest"


def test_another_driver_keeps_it(keeper, registrar, scripted, bootstrapped):
    made = create(keeper).ok().json
    registrar("secret", "create", "theirs", *PLACE).ok()
    refused(registrar("secret", "delete", "model-key"), 4, "SECRET_DRIVER_MISMATCH", "is kept by the Secret Driver secret-scripted")
    refused(keeper("secret", "update", "theirs", "--value-file", "-", stdin="x"), 4, "SECRET_REGISTERED")
    refused(keeper("secret", "update", "model-key", *PLACE[:-1], "b"), 4, "SECRET_NOT_REGISTERED")
    keeper("secret", "delete", "theirs").ok()
    assert scripted.journal("secret.remove") == []
    bootstrapped.execute("update occ.secrets set driver_id = 'secret-gone' where id = %s", made["id"])
    refused(keeper("secret", "update", "model-key", "--value-file", "-", stdin="x"), 4, "SECRET_DRIVER_MISMATCH", "secret-gone")
    refused(keeper("secret", "delete", "model-key"), 4, "SECRET_DRIVER_MISMATCH", "secret-gone")
    keeper("secret", "delete", "model-key", "--keep-value").ok()
    assert made["id"] in scripted.made("secret")
    (event,) = events(bootstrapped, "openclaw.secrets.delete")[1:]
    assert event["details"]["valueRemoved"] is False


def test_two_at_once(keeper, scripted, bootstrapped, occctl, acme):
    """The second waits for the first, and is then refused by its name; only one value is stored."""
    scripted.on("secret.store", "gate first")
    results = []
    thread = threading.Thread(target=lambda: results.append(create(keeper)))
    thread.start()
    scripted.wait_at("first")
    second = threading.Thread(target=lambda: results.append(create(keeper)))
    second.start()
    poll(
        lambda: bootstrapped.one("select count(*) from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'") == 1,
        what="the second to wait",
    )
    scripted.open("first")
    thread.join()
    second.join()
    assert sorted(result.status for result in results) == [0, 4]
    assert len(scripted.made("secret")) == bootstrapped.one("select count(*) from occ.secrets") == 1
