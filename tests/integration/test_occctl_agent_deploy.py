# SPDX-License-Identifier: MIT
"""occctl agent deploy: what a revision freezes, who may, and what a deployment is refused for. Nobody carries it out here."""

import itertools
import json
import signal
import threading

import pytest

from support.operator import Operator, events, finish, in_background, refused, start
from support.scripted import IDS, IMPLEMENTATION
from support.tenant import CODEX, OPENCLAW, Tenant
from support.waiting import poll


class Desk:
    """An Agent "support" that can be deployed with the scripted Drivers, and what deploys it."""

    def __init__(self, occctl, database, folder, scripted):
        self.occctl = occctl
        self.database = database
        self.tenant = Tenant(database, folder)
        self.scripted = scripted.select(drivers=("compute", "secret"))
        self.secret = self.tenant.secret("model")
        self.configuration = self.tenant.configuration()
        self.row = self.draft("support", "--harness-auth", "api_key=model")
        self.id = self.row["id"]
        self.let(self.row, self.secret)

    def draft(self, name, *more, configuration=None, mode="embedded"):
        arguments = ("-n", "acme", "--configuration", configuration or self.configuration, "--execution-mode", mode)
        self.occctl("agent", "create", name, *arguments, *more).ok()
        return self.tenant.agent(name)

    def let(self, agent, *secrets):
        """The Agent's service principal may use these Secrets."""
        asking = Operator.__new__(Operator)
        asking.database, asking.id = self.database, agent["service_principal_id"]
        for secret in secrets:
            asking.grant("secret:operate", resource=("secret", secret))

    def update(self, *arguments):
        self.occctl("agent", "update", self.id, *arguments).ok()

    def deploy(self, *more, agent=None, env=None):
        variables = {**self.tenant.env, **self.scripted.env, **(env or {})}
        return self.occctl("agent", "deploy", agent or self.id, *more, "-o", "json", env=variables)

    def document(self, document, bindings=None, mode="dedicated"):
        """The draft gets another document."""
        self.configuration = self.tenant.configuration(document, bindings)
        self.update("--configuration", self.configuration, "--execution-mode", mode)

    revisions = property(lambda self: self.tenant.revisions(self.id))


@pytest.fixture
def desk(occctl, bootstrapped, folder, scripted):
    return Desk(occctl, bootstrapped, folder, scripted)


# ---- What it freezes


def test_deploy(desk, bootstrapped):
    document = desk.deploy().ok().json
    (revision,) = desk.revisions
    assert revision["revision_number"] == 1 and revision["namespace_id"] == desk.tenant.id
    assert revision["admitted_spec"] == {
        "configuration_id": desk.configuration,
        "configuration_kind": "agent",
        "configuration_generation": 1,
        "draft_spec": {**OPENCLAW, "logging": {"level": "info"}},
        "harness": {"id": "openclaw", "version": "1", "mode": "embedded"},
        "compute": {"id": IDS["compute"], "implementation": IMPLEMENTATION},
        "harness_auth": {"method": "api_key", "source": desk.tenant.reference(desk.secret)},
        "secret_driver_id": IDS["secret"],
    }
    key = f"agent_revision:{revision['id']}:reconcile"
    work = bootstrapped.work(key)
    assert work["state"] == "queued" and work["revision_id"] == revision["id"] and work["agent_id"] == desk.id
    assert work["namespace_target"] is work["agent_target"] is None
    assert desk.tenant.agent("support")["desired_runtime_state"] == "running"
    assert document["state"] == "deploying" and document["newestRevision"]["number"] == 1
    assert document["activeRevision"] is None
    assert document["work"] == {"id": key, "state": "queued", "attempt": 0, "code": None}
    (event,) = events(bootstrapped, "openclaw.agents.deploy")
    assert event["resource_kind"] == "agent" and event["resource_id"] == desk.id
    assert event["details"]["decision"]["permission"] == "agent:deploy"
    assert event["details"]["revisionId"] == revision["id"] and event["details"]["revisionNumber"] == 1
    assert event["details"]["workId"] == key and event["actor_id"] == work["actor_id"]
    assert desk.scripted.calls(operation="validate_harness_auth") == ["validate_harness_auth"]


def test_everything_that_can_be_frozen(desk):
    """Dedicated codex with bindings, an account, a Sandbox Driver, another log level, and a later generation."""
    other = desk.tenant.secret("other")
    account = desk.tenant.account("billing", desk.secret)
    desk.scripted.select_beside_kubernetes("secret", "sandbox")
    path = desk.scripted.env["OCC_CONFIG_PATH"]
    with open(path, encoding="utf-8") as file:
        desk.scripted.write(file.read() + "logging: {level: debug}\n")
    desk.document({**CODEX, "logging": {"level": "trace", "file": "/tmp/x"}, "n": 12345678901234567890.25}, {"KEY": other})
    desk.update("--harness-auth", "chatgpt_service_account=billing")
    desk.let(desk.row, other)
    text = json.dumps({**CODEX, "logging": {"level": "trace", "file": "/tmp/x"}})
    desk.tenant.write(desk.configuration, text[:-1] + ', "n": 12345678901234567890.250, "none": null}')
    desk.database.execute("update occ.configurations set generation = 7 where id = %s", desk.configuration)
    desk.deploy().ok()
    (revision,) = desk.revisions
    spec = revision["admitted_spec"]
    assert spec["configuration_generation"] == 7
    assert spec["harness"] == {"id": "codex", "version": "1", "mode": "dedicated"}
    assert spec["harness_auth"] == {"method": "chatgpt_service_account", "serviceAccountId": account}
    assert spec["secret_bindings"] == [{"name": "KEY", "source": desk.tenant.reference(other)}]
    assert spec["secret_driver_id"] == IDS["secret"] and spec["sandbox_driver_id"] == IDS["sandbox"]
    assert spec["draft_spec"]["logging"] == {"level": "debug", "file": "/tmp/x"}
    assert spec["draft_spec"]["none"] is None
    # No number went through a double.
    text = desk.database.one("select admitted_spec -> 'draft_spec' ->> 'n' from occ.agent_revisions")
    assert text == "12345678901234567890.250"


def test_an_embedded_revision_has_no_sandbox(desk):
    desk.scripted.select_beside_kubernetes("secret", "sandbox")
    desk.deploy().ok()
    assert "sandbox_driver_id" not in desk.revisions[0]["admitted_spec"]


def test_native_openclaw_in_a_sandbox(desk):
    desk.update("--execution-mode", "dedicated")
    refused(desk.deploy(), 4, "HARNESS_UNSUPPORTED", "openclaw", "no Sandbox Driver is selected")
    desk.scripted.select_beside_kubernetes("secret", "sandbox")
    desk.deploy().ok()
    spec = desk.revisions[0]["admitted_spec"]
    assert spec["harness"]["mode"] == "dedicated" and spec["sandbox_driver_id"] == IDS["sandbox"]


def test_a_revision_stays_what_it_was(desk):
    """The draft moves on, and a second deployment freezes it again."""
    desk.deploy().ok()
    desk.tenant.change(desk.configuration, {**OPENCLAW, "second": True})
    desk.deploy().ok()
    first, second = desk.revisions
    assert [first["revision_number"], second["revision_number"]] == [1, 2]
    assert "second" not in first["admitted_spec"]["draft_spec"] and second["admitted_spec"]["draft_spec"]["second"]
    assert second["admitted_spec"]["configuration_generation"] == 2
    rows = desk.occctl("agent", "revisions", desk.id, "-o", "json").ok().json
    assert [(row["number"], row["configurationGeneration"], row["active"]) for row in rows] == [
        (1, 1, False), (2, 2, False),
    ]  # fmt: skip
    assert "draft_spec" not in json.dumps(rows)
    table = desk.occctl("agent", "revisions", desk.id).ok().lines
    assert table[1].split()[:6] == ["1", "false", "openclaw", "embedded", IDS["compute"], "1"]


# ---- What it is refused for


def nothing_admitted(desk):
    assert desk.revisions == [] and desk.tenant.agent("support")["desired_runtime_state"] == "stopped"
    assert desk.database.query("select 1 as x from occ.controller_work where agent_id = %s", desk.id) == []
    assert [row["outcome"] for row in events(desk.database, "openclaw.agents.deploy")] in ([], ["denied"])


@pytest.mark.parametrize("status", ["provisioning", "failed", "deleting"])
def test_a_namespace_that_is_not_ready(desk, status):
    desk.database.execute("alter table occ.namespaces disable trigger user")
    desk.database.execute("update occ.namespaces set status = %s where id = %s", status, desk.tenant.id)
    refused(desk.deploy(), 4, "NAMESPACE_NOT_READY", "acme", status)
    nothing_admitted(desk)


def test_without_harness_authentication(desk):
    desk.update("--no-harness-auth")
    refused(desk.deploy(), 4, "HARNESS_AUTH_REQUIRED", "support")
    nothing_admitted(desk)


@pytest.mark.parametrize(
    "document, mode, code, words",
    [
        (CODEX, "embedded", "HARNESS_UNSUPPORTED", ["codex", "/models/providers/openai/agentRuntime/id", "embedded"]),
        (
            {"models": {"providers": {"x": {"agentRuntime": {"id": "claude-cli"}}}}},
            "embedded",
            "HARNESS_UNSUPPORTED",
            ["claude-cli", "/models/providers/x/agentRuntime/id", "dedicated codex"],
        ),
        (
            {**CODEX, "agents": {"defaults": {"model": {"primary": "openai/gpt", "fallbacks": ["x/y"]}}}},
            "dedicated",
            "HARNESS_CONFLICT",
            ["/models/providers/openai/agentRuntime/id", "/agents/defaults/model/fallbacks/0"],
        ),
    ],
)
def test_a_harness_that_cannot_be(desk, document, mode, code, words):
    desk.document(document, mode=mode)
    refused(desk.deploy(), 4, code, *words)
    nothing_admitted(desk)


def test_a_document_that_is_gone(desk):
    (desk.tenant.root / desk.tenant.id / f"{desk.configuration}.json").unlink()
    refused(desk.deploy(), 3, "CONFIGURATION_DOCUMENT_MISSING", desk.configuration)
    nothing_admitted(desk)


def test_a_driver_that_refuses_the_authentication(desk):
    desk.scripted.on("validate_harness_auth", "permanent HARNESS_AUTH_UNSUPPORTED")
    refused(desk.deploy(), 4, "HARNESS_AUTH_UNSUPPORTED")
    desk.scripted.on("validate_harness_auth", "retryable KUBERNETES_API_UNAVAILABLE")
    refused(desk.deploy(), 69, "KUBERNETES_API_UNAVAILABLE")
    nothing_admitted(desk)


def test_a_driver_that_cannot_tell(desk):
    """It may well work; but nobody who could say so is there."""
    desk.scripted.select("scripted-plain", drivers=("compute",))
    line = refused(desk.deploy(), 69, "HARNESS_AUTH_VALIDATION_UNAVAILABLE", IDS["compute"])
    assert "cannot tell whether a Harness may authenticate so" in line
    nothing_admitted(desk)


def test_docker_runs_no_agents(desk):
    """K112: refused at admission, with what to select instead, and without an Engine."""
    result = desk.occctl("agent", "deploy", desk.id, env=desk.tenant.env)
    refused(result, 4, "HARNESS_AUTH_UNSUPPORTED", "compute-docker-development", "select compute-kubernetes")
    nothing_admitted(desk)
    # Before anything that would be mended in vain.
    desk.occctl("agent", "update", desk.id, "--no-harness-auth", env=desk.tenant.env).ok()
    refused(desk.occctl("agent", "deploy", desk.id, env=desk.tenant.env), 4, "HARNESS_AUTH_REQUIRED", "runs no Agents")


def test_no_secret_driver(desk):
    desk.scripted.select(drivers=("compute",))
    refused(desk.deploy(), 4, "SECRET_DRIVER_MISMATCH", desk.secret, "none is selected")
    nothing_admitted(desk)


def test_secrets_of_another_driver(desk):
    desk.database.execute("update occ.secrets set driver_id = 'secret-kubernetes'")
    refused(desk.deploy(), 4, "SECRET_DRIVER_MISMATCH", desk.secret, "secret-kubernetes", IDS["secret"])
    desk.tenant.account("billing", desk.secret)
    desk.update("--harness-auth", "chatgpt_service_account=billing")
    refused(desk.deploy(), 4, "SECRET_DRIVER_MISMATCH", desk.secret, "secret-kubernetes", IDS["secret"])
    nothing_admitted(desk)


def test_an_agent_that_is_being_deleted(desk):
    desk.occctl("agent", "delete", desk.id).ok()
    refused(desk.deploy(), 4, "AGENT_DELETING", "support")
    refused(desk.occctl("agent", "stop", desk.id), 4, "AGENT_DELETING", "support")
    refused(desk.occctl("agent", "update", desk.id, "--no-harness-auth"), 4, "AGENT_DELETING", "support")


# ---- Who may


def test_every_permission_is_asked_for(desk, bootstrapped, folder):
    """Of the caller each by itself, on the exact thing; with all of them it is deployed."""
    other = desk.tenant.secret("other")
    desk.document(CODEX, {"KEY": other})
    desk.let(desk.row, other)
    needs = [
        ("agent:deploy", ("agent", desk.id)),
        ("configuration:read", ("configuration", desk.configuration)),
        ("secret:operate", ("secret", other)),
        ("secret:operate", ("secret", desk.secret)),
    ]
    for left_out in range(len(needs)):
        asking = Operator(bootstrapped, folder, "agent:read")
        for permission, resource in needs[:left_out] + needs[left_out + 1 :]:
            asking.grant(permission, resource=resource)
        permission, (kind, resource_id) = needs[left_out]
        refused(desk.deploy(env=asking.env), 1, "AUTHORIZATION_DENIED", asking.id, permission, resource_id)
        event = events(bootstrapped, "openclaw.agents.deploy")[-1]
        assert event["outcome"] == "denied" and event["actor_id"] == asking.id
        assert (event["resource_kind"], event["resource_id"]) == (kind, resource_id)
        assert event["details"]["decision"]["permission"] == permission
    assert desk.revisions == []
    asking.grant(permission, resource=(kind, resource_id))
    desk.deploy(env=asking.env).ok()


def test_the_agent_itself_must_be_allowed(desk, bootstrapped):
    """secret:operate for its service principal, on the bound Secret and on the one of its Harness."""
    other = desk.tenant.secret("other")
    desk.document(CODEX, {"KEY": other})
    principal = desk.row["service_principal_id"]
    refused(desk.deploy(), 1, "AUTHORIZATION_DENIED", f"Agent's service principal {principal}", "secret:operate", other)
    event = events(bootstrapped, "openclaw.agents.deploy")[-1]
    assert event["details"]["identityId"] == principal and event["actor_id"] != principal
    bootstrapped.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", principal)
    desk.let(desk.row, other)
    refused(desk.deploy(), 1, "AUTHORIZATION_DENIED", f"Agent's service principal {principal}", "secret:operate", desk.secret)
    desk.let(desk.row, desk.secret)
    desk.deploy().ok()


def test_an_account_is_read_by_the_caller_alone(desk, bootstrapped, folder):
    account = desk.tenant.account("billing", desk.secret)
    desk.update("--harness-auth", "chatgpt_service_account=billing")
    bootstrapped.execute(
        "delete from occ.iam_access_bindings where identity_subject_id = %s", desk.row["service_principal_id"]
    )
    asking = Operator(bootstrapped, folder, "agent:read", "agent:deploy", "configuration:read")
    refused(desk.deploy(env=asking.env), 1, "AUTHORIZATION_DENIED", "service_account:read", account)
    asking.grant("service_account:read", resource=("service_account", account))
    desk.deploy(env=asking.env).ok()


def test_a_restriction_denies_the_agent(desk, occctl):
    occctl("iam", "restriction", "create", "secret:operate", "--resource", f"secret:{desk.secret}").ok()
    refused(desk.deploy(), 1, "AUTHORIZATION_DENIED", "restriction", "secret:operate", desk.secret)


# ---- At the same moment


def test_two_deployments_at_once(desk):
    """Both are admitted, with the numbers n and n + 1, each with its own work."""
    desk.deploy().ok()
    desk.scripted.on("validate_harness_auth", "gate both + ready x2")
    results = []
    threads = [threading.Thread(target=lambda: results.append(desk.deploy())) for _ in range(2)]
    for thread in threads:
        thread.start()
    desk.scripted.wait_at("both", count=2)
    desk.scripted.open("both")
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == [0, 0], results
    revisions = desk.revisions
    assert [revision["revision_number"] for revision in revisions] == [1, 2, 3]
    for one, other in itertools.pairwise(revisions):
        assert one["admitted_at"] < other["admitted_at"]
    assert desk.database.one("select count(*) from occ.controller_work where agent_id = %s", desk.id) == 3


def test_nobody_waits_for_a_driver_of_somebody_else(desk):
    """While one deployment waits for Compute, the Agent can be stopped: the stop is earlier than the deployment."""
    desk.scripted.on("validate_harness_auth", "gate one + ready")
    deployment = in_background(desk.deploy)
    desk.scripted.wait_at("one")
    desk.occctl("agent", "stop", desk.id).ok()
    desk.scripted.open("one")
    deployment().ok()
    (revision,) = desk.revisions
    stop = desk.database.query("select * from occ.controller_work where agent_target = 'stopped'")[0]
    assert stop["created_at"] < revision["admitted_at"]
    assert desk.tenant.agent("support")["desired_runtime_state"] == "running"


def test_a_draft_that_moves_is_asked_about_again(desk):
    """The Driver was asked about what is not drafted any more: it is asked once more, and that is deployed."""
    desk.scripted.on("validate_harness_auth", "gate one + ready")
    deployment = in_background(desk.deploy)
    desk.scripted.wait_at("one")
    desk.update("--harness-auth", "codex_pat=model")
    desk.scripted.open("one")
    deployment().ok()
    (revision,) = desk.revisions
    assert revision["admitted_spec"]["harness_auth"]["method"] == "codex_pat"
    assert len(desk.scripted.journal("validate_harness_auth", "begin")) == 2


def test_a_deletion_of_the_agent_meanwhile(desk):
    """The deletion keeps the Namespace alone, and so waits for the deployment, which then is deleted with the Agent."""
    desk.scripted.on("validate_harness_auth", "gate one + ready")
    deployment = in_background(desk.deploy)
    desk.scripted.wait_at("one")
    deletion = in_background(desk.occctl, "agent", "delete", desk.id)
    poll(
        lambda: desk.database.query(
            "select 1 as x from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
            " and datname = current_database()"
        ),
        what="the deletion waiting for the deployment",
    )
    desk.scripted.open("one")
    deployment().ok()
    deletion().ok()
    row = desk.tenant.agent("support")
    assert row["status"] == "deleting" and row["desired_runtime_state"] == "stopped" and len(desk.revisions) == 1


def test_the_namespace_and_the_configuration_stay_meanwhile(desk):
    desk.scripted.on("validate_harness_auth", "gate one + ready")
    deployment = in_background(desk.deploy)
    desk.scripted.wait_at("one")
    waiting = [
        in_background(desk.occctl, "namespace", "delete", "acme"),
        in_background(desk.occctl, "configuration", "delete", desk.configuration, env=desk.tenant.env),
    ]
    poll(
        lambda: desk.database.one(
            "select count(*) from pg_stat_activity where application_name = 'occctl' and wait_event_type = 'Lock'"
            " and datname = current_database()"
        )
        == 2,
        what="both deletions waiting for the deployment",
    )
    desk.scripted.open("one")
    deployment().ok()
    refused(waiting[0](), 4, "NAMESPACE_NOT_EMPTY", "1 Agent, 1 Configuration, 1 Secret")
    refused(waiting[1](), 4, "CONFIGURATION_IN_USE", "support")


# ---- Waiting


def pending(desk, number):
    rows = desk.database.query(
        "select w.idempotency_key as key, r.id from occ.controller_work w join occ.agent_revisions r on r.id = w.revision_id"
        " where r.revision_number = %s and r.agent_id = %s",
        number,
        desk.id,
    )
    return (rows[0]["key"], rows[0]["id"]) if rows else None


def test_wait(desk):
    waiting = in_background(desk.deploy, "--wait")
    key, revision = poll(lambda: pending(desk, 1), what="the admitted deployment")
    desk.database.execute("update occ.agents set active_revision_id = %s where id = %s", revision, desk.id)
    finish(desk.database, key, "REVISION_ACTIVATED")
    result = waiting().ok()
    assert result.json["state"] == "running" and result.json["activeRevision"] == result.json["newestRevision"]
    assert "support: succeeded" in result.err and "REVISION_ACTIVATED" in result.err


def test_wait_for_a_deployment_that_a_newer_one_overtook(desk):
    waiting = in_background(desk.deploy, "--wait")
    first, _ = poll(lambda: pending(desk, 1), what="the admitted deployment")
    desk.deploy().ok()
    second, revision = pending(desk, 2)
    desk.database.execute("update occ.agents set active_revision_id = %s where id = %s", revision, desk.id)
    finish(desk.database, second, "REVISION_ACTIVATED")
    finish(desk.database, first, "REVISION_SUPERSEDED")
    result = waiting()
    assert result.status == 5 and "the Agent is running revision 2 and not running revision 1" in result.err


def test_wait_for_a_deployment_that_fails(desk):
    waiting = in_background(desk.deploy, "--wait", "--timeout-ms=60000")
    key, _ = poll(lambda: pending(desk, 1), what="the admitted deployment")
    finish(desk.database, key, "HARNESS_UNSUPPORTED", "failed_permanent")
    result = waiting()
    assert result.status == 5 and "failed with HARNESS_UNSUPPORTED" in result.err
    assert result.json["state"] == "failed"


@pytest.mark.parametrize("verb", ["deploy", "stop", "delete"])
def test_wait_without_a_worker_and_an_end_of_patience(desk, bootstrapped, verb):
    """K123: it is told that no worker has come; Ctrl-C takes nothing back, and tells where to look."""
    flags = ["--config-path", desk.scripted.env["OCC_CONFIG_PATH"]]
    if verb == "deploy":
        flags += ["--development-configuration-root", desk.tenant.root]
    process = start(bootstrapped, "agent", verb, desk.id, "--wait", *map(str, flags),
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
    assert process.stderr.readline().startswith("support: queued, attempt 0, ")
    bootstrapped.execute(
        "update occ.controller_work set available_at = now() - interval '1 minute' where agent_id = %s", desk.id
    )
    assert process.stderr.readline().startswith("support: queued, attempt 0, no worker has come, ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and out == ""
    (row,) = bootstrapped.query("select * from occ.controller_work where agent_id = %s", desk.id)
    assert row["state"] == "queued"
    assert f"Interrupted; the work goes on. Look with: occctl work get {row['idempotency_key']}" in err
