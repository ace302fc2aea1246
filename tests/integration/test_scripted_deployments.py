# SPDX-License-Identifier: MIT
"""Agents from the first command to the last, by occctl and the real worker, with installed Drivers for all that is kept."""

import pytest
from support.desk import Desk
from support.standing import Standing, others_go_on, start
from support.tenant import OPENCLAW

DRIVERS = ("compute", "configuration", "secret")


@pytest.fixture
def ready(scripted, worker, bootstrapped, folder):
    """ready(*flags): a worker on the scripted Drivers that has done what there was to do."""
    return lambda *flags, **more: start(worker, scripted, bootstrapped, folder / "ready", *flags, drivers=DRIVERS, **more)


@pytest.fixture
def desk(ready, occctl, bootstrapped, folder, scripted):
    def make(*flags, **more):
        worker = ready("--reconcilers=2", *flags, **more)
        made = Desk(occctl, bootstrapped, folder, scripted.env)
        made.worker, made.scripted = worker, scripted
        return made

    return make


def states(desk):
    return desk.scripted.revisions(desk.id)


def test_the_life_of_an_agent(desk, scripted):
    at = desk()
    scripted.on("prepare_revision", "read-secrets + pending REVISION_INCOMPLETE 100", "ready", subject="support/1")
    assert at.deploy()["state"] == "running" and states(at) == {1: "active"}
    # The Driver got the values from the Secret Driver, and nobody else got to see them.
    told = {(entry["name"], entry["value"]) for entry in scripted.journal(what="secret")}
    assert told == {("harness", "s3cr3t"), ("KEY", "s3cr3t")}
    assert "s3cr3t" not in at.worker.log
    (revision,) = scripted.made("revision").values()
    assert revision["document"]["agents"] == OPENCLAW["agents"] and revision["first"] is True
    assert [binding["name"] for binding in revision["bindings"]] == ["KEY"]
    assert at.deploy()["activeRevision"]["number"] == 2 and states(at) == {1: "retired", 2: "active"}
    assert at.run("agent", "stop", at.id, "--wait")["state"] == "stopped" and states(at) == {1: "retired", 2: "stopped"}
    at.run("agent", "delete", at.id, "--wait")
    assert states(at) == {1: "retired", 2: "retired"} and not scripted.made("agent") and not scripted.made("credentials")
    # Each effect that cannot be done twice was done once.
    for number in (1, 2):
        for operation in ("prepare_revision", "activate_revision", "retire_revision"):
            assert len(scripted.changes(operation, number=number)) == 1, (operation, number)


@pytest.mark.parametrize("package", ["scripted-early", "scripted"])
@pytest.mark.parametrize("step", ["crash", "effect + kill", "exit 0"])
def test_a_deployment_survives_a_driver_that_dies(desk, scripted, step, package):
    at = desk("--max-attempts=20", package=package)
    at.deploy()
    for operation in ("bind_agent", "prepare_revision", "activate_revision"):
        scripted.on(operation, step, subject="support/2" if operation != "bind_agent" else "support")
    scripted.on("retire_revision", step, subject="support/1")
    assert at.deploy()["activeRevision"]["number"] == 2
    assert states(at) == {1: "retired", 2: "active"}
    died = [entry["operation"] for entry in scripted.journal(what="begin", step=step)]
    assert died == ["bind_agent", "prepare_revision", "activate_revision", "retire_revision"] or (
        # Prepared and activated before the database says so.
        package == "scripted-early" and sorted(died) == sorted(set(died)) and len(died) == 4
    )
    assert len(scripted.changes("activate_revision", number=2)) == 1
    assert len(scripted.changes("retire_revision", number=1)) == 1


@pytest.mark.parametrize("operation", ["prepare_revision", "activate_revision"])
@pytest.mark.parametrize("step", ["foreign agent", "foreign revision", "mute"])
def test_a_deployment_is_not_published_on_anothers_word(desk, scripted, bootstrapped, operation, step):
    at = desk()
    standing = Standing(at.worker, victims=0)
    scripted.on(operation, f"{step} forever", subject="support/1")
    result = at.occctl("agent", "deploy", at.id, "--wait", env=scripted.env, deadline=60)
    assert result.status != 0 and "INVALID_DRIVER_OBSERVATION" in result.out + result.err
    others_go_on(bootstrapped, standing, 2)
    if operation == "prepare_revision":
        # What may have been prepared is stopped, and nothing was ever served.
        assert states(at).get(1, "stopped") == "stopped" and not scripted.changes("activate_revision")


# K39
def test_a_deployment_survives_a_driver_that_hangs(desk, scripted):
    at = desk("--lease-duration-ms=2000")
    scripted.on("prepare_revision", "hang", subject="support/1")
    scripted.on("activate_revision", "sleep 600000", subject="support/1")
    assert at.deploy()["state"] == "running" and states(at) == {1: "active"}
    reasons = [record["reason"] for record in at.worker.events("worker.child-exited") if "reason" in record]
    assert reasons == ["WORKER_HUNG", "WORKER_HUNG"]
