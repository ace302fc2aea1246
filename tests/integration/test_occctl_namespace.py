# SPDX-License-Identifier: MIT
"""occctl namespace: admission of creation and deletion, refusals, and --wait."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time
import uuid

import pytest

from support.operator import Operator, events, failed_deletion, finish, in_background, refused, start, work_of
from support.waiting import poll


def test_create(occctl, bootstrapped):
    document = occctl("namespace", "create", "acme", "-o", "json").ok().json
    row = bootstrapped.namespace("acme")
    assert document["id"] == row["id"] and document["name"] == "acme"
    assert document["status"] == row["status"] == "provisioning"
    work = bootstrapped.work(f"namespace:{row['id']}:reconcile:ready")
    assert work["state"] == "queued" and work["namespace_target"] == "ready"
    assert document["work"] == {"id": work["idempotency_key"], "state": "queued", "attempt": 0, "code": None}
    event = events(bootstrapped, "openclaw.namespaces.create")[-1]
    assert event["kind"] == "mutation" and event["outcome"] == "success"
    assert event["actor_id"] == work["actor_id"]
    assert event["namespace_id"] == event["resource_id"] == row["id"]
    details = event["details"]
    assert details["workId"] == work["idempotency_key"] and details["name"] == "acme"
    assert details["decision"]["permission"] == "namespace:create" and details["decision"]["bindingId"]
    assert details["serviceKeyId"]


def test_create_wakes_a_dispatcher(occctl, bootstrapped):
    listener = bootstrapped.connect("occ_app")
    listener.cursor().execute("listen occ_controller_work")
    occctl("namespace", "create", "acme").ok()
    poll(lambda: listener.poll() or listener.notifies, what="the notification")


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "x" * 200,
        "Ünïcödé 名前 🦊",
        "with  inner   spaces",
        'quotes " and \\ and \'',
        "--flag-like",
        "true",
        "; drop table occ.namespaces; --",
        "ns_11111111-1111-4111-8111-111111111111",
    ],
)
def test_names_that_are_good(occctl, bootstrapped, name):
    document = occctl("namespace", "create", "-o", "json", "--", name).ok().json
    assert document["name"] == name
    assert bootstrapped.namespace(name)["id"] == document["id"]
    assert occctl("namespace", "get", document["id"], "-o", "json").ok().json["name"] == name


@pytest.mark.parametrize(
    "name, words",
    [
        ("", ["empty"]),
        (" ", ["white space"]),
        (" acme", ["white space"]),
        ("acme ", ["white space"]),
        ("\u00a0acme", ["white space"]),
        ("acme\u3000", ["white space"]),
        ("\ufeffacme", ["white space"]),
        ("x" * 201, ["at most 200", "201"]),
        ("名" * 201, ["at most 200", "201"]),
        ("two\nlines", ["control characters"]),
        ("tab\tbed", ["control characters"]),
        ("escape\x1b[31m", ["control characters"]),
        ("delete\x7f", ["control characters"]),
        ("c1\u0085", ["control characters"]),
        (b"\xff\xfe".decode("utf-8", "surrogateescape"), ["UTF-8"]),
    ],
)
def test_names_that_are_not(occctl, bootstrapped, name, words):
    before = bootstrapped.one("select count(*) from occ.namespaces")
    refused(occctl("namespace", "create", "--", name), 2, "NAME_INVALID", *words)
    assert bootstrapped.one("select count(*) from occ.namespaces") == before
    assert events(bootstrapped, "openclaw.namespaces.create")[1:] == []


def test_a_taken_name(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    refused(occctl("namespace", "create", "acme"), 4, "NAMESPACE_NAME_TAKEN", "acme", "exists already")
    occctl("namespace", "create", "ACME").ok()
    assert len(events(bootstrapped, "openclaw.namespaces.create")) == 3


def delete_wholly(occctl, database, name):
    occctl("namespace", "delete", name).ok()
    identifier = database.namespace(name)["id"]
    finish(database, f"namespace:{identifier}:reconcile:deleted")
    return identifier


def test_a_name_that_looks_like_an_id(occctl, bootstrapped):
    """It is found by its name; where there is a Namespace with that ID, the ID counts."""
    free, taken = "ns_11111111-1111-4111-8111-111111111111", bootstrapped.namespace("default")["id"]
    for name in (free, taken):
        occctl("namespace", "create", name).ok()
        refused(occctl("namespace", "create", name), 4, "NAMESPACE_NAME_TAKEN", f'"{name}"', "exists already")
    assert occctl("namespace", "get", free, "-o", "json").ok().json["name"] == free
    assert occctl("namespace", "get", taken, "-o", "json").ok().json["name"] == "default"
    other = "ns_22222222-2222-4222-8222-222222222222"
    refused(occctl("namespace", "get", other), 3, "NAMESPACE_NOT_FOUND", other)
    assert occctl("namespace", "delete", free, "-o", "json").ok().json["name"] == free


def test_a_name_that_a_tombstone_has(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    identifier = delete_wholly(occctl, bootstrapped, "acme")
    refused(
        occctl("namespace", "create", "acme"), 4, "NAMESPACE_NAME_TAKEN", identifier, "deleted", "never used again"
    )


def test_two_creations_of_one_name(occctl, bootstrapped):
    """One wins, the other hears why; neither sees a statement fail."""
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(occctl("namespace", "create", "acme"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.status for result in results) == [0, 4, 4, 4, 4, 4], results
    for result in results:
        if result.status:
            refused(result, 4, "NAMESPACE_NAME_TAKEN")
    assert bootstrapped.one("select count(*) from occ.namespaces where name = 'acme'") == 1
    assert bootstrapped.one("select count(*) from occ.controller_work") == 2


def test_creation_waits_for_an_open_one(occctl, bootstrapped):
    """The name is in a transaction that is not finished: when it commits it is taken, when it rolls back it is free."""
    for ending, status in (("rollback", 0), ("commit", 4)):
        name = f"race-{ending}"
        other = bootstrapped.connect("postgres", autocommit=False)
        other.cursor().execute("insert into occ.namespaces (id, name) values (%s, %s)", (f"ns_{uuid.uuid4()}", name))
        results = []
        thread = threading.Thread(target=lambda: results.append(occctl("namespace", "create", name)))
        thread.start()
        poll(
            lambda: bootstrapped.query(
                "select 1 as x from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
            ),
            what="occctl waiting for the name",
        )
        getattr(other, ending)()
        thread.join()
        assert results[0].status == status, results


def test_existing_namespace_is_refused_with_docker(occctl, bootstrapped):
    refused(
        occctl("namespace", "create", "acme", "--existing-namespace", "team-a"),
        2,
        "EXISTING_NAMESPACE_UNSUPPORTED",
        "compute-docker-development",
    )
    assert bootstrapped.namespace("acme") is None


def test_list_and_get(occctl, bootstrapped):
    for name in ("zeta", "alpha"):
        occctl("namespace", "create", name).ok()
    rows = occctl("namespace", "list", "-o", "json").ok().json
    assert [row["name"] for row in rows] == ["alpha", "default", "zeta"]
    table = occctl("namespace", "list").ok().lines
    assert table[0].split() == ["NAME", "STATUS", "AGE", "WORK", "CODE", "ID"]
    assert [line.split()[0] for line in table[1:]] == ["alpha", "default", "zeta"]
    by_name = occctl("namespace", "get", "alpha", "-o", "json").ok().json
    by_id = occctl("namespace", "get", by_name["id"], "-o", "json").ok().json
    assert by_name["id"] == by_id["id"]
    refused(occctl("namespace", "get", "Alpha"), 3, "NAMESPACE_NOT_FOUND", "Alpha")
    missing = f"ns_{uuid.uuid4()}"
    refused(occctl("namespace", "get", missing), 3, "NAMESPACE_NOT_FOUND", missing)
    delete_wholly(occctl, bootstrapped, "alpha")
    assert [row["name"] for row in occctl("namespace", "list", "-o", "json").ok().json] == ["default", "zeta"]
    rows = occctl("namespace", "list", "--deleted", "-o", "json").ok().json
    assert [(row["name"], row["status"]) for row in rows][0] == ("alpha", "deleted")


def test_a_name_that_looks_like_the_id_of_another(occctl, bootstrapped):
    victim = occctl("namespace", "create", "victim", "-o", "json").ok().json["id"]
    occctl("namespace", "create", victim).ok()
    assert occctl("namespace", "get", victim, "-o", "json").ok().json["name"] == "victim"


def test_delete(occctl, bootstrapped):
    document = occctl("namespace", "create", "acme", "-o", "json").ok().json
    finish(bootstrapped, document["work"]["id"])
    deleting = occctl("namespace", "delete", "acme", "-o", "json").ok().json
    assert deleting["status"] == "deleting"
    assert deleting["work"]["id"] == f"namespace:{document['id']}:reconcile:deleted"
    assert bootstrapped.namespace("acme")["status"] == "deleting"
    (event,) = events(bootstrapped, "openclaw.namespaces.delete")
    assert event["details"]["workId"] == deleting["work"]["id"]
    assert event["details"]["decision"]["permission"] == "namespace:delete"


def test_delete_again_while_it_is_under_way(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    occctl("namespace", "delete", "acme").ok()
    again = occctl("namespace", "delete", "acme")
    assert again.status == 0 and "under way already" in again.err
    assert len(events(bootstrapped, "openclaw.namespaces.delete")) == 1


def test_delete_what_is_deleted(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    delete_wholly(occctl, bootstrapped, "acme")
    refused(occctl("namespace", "delete", "acme"), 3, "NAMESPACE_NOT_FOUND", "was deleted at")


def owned(database, namespace_id):
    database.execute(
        "insert into occ.configurations (id, namespace_id) values (%s, %s)", f"cfg_{uuid.uuid4()}", namespace_id
    )
    for name in ("one", "two"):
        database.execute(
            "insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name,"
            " backend_key) values (%s, %s, %s, 'd', 'n', %s, 'k')",
            f"sec_{uuid.uuid4()}",
            namespace_id,
            name,
            name,
        )


def test_delete_what_is_not_empty_lists_what_remains(occctl, bootstrapped):
    document = occctl("namespace", "create", "acme", "-o", "json").ok().json
    owned(bootstrapped, document["id"])
    refused(occctl("namespace", "delete", "acme"), 4, "NAMESPACE_NOT_EMPTY", "1 Configuration, 2 Secrets")
    assert bootstrapped.namespace("acme")["status"] == "provisioning"
    assert events(bootstrapped, "openclaw.namespaces.delete") == []


def test_delete_waits_for_a_child_that_is_being_made(occctl, bootstrapped):
    """The child's transaction holds the Namespace FOR SHARE: the deletion counts only after it, and is refused."""
    document = occctl("namespace", "create", "acme", "-o", "json").ok().json
    other = bootstrapped.connect("postgres", autocommit=False)
    other.cursor().execute(
        "insert into occ.configurations (id, namespace_id) values (%s, %s)", (f"cfg_{uuid.uuid4()}", document["id"])
    )
    results = []
    thread = threading.Thread(target=lambda: results.append(occctl("namespace", "delete", "acme")))
    thread.start()
    poll(
        lambda: bootstrapped.query(
            "select 1 as x from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
        ),
        what="occctl waiting for the Namespace",
    )
    other.commit()
    thread.join()
    refused(results[0], 4, "NAMESPACE_NOT_EMPTY", "1 Configuration")


def test_many_deletions_at_once_are_one(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(occctl("namespace", "delete", "acme"))) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == [0] * 5, results
    assert len(events(bootstrapped, "openclaw.namespaces.delete")) == 1


def test_a_failed_deletion_is_queued_again(occctl, bootstrapped):
    """K96."""
    document = failed_deletion(occctl, bootstrapped)
    before = bootstrapped.work(document["work"]["id"])
    occctl("namespace", "delete", "acme").ok()
    after = bootstrapped.work(document["work"]["id"])
    assert after["state"] == "queued" and after["attempt_count"] == 0 and after["reason_code"] is None
    assert after["created_at"] == before["created_at"] and after["actor_id"] == before["actor_id"]
    first, second = events(bootstrapped, "openclaw.namespaces.delete")
    assert "repeated" not in first["details"] and second["details"]["repeated"] is True


def test_a_takeover_is_refused_while_the_first_may(occctl, bootstrapped, folder):
    """K96."""
    first = Operator(
        bootstrapped, folder, "namespace:create", "namespace:read", "namespace:delete"
    )
    document = failed_deletion(occctl, bootstrapped, first.env)
    refused(occctl("namespace", "delete", "acme"), 4, "DELETION_HELD", first.id)
    assert bootstrapped.work(document["work"]["id"])["state"] == "failed_permanent"
    first.revoke_all()
    occctl("namespace", "delete", "acme").ok()
    work = bootstrapped.work(document["work"]["id"])
    assert work["state"] == "queued" and work["actor_id"] != first.id
    event = events(bootstrapped, "openclaw.namespaces.delete")[-1]
    assert event["details"]["takenOverFrom"] == first.id and event["actor_id"] == work["actor_id"]


def test_a_takeover_when_the_first_is_gone(occctl, bootstrapped, folder):
    """K96."""
    first = Operator(
        bootstrapped, folder, "namespace:create", "namespace:read", "namespace:delete"
    )
    document = failed_deletion(occctl, bootstrapped, first.env)
    first.revoke_all()
    bootstrapped.execute("delete from occ.iam_identities where id = %s", first.id)
    occctl("namespace", "delete", "acme").ok()
    assert bootstrapped.work(document["work"]["id"])["state"] == "queued"


@pytest.mark.parametrize(
    "command, permission, action",
    [
        (("namespace", "create", "new"), "namespace:create", "openclaw.namespaces.create"),
        (("namespace", "get", "default"), "namespace:read", "openclaw.namespaces.read"),
        (("namespace", "delete", "default"), "namespace:delete", "openclaw.namespaces.delete"),
    ],
)
def test_a_refusal_names_permission_and_place_and_leaves_evidence(
    occctl, bootstrapped, folder, command, permission, action
):
    nobody = Operator(bootstrapped, folder)
    place = bootstrapped.namespace("default")["id"]
    if command[1] == "create":
        place = bootstrapped.one("select id from occ.installation")
    refused(occctl(*command, env=nobody.env), 1, "AUTHORIZATION_DENIED", permission, place, nobody.id)
    (event,) = [row for row in events(bootstrapped, action) if row["kind"] == "authorization_denial"]
    assert event["outcome"] == "denied" and event["actor_id"] == nobody.id and event["resource_id"] == place
    assert event["details"]["decision"]["verdict"] == "not_granted"
    assert bootstrapped.namespace("new") is None
    assert bootstrapped.namespace("default")["status"] == "provisioning"


def test_a_restriction_is_named(occctl, bootstrapped):
    bootstrapped.execute(
        "insert into occ.iam_restrictions (id, action, resource_kind) values ('frozen', 'create', 'namespace')"
    )
    refused(occctl("namespace", "create", "new"), 1, "AUTHORIZATION_DENIED", "frozen", "namespace:create")


def test_one_namespace_is_all_that_is_seen(occctl, bootstrapped, folder):
    identifier = occctl("namespace", "create", "acme", "-o", "json").ok().json["id"]
    tenant = Operator(bootstrapped, folder, "namespace:read", namespace_id=identifier)
    rows = occctl("namespace", "list", "-o", "json", env=tenant.env).ok().json
    assert [row["name"] for row in rows] == ["acme"]
    occctl("namespace", "get", "acme", env=tenant.env).ok()
    refused(occctl("namespace", "get", "default", env=tenant.env), 1, "AUTHORIZATION_DENIED", "namespace:read")
    nobody = Operator(bootstrapped, folder)
    assert occctl("namespace", "list", "-o", "json", env=nobody.env).ok().json == []


def test_many_namespaces_are_listed(occctl, bootstrapped):
    """More than one trip asks for."""
    bootstrapped.execute(
        "insert into occ.namespaces (id, name)"
        " select 'ns_' || gen_random_uuid(), 'many-' || lpad(n::text, 4, '0') from generate_series(1, 450) as n"
    )
    rows = occctl("namespace", "list", "-o", "json").ok().json
    assert len(rows) == 451 and rows[1]["name"] == "many-0001" and rows[450]["name"] == "many-0450"


# ---- --wait


def test_wait_for_ready(occctl, bootstrapped):
    result = in_background(occctl, "namespace", "create", "acme", "--wait", "-o", "json")
    key = work_of(bootstrapped, "acme", "ready")
    finish(bootstrapped, key)
    done = result().ok()
    assert done.json["status"] == "ready" and done.json["work"]["state"] == "succeeded"
    lines = done.err.splitlines()
    assert lines[-1].startswith("acme: succeeded, attempt 1, RECONCILE_SUCCEEDED")
    assert "\r" not in done.err and "\033" not in done.err + done.out


def test_wait_shows_each_change(bootstrapped):
    """Each step is made when the line about the one before has been read."""
    process = start(bootstrapped, "namespace", "create", "acme", "--wait")
    key = work_of(bootstrapped, "acme", "ready")
    said = []

    def hears(expected):
        line = process.stderr.readline()
        said.append(line)
        assert line.startswith(expected + ", "), said

    hears("acme: queued, attempt 0")
    bootstrapped.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() + interval '1 minute' where idempotency_key = %s",
        key,
    )
    hears("acme: claimed, attempt 1")
    bootstrapped.execute(
        "insert into occ.audit_events (kind, action, namespace_id, outcome, details)"
        " values ('mutation', 'reconcile', %s, 'failure', jsonb_build_object('workId', %s::text, 'reasonCode',"
        " 'DOCKER_ENGINE_UNAVAILABLE', 'attemptCount', 1))",
        key.split(":")[1],
        key,
    )
    hears("acme: claimed, attempt 1, DOCKER_ENGINE_UNAVAILABLE")
    bootstrapped.execute(
        "update occ.controller_work set state = 'queued', lease_expires_at = null where idempotency_key = %s", key
    )
    hears("acme: queued, attempt 1, DOCKER_ENGINE_UNAVAILABLE")
    finish(bootstrapped, key)
    out, rest = process.communicate(timeout=30)
    assert rest.startswith("acme: succeeded, attempt 2, RECONCILE_SUCCEEDED, ")
    assert process.returncode == 0 and "ready" in out


def test_wait_on_a_terminal_rewrites_one_line(bootstrapped):
    ours, theirs = pty.openpty()
    process = start(bootstrapped, "namespace", "create", "acme", "--wait", stderr=theirs)
    os.close(theirs)
    finish(bootstrapped, work_of(bootstrapped, "acme", "ready"))
    process.communicate(timeout=30)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal says that nobody is left
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.returncode == 0
    assert shown.count(b"\n") == 1 and shown.endswith(b"\r\n") and shown.startswith(b"\racme: ")
    assert b"succeeded, attempt 1, RECONCILE_SUCCEEDED" in shown


def test_wait_for_what_fails(occctl, bootstrapped):
    result = in_background(occctl, "namespace", "create", "acme", "--wait", "-o", "json")
    finish(bootstrapped, work_of(bootstrapped, "acme", "ready"), "OWNERSHIP_CONFLICT", "failed_permanent")
    done = result()
    assert done.status == 5, done
    assert done.json["status"] == "failed" and done.json["work"]["code"] == "OWNERSHIP_CONFLICT"
    failed, told = done.err.splitlines()[-2:]
    assert failed == "occctl: The work has failed with OWNERSHIP_CONFLICT"
    assert "occctl audit list --work namespace:" in told
    assert "retry" not in told, "a Namespace that failed stays failed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_wait_is_interrupted(bootstrapped, number):
    process = start(
        bootstrapped,
        "namespace",
        "create",
        "acme",
        "--wait",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline().startswith("acme: queued")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == -number and out == ""
    assert "the work goes on" in err and "occctl work get namespace:" in err


def test_wait_on_a_narrow_terminal(bootstrapped):
    """A line that wraps could not be rewritten."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = start(bootstrapped, "namespace", "create", "名" * 50, "--wait", "--timeout-ms=600", stderr=theirs)
    os.close(theirs)
    process.communicate(timeout=30)
    shown = os.read(ours, 65536).decode().split("\n")[0].rstrip("\r")
    os.close(ours)
    lines = [line.removesuffix("\033[K") for line in shown.split("\r") if line]
    assert lines and all(line.startswith("名名") and ": queued, attempt 0, " in line for line in lines)
    assert all(sum(2 if c == "名" else 1 for c in line) < 60 for line in lines)


def test_wait_for_what_was_superseded(occctl, bootstrapped):
    result = in_background(occctl, "namespace", "create", "acme", "--wait", "-o", "json")
    key = work_of(bootstrapped, "acme", "ready")
    occctl("namespace", "delete", "acme").ok()
    finish(bootstrapped, key, "SUPERSEDED_TARGET")
    done = result()
    assert done.status == 5 and done.json["status"] == "deleting", done
    assert "deleting and not ready" in done.err


def test_wait_for_a_deletion(occctl, bootstrapped):
    occctl("namespace", "create", "acme").ok()
    result = in_background(occctl, "namespace", "delete", "acme", "--wait", "-o", "json")
    finish(bootstrapped, work_of(bootstrapped, "acme", "deleted"))
    assert result().ok().json["status"] == "deleted"


def test_wait_times_out(occctl):
    """K123: without a worker nothing happens, and the user hears that none has come."""
    begun = time.monotonic()
    done = occctl("namespace", "create", "acme", "--wait", "--timeout-ms", "1000")
    assert done.status == 75 and done.out == ""
    assert done.err.splitlines()[-1].endswith("[WAIT_TIMED_OUT]")
    assert 1 <= time.monotonic() - begun < 20


def test_wait_survives_the_database(own_cluster, folder):
    """A restart of the server in the middle of the wait."""
    from conftest import bootstrap
    from support.database import Database
    from support.program import run

    database = Database.create(own_cluster).migrate()
    bootstrap(database, folder).ok()
    env = {
        "NODE_ENV": "development",
        "OCC_SERVICE_KEY_FILE": folder / "service-key.json",
        **database.environment(),
    }
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run("occctl", "namespace", "create", "acme", "--wait", env=env, deadline=60))
    )
    thread.start()
    key = work_of(database, "acme", "ready")
    database.close()
    own_cluster.restart()
    finish(database, key)
    thread.join()
    assert results[0].ok().err.splitlines()[-1].startswith("acme: succeeded")


def test_no_worker_has_come(occctl, bootstrapped):
    """K123."""
    occctl("namespace", "create", "acme").ok()
    bootstrapped.execute("update occ.controller_work set available_at = now() - interval '1 minute'")
    done = occctl("namespace", "delete", "acme", "--wait", "--timeout-ms", "400")
    assert done.status == 75
    (row,) = [
        row
        for row in occctl("work", "list", "--kind", "namespace_ensure", "-o", "json").ok().json
        if row["namespaceName"] == "acme"
    ]
    assert row["why"].startswith("waits for a worker, and none has come for 6")
