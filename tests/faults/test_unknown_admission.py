# SPDX-License-Identifier: MIT
"""A commit whose answer is lost: the user hears that the outcome is not known, and how to find out."""

import threading

import pytest

from conftest import bootstrap
from support.operator import refused
from support.waiting import poll

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


def lose_the_answer(database, proxy, keeper, committed, done):
    """Lets the commit happen, or not, and takes the connection away before its answer."""
    waiting = poll(
        lambda: database.query(
            "select pid from pg_stat_activity where datname = %s and wait_event = 'advisory' and usename = 'occ_app'",
            database.name,
        ),
        what="a commit that waits",
    )
    proxy.silence()
    if committed:
        keeper.rollback()
    else:
        database.query("select pg_terminate_backend(%s)", waiting[0]["pid"])
    poll(done, what="the end of the transaction")
    keeper.rollback()
    proxy.cut()  # while it is silent: what was held back never comes
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

