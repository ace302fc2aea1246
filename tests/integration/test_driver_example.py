# SPDX-License-Identifier: MIT
"""contrib/driver-example as its reader uses it: built against an installed tree, installed, selected, at work."""

import json
import os
import re
import shutil
import subprocess

import pytest
from support import tree
from support.admission import Admission
from support.desk import Desk
from support.program import run
from support.scripted import IDS, driver_folder
from support.waiting import poll

EXAMPLE = "usr/local/share/occ-worker/contrib/driver-example"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can install a package")


@pytest.fixture(scope="session")
def installed_tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["make", "-C", tree.BUILD, "-s", "install", f"DESTDIR={folder}"], check=True, capture_output=True)
    return folder


@pytest.fixture
def example(installed_tree, tmp_path):
    """example("install") runs make in a copy of the installed example, which finds the interface by pkg-config."""
    copy = tmp_path / "my-driver"
    shutil.copytree(installed_tree / EXAMPLE, copy)
    package = f"example-{os.getpid()}"

    def make(*arguments):
        return subprocess.run(
            ["make", "-C", copy, f"PACKAGE={package}", *arguments],
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "PKG_CONFIG_PATH": str(installed_tree / "usr/local/lib/pkgconfig"),
                # Where the tree is now; the Driver folder stays as the programs have it.
                "PKG_CONFIG": f"pkg-config --define-variable=prefix={installed_tree}/usr/local",
                "MAKEFLAGS": "e",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    make.package, make.folder = package, copy
    return make


@pytest.fixture
def selected(example, folder):
    """The example installed and selected: its root, and what selects it in `env`."""
    done = example("install", "CFLAGS=-O1 -g -Werror")
    assert done.returncode == 0, done.stderr
    root = folder / "root"
    root.mkdir(mode=0o700)
    path = folder / "startup.yaml"

    def select(configuration, others=""):
        path.write_text(
            f"drivers:\n  compute:\n    id: compute-{example.package}\n    package: {example.package}\n"
            f"    configuration: {configuration}\n{others}"
        )

    select(f"{{root: {root}}}")
    example.root, example.select = root, select
    example.env = {"OCC_CONFIG_PATH": str(path), "NODE_ENV": "development"}
    yield example
    assert example("uninstall").returncode == 0
    assert not (driver_folder() / f"{example.package}.so").exists()


def test_without_the_interface_it_says_what_is_missing(example, tmp_path):
    done = subprocess.run(
        ["make", "-C", example.folder], env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_LIBDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0 and "pkg-config does not find occ-driver: install occ-worker" in done.stderr


@needs_root
def test_what_the_readme_says_comes_true(selected, bootstrapped, worker, occctl):
    checked = run("occ-worker", "--check", env={**selected.env, **bootstrapped.environment()})
    assert checked.status == 0, checked
    assert f"compute-{selected.package}" in checked.out
    made = worker(env=selected.env)
    occctl("namespace", "create", "acme", "--wait", env=selected.env, deadline=60).ok()
    namespace = bootstrapped.namespace("acme")["id"]
    installation = bootstrapped.one("select id from occ.installation")
    assert (selected.root / namespace / "owner").read_text() == installation
    assert (selected.root / namespace).stat().st_mode & 0o777 == 0o700
    made.wait_for("driver.message", code="EXAMPLE_FOLDER_MADE", message=lambda text: namespace in text)
    occctl("namespace", "delete", "acme", "--wait", env=selected.env, deadline=60).ok()
    assert namespace not in [path.name for path in selected.root.iterdir()]
    # Only what it says it keeps: nothing half made, nothing half removed.
    assert all(re.fullmatch(r"ns_[0-9a-f-]{36}", path.name) for path in selected.root.iterdir())


@needs_root
def test_its_settings_are_a_closed_schema(selected, bootstrapped):
    for configuration, told in (
        ("{}", "root"),
        ("{root: /tmp, colour: red}", "colour"),
        ("{root: [/tmp]}", "root"),
        ("{root: var/lib}", "EXAMPLE_ROOT_INVALID  the Compute Driver compute-example"),
        ("{root: /nonexistent/occ}", "EXAMPLE_ROOT_UNUSABLE"),
    ):
        selected.select(configuration)
        checked = run("occ-worker", "--check", env={**selected.env, **bootstrapped.environment()})
        assert checked.status == 78 and told in checked.out + checked.err, (configuration, checked)


# K107
@needs_root
def test_the_folder_of_somebody_else_is_left_alone(selected, bootstrapped, worker):
    namespace = Admission(bootstrapped)
    foreign = selected.root / namespace.id
    foreign.mkdir()
    (foreign / "precious").write_text("do not touch")
    worker(env=selected.env)
    namespace.wait_state("failed_permanent")
    assert namespace.work["reason_code"] == "OWNERSHIP_CONFLICT" and namespace.status == "failed"
    assert [path.name for path in foreign.iterdir()] == ["precious"]


# K110
@needs_root
def test_what_a_crash_left_is_completed(selected, bootstrapped, worker):
    namespace = Admission(bootstrapped)
    half = selected.root / f".making-{namespace.id}"
    half.mkdir()
    (half / "owner.new").write_text("ins_")
    worker(env=selected.env)
    namespace.wait_ready()
    assert not half.exists()
    assert (selected.root / namespace.id / "owner").read_text().startswith("ins_")


@needs_root
def test_a_missing_folder_costs_attempts_and_no_more(selected, bootstrapped, worker):
    made = worker(env=selected.env)
    poll(lambda: [row["state"] for row in bootstrapped.work()] == ["succeeded"], 15)
    selected.root.rename(selected.root.with_name("away"))
    namespace = Admission(bootstrapped)
    told = made.wait_for("worker.completed", workId=namespace.key, outcome="retry")
    assert told["code"] == "EXAMPLE_IO_FAILED"
    selected.root.with_name("away").rename(selected.root)
    namespace.wait_ready(deadline=60)


@needs_root
def test_an_agent_is_deployed_replaced_stopped_and_deleted(selected, bootstrapped, worker, occctl, folder, scripted):
    """Its documents and Secrets are with another package's Drivers."""
    others = [
        f"  {capability}: {{id: {IDS[capability]}, package: scripted, configuration: {{folder: {scripted.folder}}}}}\n"
        for capability in ("configuration", "secret")
    ]
    selected.select(f"{{root: {selected.root}}}", "".join(others))
    worker(env=selected.env)
    desk = Desk(occctl, bootstrapped, folder, selected.env)
    home = selected.root / bootstrapped.namespace("acme")["id"] / desk.id
    desk.deploy()
    assert os.readlink(home / "active") == "revision-1.json"
    assert "agents" in json.loads((home / "active").read_text())
    desk.deploy()
    assert os.readlink(home / "active") == "revision-2.json"
    assert sorted(path.name for path in home.iterdir()) == ["active", "revision-2.json"]
    # A Namespace that is not its own: nothing of the Agent is made there, and the refusal says why.
    home.parent.rename(selected.root / "away")
    refused = occctl("agent", "deploy", desk.id, "--wait", env=desk.env, deadline=60)
    assert refused.status == 5 and "EXAMPLE_NAMESPACE_MISSING" in refused.err, refused
    assert not home.parent.exists()
    (selected.root / "away").rename(home.parent)
    desk.run("agent", "stop", desk.id, "--wait")
    assert [path.name for path in home.iterdir()] == ["revision-2.json"]
    desk.run("agent", "delete", desk.id, "--wait")
    assert not home.exists()
