# SPDX-License-Identifier: MIT
"""An installed IAM Driver: it grants instead of roles and bindings, and the evidence names it."""

import signal

import pytest

from support.operator import Operator, events, failed_deletion, refused, start


@pytest.fixture
def asked(occctl, scripted):
    """occctl with the scripted IAM Driver."""
    scripted.select(drivers=("iam",))

    def call(*arguments, env=None, **more):
        return occctl(*arguments, env={**scripted.env, **(env or {})}, **more)

    return call


def test_it_grants_what_no_role_does(asked, scripted, bootstrapped, folder):
    """K99: who decided stands in the evidence, whatever is selected later."""
    operator = Operator(bootstrapped, folder)
    scripted.on("iam.decide", "allow ticket-7 forever")
    asked("namespace", "create", "acme", env=operator.env).ok()
    event = events(bootstrapped, "openclaw.namespaces.create")[-1]
    assert event["details"]["decision"] == {
        "driver": "iam-scripted",
        "permission": "namespace:create",
        "verdict": "allowed",
        "reference": "ticket-7",
    }
    assert event["actor_id"] == operator.id
    assert [row["name"] for row in asked("namespace", "list", "-o", "json", env=operator.env).ok().json] == ["acme", "default"]


def test_it_denies_what_a_role_grants(asked, scripted, bootstrapped):
    scripted.on("iam.decide", "deny policy-3 forever", subject="namespace:create")
    refused(asked("namespace", "create", "acme"), 1, "AUTHORIZATION_DENIED", "iam-scripted", "namespace:create")
    (event,) = bootstrapped.query("select * from occ.audit_events where kind = 'authorization_denial'")
    assert event["details"]["decision"] == {
        "driver": "iam-scripted",
        "permission": "namespace:create",
        "verdict": "not_granted",
        "reference": "policy-3",
    }
    scripted.on("iam.decide", "deny forever", subject="namespace:read")
    assert asked("namespace", "list", "-o", "json").ok().json == []
    refused(asked("namespace", "get", "default"), 1, "AUTHORIZATION_DENIED", "namespace:read")


def test_restrictions_stay_the_databases(asked, scripted, bootstrapped, occctl):
    made = occctl("iam", "restriction", "create", "namespace:create", "-o", "json").ok().json
    before = len(scripted.journal("iam.decide", "begin"))
    refused(asked("namespace", "create", "acme"), 1, "AUTHORIZATION_DENIED", made["id"])
    (event,) = bootstrapped.query("select * from occ.audit_events where kind = 'authorization_denial'")
    assert event["details"]["decision"]["driver"] == "native-iam"
    assert event["details"]["decision"]["restrictionId"] == made["id"]
    assert len(scripted.journal("iam.decide", "begin")) == before


@pytest.mark.parametrize("step", ["pending IAM_BUSY", "retryable IAM_BUSY", "permanent IAM_BUSY", "result 9"])
def test_no_answer_allows_nothing(asked, scripted, bootstrapped, step):
    scripted.on("iam.decide", f"{step} forever")
    code = "IAM_BUSY" if "BUSY" in step else "INVALID_DRIVER_OBSERVATION"
    refused(asked("namespace", "create", "acme"), 69, code, "iam-scripted")
    refused(asked("namespace", "list"), 69, code, "iam-scripted")
    assert bootstrapped.one("select count(*) from occ.namespaces") == 1
    assert bootstrapped.one("select count(*) from occ.audit_events where kind = 'authorization_denial'") == 0


def test_it_dies_or_hangs(asked, scripted, bootstrapped):
    scripted.on("iam.decide", "kill")
    assert asked("namespace", "create", "acme", check=False).status == -signal.SIGKILL
    scripted.on("iam.decide", "gate never")
    process = start(bootstrapped, "namespace", "create", "acme", "--config-path", scripted.env["OCC_CONFIG_PATH"])
    scripted.wait_at("never")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    process.communicate()
    assert bootstrapped.one("select count(*) from occ.namespaces") == 1


def test_it_cannot_be_opened(asked, scripted):
    scripted.write("drivers: {iam: {id: iam-scripted, package: missing}}\n")
    assert asked("namespace", "list").status == 78


def test_a_takeover_asks_it_about_the_first_actor(asked, scripted, bootstrapped, occctl, folder):
    """K96: who began the deletion still may, as the Driver says; then not any more."""
    operator = Operator(bootstrapped, folder)
    document = failed_deletion(occctl, bootstrapped)
    again = ("namespace", "delete", "acme", "-o", "json")
    refused(asked(*again, env=operator.env), 4, "DELETION_HELD")
    scripted.on("iam.decide", "allow me", "deny left", subject="namespace:delete")
    asked(*again, env=operator.env).ok()
    event = events(bootstrapped, "openclaw.namespaces.delete")[-1]
    assert event["actor_id"] == operator.id and event["details"]["takenOverFrom"]
    assert event["details"]["decision"]["reference"] == "me" and document["id"] == event["resource_id"]
