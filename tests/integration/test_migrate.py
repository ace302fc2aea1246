# SPDX-License-Identifier: MIT
"""occ-migrate, from outside: states, failures, races, refusals, exit statuses, and what it shows."""

import hashlib
import pathlib
import signal
import subprocess

import pytest
from support import tree
from support.agents import Agents
from support.database import Database
from support.deployment import complete
from support.program import Result, environment, run
from support.queue import Queue
from support.reconciler import Reconciler
from support.waiting import free_port, poll

FILES = sorted((tree.SOURCE / "lib" / "store" / "migrations").glob("[0-9]*.sql"))
NAMES = [path.stem for path in FILES]
HASHES = [hashlib.sha256(path.read_bytes()).hexdigest() for path in FILES]
LOCK = 31371187951  # of lib/store/migrate.c

CURRENT, NOT_CURRENT, FAILED, USAGE, UNSUPPORTED, UNAVAILABLE, CONFIGURATION = 0, 1, 1, 2, 4, 69, 78


def migrate(database, *arguments, **more):
    env = {"OCC_MIGRATION_DATABASE_URL": database.migrator_url, **more.pop("env", {})}
    return run("occ-migrate", *arguments, env=env, **more)


def history(database):
    return [
        (row["number"], row["name"], row["hash"])
        for row in database.query("select number, name, hash from occ.schema_migrations order by number")
    ]


def relations(database):
    """Every relation, function and type in the schema, to see that nothing changed."""
    return database.query(
        "select 'relation', oid, relname::text from pg_class where relnamespace = to_regnamespace('occ')"
        " union all select 'function', oid, proname from pg_proc where pronamespace = to_regnamespace('occ')"
        " union all select 'type', oid, typname from pg_type where typnamespace = to_regnamespace('occ') order by 1, 2"
    )


def apply_first(database, count):
    """Brings a database to the state of an older version."""
    connection = database.connect("occ_migrator")
    with connection.cursor() as cursor:
        for index in range(count):
            cursor.execute(FILES[index].read_text())
            cursor.execute(
                "insert into occ.schema_migrations (number, name, hash) values (%s, %s, %s)",
                (index + 1, NAMES[index], HASHES[index]),
            )
    connection.close()


def failure(result, status, code):
    """The one diagnostic record; nothing else is written."""
    assert result.status == status, result
    assert len(result.records) == len(result.err.splitlines()) >= 1, result
    record = result.records[0]
    assert record["event"] == "migration.failed" and record["severity"] == "ERROR"
    assert record["service"] == "occ-migrate" and isinstance(record["time"], str)
    assert record["code"] == code, record
    return record


def silent_failure(result, status, code):
    assert result.out == "", result
    return failure(result, status, code)


# ---- States ----


def test_empty(empty_database):
    done = migrate(empty_database, "--check")
    assert (done.status, done.err) == (NOT_CURRENT, "")
    assert done.json.pop("time")
    assert {name: value for name, value in done.json.items() if name != "time"} == {
        "service": "occ-migrate",
        "event": "migration.checked",
        "status": "empty",
        "version": 0,
        "pending": NAMES,
    }
    assert len(done.lines) == 1
    assert empty_database.one("select to_regnamespace('occ') is null")


def test_applied_then_current_then_no_op(empty_database):
    done = migrate(empty_database).ok()
    assert len(done.lines) == 1 and done.err == ""
    assert (done.json["event"], done.json["status"], done.json["version"]) == (
        "migration.applied",
        "current",
        len(NAMES),
    )
    assert done.json["applied"] == NAMES
    assert history(empty_database) == list(zip(range(1, len(NAMES) + 1), NAMES, HASHES))

    before = relations(empty_database)
    done = migrate(empty_database, "--check").ok()
    assert (done.json["event"], done.json["status"], done.json["pending"]) == ("migration.checked", "current", [])
    done = migrate(empty_database).ok()
    assert (done.json["event"], done.json["applied"]) == ("migration.applied", [])
    assert relations(empty_database) == before


def test_everything_belongs_to_the_migrator(empty_database):
    migrate(empty_database).ok()
    owners = empty_database.query(
        "select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'occ'::regnamespace"
    )
    assert owners == [{"owner": "occ_migrator"}]


@pytest.mark.parametrize("count", [1, len(FILES) - 1])
def test_behind(empty_database, count):
    apply_first(empty_database, count)
    before = relations(empty_database)
    done = migrate(empty_database, "--check")
    assert (done.status, done.json["status"], done.json["version"]) == (NOT_CURRENT, "behind", count)
    assert done.json["pending"] == NAMES[count:]
    assert relations(empty_database) == before
    done = migrate(empty_database).ok()
    assert done.json["applied"] == NAMES[count:]
    assert [name for _, name, _ in history(empty_database)] == NAMES


def test_what_a_released_schema_holds_is_kept(empty_database):
    """0009 is the last that was released without Agents being deployed. What it allowed does not stand in the way, an
    Agent that is stopped with an active revision, or one older than another that was completed, included.
    """
    apply_first(empty_database, 9)
    work = Queue(empty_database)
    agents = Agents(work)
    ensure, key = work.admit(), agents.deploy(1)
    complete(agents, 2)
    agents.set(active_revision_id=key.split(":")[1], desired_runtime_state="stopped")
    stop = agents.admit("stopped")
    tables = ("agents", "agent_revisions", "controller_work", "secrets", "configurations", "audit_events")
    before = {table: empty_database.one(f"select count(*) from occ.{table}") for table in tables}
    assert migrate(empty_database).ok().json["applied"] == NAMES[9:]
    assert {table: empty_database.one(f"select count(*) from occ.{table}") for table in tables} == before
    assert not empty_database.one("select bool_or(registered) from occ.secrets")
    pass_ = Reconciler(empty_database.app_url, "--agents", "ready")
    assert pass_.rest() == "idle"
    pass_.close()
    assert work.settled(ensure)[1] == "RECONCILE_SUCCEEDED" and work.settled(stop)[1] == "AGENT_STOPPED"
    assert work.settled(key)[1] == "REVISION_STOPPED" and agents.active() is None


@pytest.mark.parametrize(
    "change, word",
    [
        ("update occ.schema_migrations set hash = repeat('0', 64) where number = 2", "edited"),
        ("update occ.schema_migrations set name = '0002_other' where number = 2", "unknown"),
        ("insert into occ.schema_migrations values (9999, '9999_later', repeat('0', 64))", "newer"),
        ("delete from occ.schema_migrations where number = 2", "was not"),
        ("delete from occ.schema_migrations", "no rows"),
        ("drop table occ.schema_migrations", "no history"),
        # Behind and edited: the pending ones must not be applied on top of it.
        (
            "delete from occ.schema_migrations where number > 5;"
            " update occ.schema_migrations set hash = repeat('0', 64) where number = 1",
            "edited",
        ),
    ],
    ids=["edited", "unknown", "newer", "gap", "no rows", "no history", "behind and edited"],
)
def test_unsupported(database, change, word):
    database.execute(change)
    before = relations(database)
    done = migrate(database, "--check")
    record = failure(done, UNSUPPORTED, "SCHEMA_UNSUPPORTED")
    assert word in record["message"]
    assert (done.json["event"], done.json["status"]) == ("migration.checked", "unsupported")
    assert word in done.json["finding"]
    record = silent_failure(migrate(database), UNSUPPORTED, "SCHEMA_UNSUPPORTED")
    assert word in record["message"]
    assert relations(database) == before


def test_foreign_objects_are_left_alone(empty_database):
    """A schema of that name that somebody else filled."""
    empty_database.execute("create schema occ; create table occ.theirs (id int)")
    silent_failure(migrate(empty_database), UNSUPPORTED, "SCHEMA_UNSUPPORTED")
    assert empty_database.query("select * from occ.theirs") == []


def test_the_application_sees_a_half_migrated_schema(empty_database):
    """Its role may read the history from the first migration on, so it can say what is wrong."""
    apply_first(empty_database, 1)
    connection = empty_database.connect("occ_app")
    with connection.cursor() as cursor:
        cursor.execute("select name from occ.schema_migrations")
        assert cursor.fetchall() == [(NAMES[0],)]


# ---- At once, in the middle, in the way ----


class Run:
    """occ-migrate while it runs."""

    def __init__(self, database, *arguments, env=None):
        self.process = subprocess.Popen(
            [tree.program("occ-migrate"), *arguments],
            env=environment({"OCC_MIGRATION_DATABASE_URL": database.migrator_url, **(env or {})}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self):
        out, err = self.process.communicate(timeout=60)
        return Result(self.process.returncode, out, err)


def waiting(database):
    """Backends of occ-migrate that wait for a lock."""
    rows = database.query(
        "select pid from pg_stat_activity where datname = %s and application_name = 'occ-migrate'"
        " and wait_event_type = 'Lock'",
        database.name,
    )
    return [row["pid"] for row in rows]


@pytest.fixture
def started():
    runs = []

    def start(*arguments, **more):
        runs.append(Run(*arguments, **more))
        return runs[-1]

    yield start
    for one in runs:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_two_at_once(empty_database, started):
    """One applies, the other finds it done; whichever is first."""
    empty_database.execute(f"select pg_advisory_lock({LOCK})")
    runs = [started(empty_database) for _ in range(2)]
    poll(lambda: len(waiting(empty_database)) == 2, 20, what="both runs at the lock")
    empty_database.execute(f"select pg_advisory_unlock({LOCK})")
    results = [one.end().ok() for one in runs]
    assert sorted((result.json["applied"] for result in results), key=len) == [[], NAMES]
    assert [name for _, name, _ in history(empty_database)] == NAMES


def test_lock_that_is_not_let_go(empty_database):
    empty_database.execute(f"select pg_advisory_lock({LOCK})")
    done = migrate(empty_database, "--database-timeout-ms=300")
    record = silent_failure(done, UNAVAILABLE, "MIGRATION_LOCK_HELD")
    assert "Another occ-migrate" in record["message"]
    assert relations(empty_database) == []
    # Looking does not wait for it.
    assert migrate(empty_database, "--check").json["status"] == "empty"


def test_failure_leaves_the_previous_state(empty_database):
    """A statement is refused in the middle of a migration: nothing of that one stays, the ones before do."""
    apply_first(empty_database, 4)
    assert NAMES[5] == "0006_queue"
    connection = empty_database.connect("occ_migrator")
    connection.cursor().execute("create function occ.notify_work() returns int language sql as 'select 1'")
    record = silent_failure(migrate(empty_database), FAILED, "MIGRATION_FAILED")
    assert NAMES[5] in record["message"] and "notify_work" in record["message"] and "42723" in record["message"]
    assert [name for _, name, _ in history(empty_database)] == NAMES[:5]
    assert empty_database.one("select to_regclass('occ.audit_events') is not null")
    assert empty_database.one("select to_regclass('occ.controller_work') is null")
    done = migrate(empty_database, "--check")
    assert (done.status, done.json["pending"]) == (NOT_CURRENT, NAMES[5:])

    connection.cursor().execute("drop function occ.notify_work()")
    assert migrate(empty_database).ok().json["applied"] == NAMES[5:]


@pytest.fixture
def stuck(empty_database, started):
    """A run in the middle of 0004, which waits for a lock on a table that it refers to."""
    apply_first(empty_database, 3)
    holder = empty_database.connect(autocommit=False)
    holder.cursor().execute("lock table occ.namespaces")
    one = started(empty_database)
    poll(lambda: waiting(empty_database), 20, what="a run in the middle of a migration")
    yield one, holder
    holder.rollback()


def test_connection_that_ends_in_the_middle(empty_database, stuck):
    empty_database.query("select pg_terminate_backend(%s)", waiting(empty_database)[0])
    record = silent_failure(stuck[0].end(), UNAVAILABLE, "PERSISTENCE_UNAVAILABLE")
    assert NAMES[3] in record["message"]
    assert [name for _, name, _ in history(empty_database)] == NAMES[:3]
    assert empty_database.one("select to_regclass('occ.agents') is null")


def test_killed_in_the_middle(empty_database, stuck):
    """The server notices, gives the lock back, and the next run finishes."""
    one, holder = stuck
    one.process.send_signal(signal.SIGKILL)
    one.process.communicate()
    poll(lambda: not waiting(empty_database), 30, what="the end of the dead run's session")
    assert [name for _, name, _ in history(empty_database)] == NAMES[:3]
    holder.rollback()
    assert migrate(empty_database).ok().json["applied"] == NAMES[3:]


def test_a_migration_that_takes_too_long(empty_database, started):
    apply_first(empty_database, 3)
    holder = empty_database.connect(autocommit=False)
    holder.cursor().execute("lock table occ.namespaces")
    result = migrate(empty_database, "--database-timeout-ms=1000")
    assert result.status in (FAILED, UNAVAILABLE) and result.out == ""
    assert NAMES[3] in result.records[0]["message"]
    holder.rollback()
    assert [name for _, name, _ in history(empty_database)] == NAMES[:3]
    migrate(empty_database).ok()


# ---- Who and where ----


def test_pooled_connection(empty_database, pgbouncer):
    url = empty_database.url("occ_migrator", port=pgbouncer.port)
    for arguments in ((), ("--check",)):
        done = migrate(empty_database, *arguments, env={"OCC_MIGRATION_DATABASE_URL": url})
        record = silent_failure(done, CONFIGURATION, "DATABASE_CONNECTION_POOLED")
        assert "direct connection" in record["message"]
    assert relations(empty_database) == []


@pytest.mark.parametrize(
    "role, word, arguments",
    [
        ("postgres", "superuser", ()),
        ("postgres", "superuser", ("--check",)),
        ("occ_app", "may not", ()),
        ("occ_app", "may not", ("--check",)),
        ("occ_metrics", "may not", ("--check",)),
    ],
)
def test_refused_roles(empty_database, role, word, arguments):
    url = empty_database.url(role)
    done = migrate(empty_database, *arguments, env={"OCC_MIGRATION_DATABASE_URL": url})
    record = silent_failure(done, CONFIGURATION, "DATABASE_ROLE_REFUSED")
    assert word in record["message"] and role in record["message"] and "occ_migrator" in record["message"]
    assert relations(empty_database) == []


def test_member_of_the_migrator(empty_database):
    """A login of its own may stand for the role; what it makes belongs to the role."""
    cluster = empty_database.cluster
    empty_database.execute("create role somebody login password 'pw-somebody-77' in role occ_migrator")
    try:
        empty_database.execute(f"grant connect on database {empty_database.name} to somebody")
        url = empty_database.url("somebody", password="pw-somebody-77")
        migrate(empty_database, env={"OCC_MIGRATION_DATABASE_URL": url}).ok()
        owners = empty_database.query(
            "select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'occ'::regnamespace"
        )
        assert owners == [{"owner": "occ_migrator"}]
    finally:
        empty_database.execute(f"revoke all on database {empty_database.name} from somebody")
        with cluster.connect() as connection, connection.cursor() as cursor:
            cursor.execute("drop role somebody")
        connection.close()


def test_missing_role(own_cluster):
    database = Database.create(own_cluster)
    database.execute("alter role occ_metrics rename to another")
    for arguments in ((), ("--check",)):
        record = silent_failure(migrate(database, *arguments), CONFIGURATION, "DATABASE_ROLE_MISSING")
        assert '"occ_metrics"' in record["message"] and "roles.sql" in record["message"]
    assert relations(database) == []
    database.execute("alter role another rename to occ_metrics")
    migrate(database).ok()


def test_no_right_to_create(empty_database):
    empty_database.execute(f"revoke create on database {empty_database.name} from occ_migrator")
    record = silent_failure(migrate(empty_database), CONFIGURATION, "DATABASE_PERMISSION_DENIED")
    assert NAMES[0] in record["message"] and "42501" in record["message"]
    assert relations(empty_database) == []


def test_other_encoding(empty_database):
    name = empty_database.name + "_ascii"
    cluster = empty_database.cluster
    empty_database.execute(f"create database {name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'")
    try:
        empty_database.execute(f"grant create on database {name} to occ_migrator")
        url = cluster.url(name, "occ_migrator")
        done = migrate(empty_database, env={"OCC_MIGRATION_DATABASE_URL": url})
        record = silent_failure(done, FAILED, "MIGRATION_FAILED")
        assert "UTF8" in record["message"]
    finally:
        empty_database.execute(f"drop database {name} with (force)")


# ---- Settings ----


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "mysql://u:pw-leak-1@h/d",
        "http://u:pw-leak-1@h",
        "postgresql//u:pw-leak-1@h",
        "host=h password=pw-leak-1",
        "postgresql://u:pw-leak-1@h:99999/d",
        "postgresql://u:pw-leak-1@h/d?nonsense=1",
        "postgresql://u:pw-leak-1%zz@h/d",
    ],
)
def test_wrong_urls(url):
    done = run("occ-migrate", env={"OCC_MIGRATION_DATABASE_URL": url})
    record = silent_failure(done, CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")
    assert "A valid PostgreSQL connection URL must be explicitly configured." in record["message"]
    assert record["message"].count("configured") == 1
    assert "pw-leak-1" not in done.err


def test_the_applications_url_is_not_its_own(database):
    done = run("occ-migrate", env={"OCC_DATABASE_URL": database.migrator_url})
    silent_failure(done, CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")


def test_url_from_a_file(empty_database, folder):
    path = folder / "url"
    path.write_text(empty_database.migrator_url + "\n")
    path.chmod(0o600)
    flag = f"--migration-database-url-file={path}"
    assert run("occ-migrate", "--check", flag).json["status"] == "empty"
    done = run("occ-migrate", "--check", env={"OCC_MIGRATION_DATABASE_URL_FILE": path})
    assert done.json["status"] == "empty"
    # Both say where the database is.
    done = migrate(empty_database, flag)
    silent_failure(done, CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")
    path.chmod(0o644)
    silent_failure(run("occ-migrate", flag), CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")
    path.chmod(0o600)
    path.write_text("")
    silent_failure(run("occ-migrate", flag), CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")
    for wrong in (folder, folder / "missing"):
        done = run("occ-migrate", f"--migration-database-url-file={wrong}")
        record = silent_failure(done, CONFIGURATION, "DATABASE_CONFIGURATION_INVALID")
        assert str(wrong) in record["message"]
    # A wrong flag is the command line's fault.
    assert run("occ-migrate", "--migration-database-url-file=url").status == USAGE


def test_wrong_password(empty_database):
    url = empty_database.url("occ_migrator", password="pw-wrong-5a")
    done = migrate(empty_database, env={"OCC_MIGRATION_DATABASE_URL": url})
    record = silent_failure(done, CONFIGURATION, "DATABASE_AUTHENTICATION_FAILED")
    assert "occ_migrator" in record["message"]
    assert "pw-wrong-5a" not in done.err


def test_no_such_database(cluster):
    url = cluster.url("nowhere", "occ_migrator")
    done = run("occ-migrate", env={"OCC_MIGRATION_DATABASE_URL": url})
    assert "nowhere" in silent_failure(done, CONFIGURATION, "DATABASE_NOT_FOUND")["message"]


def test_unreachable(cluster):
    port = free_port()
    url = cluster.url("d", "occ_migrator", port=port)
    for arguments in ((), ("--check",)):
        done = run("occ-migrate", *arguments, env={"OCC_MIGRATION_DATABASE_URL": url})
        record = silent_failure(done, UNAVAILABLE, "PERSISTENCE_UNAVAILABLE")
        assert f"127.0.0.1:{port}" in record["message"]
        assert (record["dependency"], record["cause"]) == ("postgresql", "unreachable")
        assert cluster.passwords["occ_migrator"] not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("up",),
        ("--check=yes",),
        ("--check", "--check"),
        ("--database-timeout-ms",),
        ("--database-timeout-ms=0",),
        ("--database-timeout-ms=-1",),
        ("--database-timeout-ms=010",),
        ("--database-timeout-ms=1.5",),
        ("--database-timeout-ms=604800001",),
        ("--migration-database-url=postgresql://u:pw-leak-1@h/d",),
    ],
)
def test_usage(database, arguments):
    done = migrate(database, *arguments)
    assert done.status == USAGE and done.out == ""
    assert done.records[0]["event"] == "migration.failed"
    assert "pw-leak-1" not in done.err


@pytest.mark.parametrize(
    "level, severities",
    [("debug", ["WARN", "DEBUG"]), ("info", ["WARN"]), (None, ["WARN"]), ("warn", ["WARN"]), ("error", [])],
)
def test_the_level_is_the_startup_files(empty_database, folder, level, severities):
    path = folder / "occ.yaml"
    path.write_text((f"logging: {{level: {level}}}\n" if level else "") + "presets: {}\n")
    done = migrate(empty_database, "--check", env={"OCC_CONFIG_PATH": path})
    assert done.status == NOT_CURRENT
    assert [record["severity"] for record in done.records] == severities, done.err
    for record in done.records:
        if record["severity"] == "WARN":
            assert (record["event"], record["code"]) == ("migration.warning", "STARTUP_SECTION_IGNORED")
        else:
            assert record["event"] == "migration.started" and record["check"] is True
            assert record["databaseHost"] == f"127.0.0.1:{empty_database.cluster.port}"
            assert record["databaseName"] == empty_database.name


def test_failures_are_told_at_every_level(empty_database, folder):
    path = folder / "occ.yaml"
    path.write_text("logging: {level: error}\n")
    env = {"OCC_MIGRATION_DATABASE_URL": empty_database.app_url}
    failure(migrate(empty_database, f"--config-path={path}", env=env), CONFIGURATION, "DATABASE_ROLE_REFUSED")


def test_a_startup_yaml_that_is_named_must_be_good(empty_database, folder):
    path = folder / "occ.yaml"
    path.write_text("logging:\n  level: loud\n")
    done = migrate(empty_database, env={"OCC_CONFIG_PATH": path})
    record = silent_failure(done, CONFIGURATION, "STARTUP_FIELD_INVALID")
    assert record["setting"].endswith("occ.yaml:2:10 logging.level"), record
    path.unlink()
    record = silent_failure(migrate(empty_database, env={"OCC_CONFIG_PATH": path}), CONFIGURATION, "STARTUP_FILE_REJECTED")
    assert record["setting"] == "OCC_CONFIG_PATH" and record["message"] == f"{path} does not exist"
    record = silent_failure(migrate(empty_database, "--config-path", path), CONFIGURATION, "STARTUP_FILE_REJECTED")
    assert record["setting"] == "--config-path" and record["message"] == f"{path} does not exist"
    path.write_text("logging: {level: info}\n")
    # Production has more rules, and is taken when it is given.
    env = {"OCC_CONFIG_PATH": path, "NODE_ENV": "production"}
    assert "drivers" in silent_failure(migrate(empty_database, env=env), CONFIGURATION, "STARTUP_FIELD_MISSING")["setting"]
    env = {"NODE_ENV": "staging"}
    record = silent_failure(migrate(empty_database, env=env), CONFIGURATION, "WORKER_MODE_REJECTED")
    assert record["message"].startswith("Worker mode is rejected")
    assert empty_database.one("select to_regnamespace('occ') is null")


def test_help_and_version():
    done = run("occ-migrate", "--help").ok()
    for word in ("Usage: occ-migrate", "--check", "OCC_MIGRATION_DATABASE_URL", "--migration-database-url-file"):
        assert word in done.out
    assert run("occ-migrate", "--version").ok().out.startswith("occ-migrate ")


def test_output_that_cannot_be_written(database):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [tree.program("occ-migrate"), "--check"],
            env=environment({"OCC_MIGRATION_DATABASE_URL": database.migrator_url}),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == UNAVAILABLE
    assert "OUTPUT_FAILED" in done.stderr


def test_no_credential_is_shown(empty_database, started):
    """K68: neither in the arguments, nor in the environment once it runs, nor in what it writes."""
    password = empty_database.cluster.passwords["occ_migrator"]
    empty_database.execute(f"select pg_advisory_lock({LOCK})")
    one = started(empty_database)
    poll(lambda: waiting(empty_database), 20, what="a run at the lock")
    proc = pathlib.Path(f"/proc/{one.process.pid}")
    assert password.encode() not in (proc / "cmdline").read_bytes()
    assert password.encode() not in (proc / "environ").read_bytes()
    empty_database.execute(f"select pg_advisory_unlock({LOCK})")
    result = one.end().ok()
    assert password not in result.out + result.err


def test_a_failed_statement_is_not_shown(empty_database):
    """The message names the reason; the statement, which may be long, stays out of it."""
    apply_first(empty_database, 4)
    empty_database.connect("occ_migrator").cursor().execute("create table occ.audit_events ()")
    record = silent_failure(migrate(empty_database), FAILED, "MIGRATION_FAILED")
    assert "CREATE TABLE" not in record["message"] and "create table" not in record["message"]
    assert "already exists" in record["message"]


def test_migrations_are_not_found_by_name(empty_database, folder):
    """They are built in: neither the working folder nor the environment brings others."""
    (folder / "lib").mkdir()
    done = migrate(empty_database, cwd=folder).ok()
    assert done.json["applied"] == NAMES


def test_the_odd_locale_of_a_server_does_not_matter(empty_database):
    """Messages in another language, other time zone: the states are the same."""
    empty_database.execute(f"alter database {empty_database.name} set timezone to 'Pacific/Chatham'")
    migrate(empty_database).ok()
    assert migrate(empty_database, "--check").ok().json["status"] == "current"


def test_state_is_read_only_under_check(empty_database):
    """--check works where nothing may be written."""
    empty_database.execute(f"alter database {empty_database.name} set default_transaction_read_only = on")
    assert migrate(empty_database, "--check").json["status"] == "empty"
    silent_failure(migrate(empty_database), UNAVAILABLE, "PERSISTENCE_UNAVAILABLE")
