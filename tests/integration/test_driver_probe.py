# SPDX-License-Identifier: MIT
"""The probe that tests drive Drivers by, on the scripted ones."""

import pytest
from support.drivers import Drivers, new_agent, new_id, new_namespace, new_revision, outcome


@pytest.fixture
def drivers(scripted):
    scripted.select(drivers=("compute", "secret", "configuration"))
    made = Drivers(scripted.env["OCC_CONFIG_PATH"])
    assert made.opening.opened
    yield made
    made.close()


def test_operations_and_their_subjects(drivers, scripted):
    tenant, agent = new_namespace(), new_agent()
    place = drivers.keep_secret(tenant, b"\0binary\xff")
    revision = new_revision(2, mode="dedicated", harness="codex", secret=place, bindings=[{"name": "TOKEN", **place}])
    about = {"namespace": tenant, "agent": agent, "revision": revision}
    assert drivers.compute("ensure_namespace", namespace=tenant).namespaceId == tenant["id"]
    scripted.on("prepare_revision", "pending REVISION_INCOMPLETE x2", "ready")
    assert outcome(drivers.compute("prepare_revision", **about)) == ("pending", "REVISION_INCOMPLETE")
    ready = drivers.until_ready("prepare_revision", **about)
    assert (ready.agentId, ready.revisionId) == (agent["id"], revision["id"])
    assert scripted.journal("prepare_revision", "begin", number=2, revisionId=revision["id"])
    assert drivers.secret_value(place) == b"\0binary\xff"


def test_a_document_comes_back_as_it_was(drivers):
    text = '{"ä": 1.50,\n "b": []}\n'
    about = {"namespace": new_namespace(), "configurationId": new_id("cfg")}
    assert drivers.configuration("store", document=text, **about).ok
    assert drivers.configuration("read", **about).document == text
    assert drivers.configuration("remove", **about).ok
    assert drivers.configuration("read", **about).code == "CONFIGURATION_DOCUMENT_MISSING"


def test_the_deadline_and_the_watch_end_an_operation(drivers, scripted):
    scripted.on("ensure_namespace", "gate never")
    stopped = drivers.compute("ensure_namespace", namespace=new_namespace(), watchMs=100)
    assert outcome(stopped) == ("cancelled", "PROBE_CANCELLED") and stopped.turns > 0


def test_a_startup_yaml_that_is_refused(scripted):
    scripted.write("drivers:\n  compute: {id: compute-none}\n")
    made = Drivers(scripted.env["OCC_CONFIG_PATH"])
    assert (made.opening.ok, made.opening.code, made.opening.exit) == (False, "STARTUP_DRIVER_UNAVAILABLE", 78)
    made.close()
