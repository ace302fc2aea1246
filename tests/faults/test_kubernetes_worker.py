# SPDX-License-Identifier: MIT
"""What a running worker makes of an API server that goes wrong under it: what its passes wait for, how long, and that they go
on by themselves when it is mended. The server is played; a real one's refusals are in tests/integration/kubernetes."""

import threading

import pytest

from support.admission import Admission
from support.certificates import Authority
from support.fake_kubernetes import NOT_SERVED, refusal
from support.fake_server import Answer
from support.intents import Unconnected
from support.kubernetes_tenant import data_space
from support.waiting import poll

QUOTAS = r"/api/v1/namespaces/oce-[^/]+/resourcequotas"
POLICIES = r"/apis/networking.k8s.io/v1/namespaces/oce-[^/]+/networkpolicies"
UNAVAILABLE = "KUBERNETES_API_UNAVAILABLE"


@pytest.fixture
def fake(fake_kubernetes):
    return fake_kubernetes()


@pytest.fixture
def running(fake, worker, bootstrapped, folder):
    """running(*flags, kubeconfig=…): a production worker that has made the Installation's first Namespace."""

    def start(*flags, kubeconfig=None):
        somewhere = Unconnected()
        somewhere.context = "test"
        startup = somewhere.startup(folder / "occ.yaml", kubeconfig or fake.kubeconfig())
        env = {"NODE_ENV": "production", "OCC_CONFIG_PATH": startup}
        made = worker("--poll-interval-ms=50", *flags, env=env)
        made.wait_for("worker.completed", deadline=30, outcome="success")
        made.env = env
        return made

    return start


def completed(worker, admitted, **fields):
    return worker.wait_for("worker.completed", deadline=30, workId=admitted.key, **fields)


def write(path, content):
    """As a careful program replaces a file."""
    new = path.with_name(path.name + ".new")
    new.write_text(content)
    new.chmod(0o600)
    new.rename(path)


def forbidden(words):
    return refusal(403, "Forbidden", f'resourcequotas "openclaw-quota" is forbidden: {words}', {"kind": "resourcequotas"})


REFUSALS = {
    "a 500": (refusal(500, "InternalError", "etcd is away"), "pending", UNAVAILABLE, "status 500"),
    "a 422": (refusal(422, "Invalid", "no", {"causes": [{"field": "spec.hard"}]}), "permanent", "KUBERNETES_REJECTED", "spec.hard"),
    "a missing grant": (forbidden('User "u" cannot create resource "resourcequotas"'), "pending", "KUBERNETES_ACCESS_DENIED",
                        "create resourcequotas in namespace oce-"),
    "a full quota": (forbidden("exceeded quota: small, requested: x=1"), "pending", "KUBERNETES_QUOTA_EXCEEDED", "ResourceQuota small"),
    "an end": (forbidden("because it is being terminated"), "pending", "KUBERNETES_NAMESPACE_TERMINATING", "being deleted"),
    "no such API": (NOT_SERVED, "pending", "KUBERNETES_API_NOT_SERVED", "does not serve"),
    "a proxy's page": (Answer(200, "<html>", {"Content-Type": "text/html"}), "retry", "KUBERNETES_ANSWER_INVALID", "not as an API server"),
    "a redirect": (Answer(302, b"", {"Location": "https://x.test/"}), "retry", "KUBERNETES_ANSWER_INVALID", "status 302"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_a_pass_tells_what_it_met(running, fake, bootstrapped, what):
    answer, outcome, code, words = REFUSALS[what]
    made = running()
    rule = fake.on("POST", QUOTAS, answer)
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == (outcome, code)
    (message, *_) = namespace.messages()
    assert message.startswith(f"creating ResourceQuota {data_space({'id': namespace.id})}/openclaw-quota: ")
    assert words in message and fake.place in message
    if outcome == "permanent":
        assert namespace.wait_state("failed_permanent") and namespace.status == "failed"
        return
    fake.off(rule)
    namespace.wait_ready(30)


@pytest.mark.parametrize("asked, waits", [("7", 7), ("3600", 30)])
@pytest.mark.parametrize("code", [429, 503])
def test_a_server_that_asks_for_time_gets_it(running, fake, bootstrapped, code, asked, waits):
    """K80: up to what a deferral takes; it is asked once, and no attempt is spent."""
    made = running()
    fake.on("POST", QUOTAS, refusal(code, "TooManyRequests", "later", headers={"Retry-After": asked}))
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == ("pending", UNAVAILABLE)
    assert (told["dependency"], told["cause"]) == ("kubernetes", "unavailable")
    row = poll(lambda: namespace.work["state"] == "queued" and namespace.work, 10)
    assert (row["available_at"] - row["updated_at"]).total_seconds() == waits
    assert row["attempt_count"] == 0 and fake.count("POST", QUOTAS) == 3, "two of the first Namespace's, and one"
    assert made.stop() == 0


# Credentials that change under it


def test_a_token_that_was_rotated(running, fake, bootstrapped):
    """A 401 has the file read again within the pass; while there is no other token the pass waits."""
    token = fake.folder / "token"
    write(token, "sesame-1")
    made = running(kubeconfig=fake.kubeconfig(tokenFile=str(token)))

    def rotate(request):
        fake.off(rule)
        write(token, "sesame-2")
        fake.tokens = {"sesame-2"}
        return refusal(401, "Unauthorized", "Unauthorized")

    rule = fake.on("POST", QUOTAS, rotate)
    namespace = Admission(bootstrapped)
    assert completed(made, namespace)["outcome"] == "success"

    fake.tokens = {"sesame-3"}
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == ("pending", "KUBERNETES_UNAUTHENTICATED")
    assert fake.place in namespace.messages()[0]
    write(token, "sesame-3")
    namespace.wait_ready(30)
    assert "sesame" not in made.log


def test_a_context_that_goes(running, fake, bootstrapped):
    kubeconfig = fake.kubeconfig()
    good = kubeconfig.read_text()
    made = running(kubeconfig=kubeconfig)
    assert good.count("name: test") == 1
    write(kubeconfig, good.replace("name: test", "name: another"))
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == ("pending", "KUBERNETES_AUTHENTICATION_INVALID")
    (message,) = namespace.messages()
    assert str(kubeconfig) in message and '"test"' in message and "another" in message
    write(kubeconfig, good)
    namespace.wait_ready(30)


@pytest.mark.parametrize(
    "cause, certificate",
    [
        ("expired", {"begins": -7200, "ends": -3600}),
        ("other-name", {"names": ("DNS:other.test",)}),
        ("untrusted", {}),
    ],
)
def test_a_certificate_that_becomes_wrong(running, fake, bootstrapped, cause, certificate):
    made = running()
    good = fake.authority.issue("good", "/CN=good", names=("IP:127.0.0.1",))
    issuer = Authority.create(fake.folder / "other", "somebody else") if cause == "untrusted" else fake.authority

    def show(shown):
        fake.stop()
        fake.show(shown)
        fake.start()

    show(issuer.issue("bad", "/CN=bad", **{"names": ("IP:127.0.0.1",), **certificate}))
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"], told["cause"]) == ("pending", "KUBERNETES_TLS_FAILED", cause)
    assert fake.place in namespace.messages()[0]
    show(good)
    namespace.wait_ready(30)


# A server that goes, or does not answer


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_server_that_goes_in_the_middle_of_a_pass(running, fake, bootstrapped, carried_out):
    """K103: what was seen in each pass is told; what was made stays, and nothing of it is made twice."""
    made = running()

    def go(request):
        fake.stop()
        return None if carried_out else Answer(500)

    rule = fake.on("POST", POLICIES, go)
    namespace = Admission(bootstrapped)
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == ("pending", UNAVAILABLE)
    # curl connects anew where a kept connection was closed, though it sends nothing twice: then that is refused.
    assert told["dependency"] == "kubernetes" and told["cause"] in ("unavailable", "unreachable")
    told = completed(made, namespace, cause="unreachable", count=2 if told["cause"] == "unreachable" else 1)
    assert (told["outcome"], told["code"], told["dependency"]) == ("pending", UNAVAILABLE, "kubernetes")
    fake.off(rule)
    fake.start()
    namespace.wait_ready(30)
    made.wait_for("worker.completed", workId=namespace.key, outcome="success")
    outcomes = {record["outcome"] for record in made.events("worker.completed", workId=namespace.key)}
    assert outcomes == {"pending", "success"}
    # The wait is written down once, whatever its cause.
    assert namespace.evidence().count(UNAVAILABLE) == 1
    made_of = [request.json["metadata"]["name"] for request in fake.asked("POST", POLICIES)
               if request.json["metadata"]["namespace"] == data_space({"id": namespace.id})]  # fmt: skip
    assert sorted(made_of) == sorted(["openclaw-default-deny", "openclaw-dns"] + ([] if carried_out else [made_of[0]]))


def test_a_stop_does_not_wait_for_an_answer(running, fake, bootstrapped):
    never = threading.Event()
    made = running("--drain-timeout-ms=300")
    fake.on("POST", POLICIES, Answer(201, stall=never))
    before = fake.count("POST", POLICIES)
    namespace = Admission(bootstrapped)
    fake.wait_asked("POST", POLICIES, count=before + 1, deadline=20)
    assert made.stop() == 0
    told = completed(made, namespace)
    assert (told["outcome"], told["code"]) == ("pending", "WORKER_DRAINING")
    assert namespace.state == "queued" and namespace.work["attempt_count"] == 0


# What does not pass by itself


def test_a_grant_that_never_comes(running, fake, bootstrapped):
    """K114: it is waited for until the deadline, and what was missing is in the evidence."""
    made = running("--convergence-timeout-ms=2000")
    words = 'networkpolicies.networking.k8s.io is forbidden: User "u" cannot get resource "networkpolicies"'
    fake.on("GET", POLICIES + "/.*", refusal(403, "Forbidden", words, {"kind": "networkpolicies"}))
    namespace = Admission(bootstrapped)
    namespace.wait_state("failed_permanent", deadline=30)
    assert namespace.status == "failed"
    assert namespace.evidence() == ["KUBERNETES_ACCESS_DENIED", "CONVERGENCE_DEADLINE_EXCEEDED"]
    granted = f"get networkpolicies.networking.k8s.io in namespace {data_space({'id': namespace.id})}"
    assert granted in namespace.messages()[0]
    assert {record["outcome"] for record in made.events("worker.completed", workId=namespace.key)} == {"pending", "permanent"}


def test_what_holds_a_deletion_is_shown(running, fake, bootstrapped, occctl):
    """K75: the finalizer, and the condition that the cluster reports, in the words of occctl."""
    made = running()
    identifier = bootstrapped.namespace("default")["id"]
    space = fake.get("namespaces", None, data_space({"id": identifier}))
    space["metadata"]["finalizers"] = ["example.test/hold"]
    remaining = {"type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain", "message": "pods. has 2"}
    space["status"] = {"phase": "Terminating", "conditions": [remaining]}
    occctl("namespace", "delete", "default", env=made.env).ok()
    told = made.wait_for("worker.completed", deadline=30, operation="namespace.delete")
    assert (told["outcome"], told["code"]) == ("pending", "KUBERNETES_NAMESPACE_TERMINATING")
    shown = occctl("work", "get", told["workId"], env=made.env).ok().out
    for words in ("KUBERNETES_NAMESPACE_TERMINATING", "example.test/hold", "NamespaceContentRemaining (SomeResourcesRemain): pods. has 2"):
        assert words in " ".join(shown.split()), shown
    assert space["metadata"]["finalizers"] == ["example.test/hold"] and not fake.asked("PATCH")
    del fake.objects["namespaces", None, space["metadata"]["name"]]
    made.wait_for("worker.completed", deadline=30, operation="namespace.delete", outcome="success")
