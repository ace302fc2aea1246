# SPDX-License-Identifier: MIT
"""A commit whose answer is lost: the user hears that the outcome is not known, and how to find out."""

import subprocess
import threading

import pytest

from conftest import bootstrap
from support.operator import events, refused, start
from support.waiting import poll

WAITING = "select pid from pg_stat_activity where datname = %s and wait_event = 'advisory' and usename = 'occ_app'"
GATE = 99  # an advisory lock that the test holds and the commit waits for


def gate(database, table):
    """Makes each commit of a transaction that inserted into the table wait for the gate, which is closed."""
    database.execute(
        "create function public.gate() returns trigger language plpgsql security definer as"
        f" $$begin perform pg_advisory_xact_lock({GATE}); return null; end$$"
    )
    database.execute(
        f"create constraint trigger gate after insert on occ.{table} deferrable initially deferred"
        " for each row execute function public.gate()"
    )
    keeper = database.connect("postgres", autocommit=False)
    keeper.cursor().execute("select pg_advisory_xact_lock(%s)", (GATE,))
    return keeper


def lose_the_answer(database, proxy, keeper, committed, done, back=True):
    """Lets the commit happen, or not, and takes the connection away before its answer; for good unless `back`."""
    waiting = poll(lambda: database.query(WAITING, database.name), what="a commit that waits")
    proxy.silence()
    if committed:
        keeper.rollback()
    else:
        database.query("select pg_terminate_backend(%s)", waiting[0]["pid"])
    poll(done, what="the end of the transaction")
    keeper.rollback()
    if not back:
        proxy.refuse()
    proxy.cut()  # while it is silent: what was held back never comes
    if back:
        proxy.restore()


def ended(database, pid_count=0):
    return lambda: len(database.sessions()) == pid_count


@pytest.mark.parametrize("committed", [True, False])
def test_occctl(occctl, bootstrapped, proxied, committed):
    proxy, env = proxied
    keeper = gate(bootstrapped, "namespaces")
    results = []
    thread = threading.Thread(target=lambda: results.append(occctl("namespace", "create", "acme", env=env)))
    thread.start()
    done = (lambda: bootstrapped.namespace("acme")) if committed else ended(bootstrapped)
    lose_the_answer(bootstrapped, proxy, keeper, committed, done)
    thread.join()
    refused(results[0], 69, "OUTCOME_UNKNOWN", "look whether the change was made")
    # All of it, or nothing of it.
    rows = int(committed)
    assert bootstrapped.one("select count(*) from occ.namespaces where name = 'acme'") == rows
    assert bootstrapped.one("select count(*) from occ.controller_work") == 1 + rows
    assert bootstrapped.one("select count(*) from occ.audit_events") == 2 + rows


@pytest.mark.parametrize("committed", [True, False])
def test_bootstrap(database, folder, proxy, committed):
    made = proxy(database.cluster.port)
    keeper = gate(database, "installation")
    results = []
    url = database.url(port=made.port)
    thread = threading.Thread(target=lambda: results.append(bootstrap(database, folder, OCC_DATABASE_URL=url)))
    thread.start()
    done = (lambda: database.query("select id from occ.installation")) if committed else ended(database)
    lose_the_answer(database, made, keeper, committed, done)
    thread.join()
    result = results[0]
    assert result.status == 69, result
    (record,) = result.records
    assert record["code"] == "BOOTSTRAP_OUTCOME_UNKNOWN"
    assert record["leftPasswordFile"] == str(folder / "password")
    assert record["leftServiceKeyFile"] == str(folder / "service-key.json")
    # The next run tells: verified with the same key, or refused as the files are in the way.
    again = bootstrap(database, folder)
    if committed:
        assert again.ok().json["event"] == "installation.already-bootstrapped"
    else:
        assert again.status == 78 and again.records[0]["code"] == "OUTPUT_FILE_REFUSED"
        assert database.one("select count(*) from occ.installation") == 0


def configuration_write(configurations, proxied, write, committed, back=True):
    """create, update or delete whose answer is lost: (Result, the Configuration's ID or None)."""
    proxy, env = proxied
    database = configurations.database
    made = None if write == "create" else configurations.made('{"former": 1}')
    calls = {
        "create": lambda: configurations.create('{"new": 1}', env=env),
        "update": lambda: configurations.update(made, '{"new": 1}', env=env),
        "delete": lambda: configurations("delete", made, env=env),
    }
    keeper = gate(database, "audit_events")
    results = []
    thread = threading.Thread(target=lambda: results.append(calls[write]()))
    thread.start()
    action = f"openclaw.configurations.{write}"
    # One session is the rows' of the test itself.
    done = (lambda: events(database, action)) if committed else ended(database, 1)
    lose_the_answer(database, proxy, keeper, committed, done, back)
    thread.join()
    return results[0], made


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("write", ["create", "update", "delete"])
def test_configurations(configurations, proxied, write, committed):
    """A new connection tells how it ended; row and text agree whatever that was."""
    result, made = configuration_write(configurations, proxied, write, committed)
    if committed:
        result.ok()
    else:
        refused(result, 69, "PERSISTENCE_UNAVAILABLE", "nothing was changed")
    kept = [configurations(*("get", path[:-5], "--document")).ok().out for path in configurations.files()]
    if write == "create":
        assert kept == (['{"new": 1}'] if committed else []) and configurations.count() == len(kept)
        return
    if write == "delete" and committed:
        assert kept == [] and configurations.row(made) is None
        return
    assert kept == ['{"new": 1}' if committed else '{"former": 1}']
    assert configurations.row(made)["generation"] == (2 if committed else 1)


def test_configurations_without_a_database(configurations, proxied):
    """Nobody can tell any more: the user hears what may be wrong, and that an update mends it."""
    result, made = configuration_write(configurations, proxied, "update", committed=False, back=False)
    assert result.status == 69 and result.out == ""
    hint, line = result.err.splitlines()
    assert made in hint and "update it" in hint
    assert line.endswith("[OUTCOME_UNKNOWN]")
    configurations.update(made, '{"again": 1}').ok()
    assert configurations("get", made, "--document").ok().out == '{"again": 1}'
    assert configurations.row(made)["generation"] == 2


@pytest.mark.parametrize("write", ["create", "update", "delete"])
def test_a_killed_write(configurations, write):
    """Killed after the Driver has done its part and before the commit: what is left is told, and mended by doing it
    again."""
    database = configurations.database
    made = None if write == "create" else configurations.made('{"former": 1}')
    words = {"create": ["create", "-n", "acme", "-"], "update": ["update", made, "-"], "delete": ["delete", made]}
    keeper = gate(database, "audit_events")
    root = f"--development-configuration-root={configurations.root}"
    process = start(database, "configuration", *words[write], root, stdin=subprocess.PIPE)
    process.stdin.write('{"new": 1}')
    process.stdin.close()
    poll(lambda: len(database.query(WAITING, database.name)) == 1, what="a commit that waits")
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    database.query(WAITING.replace("select pid", "select pg_terminate_backend(pid)"), database.name)
    poll(ended(database, 1), what="the end of the transaction")
    keeper.rollback()
    if write == "create":
        assert configurations.count() == 0 and configurations.made() in [name[:-5] for name in configurations.files()]
        return
    assert configurations.row(made)["generation"] == 1
    if write == "delete":
        refused(configurations("get", made, "--document"), 3, "CONFIGURATION_DOCUMENT_MISSING", made)
        configurations("delete", made).ok()
        assert configurations.files() == [] and configurations.count() == 0
        return
    assert configurations("get", made, "--document").ok().out == '{"new": 1}'
    assert configurations.update(made, '{"again": 1}').ok().json["generation"] == 2
    assert configurations("get", made, "--document").ok().out == '{"again": 1}'
