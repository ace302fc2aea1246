# SPDX-License-Identifier: MIT
"""What a worker refuses to start with: one precise message and the exit status, for each."""

import os
import socket
import time

import pytest
from support.fake_engine import Answer
from support.program import run
from support.waiting import free_port

REMOVED = None


@pytest.fixture
def good(bootstrapped, fake_engine):
    """The environment of a worker that would start."""
    return {"NODE_ENV": "development", "DOCKER_HOST": fake_engine.host, **bootstrapped.environment()}


def refused(env, *flags, status, code, says=(), count=1, deadline=20):
    """Both ways to start tell the same: --check on stdout and the worker on stderr."""
    begun = time.monotonic()
    checked = run("occ-worker", "--check", "-o", "json", *flags, env=env, deadline=deadline)
    assert checked.status == status, checked
    problems = checked.json["data"]["problems"]
    assert checked.json["data"]["ok"] is False and checked.json["data"]["exitStatus"] == status
    assert [problem["code"] for problem in problems] == [code] * count, problems
    ended = run("occ-worker", *flags, env=env, deadline=deadline)
    assert ended.status == status, ended
    errors = [record for record in ended.records if record["event"] == "worker.startup-error"]
    assert [record["code"] for record in errors] == [code] * count, ended.err
    for text in [says] if isinstance(says, str) else says:
        assert any(text in problem["message"] for problem in problems), (text, problems)
        assert any(text in record["message"] for record in errors), (text, errors)
    assert not [record for record in ended.records if record["event"] == "worker.started"]
    assert time.monotonic() - begun < deadline
    return problems


@pytest.mark.parametrize("mode", [REMOVED, "", "test", "Production", "development "])
def test_mode(good, mode):
    result = run("occ-worker", env={**good, "NODE_ENV": mode})
    assert result.status == 78, result
    assert "Worker mode is rejected" in result.err


@pytest.mark.parametrize(
    "url", [REMOVED, "", "mysql://u@127.0.0.1/d", "127.0.0.1:5432/d", "postgresql//x", "postgresql://h:port/d"]
)
def test_database_url(good, url):
    refused({**good, "OCC_DATABASE_URL": url}, status=78, code="DATABASE_CONFIGURATION_INVALID")


def test_missing_database_url_is_said_in_the_documented_words(good):
    result = run("occ-worker", env={**good, "OCC_DATABASE_URL": REMOVED})
    assert "A valid PostgreSQL connection URL must be explicitly configured." in result.err


# K68
def test_wrong_password(good, bootstrapped):
    url = bootstrapped.url(password="wrong-password-1")
    problems = refused({**good, "OCC_DATABASE_URL": url}, status=78, code="DATABASE_AUTHENTICATION_FAILED")
    assert "wrong-password-1" not in str(problems)


def test_unknown_database(good, bootstrapped):
    url = bootstrapped.app_url.replace(bootstrapped.name, "occ_nowhere")
    refused({**good, "OCC_DATABASE_URL": url}, status=78, code="DATABASE_NOT_FOUND", says="occ_nowhere")


@pytest.mark.parametrize(
    "role, says", [("postgres", "is a superuser"), ("occ_migrator", "owns the schema occ")]
)
def test_administrator_rights(good, bootstrapped, role, says):
    refused(
        {**good, "OCC_DATABASE_URL": bootstrapped.url(role)}, status=78, code="DATABASE_ROLE_REFUSED", says=says
    )


@pytest.mark.parametrize(
    "member_of, says", [("occ_migrator", "is a member of"), ("postgres", "is a member of the superuser postgres")]
)
def test_membership(good, bootstrapped, member_of, says):
    role = f"occ_mixed_{os.getpid()}_{member_of}"
    admin = bootstrapped.cluster.connect()
    with admin.cursor() as cursor:
        cursor.execute(f"create role {role} login noinherit password 'mixed-password' in role occ_app, {member_of}")
        cursor.execute(f"grant connect on database {bootstrapped.name} to {role}")
        try:
            url = bootstrapped.app_url.split("@", 1)[1]
            refused(
                {**good, "OCC_DATABASE_URL": f"postgresql://{role}:mixed-password@{url}"},
                status=78,
                code="DATABASE_ROLE_REFUSED",
                says=says,
            )
        finally:
            cursor.execute(f"revoke connect on database {bootstrapped.name} from {role}")
            cursor.execute(f"drop role {role}")
    admin.close()


def test_the_role_that_logged_in_counts_as_well(good, bootstrapped):
    """SET ROLE by the URL hides nothing: the session can go back."""
    url = bootstrapped.url("postgres") + "?options=-c%20role%3Docc_app"
    refused({**good, "OCC_DATABASE_URL": url}, status=78, code="DATABASE_ROLE_REFUSED", says="postgres")


# K42: waited for within the start timeout, and not at all by --check.
def test_unreachable_database_is_waited_for(good, bootstrapped):
    env = {**good, "OCC_DATABASE_URL": bootstrapped.url(port=free_port())}
    begun = time.monotonic()
    checked = run("occ-worker", "--check", "--start-timeout-ms=60000", env=env)
    assert checked.status == 69 and time.monotonic() - begun < 20
    assert "PERSISTENCE_UNAVAILABLE" in checked.out
    begun = time.monotonic()
    ended = run("occ-worker", "--start-timeout-ms=1500", env=env)
    assert ended.status == 69 and time.monotonic() - begun >= 1.5
    assert ended.records[-1]["code"] == "PERSISTENCE_UNAVAILABLE"
    assert ended.records[-1]["event"] == "worker.startup-error"
    # The wait is told once, not with every try.
    assert len(ended.records) == 2


# K43
def test_a_name_that_does_not_resolve(good, bootstrapped):
    url = bootstrapped.url(host="database.invalid")
    checked = run("occ-worker", "--check", "-o", "json", env={**good, "OCC_DATABASE_URL": url})
    assert checked.status == 69, checked
    (problem,) = checked.json["data"]["problems"]
    assert problem["code"] == "PERSISTENCE_UNAVAILABLE" and "database.invalid" in problem["message"]


def test_silent_database_ends_with_the_start_timeout(good, bootstrapped):
    listener = socket.create_server(("127.0.0.1", 0))
    env = {**good, "OCC_DATABASE_URL": bootstrapped.url(port=listener.getsockname()[1])}
    begun = time.monotonic()
    ended = run("occ-worker", "--start-timeout-ms=1500", env=env)
    listener.close()
    assert ended.status == 69 and 1.4 < time.monotonic() - begun < 10
    assert ended.records[-1]["code"] == "PERSISTENCE_UNAVAILABLE"


def test_database_that_comes_up_in_time(good, worker, own_cluster, bootstrapped, notify):
    """The private server of another test would do as well: only its address counts here."""
    own_cluster.stop()
    url = own_cluster.url("postgres", "occ_app")
    worker_ = worker(env={**good, "OCC_DATABASE_URL": url, "NOTIFY_SOCKET": notify.path})
    worker_.wait_for("worker.error", code="PERSISTENCE_UNAVAILABLE")
    # K63
    assert notify.seen("EXTEND_TIMEOUT_USEC")
    own_cluster.start()
    # It has come, and is now judged: it holds nothing of ours.
    assert worker_.wait(20) == 78
    assert worker_.events("worker.startup-error", code="SCHEMA_EMPTY")


# K122
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "010", "99999999999", "", "ten", "1e3", " 5"])
@pytest.mark.parametrize("variable", ["OCC_WORKER_POLL_INTERVAL_MS", "OCC_WORKER_RECONCILERS"])
def test_numbers(good, variable, value):
    result = run("occ-worker", "--check", env={**good, variable: value})
    assert result.status == 78
    assert variable in result.out


@pytest.mark.parametrize("flag", ["--reconcilers=65", "--poll-interval-ms=604800001", "--no-such-flag", "operand"])
def test_command_line(good, flag):
    result = run("occ-worker", flag, env=good)
    assert result.status == 2
    (error,) = result.records
    assert error["event"] == "worker.startup-error"
    assert flag.startswith("--") == (flag.partition("=")[0] in error["message"])


@pytest.mark.parametrize("what", ["relative", "missing", "folder", "writable"])
def test_configuration_path(good, folder, what):
    path = folder / "occ.yaml"
    if what == "relative":
        path = "occ.yaml"
    elif what == "folder":
        path.mkdir()
    elif what == "writable":
        path.write_text("drivers: {}\n")
        path.chmod(0o666)
    result = run("occ-worker", "--check", env={**good, "OCC_CONFIG_PATH": path})
    assert result.status == 78
    assert str(path) in result.out or "OCC_CONFIG_PATH" in result.out


def test_production_needs_a_configuration_path(good):
    result = run("occ-worker", "--check", env={**good, "NODE_ENV": "production"})
    assert result.status == 78
    assert "OCC_CONFIG_PATH" in result.out


@pytest.mark.parametrize(
    "text", ["", "- 1\n", "a: [1\n", "a:\n\t b: 1\n", "logging: {level: info}\nlogging: {level: info}\n", "x: &a 1\ny: *a\n"]
)
def test_startup_file_that_is_none(good, folder, text):
    path = folder / "occ.yaml"
    path.write_text(text)
    result = run("occ-worker", "--check", env={**good, "OCC_CONFIG_PATH": path})
    assert result.status == 78, result
    assert "occ.yaml" in result.out


def test_ten_findings_at_once(good, folder):
    path = folder / "occ.yaml"
    path.write_text("".join(f"unknown{number}: 1\n" for number in range(10)))
    checked = run("occ-worker", "--check", "-o", "json", env={**good, "OCC_CONFIG_PATH": path})
    assert checked.status == 78
    messages = [problem["message"] for problem in checked.json["data"]["problems"]]
    for number in range(10):
        assert any(f":{number + 1}:1" in text and f"unknown{number}" in text for text in messages), messages


def test_unmigrated_schema(good, empty_database):
    refused({**good, **empty_database.environment()}, status=78, code="SCHEMA_EMPTY", says="occ-migrate")


def test_half_migrated_schema(good, bootstrapped):
    bootstrapped.execute(
        "delete from occ.schema_migrations where number = (select max(number) from occ.schema_migrations)"
    )
    refused(good, status=78, code="SCHEMA_BEHIND")


def test_newer_schema(good, bootstrapped):
    bootstrapped.execute(
        "insert into occ.schema_migrations select (jsonb_populate_record(m, jsonb_build_object('number', m.number + 1,"
        " 'name', '9999_later'))).* from occ.schema_migrations m order by m.number desc limit 1"
    )
    refused(good, status=78, code="SCHEMA_UNSUPPORTED")


def test_no_installation(good, database):
    refused(
        {**good, **database.environment()},
        status=78,
        code="INSTALLATION_NOT_BOOTSTRAPPED",
        says="occ-bootstrap",
    )


def test_no_administrator_binding(good, bootstrapped):
    bootstrapped.execute("delete from occ.iam_access_bindings")
    refused(good, status=78, code="IAM_ADMINISTRATOR_BINDING_MISSING")


@pytest.mark.parametrize("what", ["missing", "refused", "file", "nonsense"])
def test_docker_socket(good, fake_engine, folder, what):
    if what == "missing":
        env = {**good, "DOCKER_HOST": f"unix://{folder}/nowhere.sock"}
    elif what == "file":
        (folder / "plain").write_text("")
        env = {**good, "DOCKER_HOST": f"unix://{folder}/plain"}
    else:
        env = good
        if what == "refused":
            fake_engine.stop()
        else:
            fake_engine.on(None, ".*", Answer(raw=b"nonsense\r\n\r\n"))
    # Something that may come is unavailable; something else in its place is a wrong setting.
    status = 78 if what in ("file", "nonsense") else 69
    checked = run("occ-worker", "--check", "-o", "json", env=env)
    assert checked.status == status, checked
    (problem,) = checked.json["data"]["problems"]
    assert problem["code"] in ("DOCKER_ENGINE_UNAVAILABLE", "DOCKER_ANSWER_INVALID", "HTTP_ANSWER_INVALID")
    assert env["DOCKER_HOST"].removeprefix("unix://") in problem["message"]
    assert run("occ-worker", env=env).status == status


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:2375", "unix://relative.sock", "", "http://x"])
def test_docker_host(good, host):
    result = run("occ-worker", "--check", env={**good, "DOCKER_HOST": host})
    assert result.status == 78 and "DOCKER_HOST" in result.out


@pytest.mark.parametrize(
    "metrics",
    [
        {"OCC_METRICS_HOST": "127.0.0.1"},
        {"OCC_METRICS_PORT": "9464"},
        {"OCC_METRICS_ENABLED": "true", "OCC_METRICS_HOST": "192.0.2.1", "OCC_METRICS_PORT": "9464"},
        {"OCC_METRICS_ENABLED": "yes"},
    ],
)
def test_metrics_that_contradict_each_other(good, metrics):
    result = run("occ-worker", "--check", env={**good, **metrics})
    assert result.status == 78 and "OCC_METRICS_" in result.out
