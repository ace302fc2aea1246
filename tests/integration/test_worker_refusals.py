# SPDX-License-Identifier: MIT
"""What a worker refuses to start with: one precise message and the exit status, for each."""

import os
import shutil
import socket
import time

import pytest
from support import resolver
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


def refused_with(env, *flags, status=78, code, message, **more):
    """refused(), where the words are known to the last one."""
    (problem,) = refused(env, *flags, status=status, code=code, says=message, **more)
    assert problem["message"] == message


@pytest.mark.parametrize(
    "mode, why",
    [
        (REMOVED, "set NODE_ENV or --mode to development or production"),
        ("", "must not be empty"),
        ("test", 'must be development or production, not "test"'),
        ("Production", 'must be development or production, not "Production"'),
        ("development ", 'must be development or production, not "development "'),
    ],
)
def test_mode(good, mode, why):
    refused_with(
        {**good, "NODE_ENV": mode}, code="WORKER_MODE_REJECTED", message=f"NODE_ENV: Worker mode is rejected ({why})"
    )


NEEDED = "A valid PostgreSQL connection URL must be explicitly configured."


@pytest.mark.parametrize(
    "url, why",
    [
        (REMOVED, ""),
        ("", " (must not be empty)"),
        ("mysql://u@127.0.0.1/d", " (its scheme is not postgresql: or postgres:)"),
        ("127.0.0.1:5432/d", " (its scheme is not postgresql: or postgres:)"),
        ("postgresql//x", " (its scheme is not postgresql: or postgres:)"),
    ],
)
def test_database_url(good, url, why):
    refused_with(
        {**good, "OCC_DATABASE_URL": url},
        code="DATABASE_CONFIGURATION_INVALID",
        message=f"OCC_DATABASE_URL: {NEEDED}{why}",
    )


def test_database_url_that_is_malformed(good):
    env = {**good, "OCC_DATABASE_URL": "postgresql://u:pw-3c51@h:port/d"}
    (problem,) = refused(env, status=78, code="DATABASE_CONFIGURATION_INVALID", says=f"OCC_DATABASE_URL: {NEEDED}")
    assert "3c51" not in str(problem)


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
def test_a_name_that_is_not_resolved_now_is_waited_for(good, bootstrapped, folder):
    program = resolver.away(folder, "occ-worker")
    env = {**good, "OCC_DATABASE_URL": bootstrapped.url(host="database.invalid")}
    checked = run(*program, "--check", "-o", "json", env=env)
    assert checked.status == 69, checked
    (problem,) = checked.json["data"]["problems"]
    assert (problem["code"], problem["cause"]) == ("PERSISTENCE_UNAVAILABLE", "unreachable")
    begun = time.monotonic()
    ended = run(*program, "--start-timeout-ms=1500", env=env)
    assert ended.status == 69 and time.monotonic() - begun >= 1.5


# Only what may pass is waited for.
def test_a_name_that_does_not_exist_is_not_waited_for(good, bootstrapped, folder):
    program = resolver.files_only(folder, "occ-worker")
    env = {**good, "OCC_DATABASE_URL": bootstrapped.url(host="database.invalid")}
    begun = time.monotonic()
    ended = run(*program, "--start-timeout-ms=60000", env=env)
    assert ended.status == 69 and time.monotonic() - begun < 20
    (told,) = ended.records
    assert (told["event"], told["code"], told["cause"]) == (
        "worker.startup-error", "PERSISTENCE_UNAVAILABLE", "no-such-host",
    )  # fmt: skip
    assert "database.invalid" in told["message"]
    # Beside a server that may come back it does not count.
    url = f"postgresql://occ_app@127.0.0.1:{free_port()},database.invalid/{bootstrapped.name}"
    begun = time.monotonic()
    ended = run(*program, "--start-timeout-ms=1500", env={**good, "OCC_DATABASE_URL": url})
    assert ended.status == 69 and time.monotonic() - begun >= 1.5 and "refused" in ended.records[-1]["message"]


def test_a_service_that_is_not_defined(good):
    refused(
        {**good, "OCC_DATABASE_URL": "postgresql:///?service=nowhere"}, status=78, code="DATABASE_CONFIGURATION_INVALID",
        says="names the service nowhere (its option service), which no service file that the program reads defines",
    )  # fmt: skip


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


MILLISECONDS = (1, 604800000)
COUNT = (1, 2147483647)
NUMBERS = {
    "OCC_WORKER_RECONCILERS": (1, 64),
    "OCC_WORKER_DRAIN_TIMEOUT_MS": MILLISECONDS,
    "OCC_WORKER_START_TIMEOUT_MS": MILLISECONDS,
    "OCC_WORKER_RECYCLE_PASSES": COUNT,
    "OCC_WORKER_RECYCLE_AGE_MS": MILLISECONDS,
    "OCC_WORKER_POLL_INTERVAL_MS": MILLISECONDS,
    "OCC_WORKER_LEASE_DURATION_MS": MILLISECONDS,
    "OCC_WORKER_MAX_ATTEMPTS": COUNT,
    "OCC_WORKER_CONVERGENCE_TIMEOUT_MS": MILLISECONDS,
    "OCC_WORKER_DATABASE_TIMEOUT_MS": MILLISECONDS,
}


# K122
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "010", "99999999999999999999", "ten", "1e3", " 5", "+5", "0x10"])
@pytest.mark.parametrize("variable", ["OCC_WORKER_POLL_INTERVAL_MS", "OCC_WORKER_RECONCILERS"])
def test_numbers(good, variable, value):
    least, most = NUMBERS[variable]
    refused_with(
        {**good, variable: value},
        code="SETTING_INVALID",
        message=f'{variable}: must be a plain decimal integer from {least} to {most}, not "{value}"',
    )


@pytest.mark.parametrize("variable", NUMBERS)
def test_the_range_of_each_number(good, variable):
    least, most = NUMBERS[variable]
    problems = []
    for value in ("", least - 1, most + 1, "010"):
        checked = run("occ-worker", "--check", "-o", "json", env={**good, variable: value})
        assert checked.status == 78
        problems += [problem["message"] for problem in checked.json["data"]["problems"]]
    expected = f"{variable}: must be a plain decimal integer from {least} to {most}, not "
    assert problems == [
        f"{variable}: must not be empty",
        f'{expected}"{least - 1}"',
        f'{expected}"{most + 1}"',
        f'{expected}"010"',
    ]
    # Its flag is its name, and wins.
    flag = "--" + variable.removeprefix("OCC_WORKER_").lower().replace("_", "-")
    run("occ-worker", "--check", f"{flag}={most}", env={**good, variable: "010"}).ok()


@pytest.mark.parametrize("flag", ["--reconcilers=65", "--poll-interval-ms=604800001", "--no-such-flag", "operand"])
def test_command_line(good, flag):
    result = run("occ-worker", flag, env=good)
    assert result.status == 2
    (error,) = result.records
    assert error["event"] == "worker.startup-error"
    assert flag.startswith("--") == (flag.partition("=")[0] in error["message"])


@pytest.mark.parametrize(
    "what, code, message",
    [
        ("relative", "SETTING_INVALID", "must be an absolute path"),
        ("nothing", "SETTING_INVALID", "must not be empty"),
        ("missing", "STARTUP_FILE_REJECTED", "{path} does not exist"),
        ("folder", "STARTUP_FILE_REJECTED", "{path} is a folder"),
        ("writable", "STARTUP_FILE_REJECTED", "{path} is writable by other users"),
        ("group", "STARTUP_FILE_REJECTED", "{path} is writable by other users"),
        ("empty", "STARTUP_FILE_REJECTED", "{path} is empty"),
    ],
)
def test_configuration_path(good, folder, what, code, message):
    path = folder / "occ.yaml"
    if what == "folder":
        path.mkdir()
    elif what != "missing":
        path.write_text("" if what == "empty" else "logging: {}\n")
        path.chmod({"writable": 0o666, "group": 0o664}.get(what, 0o644))
    value = {"relative": "occ.yaml", "nothing": ""}.get(what, path)
    refused_with(
        {**good, "OCC_CONFIG_PATH": value}, code=code, message="OCC_CONFIG_PATH: " + message.format(path=path)
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize(
    "owner, words", [(None, "cannot be read by this user"), ("postgres", "is owned by neither root nor this user")]
)
def test_configuration_path_of_another_user(good, folder, owner, words):
    path = folder / "occ.yaml"
    path.write_text("logging: {}\n")
    path.chmod(0o600)
    if owner:
        shutil.chown(path, owner)
    ended = run("occ-worker", env={**good, "OCC_CONFIG_PATH": path}, user=None if owner else "postgres")
    (error,) = ended.records
    assert ended.status == 78 and error["code"] == "STARTUP_FILE_REJECTED"
    assert error["message"] == f"OCC_CONFIG_PATH: {path} {words}"


def test_production_needs_a_configuration_path(good):
    refused_with(
        {**good, "NODE_ENV": "production"},
        code="CONFIG_PATH_REQUIRED",
        message="OCC_CONFIG_PATH: must name the startup YAML in production (or give --config-path)",
    )


SYNTAX, INVALID, UNKNOWN = "STARTUP_YAML_SYNTAX", "STARTUP_FIELD_INVALID", "STARTUP_FIELD_UNKNOWN"
COMPUTE = "drivers: {compute: {id: compute-docker-development, configuration: {%s}}}\n"


# K118: what a Driver would refuse later is refused with line, column and path before anything is asked of it.
@pytest.mark.parametrize(
    "text, code, message",
    [
        ("# only\n", SYNTAX, "1:1: the file is empty; it must hold one YAML mapping"),
        ("- 1\n", INVALID, "1:1: must be a mapping"),
        ("logging\n", INVALID, "1:1: must be a mapping"),
        ("a: [1\n", SYNTAX, "2:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence"),
        ("logging:\n\tlevel: info\n", SYNTAX, "2:1: a tab stands where only spaces may indent"),
        (
            "logging: {level: info}\nlogging: {level: info}\n",
            SYNTAX,
            "2:1 logging: this key stands twice, first at line 1, column 1",
        ),
        ("logging: {level: info}\n---\nlogging: {}\n", SYNTAX, "2:1: only one document is allowed"),
        ("logging: {level: *a}\n", SYNTAX, "1:18 logging.level: aliases are not allowed"),
        ("surprise: 1\n", UNKNOWN, "1:1 surprise: unknown field; known here: occ, logging, drivers"),
        ("logging: {levels: info}\n", UNKNOWN, "1:11 logging.levels: unknown field; known here: level"),
        (COMPUTE % "foo: 1", UNKNOWN, "1:69 drivers.compute.configuration.foo: unknown field"),
        ("logging: [info]\n", INVALID, "1:10 logging: must be a mapping"),
        ("logging: {level: 5}\n", INVALID, "1:18 logging.level: must be text; write it in quotes"),
        ("logging: {level: loud}\n", INVALID, "1:18 logging.level: must be debug, info, warn or error"),
        ("presets: {apiToken: abc}\n", "STARTUP_CREDENTIAL", "1:21 presets.apiToken: looks like a credential"),
        (
            "presets: {url: 'https://u:pw@h/'}\n",
            "STARTUP_CREDENTIAL",
            "1:16 presets.url: a URL with user information carries a credential",
        ),
        ("backend: {x: 1}\n", "STARTUP_SECTION_UNSUPPORTED", "1:10 backend: would change what the worker does"),
        ("drivers: {repo: {x: 1}}\n", "STARTUP_SECTION_UNSUPPORTED", "1:17 drivers.repo: would change"),
        (
            "drivers: {credential_gateway: {x: 1}}\n",
            "STARTUP_SECTION_UNSUPPORTED",
            "1:31 drivers.credential_gateway: would change",
        ),
        (
            "runtime: {nativeWorkerSupport: true}\n",
            "STARTUP_SECTION_UNSUPPORTED",
            "1:32 runtime.nativeWorkerSupport: would change",
        ),
    ],
)
def test_startup_file_that_is_wrong(good, folder, text, code, message):
    path = folder / "occ.yaml"
    path.write_text(text)
    problems = refused({**good, "OCC_CONFIG_PATH": path}, status=78, code=code, says=f"{path}:{message}")
    # Where it is, and never what a credential is.
    assert "abc" not in str(problems) and "u:pw@" not in str(problems)


def test_startup_file_with_what_is_the_apis(good, folder):
    path = folder / "occ.yaml"
    path.write_text("presets: {a: 1}\nobservability: {b: 2}\nbackend: {}\n")
    checked = run("occ-worker", "--check", "-o", "json", env={**good, "OCC_CONFIG_PATH": path}).ok()
    (warning,) = checked.json["data"]["warnings"]
    assert warning["code"] == "STARTUP_SECTION_IGNORED"
    assert warning["message"].endswith("used by the API only and ignored here: presets, observability, backend")


def test_ten_findings_at_once(good, folder):
    path = folder / "occ.yaml"
    path.write_text("".join(f"unknown{number}: 1\n" for number in range(10)))
    checked = run("occ-worker", "--check", "-o", "json", env={**good, "OCC_CONFIG_PATH": path})
    assert checked.status == 78
    messages = [problem["message"] for problem in checked.json["data"]["problems"]]
    for number in range(10):
        assert any(f":{number + 1}:1" in text and f"unknown{number}" in text for text in messages), messages


def test_unmigrated_schema(good, empty_database):
    refused_with(
        {**good, **empty_database.environment()},
        code="SCHEMA_EMPTY",
        message="The database has no schema yet. Run occ-migrate.",
    )


def test_half_migrated_schema(good, bootstrapped):
    count = bootstrapped.one("select max(number) from occ.schema_migrations")
    bootstrapped.execute(
        "delete from occ.schema_migrations where number = (select max(number) from occ.schema_migrations)"
    )
    message = f"The database's schema is behind: {count - 1} of {count} migrations were applied. Run occ-migrate."
    refused_with(good, code="SCHEMA_BEHIND", message=message)


def test_newer_schema(good, bootstrapped):
    bootstrapped.execute(
        "insert into occ.schema_migrations select (jsonb_populate_record(m, jsonb_build_object('number', m.number + 1,"
        " 'name', '9999_later'))).* from occ.schema_migrations m order by m.number desc limit 1"
    )
    refused(good, status=78, code="SCHEMA_UNSUPPORTED", says=["9999_later", "newer"])


def test_no_installation(good, database):
    refused_with(
        {**good, **database.environment()},
        code="INSTALLATION_NOT_BOOTSTRAPPED",
        message="The database describes no Installation: run occ-bootstrap once before anything else.",
    )


def test_no_administrator_binding(good, bootstrapped):
    bootstrapped.execute("delete from occ.iam_access_bindings")
    refused_with(
        good,
        code="IAM_ADMINISTRATOR_BINDING_MISSING",
        message="Nobody is bound to an administrator role for the whole Installation.",
    )


# Something that may come is unavailable; something else in its place is a wrong setting.
@pytest.mark.parametrize(
    "what, status, code, words",
    [
        ("missing", 69, "DOCKER_ENGINE_UNAVAILABLE", "no Docker Engine answers at {path}: there is no such socket"),
        ("refused", 69, "DOCKER_ENGINE_UNAVAILABLE", "no Docker Engine answers at {path}: connection refused"),
        ("file", 78, "DOCKER_ENGINE_UNAVAILABLE", "no Docker Engine answers at {path}: it is a plain file, not a socket"),
        ("nonsense", 78, "DOCKER_ANSWER_INVALID", "what listens at {path} answered, but not as a Docker Engine does"),
    ],
)
def test_docker_socket(good, fake_engine, folder, what, status, code, words):
    path = folder / "fake.sock"
    if what == "missing":
        path = folder / "nowhere.sock"
    elif what == "file":
        path = folder / "plain"
        path.write_text("")
    elif what == "refused":
        fake_engine.stop()
    else:
        fake_engine.on(None, ".*", Answer(raw=b"nonsense\r\n\r\n"))
    env = {**good, "DOCKER_HOST": f"unix://{path}"}
    (problem,) = refused(env, status=status, code=code, says=words.format(path=path))
    assert problem["dependency"] == "docker"


@pytest.mark.parametrize("host", ["tcp://127.0.0.1:2375", "unix://relative.sock", "", "http://x"])
def test_docker_host(good, host):
    result = run("occ-worker", "--check", env={**good, "DOCKER_HOST": host})
    assert result.status == 78 and "DOCKER_HOST" in result.out


METRICS = {"OCC_METRICS_ENABLED": "true", "OCC_METRICS_HOST": "127.0.0.1", "OCC_METRICS_PORT": "9464"}


@pytest.mark.parametrize(
    "metrics, message",
    [
        ({"OCC_METRICS_HOST": "127.0.0.1"}, "OCC_METRICS_HOST: must not be given while metrics are disabled"),
        ({"OCC_METRICS_PORT": "9464"}, "OCC_METRICS_PORT: must not be given while metrics are disabled"),
        ({**METRICS, "OCC_METRICS_ENABLED": "false", "OCC_METRICS_HOST": None}, "OCC_METRICS_PORT: must not be given"),
        ({"OCC_METRICS_ENABLED": "true"}, "OCC_METRICS_PORT: must be given when metrics are enabled"),
        ({**METRICS, "OCC_METRICS_HOST": "192.0.2.1"}, "OCC_METRICS_HOST: must be a loopback address in development"),
        ({**METRICS, "OCC_METRICS_HOST": "localhost"}, "OCC_METRICS_HOST: must be an IPv4 or IPv6 address"),
        ({**METRICS, "OCC_METRICS_PORT": "0"}, "OCC_METRICS_PORT: must be a plain decimal integer from 1 to 65535"),
        ({**METRICS, "OCC_METRICS_PORT": "65536"}, "OCC_METRICS_PORT: must be a plain decimal integer from 1 to 65535"),
        ({"OCC_METRICS_ENABLED": "yes"}, 'OCC_METRICS_ENABLED: must be true or false, not "yes"'),
    ],
)
def test_metrics_that_contradict_each_other(good, metrics, message):
    checked = run("occ-worker", "--check", "-o", "json", env={**good, **metrics})
    (problem,) = checked.json["data"]["problems"]
    assert checked.status == 78 and problem["message"].startswith(message), problem
    ended = run("occ-worker", env={**good, **metrics})
    (error,) = ended.records
    assert ended.status == 78 and error["message"] == problem["message"]
