# SPDX-License-Identifier: MIT
"""contrib/quickstart brings everything up, may be run again, and takes everything away."""

import os
import pwd
import re
import signal
import subprocess

import pytest

from support import processes, tree
from support.engine import UnixConnection
from support.kubernetes import Kubernetes
from support.kubernetes_startup import GATEWAY_CLASS
from support.waiting import poll

QUICKSTART = tree.SOURCE / "contrib" / "quickstart"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="quickstart needs root")


def quickstart(state, *arguments, deadline=600):
    """Runs it with an Engine of its own; the socket that the machine may have is not used."""
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DOCKER_HOST": f"unix://{state}.sock"}
    return subprocess.run(
        [QUICKSTART, "--state", state, *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=deadline,
        check=False,
    )


def ours(state):
    """Processes which have the state folder in their arguments or as the place of their program."""
    return [
        process
        for process in processes.everything()
        if process.state not in "ZX" and any(str(state) in word for word in process.arguments)
    ]


@pytest.fixture
def state(folder):
    """A state folder that does not exist yet."""
    made = folder / "state"
    yield made
    quickstart(made, "--down")


def users():
    return {entry.pw_name for entry in pwd.getpwall()}


def test_from_a_clone_to_a_ready_namespace_and_back(state):
    before = users()
    first = quickstart(state)
    assert first.returncode == 0, first.stdout + first.stderr
    assert re.search(r"\bacme\b.*\bready\b", first.stdout), first.stdout
    # The Namespace "default" has one too.
    networks = set(re.findall(r"oce-[a-z0-9-]+-[0-9a-f]{12}", first.stdout))
    assert len(networks) == 2
    for network in networks:
        connection = UnixConnection(f"{state}.sock")
        connection.request("GET", f"/v1.40/networks/{network}")
        assert b'"org.openclaw.enterprise.managed":"true"' in connection.getresponse().read()
        connection.close()

    running = ours(state)
    workers = [process for process in running if process.arguments[0].endswith("/occ-worker")]
    assert workers and all(process.status()["Uid"].split()[0] != "0" for process in workers)
    # Secrets are in files that only their user reads.
    for path in (state / "secrets").iterdir():
        assert path.stat().st_mode & 0o077 == 0
    assert (state / "secrets").stat().st_mode & 0o077 == 0

    # A Configuration can be kept at once, and the worker reads the startup YAML that an operator is told to edit.
    (state / "document.json").write_text("{}")
    made = subprocess.run(
        [state / "bin/occctl", "configuration", "create", state / "document.json", "-n", "acme"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    startup = state / "occ-installation.yaml"
    startup.write_text("logging: {level: debug}\n")
    os.kill(int((state / "run/worker.pid").read_text().split()[0]), signal.SIGHUP)
    log = state / "log/occ-worker.log"
    poll(lambda: '"worker.reloaded"' in log.read_text(), 60, what="the startup YAML is read again")

    again = quickstart(state)
    assert again.returncode == 0, again.stdout + again.stderr
    assert re.search(r"\bacme\b.*\bready\b", again.stdout)
    assert startup.read_text() == "logging: {level: debug}\n", "what was changed stays"
    assert {process.pid for process in workers} <= {process.pid for process in ours(state)}, "the worker was restarted"

    down = quickstart(state, "--down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert not state.exists() and not os.path.exists(f"{state}.sock")
    assert ours(state) == []
    assert users() == before


def test_on_a_disposable_cluster_and_back(folder):
    """Issue 4: production mode under the shipped rights, with what is ours shown at each step."""
    state, before = folder / "state", users()
    first = quickstart(state, "--kubernetes", deadline=900)
    try:
        assert first.returncode == 0, first.stdout + first.stderr
        shown = re.findall(r"\$ kubectl get (\S+) -A -l openclaw\.dev/namespace=ns_", first.stdout)
        assert [kinds.split(",")[0] for kinds in shown] == ["namespaces", "deployments", "deployments"]
        assert re.search(r"^  oce-[0-9a-f]{15}\s+pod/gateway-\w+-\S+\s+1/1\s+Running", first.stdout, re.M), first.stdout
        assert re.search(r"^  oce-[0-9a-f]{15}\s+pod/harness-\w+-\S+\s+1/1\s+Running", first.stdout, re.M), first.stdout
        for agent in ("support", "coder"):
            assert re.search(rf"\b{agent}\b.*\brunning\b", first.stdout), first.stdout
    finally:
        down = quickstart(state, "--kubernetes", "--down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert not state.exists() and ours(state) == [] and users() == before


@pytest.fixture
def cluster_of_somebody():
    """A cluster for this test alone, as its rights are changed."""
    made = Kubernetes(run=f"quickstart-{os.getpid()}")
    try:
        yield made.start()
    finally:
        made.remove()


def test_on_a_cluster_that_is_named_and_back(folder, cluster_of_somebody):
    """Issue 4: --kubeconfig F --context C. What is ours comes into that cluster, and goes; the rest stays."""
    state, cluster = folder / "state", cluster_of_somebody

    def everything():
        kinds = "namespaces,clusterroles,clusterrolebindings,deployments,services,secrets,serviceaccounts,rolebindings"
        listed = cluster.kubectl("get", kinds, "-A", "-o", "name")
        # A namespace that is on its way out needs a moment more.
        return {line for line in listed.splitlines() if "-token-" not in line}

    theirs = cluster.namespace("theirs", {"app.kubernetes.io/managed-by": "somebody-else"})
    before = everything()
    named = ["--kubeconfig", cluster.kubeconfig, "--context", cluster.context, "--storage-class", GATEWAY_CLASS,
             "--gateway-image", cluster.image("gateway"), "--agent-image", cluster.image("agent")]  # fmt: skip
    first = quickstart(state, "--kubernetes", *named, deadline=900)
    try:
        assert first.returncode == 0, first.stdout + first.stderr
        for agent in ("support", "coder"):
            assert re.search(rf"\b{agent}\b.*\brunning\b", first.stdout), first.stdout
        other = quickstart(state, "--kubernetes", *named[:2], "--context", "another", *named[4:])
        assert other.returncode == 1 and "begun with other options" in other.stderr
    finally:
        down = quickstart(state, "--kubernetes", "--down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert not state.exists() and ours(state) == []
    poll(lambda: everything() == before, 60, interval=0.2, what=f"nothing of ours being left beside {theirs}")


def test_a_folder_of_somebody_else_is_left_alone(folder):
    (folder / "precious").write_text("x")
    for arguments in ((), ("--down",)):
        done = quickstart(folder, *arguments)
        assert done.returncode == 1 and "was not made by quickstart" in done.stderr
    assert (folder / "precious").read_text() == "x"


def test_down_of_nothing_is_no_failure(folder):
    done = quickstart(folder / "none", "--down")
    assert done.returncode == 0 and "nothing" in done.stdout


CLUSTER = ["--kubernetes", "--kubeconfig", "/etc/hostname", "--context", "mine"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (CLUSTER, "--gateway-image"),
        ([*CLUSTER, "--gateway-image", "registry.example/gateway:1", "--agent-image", "registry.example/agent:1"], "digest"),
        ([*CLUSTER[:3], "--gateway-image", "x"], "go together"),
        (["--kubernetes", "--agent-image", "x"], "--kubeconfig and --context"),
        (["--kubernetes", "--kubeconfig"], "needs a value"),
        (["--context", "mine"], "--kubernetes"),
    ],
)
def test_a_cluster_is_named_with_all_that_it_needs(folder, arguments, words):
    """A cluster of somebody's own gets its images from a registry that it can reach: nothing is guessed, or begun."""
    done = quickstart(folder / "state", *arguments)
    assert done.returncode == 2 and words in done.stderr and not (folder / "state").exists()


@pytest.mark.parametrize("arguments", [["--nonsense"], ["-j", "zero"], ["--state", "/"], ["--state", str(tree.SOURCE)]])
def test_wrong_arguments_are_refused(arguments):
    done = subprocess.run([QUICKSTART, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2) and done.stderr
