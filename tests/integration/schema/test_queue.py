# SPDX-License-Identifier: MIT
"""The queue: shapes, lanes, transitions, keys, and its indexes."""

import select
import threading
import uuid

import psycopg2
import psycopg2.errors
import pytest

from support.rows import Store, blocked, insertion, new

# ---- The queue ----


def test_three_shapes(shared):
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    revision = shared.revision(namespace, agent)
    base = {"namespace_id": namespace, "actor_id": "actor"}
    keys = {
        "ready": f"namespace:{namespace}:reconcile:ready",
        "deleted": f"namespace:{namespace}:reconcile:deleted",
        "stop": f"agent:{agent}:reconcile:stopped:{new()}",
        "delete": f"agent:{agent}:reconcile:deleted",
        "revision": f"agent_revision:{revision}:reconcile",
        "maintenance": f"agent_revision:{revision}:maintenance:29300160",
    }
    shapes = {
        "ready": {"namespace_target": "ready"},
        "deleted": {"namespace_target": "deleted"},
        "stop": {"agent_id": agent, "agent_target": "stopped"},
        "delete": {"agent_id": agent, "agent_target": "deleted"},
        "revision": {"agent_id": agent, "revision_id": revision},
        "maintenance": {"agent_id": agent, "revision_id": revision},
    }
    columns = {
        "agent_id": agent,
        "revision_id": revision,
        "namespace_target": "ready",
        "agent_target": "stopped",
    }
    right = [{*shape} for shape in shapes.values()]
    for bits in range(16):
        chosen = {name: value for bit, (name, value) in enumerate(columns.items()) if bits & 1 << bit}
        if {*chosen} not in right:
            with pytest.raises(psycopg2.errors.CheckViolation):
                shared.insert("controller_work", idempotency_key="x", **base, **chosen)
    # Each key only with its own shape.
    for shape, more in shapes.items():
        for name, key in keys.items():
            if name != shape and {name, shape} != {"revision", "maintenance"}:
                shared.refused_row("check", "controller_work_key", "controller_work", idempotency_key=key, **base, **more)
    for key in (
        keys["ready"] + "x",
        f"agent_revision:{revision}:maintenance:",
        f"agent_revision:{revision}:maintenance:-1",
        f"agent_revision:{new('rev_')}:reconcile",
    ):
        shared.refused_row(
            "check", "controller_work_key", "controller_work", idempotency_key=key, **base, **shapes["revision"]
        )
    for key in (f"agent:{agent}:reconcile:stopped:", f"agent:{agent}:reconcile:stopped:{uuid.uuid1()}"):
        shared.refused_row(
            "check", "controller_work_key", "controller_work", idempotency_key=key, **base, **shapes["stop"]
        )
    for shape, more in shapes.items():
        shared.insert("controller_work", idempotency_key=keys[shape], **base, **more)


def test_work_of_strangers(shared):
    namespace, other = shared.namespace(), shared.namespace()
    agent, foreign = shared.agent(namespace), shared.agent(other)
    revision = shared.revision(other, foreign)
    key = f"agent:{foreign}:reconcile:deleted"
    # Deferred to the commit, which is each statement's own here.
    shared.refused_row(
        "foreign",
        "controller_work_agent_fkey",
        "controller_work",
        idempotency_key=key,
        namespace_id=namespace,
        actor_id="a",
        agent_id=foreign,
        agent_target="deleted",
    )
    shared.refused_row(
        "foreign",
        "controller_work_revision_fkey",
        "controller_work",
        idempotency_key=f"agent_revision:{revision}:reconcile",
        namespace_id=namespace,
        actor_id="a",
        agent_id=agent,
        revision_id=revision,
    )
    with pytest.raises(psycopg2.errors.ForeignKeyViolation):
        shared.work(new("ns_"))


@pytest.mark.parametrize(
    "columns, rule",
    [
        ({"state": "running"}, "controller_work_state"),
        ({"work_kind": "other"}, "controller_work_kind"),
        ({"attempt_count": -1}, "controller_work_attempt_count"),
        ({"result_data": "[]"}, "controller_work_result_data"),
        ({"lease_expires_at": "2026-01-01"}, "controller_work_lease"),
        ({"state": "claimed", "claim_token": new(), "attempt_count": 1}, "controller_work_lease"),
        ({"state": "claimed", "lease_expires_at": "2026-01-01", "attempt_count": 1}, "controller_work_lease"),
        ({"state": "claimed", "lease_expires_at": "2026-01-01", "claim_token": new()}, "controller_work_lease"),
        ({"completed_at": "2026-01-01"}, "controller_work_outcome"),
        ({"reason_code": "X"}, "controller_work_outcome"),
        ({"completed_at": "2026-01-01", "reason_code": "X"}, "controller_work_outcome"),
        ({"state": "succeeded", "completed_at": "2026-01-01"}, "controller_work_outcome"),
        ({"state": "succeeded", "reason_code": "X"}, "controller_work_outcome"),
        ({"state": "failed_permanent"}, "controller_work_outcome"),
        ({"state": "succeeded", "completed_at": "2026-01-01", "reason_code": "lower"}, "reason_code_format"),
        ({"state": "succeeded", "completed_at": "2026-01-01", "reason_code": "R" * 65}, "reason_code_format"),
    ],
)
def test_work_columns(shared, columns, rule):
    namespace = shared.namespace()
    with pytest.raises(psycopg2.errors.CheckViolation) as raised:
        shared.work(namespace, **columns)
    assert raised.value.diag.constraint_name == rule
    shared.work(namespace)


def test_one_claim_a_lane(shared):
    namespace = shared.namespace("provisioning")
    first = shared.work(namespace)
    second = shared.work(namespace, "deleted")
    shared.claim(first)
    with pytest.raises(psycopg2.errors.UniqueViolation) as raised:
        shared.claim(second)
    assert raised.value.diag.constraint_name == "controller_work_lane"
    # An Agent's work is a lane of its own.
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    deletion = shared.agent_deletion(namespace, agent)
    shared.claim(deletion)
    shared.claim(shared.work(namespace))
    shared.finish(first)
    shared.claim(second)


ILLEGAL = [
    ("queued", "state = 'succeeded', completed_at = now(), reason_code = 'X'"),
    ("queued", "attempt_count = attempt_count + 1"),
    (
        "queued",
        "state = 'claimed', lease_expires_at = now(), claim_token = gen_random_uuid(), attempt_count = attempt_count + 2",
    ),
    ("claimed", "claim_token = gen_random_uuid()"),
    ("claimed", "attempt_count = attempt_count + 1"),
    ("claimed", "state = 'queued', lease_expires_at = null, claim_token = null"),
    ("claimed", "state = 'queued', lease_expires_at = null, attempt_count = attempt_count + 1"),
    ("claimed", "state = 'succeeded', lease_expires_at = null, completed_at = now(), reason_code = 'X', attempt_count = 0"),
    ("succeeded", "state = 'queued', completed_at = null, reason_code = null"),
    ("succeeded", "state = 'failed_permanent'"),
    ("succeeded", "reason_code = 'Y'"),
    ("failed_permanent", "state = 'succeeded'"),
    ("failed_permanent", "reason_code = 'Y'"),
    (
        "failed_permanent",
        "state = 'claimed', completed_at = null, reason_code = null, lease_expires_at = now(),"
        " claim_token = gen_random_uuid(), attempt_count = attempt_count + 1",
    ),
]


@pytest.mark.parametrize("state, change", ILLEGAL)
def test_work_transitions_refused(shared, state, change):
    key = shared.work(shared.namespace())
    if state != "queued":
        shared.claim(key)
    if state not in ("queued", "claimed"):
        shared.finish(key, state)
    change = f"update occ.controller_work set {change} where idempotency_key = %s"
    shared.refused("check", change, key, by="controller_work_transition")


LEGAL = [
    "lease_expires_at = now() + interval '5 s', updated_at = now()",
    "state = 'queued', lease_expires_at = null, attempt_count = attempt_count - 1, available_at = now()",
    "state = 'queued', lease_expires_at = null, available_at = now() + interval '1 s'",
    "state = 'failed_permanent', lease_expires_at = null, completed_at = now(), reason_code = 'X', result_data = '{}'",
    "state = 'succeeded', lease_expires_at = null, completed_at = now(), reason_code = 'X'",
]


@pytest.mark.parametrize("change", LEGAL)
def test_work_transitions_accepted(shared, change):
    key = shared.work(shared.namespace())
    token = shared.claim(key)
    assert shared.run(f"update occ.controller_work set {change} where idempotency_key = %s", key) == 1
    assert shared.row(key)["claim_token"] == token  # stays until the next claim


def test_exhausted_queued_work_fails(store):
    key = store.work(store.namespace())
    assert store.run(
        "update occ.controller_work set state = 'failed_permanent', completed_at = now(),"
        " reason_code = 'MAX_ATTEMPTS_EXHAUSTED'"
    )
    assert store.row(key)["state"] == "failed_permanent"


def test_only_the_function_requeues_what_failed(store):
    key = store.work(store.namespace())
    store.fail(key)
    store.refused(
        "denied",
        "update occ.controller_work set state = 'queued', completed_at = null, reason_code = null, attempt_count = 0",
    )


@pytest.mark.parametrize(
    "change", ["actor_id", "namespace_id", "namespace_target"], ids=["actor", "owner", "target"]
)
def test_key_admitted_again(shared, change):
    """Re-admitting a key is harmless with the same actor, owner and target, and refused with others."""
    namespace = shared.namespace()
    other = shared.namespace()
    key = shared.work(namespace)
    row = {
        "idempotency_key": key,
        "namespace_id": namespace,
        "actor_id": "actor",
        "namespace_target": "ready",
    }
    sql, *values = insertion("controller_work", row)
    assert shared.run(sql + " on conflict (idempotency_key) do nothing", *values) == 0
    shared.refused("unique", sql, *values)
    row[change] = {"actor_id": "other", "namespace_id": other, "namespace_target": "deleted"}[change]
    sql, *values = insertion("controller_work", row)
    shared.refused("key", sql + " on conflict (idempotency_key) do nothing", *values)


def test_key_admitted_by_two_at_once(store, database):
    """The second waits for the first, and is then compared with it."""
    namespace = store.namespace()
    other = Store(database)
    store.run("begin")
    store.work(namespace)
    said = []
    sql, *values = insertion(
        "controller_work",
        {
            "idempotency_key": f"namespace:{namespace}:reconcile:ready",
            "namespace_id": namespace,
            "actor_id": "other",
            "namespace_target": "ready",
        },
    )
    thread = threading.Thread(
        target=lambda: said.append(other.refused("key", sql + " on conflict (idempotency_key) do nothing", *values))
    )
    thread.start()
    blocked(database, other)
    store.run("commit")
    thread.join(10)
    assert len(said) == 1


def test_work_identity_is_fixed(store, database):
    key = store.work(store.namespace())
    owner = Store(database, "postgres")
    for change in ("namespace_target = 'deleted'", "created_at = now() - interval '1 d'", "idempotency_key = 'x'"):
        owner.refused("check", f"update occ.controller_work set {change}", by="controller_work_fixed")
        store.refused("denied", f"update occ.controller_work set {change}")
    store.refused("denied", "update occ.controller_work set actor_id = 'x'")
    store.refused("denied", "delete from occ.controller_work where idempotency_key = %s", key)


class Listener:
    def __init__(self, database):
        self.connection = database.connect("occ_app")
        self.connection.cursor().execute("listen occ_controller_work")

    def heard(self, wanted):
        """The notifications that have come by the time `wanted` of them, and a mark after them, are there."""
        with self.connection.cursor() as cursor:
            cursor.execute("listen mark")
            cursor.execute("notify mark")
        while not [one for one in self.connection.notifies if one.channel == "mark"]:
            assert select.select([self.connection], [], [], 10)[0], "no mark"
            self.connection.poll()
        found = [one for one in self.connection.notifies if one.channel != "mark"]
        self.connection.notifies.clear()
        assert all(one.channel == "occ_controller_work" and one.payload == "" for one in found)
        assert len(found) == wanted
        return True


def test_notifications(store, database):
    """K28: on insert and on an operator's requeue; never by claim, renewal, deferral or the end."""
    listener = Listener(database)
    namespace = store.namespace("deleting")
    key = store.work(namespace, "deleted")
    assert listener.heard(1)
    sql, *values = insertion(
        "controller_work",
        {"idempotency_key": key, "namespace_id": namespace, "actor_id": "actor", "namespace_target": "deleted"},
    )
    store.run(sql + " on conflict (idempotency_key) do nothing", *values)
    store.claim(key)
    for change in LEGAL[:2]:
        store.run(f"update occ.controller_work set {change}")
    store.fail(key)
    assert listener.heard(0)
    assert store.value("select occ.requeue_deletion(%s, 'actor', false)", key) == "requeued"
    assert listener.heard(1)
    assert store.value("select occ.requeue_deletion(%s, 'actor', false)", key) == "pending"
    assert listener.heard(0)


def test_renewals_are_heap_only(store, database):
    """K33: a renewal touches no index."""
    key = store.work(store.namespace())
    store.claim(key)
    columns = {
        row["attname"]
        for row in database.query(
            "select a.attname from pg_index as i join pg_attribute as a"
            " on a.attrelid = i.indrelid and a.attnum = any (i.indkey)"
            " where i.indrelid = 'occ.controller_work'::regclass"
        )
    }
    predicates = " ".join(
        str(row["p"])
        for row in database.query(
            "select pg_get_expr(indpred, indrelid) as p from pg_index where indrelid = 'occ.controller_work'::regclass"
        )
    )
    for changed in ("lease_expires_at", "updated_at"):
        assert changed not in columns and changed not in predicates
    store.run("begin")
    store.run("update occ.controller_work set lease_expires_at = now() + interval '9 s', updated_at = now()")
    hot = store.value("select pg_stat_get_xact_tuples_hot_updated('occ.controller_work'::regclass)")
    store.run("commit")
    assert hot == 1


def plan(database, sql):
    """The plan on a table which is too large to be read whole."""
    rows = database.query(f"explain {sql}")
    return "\n".join(next(iter(row.values())) for row in rows)


def test_queries_have_their_index(store, database):
    """K21: claims and evidence are found by index, whatever else is in the tables."""
    database.execute("alter table occ.controller_work disable trigger user")
    database.execute(
        "insert into occ.namespaces (id, name, status) select 'ns_' || gen_random_uuid(), n::text, 'ready'"
        " from generate_series(1, 20000) as n"
    )
    database.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target, state,"
        " completed_at, reason_code) select 'namespace:' || id || ':reconcile:ready', id, 'a', 'ready', 'succeeded',"
        " now(), 'RECONCILE_SUCCEEDED' from occ.namespaces"
    )
    database.execute(
        "insert into occ.audit_events (kind, action, outcome, details) select 'mutation', 'reconcile', 'success',"
        " jsonb_build_object('workId', idempotency_key, 'reasonCode', 'X', 'attemptCount', 1) from occ.controller_work"
    )
    database.execute("analyze occ.controller_work")
    database.execute("analyze occ.audit_events")
    assert "controller_work_queued" in plan(
        database,
        "select idempotency_key from occ.controller_work where state = 'queued' and available_at <= statement_timestamp()"
        " order by available_at limit 1",
    )
    assert "controller_work_lane" in plan(
        database,
        "select true from occ.controller_work where state = 'claimed' and coalesce(agent_id, namespace_id) = 'ns_x'",
    )
    latest = " order by occurred_at desc, id desc limit 1"
    assert "audit_events_work" in plan(
        database, "select id from occ.audit_events where details ->> 'workId' = 'x'" + latest
    )
    assert "audit_events_work" in plan(
        database,
        "select w.idempotency_key, e.details from occ.controller_work as w cross join lateral (select details from"
        f" occ.audit_events where details ->> 'workId' = w.idempotency_key {latest}) as e"
        " where w.idempotency_key = 'x'",
    )
