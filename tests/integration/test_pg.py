# SPDX-License-Identifier: MIT
"""lib/io/pg.h against real servers, driven through tests/integration/pg_probe."""

import json
import os
import shutil
import subprocess
import time

import pytest

from support import tree
from support.pgbouncer import PgBouncer
from support.postgres import USER, Cluster
from support.processes import give
from support.program import check_log, environment, run
from support.waiting import PATIENCE, free_port, poll


class Probe:
    """A pg_probe that is told one command at a time."""

    def __init__(self, url):
        self.url = url
        self.process = subprocess.Popen(
            [tree.program("tests/integration/pg_probe")],
            env=environment({"PROBE_URL": url}),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""

    def tell(self, command):
        """Sends without waiting for the answer."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        assert line, f"pg_probe ended: {self.process.stderr.read()}"
        self.said += line
        return json.loads(line)

    def __call__(self, command):
        self.tell(command)
        return self.hear()

    def ok(self, command):
        answer = self(command)
        assert answer["ok"], answer
        return answer

    def connect(self, timeout_ms=int(20000 * PATIENCE), how=""):
        self.ok(f"connect {timeout_ms} {how}")
        return self

    def run(self, *statements):
        """The first columns of each statement's rows."""
        return [result["rows"] for result in self.ok("run " + " ;; ".join(statements))["results"]]

    def value(self, statement):
        return self.run(statement)[0][0]

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(10 * PATIENCE)
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        check_log(errors, "pg_probe")
        assert status == 0, f"pg_probe ended with {status}: {errors}"


@pytest.fixture
def probe():
    """probe(url) starts one; each must end well, and must never have said its password."""
    started = []

    def start(url):
        started.append(Probe(url))
        return started[-1]

    yield start
    for each in started:
        each.end()
        password = each.url.split("@")[0].rpartition(":")[2]
        if len(password) > 4 and "@" in each.url:
            assert password not in each.said


@pytest.fixture
def table(empty_database):
    """A database with public.t (key integer, checked at the commit; word text, unique)."""
    empty_database.execute(
        "create table public.t (key integer, word text, constraint t_word unique (word),"
        " constraint t_key unique (key) deferrable initially deferred);"
        " grant all on public.t to occ_app"
    )
    return empty_database


@pytest.fixture
def session(probe, table):
    return probe(table.url()).connect()


def unavailable(answer, cause=None, origin=None):
    assert not answer["ok"], answer
    assert answer["class"] == "unavailable" and answer["code"] == "PERSISTENCE_UNAVAILABLE", answer
    assert answer["dependency"] == "postgresql", answer
    assert cause is None or answer["cause"] == cause, answer
    assert origin is None or answer["origin"] == origin, answer
    return answer


# URLs


@pytest.mark.parametrize(
    "url, why",
    [
        ("", "it is empty"),
        ("mysql://u:secret-word@h/d", "scheme"),
        ("host=h password=secret-word", "scheme"),
        ("postgresql://u:secret word@h/d", "percent-encoded"),
        ("postgresql://u:secret%zzword@h/d", "malformed"),
        ("postgresql://u:secret-word@h:port/d", "port"),
        ("postgresql://u:secret-word@h:0/d", "port"),
        ("postgresql://u:secret-word@h:5432,i:65536/d", "port"),
        ("postgresql://u:secret-word@h/d?secret-word=1", "option"),
        ("postgresql://u:secret-word@h/d?sslmode=secret-word", "sslmode"),
        ("postgresql://u:secret-word@h/d?target_session_attrs=best", "target_session_attrs"),
    ],
)
def test_a_malformed_url_is_told_without_its_parts(probe, url, why):  # K42, K68
    started = probe(url)
    for command in ("check", "connect 1000"):
        answer = started(command)
        assert answer["class"] == "configuration" and answer["code"] == "DATABASE_CONFIGURATION_INVALID"
        assert answer["message"].startswith("A valid PostgreSQL connection URL must be explicitly configured")
        assert why in answer["message"]
        assert "secret" not in answer["message"]


@pytest.mark.parametrize(
    "url, host, database",
    [
        ("postgresql://u:secret-word@db.example:5433/name", "db.example:5433", "name"),
        ("postgres://u@/name?host=/run/pg&port=7", "/run/pg:7", "name"),
        ("postgresql://u:p@[::1]:5433/", "[::1]:5433", "u"),
        ("postgresql://u:p@a:1,b:2/name?target_session_attrs=read-write", "a:1,b:2", "name"),
        ("postgresql://u@a/n", "a:5432", "n"),
    ],
)
def test_what_may_be_shown_of_a_url(probe, url, host, database):
    started = probe(url)
    started.ok("check")
    shown = started.ok("describe")
    assert (shown["host"], shown["database"]) == (host, database)


# Connecting


def test_a_closed_port_is_unreachable(probe):
    port = free_port()
    answer = unavailable(probe(f"postgresql://u:secret-word@127.0.0.1:{port}/d")("connect 5000"), "unreachable")
    assert f"127.0.0.1:{port} refused the connection" in answer["message"]


def test_a_missing_socket_is_unreachable(probe):
    unavailable(probe("postgresql://u:secret-word@/d?host=/nonexistent")("connect 5000"), "unreachable")


def test_an_unknown_name_may_become_known(probe):  # K43
    answer = probe("postgresql://u:secret-word@no.such.invalid/d")("connect 5000")
    # What it is depends on whether this machine has a name server.
    unavailable(answer, "no-such-host" if answer["cause"] == "no-such-host" else "unreachable")
    assert "no.such.invalid" in answer["message"]


@pytest.mark.parametrize("silent_from", ["start", "session"])
def test_a_silent_server_is_given_up_in_time(probe, proxy, table, silent_from):  # K40, K85
    path = proxy(table.cluster.port)
    if silent_from == "start":
        path.silence()
    else:
        path.slow(0.15)
    started = time.monotonic()
    unavailable(probe(table.url(port=path.port))("connect 400"), "timeout")
    assert 0.35 < time.monotonic() - started < 3 * PATIENCE


def test_a_wrong_password_ends_the_search(probe, table):  # K68
    answer = probe(table.url(password="secret-word"))("connect 5000")
    assert answer["class"] == "configuration" and answer["code"] == "DATABASE_AUTHENTICATION_FAILED"
    assert answer["origin"] == "28P01" and '"occ_app"' in answer["message"]


def test_a_missing_password_is_told(probe, table):
    answer = probe(f"postgresql://occ_app@127.0.0.1:{table.cluster.port}/{table.name}")("connect 5000")
    assert answer["code"] == "DATABASE_AUTHENTICATION_FAILED"


def test_a_password_in_the_place_of_a_name_is_masked(probe, table):  # K68
    answer = probe(table.cluster.url("nothing-8d2e", "occ_app", password=None))("connect 5000")
    assert answer["code"] == "DATABASE_NOT_FOUND"
    answer = probe(f"postgresql://secret-word:secret-word@127.0.0.1:{table.cluster.port}/d")("connect 5000")
    assert answer["code"] == "DATABASE_AUTHENTICATION_FAILED" and "secret-word" not in answer["message"]


def test_a_missing_database_is_told(probe, cluster):
    answer = probe(cluster.url("occ_nothing", "occ_app"))("connect 5000")
    assert answer["class"] == "configuration" and answer["code"] == "DATABASE_NOT_FOUND"
    assert answer["origin"] == "3D000" and "occ_nothing" in answer["message"]


def test_a_missing_right_to_connect_is_told(probe, table):
    table.execute(f"revoke connect on database {table.name} from occ_app")
    answer = probe(table.url())("connect 5000")
    assert answer["class"] == "configuration" and answer["code"] == "DATABASE_PERMISSION_DENIED"


def test_too_many_connections_pass(probe, table):
    table.execute(f"alter database {table.name} connection limit 0")
    unavailable(probe(table.url())("connect 5000"), "unavailable", "53300")


def test_tls_that_is_not_there_is_told(probe, table):
    answer = unavailable(probe(table.url() + "?sslmode=require")("connect 5000"), "unavailable")
    assert "TLS" in answer["message"]


def test_the_watch_ends_a_connect(probe, proxy, table):
    path = proxy(table.cluster.port)
    path.silence()
    started = probe(table.url(port=path.port))
    started.ok("watch 200")
    answer = started("connect 20000")
    assert answer["code"] == "PROBE_CANCELLED" and answer["turns"] > 3


def test_the_next_host_is_tried(probe, proxy, table):
    silent = proxy(table.cluster.port)
    silent.silence()
    good = f"127.0.0.1:{table.cluster.port}"
    role = table.url().split("@")[0]
    for first in (f"127.0.0.1:{free_port()}", f"127.0.0.1:{silent.port}"):
        started = time.monotonic()
        probe(f"{role}@{first},{good}/{table.name}").connect(int(3000 * PATIENCE))
        assert time.monotonic() - started < 2.5 * PATIENCE


def test_the_same_address_needs_no_name_server(probe, table):
    started = probe(table.url(host="localhost")).connect()
    assert started.connect(5000, "same_address").value("select 'there'") == "there"


# Sessions


def test_limits_of_a_session(probe, table):
    names = "statement_timeout lock_timeout idle_in_transaction_session_timeout client_connection_check_interval"
    names += " search_path application_name jit default_transaction_read_only"
    statements = [f"select current_setting('{name}')" for name in names.split()]
    started = probe(table.url()).connect(10000)
    shown = [rows[0] for rows in started.run(*statements)]
    assert shown == ["9s", "5001ms", "9s", "10s", "pg_catalog, pg_temp", "pg_probe", "off", "off"]
    started.connect(10000, "read_only")
    answer = started("run insert into public.t values (1)")
    assert answer["origin"] == "25006"


def test_steady_plans(probe, table, pgbouncer):
    names = "plan_cache_mode enable_seqscan enable_bitmapscan"
    statements = [f"select current_setting('{name}')" for name in names.split()]
    started = probe(table.url())
    assert [rows[0] for rows in started.connect(10000).run(*statements)] == ["auto", "on", "on"]
    shown = [rows[0] for rows in started.connect(10000, "steady_plans").run(*statements)]
    assert shown == ["force_generic_plan", "off", "off"]
    # A pooler's session is somebody else's a moment later: nothing may stay with it.
    pooled = probe(table.url(port=pgbouncer.port)).connect(10000, "steady_plans")
    assert [rows[0] for rows in pooled.run(*statements)] == ["auto", "on", "on"]


def test_nothing_is_compiled(probe, table):
    """Where sequential scans are discouraged, a statement without an index looks expensive: compiled, it is."""
    started = probe(table.url()).connect(10000, "steady_plans")
    plan = str(started.run("explain (analyze, timing off) select sum(key) from public.t where word <> 'a'"))
    assert "Seq Scan" in plan and "JIT" not in plan


def test_statements_are_prepared_once(session):
    named = "@twice select $1::text $$ word"
    assert session.run(named, named) == [["word"], ["word"]]
    session.run(named)
    seen = "select count(*) from pg_prepared_statements where name = 'twice' and not from_sql"
    assert session.value(seen) == "1"


def test_a_statement_that_failed_to_prepare_can_come_again(session):
    assert session("run @gone select * from public.gone ;; @after select 1")["origin"] == "42P01"
    assert session.run("@after select 1", "@after select 1") == [["1"], ["1"]]
    assert session("run @gone select * from public.gone")["origin"] == "42P01"


def test_a_plan_of_before_a_migration_ends_the_session(session, table):
    session.run("@all select * from public.t")
    table.execute("alter table public.t add column more text")
    answer = session("run @all select * from public.t")
    assert answer["code"] == "DATABASE_CONFLICT" and answer["origin"] == "0A000" and answer["broken"]
    session.connect().run("@all select * from public.t")


def test_nulls_and_text_come_through(session):
    assert session.run("select $1::text, 1 $$ NULL", "select $1::text $$ gr\u00fc\u00df 'x'") == [[None], ["gr\u00fc\u00df 'x'"]]


# Transactions


def test_all_or_nothing(session, table):
    assert session.ok("run insert into public.t values (1, 'a'), (2, 'b') ;; update public.t set word = word || '!'")[
        "results"
    ] == [{"affected": 2, "rows": []}, {"affected": 2, "rows": []}]
    answer = session("run delete from public.t ;; select 1 / 0 ;; select 1")
    assert answer["class"] == "bug" and answer["code"] == "DATABASE_STATEMENT_FAILED" and answer["origin"] == "22012"
    assert not answer["broken"] and not answer["unknown"]
    assert table.one("select count(*) from public.t") == 2
    assert session.value("select count(*) from public.t") == "2"


def test_one_batch_is_one_transaction(session):
    one, two = session.run("select pg_current_xact_id()", "select pg_current_xact_id()")
    assert one == two != session.run("select pg_current_xact_id()")[0]


@pytest.mark.parametrize("row, constraint", [("(2, 'a')", "t_word"), ("(1, 'b')", "t_key")])
def test_a_conflict_is_told_with_its_constraint(session, table, row, constraint):
    """t_key is checked at the commit, so its refusal comes in the place of the Sync."""
    session.run("insert into public.t values (1, 'a')")
    answer = session(f"run insert into public.t values {row} ;; select 1")
    assert answer["class"] == "retryable" and answer["code"] == "DATABASE_CONFLICT" and answer["origin"] == "23505"
    assert answer["constraint"] == constraint and not answer["broken"] and not answer["unknown"]
    assert table.one("select count(*) from public.t") == 1
    assert session.ok("run select 1")["constraint"] == ""


def test_a_lock_that_is_not_given_is_a_conflict(probe, table):
    other = table.connect(autocommit=False)
    other.cursor().execute("lock table public.t")
    answer = probe(table.url()).connect(2000)("run select * from public.t")
    assert answer["code"] == "DATABASE_CONFLICT" and answer["origin"] == "55P03" and not answer["broken"]


def test_a_missing_right_is_a_matter_of_configuration(session, table):
    table.execute("revoke all on public.t from occ_app")
    answer = session("run select * from public.t")
    assert answer["class"] == "configuration" and answer["code"] == "DATABASE_PERMISSION_DENIED"


def test_no_session_idles_in_a_transaction(session, table):
    session.run("select 1")
    session("run select 1 / 0")
    assert [row["state"] for row in table.sessions()] == ["idle"]


def test_a_lost_answer_leaves_the_outcome_unknown(probe, proxy, table):
    path = proxy(table.cluster.port)
    session = probe(table.url(port=path.port)).connect()
    path.cut_after(0)
    answer = unavailable(session("run insert into public.t values (7, 'g')"), "unavailable")
    assert answer["broken"] and answer["unknown"]
    poll(lambda: table.one("select count(*) from public.t") == 1)
    answer = unavailable(session("run select 1"))
    assert not answer["unknown"]  # nothing was sent
    assert session.connect().value("select count(*) from public.t") == "1"


def test_a_refusal_that_came_before_the_end_is_known(session):
    answer = session("run select 1 / 0 ;; select pg_terminate_backend(pg_backend_pid())")
    assert answer["origin"] == "22012" and not answer["unknown"]


def test_an_ended_session_is_of_no_more_use(session):  # K24
    answer = unavailable(session("run select pg_terminate_backend(pg_backend_pid())"), "unavailable", "57P01")
    assert answer["broken"]
    session.connect().run("select 1")


def test_a_statement_without_end(probe, table):
    session = probe(table.url()).connect(500)
    answer = unavailable(session("run select pg_sleep(20)"), "timeout", "57014")
    assert not answer["broken"] and not answer["unknown"]
    session.run("select 1")


def test_a_path_that_goes_silent_is_given_up_in_time(probe, proxy, table):  # K22, K40, K85
    path = proxy(table.cluster.port)
    session = probe(table.url(port=path.port)).connect(1000)
    path.silence()
    started = time.monotonic()
    answer = unavailable(session("run select 1"), "timeout")
    assert answer["broken"] and answer["unknown"]
    session.ok("free")
    assert 0.9 < time.monotonic() - started < 3 * PATIENCE


# Waiting


def test_the_watch_has_its_turns_and_ends_a_statement(session):
    session.ok("watch 0")
    answer = session.ok("run select pg_sleep(0.3)")
    assert 5 < answer["turns"] < 100
    session.ok("watch 200")
    started = time.monotonic()
    answer = session("run select pg_sleep(20)")
    assert time.monotonic() - started < 2 * PATIENCE
    assert answer["code"] == "PROBE_CANCELLED" and answer["broken"] and answer["unknown"]


def test_one_statement_may_be_under_way_while_something_else_waits(session):
    session.ok("start select pg_sleep(0.2) ;; select 7")
    assert "results" not in session.ok("advance")
    assert session("run select 1")["code"] == "DATABASE_BUSY"
    assert session.ok("finish")["results"][1]["rows"] == ["7"]
    session.ok("start select 8")
    answer = poll(lambda: session.ok("advance").get("results"))
    assert answer[0]["rows"] == ["8"]
    assert session("finish")["class"] == "bug"


def test_a_session_that_is_left_in_the_middle_ends_at_once(session):
    session.ok("start select pg_sleep(20)")
    started = time.monotonic()
    session.ok("free")
    assert time.monotonic() - started < 1 * PATIENCE


def test_large_results_and_parameters(session, probe, proxy, table):
    rows = session.run("select repeat('x', 1000) from generate_series(1, 5000)")[0]
    assert len(rows) == 5000 and set(rows) == {"x" * 1000}
    assert session.ok("big 20000000")["results"][0]["rows"] == ["20000000"]
    path = proxy(table.cluster.port)
    path.slow(0.01)
    slow = probe(table.url(port=path.port)).connect()
    assert slow.ok("big 3000000")["results"][0]["rows"] == ["3000000"]


@pytest.fixture
def tls_cluster():
    made = Cluster()
    try:
        made.create()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.data / "server.key"]
            + ["-out", made.data / "server.crt"],
            check=True,
            capture_output=True,
        )
        for name in ("server.key", "server.crt"):
            give(made.data / name, USER)
            (made.data / name).chmod(0o600)
        made.settings["ssl"] = "on"
        made.start().create_roles()
        certificate = made.folder / "ca.crt"
        shutil.copy(made.data / "server.crt", certificate)
        yield made, certificate
    finally:
        made.remove()


def test_tls(probe, tls_cluster):
    """Rows of sizes about those of a TLS record and of libpq's buffer, where bytes might wait that poll() does not see."""
    server, certificate = tls_cluster
    url = server.url("postgres", "occ_app") + f"?sslmode=verify-full&sslrootcert={certificate}"
    session = probe(url).connect()
    assert session.value("select ssl from pg_stat_ssl where pid = pg_backend_pid()") == "t"
    for size in (1000, 8000, 16000, 17000, 100000):
        rows = session.run(f"select repeat('x', {size}) from generate_series(1, 50)")[0]
        assert [len(row) for row in rows] == [size] * 50
    session.ok("listen tls")
    assert session.ok("run notify tls")["ok"]
    assert session.ok("notifications 5000")["count"] == 1
    unavailable(probe(url.replace("127.0.0.1", "localhost") + "&hostaddr=127.0.0.1")("connect 5000"), "unavailable")


# Notifications


def test_notifications_are_counted(session, table):
    session.ok("listen occ_controller_work")
    assert session.ok("notifications 0")["count"] == 0
    table.execute("notify occ_controller_work, '1'")
    assert session.ok("notifications 5000")["count"] == 1
    session.run("select 1", "select pg_notify('occ_controller_work', '2'), pg_notify('other', '')")
    assert session.ok("notifications 5000")["count"] == 1
    odd = 'a "quoted" name'
    session.ok(f"listen {odd}")
    session.run(f"select pg_notify('{odd}', '')")
    assert session.ok("notifications 5000")["count"] == 1


def test_an_idle_session_that_the_server_ends_is_noticed(session, table):  # K25, K101
    session.ok("listen occ_controller_work")
    session.tell("notifications 20000")
    poll(lambda: table.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'occ_app'"))
    answer = unavailable(session.hear(), "unavailable", "57P01")
    assert answer["broken"]
    unavailable(session("notifications 20000"))  # at once, not by waiting


# Scripts


def test_scripts_are_one_transaction_and_tell_the_line(probe, table):
    session = probe(table.admin_url).connect()
    answer = session("script insert into public.t values (1, 'a'); select missing from public.t")
    assert not answer["ok"] and answer["origin"] == "42703" and not answer["broken"]
    assert 'column "missing" does not exist' in answer["message"] and "line 1" in answer["message"]
    assert table.one("select count(*) from public.t") == 0
    session.ok("script insert into public.t values (1, 'a'); select 1; create table public.u ()")
    assert session.value("select count(*) from public.t") == "1"


# Poolers


def test_a_pooler_is_recognised(probe, table, pgbouncer):  # K29, K30, K31
    sessions = [probe(pgbouncer.url(table)).connect(10000) for _ in range(3)]
    for _ in range(4):
        for number, each in enumerate(sessions):
            assert each.ok("state")["pooled"]
            rows = each.run(f"@same select $1::text $$ {number}", "@same select $1::text $$ x")
            assert rows == [[str(number)], ["x"]]
    assert sessions[0].value("select count(*) from pg_prepared_statements where name <> ''") == "0"
    answer = sessions[0]("listen occ_controller_work")
    assert answer["class"] == "bug" and answer["code"] == "DATABASE_POOLED"


def test_limits_behind_a_pooler_last_for_one_transaction(probe, table, pgbouncer):  # K30
    session = probe(pgbouncer.url(table)).connect(10000, "read_only")
    names = "statement_timeout", "search_path", "jit"
    shown = session.run(*(f"select current_setting('{name}')" for name in names))
    assert shown == [["9s"], ["pg_catalog, pg_temp"], ["off"]]
    answer = session("run insert into public.t values (1)")
    assert answer["origin"] == "25006"
    other = table.cluster.connect(table.name, "occ_app", port=pgbouncer.port)
    with other.cursor() as cursor:
        for _ in range(8):  # every server connection of the pool
            cursor.execute("select current_setting('statement_timeout') || current_setting('search_path')")
            assert cursor.fetchone() == ('0"$user", public',)
            cursor.execute("show jit")
            assert cursor.fetchone() == ("on",)
            cursor.execute("show transaction_read_only")
            assert cursor.fetchone() == ("off",)
    other.close()


@pytest.mark.parametrize("by, state", [("deallocate all", "26000"), ("prepare late as select 2", "42P05")])
def test_a_pooler_that_shows_late(session, by, state):  # K30
    if state == "26000":
        session.run("@late select 1")
    session.run(by)
    answer = session("run insert into public.t values (1, 'a') ;; @late select 1")
    assert answer["class"] == "retryable" and answer["code"] == "DATABASE_CONFLICT" and answer["origin"] == state
    assert answer["pooled"] and not answer["broken"] and not answer["unknown"]
    assert session.run("@late select 1", "select count(*) from public.t") == [["1"], ["0"]]


def test_a_pooler_without_its_server(probe, own_cluster):
    own_cluster_bouncer = PgBouncer(own_cluster, settings={"query_wait_timeout": 1, "server_login_retry": 1})
    try:
        own_cluster_bouncer.start()
        url = own_cluster.url("postgres", "occ_app", port=own_cluster_bouncer.port)
        session = probe(url).connect(5000)
        own_cluster.stop()
        unavailable(poll(lambda: (lambda answer: not answer["ok"] and answer)(session("run select 1"))))
        unavailable(probe(url)("connect 3000"))
        own_cluster.start()
        poll(lambda: session("connect 3000")["ok"], 30)
        assert session.value("select 1") == "1"
    finally:
        own_cluster_bouncer.remove()


# Restarts and fail-over


def test_a_restarted_server_needs_a_new_handle(probe, own_cluster):  # K24, K25
    session = probe(own_cluster.url("postgres", "occ_app")).connect()
    session.run("@kept select 1")
    own_cluster.stop()
    answer = unavailable(session("run @kept select 1"), "unavailable")
    assert answer["broken"]
    unavailable(session("run @kept select 1"))
    unavailable(session("connect 5000"), "unreachable")
    own_cluster.start()
    assert session.connect().value("@kept select 1") == "1"


def test_a_demoted_server_is_left(probe, own_cluster, table):  # K41
    role, _, rest = own_cluster.url(table.name, "occ_app").partition("@")
    url = f"{role}@{rest.split('/')[0]},127.0.0.1:{table.cluster.port}/{table.name}"
    own_cluster.psql(_file(own_cluster, f"create database {table.name}"), "postgres")
    own_cluster.psql(_file(own_cluster, "create table public.t (key integer); grant all on public.t to occ_app"), table.name)
    session = probe(url).connect()
    here = "select current_setting('port')"
    assert session.value(here) == str(own_cluster.port)
    own_cluster.psql(_file(own_cluster, "alter system set default_transaction_read_only = on"), "postgres")
    own_cluster.psql(_file(own_cluster, "select pg_reload_conf()"), "postgres")
    poll(lambda: session.value("show transaction_read_only") == "on")
    answer = unavailable(session("run insert into public.t values (1)"), "unavailable", "25006")
    assert answer["broken"]
    assert session.connect().value(here) == str(table.cluster.port)
    assert session.connect(20000, "read_only").value(here) == str(own_cluster.port)
    single = probe(own_cluster.url("postgres", "occ_app"))
    assert "does not accept writes" in unavailable(single("connect 5000"), "unavailable")["message"]


def _file(server, sql):
    path = server.folder / "statement.sql"
    path.write_text(sql + ";\n")
    return path


def test_a_server_that_starts_up_is_waited_for(probe, own_cluster):
    """Recovery after a crash answers 57P03, which passes."""
    own_cluster.stop(how=3)
    started = probe(own_cluster.url("postgres", "occ_app"))
    unavailable(started("connect 1000"), "unreachable")
    own_cluster.start()
    started.connect()


def test_no_descriptor_is_left(probe, table):
    session = probe(table.url())
    for _ in range(5):
        session.connect()
    session.ok("free")
    held = os.listdir(f"/proc/{session.process.pid}/fd")
    assert len(held) == 3, held
    poll(lambda: table.sessions() == [])


def test_the_probe_refuses_what_it_does_not_know():
    assert run(tree.program("tests/integration/pg_probe"), stdin="dance\n").status == 2
