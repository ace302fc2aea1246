# SPDX-License-Identifier: MIT
"""The tools that other tests stand on do what they say."""

import json
import socket
import subprocess
import threading
import time

import psycopg2
import pytest

from support import processes
from support.engine import EngineError, UnixConnection
from support.fake_engine import Answer
from support.program import check_log
from support.waiting import DeadlineExceeded, poll
from support.worker import role_of


def test_cluster_serves_the_platforms_roles_with_passwords(cluster):
    for role in ("occ_app", "occ_migrator", "occ_metrics"):
        connection = cluster.connect(role=role)
        with connection.cursor() as cursor:
            cursor.execute("select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls"
                           " from pg_roles where rolname = current_user")
            assert cursor.fetchone() == (False,)
        connection.close()
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(cluster.url("postgres", "occ_app", password="wrong"))


def test_databases_are_fresh(empty_database, database):
    assert empty_database.query("select 1 from pg_namespace where nspname = 'occ'") == []
    assert empty_database.name != database.name


def test_a_cluster_of_ones_own_survives_a_crash(own_cluster):
    connection = own_cluster.connect()
    with connection.cursor() as cursor:
        cursor.execute("create table kept (n int); insert into kept values (7)")
    connection.close()
    own_cluster.restart(processes.signal.SIGQUIT)
    connection = own_cluster.connect()
    with connection.cursor() as cursor:
        cursor.execute("select n from kept")
        assert cursor.fetchall() == [(7,)]
    connection.close()


def test_poll_gives_up_at_its_deadline():
    with pytest.raises(DeadlineExceeded, match="the moon"):
        poll(lambda: False, 0.05, what="the moon")
    assert poll(lambda: 5, 0.05) == 5


def test_a_sanitizers_line_fails_a_test():
    check_log('{"event":"worker.started"}', "x")
    for line in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "x.c:3:4: runtime error: signed integer overflow",
                 "occ-worker: a.c:1: f: Assertion `x' failed."):
        with pytest.raises(AssertionError, match="wrote"):
            check_log(line, "x")


def test_role_of_a_child_is_read_from_its_arguments():
    def child(*arguments):
        return processes.Process(1, 1, 1, "S", 1, arguments)

    assert role_of(child("occ-worker", "--role=dispatcher")) == "dispatcher"
    assert role_of(child("occ-worker: reconciler 2")) == "reconciler"
    assert role_of(child("occ-worker", "exporter")) == "exporter"
    assert role_of(child("occ-worker", "--reconcilers=4")) is None


@pytest.fixture
def echo():
    """A server that answers each piece with itself."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection):
        with connection:
            try:
                while data := connection.recv(4096):
                    connection.sendall(data)
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_proxy_passes_silences_cuts_and_refuses(proxy, echo):
    path = proxy(echo)
    client = socket.create_connection(("127.0.0.1", path.port), timeout=5)
    client.sendall(b"one")
    assert client.recv(10) == b"one"
    path.silence()
    client.sendall(b"two")
    client.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.recv(10)
    path.restore()
    client.settimeout(5)
    assert client.recv(10) == b"two"
    path.cut()
    with pytest.raises(ConnectionError):
        client.sendall(b"three")
        if client.recv(10) == b"":
            raise ConnectionResetError
    client.close()
    path.refuse()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", path.port), timeout=5)
    path.restore()
    path.cut_after(4)
    with socket.create_connection(("127.0.0.1", path.port), timeout=5) as client:
        client.sendall(b"1234")
        assert client.recv(10) == b"1234"
        client.sendall(b"5")
        with pytest.raises(ConnectionError):
            if client.recv(10) == b"":
                raise ConnectionResetError


def test_pgbouncer_moves_a_session_between_servers(pgbouncer, cluster):
    one = cluster.connect(port=pgbouncer.port)
    with one.cursor() as cursor:
        seen = set()
        other = cluster.connect(port=pgbouncer.port, autocommit=False)
        with other.cursor() as busy:
            busy.execute("select pg_backend_pid()")
            for _ in range(4):
                cursor.execute("select pg_backend_pid()")
                seen.add(cursor.fetchone()[0])
            assert busy.connection.info.transaction_status == psycopg2.extensions.TRANSACTION_STATUS_INTRANS
            cursor.execute("select count(*) from pg_stat_activity where pid = any(%s)", (list(seen),))
            assert cursor.fetchone()[0] == len(seen) >= 1
        other.close()
    one.close()


def test_notify_socket_reads_what_a_daemon_sends(notify):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"READY=1\nSTATUS=fine", notify.path)
    poll(lambda: notify.ready, 5)
    assert notify.status == "fine"
    assert notify.messages[0][1] == processes.os.getpid()


def test_engines_are_real_and_ours_alone(any_engine):
    first = any_engine.create_network("first", {"org.openclaw.enterprise.managed": "true"})
    any_engine.create_network("second")
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    if processes.os.geteuid() == 0:
        assert f"br-{first[:12]}" not in links and "podman" not in links
    assert [entry["Name"] for entry in any_engine.networks()] == ["first"]
    container = any_engine.run("busy", network="second", labels={"a": "b"})
    assert [entry["Id"] for entry in any_engine.containers("a=b")] == [container]
    if any_engine.kind == "docker":
        with pytest.raises(EngineError, match="active endpoints"):
            any_engine.remove_network("second")
    any_engine.create_volume("kept", {"a": "b"})
    any_engine.clean()
    assert not any_engine.networks() and not any_engine.containers() and not any_engine.volumes()


def _ask(engine, method, path, body=None):
    connection = UnixConnection(engine.socket, timeout=5)
    try:
        connection.request(method, f"/v1.41{path}", None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_fake_engine_says_what_it_is_told(fake_engine):
    assert _ask(fake_engine, "GET", "/_ping") == (200, b"OK")
    assert _ask(fake_engine, "POST", "/networks/create", {"Name": "n", "Labels": {"a": "b"}})[0] == 201
    assert _ask(fake_engine, "POST", "/networks/create", {"Name": "n"})[0] == 409
    filters = "%7B%22label%22%3A%5B%22a%3Dc%22%5D%7D"
    assert _ask(fake_engine, "GET", f"/networks?filters={filters}") == (200, b"[]")
    fake_engine.on("DELETE", r"/networks/.*", [Answer(403, {"message": "no"}), Answer(500, b"garbage")])
    assert _ask(fake_engine, "DELETE", "/networks/n") == (403, b'{"message": "no"}')
    assert _ask(fake_engine, "DELETE", "/networks/n") == (500, b"garbage")
    fake_engine.on("DELETE", r"/networks/.*", Answer(cut_after=5, effect=True))
    with pytest.raises(Exception, match="HTTP"):
        _ask(fake_engine, "DELETE", "/networks/n")
    fake_engine.off()
    assert _ask(fake_engine, "GET", "/networks/n")[0] == 404
    assert fake_engine.count("DELETE", r"/networks/.*") == 3
    assert fake_engine.asked("POST")[0].json["Labels"] == {"a": "b"}
    assert fake_engine.asked("POST")[0].version == "v1.41"


def test_fake_engine_stalls_and_goes_away(fake_engine):
    fake_engine.on("GET", "/_ping", Answer(200, b"OK", stall=threading.Event()))
    connection = UnixConnection(fake_engine.socket, timeout=0.2)
    connection.request("GET", "/_ping")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    fake_engine.stop()
    with pytest.raises(ConnectionRefusedError):
        _ask(fake_engine, "GET", "/_ping")
    fake_engine.start()
    fake_engine.off()
    assert _ask(fake_engine, "GET", "/_ping") == (200, b"OK")


def test_processes_are_the_same_only_with_the_same_start(folder):
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    poll(lambda: processes.look(child.pid).arguments == ("sleep", "1000"), 5)
    seen = processes.look(child.pid)
    assert seen.alive
    assert [process.pid for process in processes.in_session(child.pid)] == [child.pid]
    began = time.monotonic()
    assert processes.finish(child) == -15
    assert time.monotonic() - began < 5
    assert not seen.alive
