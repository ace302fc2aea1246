# SPDX-License-Identifier: MIT
"""Installed Drivers: which packages are refused, each with its own words, and what one may do to its host."""

import itertools
import os
import re
import shutil
import time

import pytest
from support.admission import Admission
from support.program import run
from support.scripted import IDS, driver_folder
from support.waiting import PATIENCE, poll

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="packages are root's: needs to be root")

NUMBERS = itertools.count(1)
USER = "postgres"


@pytest.fixture
def package():
    """package("interface") installs broken.so as a package of its own, in which that is wrong; gives its path."""
    made = []

    def install(word, source="broken"):
        path = driver_folder() / f"broken-{word}-{os.getpid()}-{next(NUMBERS)}.so"
        made.append(path)
        if source:
            shutil.copy(driver_folder() / f"{source}.so", path)
            path.chmod(0o755)
        return path

    yield install
    for path in made:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@pytest.fixture
def select(bootstrapped, folder):
    """select("compute", path) writes a startup YAML that selects the package at the path; gives the environment."""

    def write(capability, path, mode="development", id=None, configuration="{}"):
        name = path.stem if hasattr(path, "stem") else path
        file = folder / "occ.yaml"
        file.write_text(
            f"drivers:\n  {capability}: {{id: {id or f'{capability}-broken'}, package: {name},"
            f" configuration: {configuration}}}\n"
        )
        return {"NODE_ENV": mode, "OCC_CONFIG_PATH": str(file), **bootstrapped.environment()}

    return write


def check(env, **more):
    return run("occ-worker", "--check", "-o", "json", env=env, **more)


def problems(env, **more):
    checked = check(env, **more)
    assert checked.status == 78, checked
    return checked.json["data"]["problems"]


def refused(env, code, *words, place="2:", **more):
    """The one problem of its package, told with its place in the startup YAML."""
    found = [problem for problem in problems(env, **more) if problem["code"] == code]
    assert len(found) == 1, problems(env, **more)
    message = found[0]["message"]
    assert message.startswith(f"{env['OCC_CONFIG_PATH']}:{place}"), message
    for word in words:
        assert word in message, (word, message)
    return message


def test_a_sound_package_is_used(package, select):
    path = package("sound")
    facts = check(select("compute", path)).ok().json["data"]["facts"]
    assert facts["computeDriverId"] == "compute-broken" and facts["computeImplementation"] == "broken-1"
    assert facts["computePackage"] == f"{path.stem} 1.0"
    assert facts["harness.openclaw/embedded"] == facts["harness.codex/dedicated"] == "1"


# Its members beyond the size that it names are no members: here they point to nowhere.
def test_a_shorter_package_is_used_as_far_as_it_goes(package, select):
    check(select("compute", package("short"))).ok()
    path = package("short")
    refused(select("iam", path), "DRIVER_CAPABILITY_MISSING", f"The package {path.stem} ({path}) has no iam Driver",
            "it offers: compute")  # fmt: skip


@pytest.mark.parametrize(
    "word, code, says",
    [
        ("nothing", "DRIVER_PACKAGE_SYMBOL_MISSING", "occ_driver_package() of {path} returns nothing"),
        ("interface", "DRIVER_PACKAGE_INTERFACE", "{path} has the Driver interface 7, and this program supports 1 alone"),
        ("size", "DRIVER_PACKAGE_SIZE", "its description in {path} has 4 bytes, at least "),
        ("name", "DRIVER_PACKAGE_NAME_MISMATCH", '{path} says that its name is "another"'),
        ("table", "DRIVER_TABLE_SIZE", "({path}) has a table of 8 bytes, at least "),
        ("required", "DRIVER_OPERATION_MISSING", "({path}) lacks delete_namespace, which is required"),
        ("activate", "DRIVER_OPERATION_MISSING", "({path}) lacks activate_revision, which is required of one that has"),
        ("stop", "DRIVER_OPERATION_MISSING", "({path}) lacks stop_revision, which is required of one that has"),
        ("retire", "DRIVER_OPERATION_MISSING", "({path}) lacks retire_revision, which is required of one that has"),
        ("harness", "DRIVER_OPERATION_MISSING", "({path}) lacks validate_harness_auth, which is required of one that"),
        (
            "credentials",
            "DRIVER_OPERATION_MISSING",
            "({path}) lacks delete_agent_credentials, which is required of one that has provision_agent_credentials",
        ),
        ("hasty", "DRIVER_MAINTENANCE_INTERVAL_INVALID", "({path}) asks for maintenance every 999 ms; at least 1000"),
        ("order", "DRIVER_ACTIVATION_ORDER_INVALID", "({path}) has the activation order 7, which there is not"),
        ("implementation", "DRIVER_IMPLEMENTATION_INVALID", "({path}) must name its implementation in 1 to 64"),
        ("settings", "DRIVER_SETTINGS_INVALID", "({path}) are unusable: address stands twice"),
    ],
)
def test_what_is_wrong_in_a_package(package, select, occctl, word, code, says):
    path = package(word)
    env = select("compute", path)
    message = refused(env, code, path.stem, says.format(path=path))
    # occctl says the same where it opens the Driver.
    told = occctl("namespace", "create", "x", "--existing-namespace", "y", env=env)
    assert told.status == 78 and code in told.err, told
    assert message.partition(": ")[2] in told.err, (message, told.err)
    # And looks at no package for what needs no Driver.
    occctl("namespace", "list", env=env).ok()


def test_what_production_needs_besides(package, select):
    path = package("deactivate")
    check(select("compute", path)).ok()
    refused(select("compute", path, mode="production"), "DRIVER_OPERATION_MISSING",
            f"({path}) lacks deactivate_revision, which is required in production")  # fmt: skip
    path = package("development")
    check(select("compute", path)).ok()
    refused(select("compute", path, mode="production"), "DRIVER_DEVELOPMENT_ONLY",
            f"compute-broken of the package {path.stem} ({path}) is for development only")  # fmt: skip


PRODUCTION = """\
drivers:
  iam: {{id: native-iam, configuration: {{}}}}
  configuration: {{id: config-kubernetes, configuration: {{authentication: {{mode: inCluster}}}}}}
  secret: {{id: {secret}}}
  compute: {{id: compute-scripted, package: scripted, configuration: {{folder: {folder}}}}}
"""


def test_an_installed_compute_in_production(scripted, bootstrapped):
    """It is verified as in development, and knows where it is; beside it production has the bundled Secret Driver alone."""
    env = {"NODE_ENV": "production", **bootstrapped.environment(), **scripted.env}
    bundled = "secret-kubernetes, configuration: {authentication: {mode: inCluster}}"
    scripted.write(PRODUCTION.format(secret=bundled, folder=scripted.folder))
    told = check(env).json["data"]
    assert told["facts"]["mode"] == "production" and told["facts"]["computeDriverId"] == "compute-scripted"
    assert told["facts"]["computeImplementation"] == "scripted-1" and "computePackage" in told["facts"]
    assert not [problem for problem in told["problems"] if "compute" in problem["message"].lower()]
    assert [entry["production"] for entry in scripted.journal("open", "opened")] == [True]
    other = f"secret-scripted, package: scripted, configuration: {{folder: {scripted.folder}}}"
    scripted.write(PRODUCTION.format(secret=other, folder=scripted.folder))
    refused(env, "STARTUP_FIELD_INVALID", "drivers.secret.package: production needs the bundled Secret Driver", place="4:")


def test_a_package_that_is_selected_for_something_else(package, select):
    path = package("sound")
    refused(select("compute", path, id="compute-other"), "DRIVER_ID_MISMATCH",
            f'({path}) is "compute-broken", not compute-other')  # fmt: skip
    refused(select("secret", path), "DRIVER_CAPABILITY_MISSING", f"({path}) has no secret Driver",
            "it offers: compute, iam")  # fmt: skip


def test_what_is_no_package(package, select):
    path = package("silent", source="broken-silent")
    refused(select("compute", path), "DRIVER_PACKAGE_SYMBOL_MISSING", f"{path} exports no occ_driver_package()")
    path = package("unresolved", source="broken-unresolved")
    message = refused(select("compute", path), "DRIVER_PACKAGE_NOT_LOADABLE", f"{path}: ", "nobody_has_this")
    assert "/proc/" not in message
    path = package("text", source=None)
    path.write_text("#!/bin/sh\n")
    message = refused(select("compute", path), "DRIVER_PACKAGE_NOT_LOADABLE", f"{path}: ")
    assert "/proc/" not in message
    path.write_text("")
    refused(select("compute", path), "DRIVER_PACKAGE_NOT_LOADABLE", f"{path}: ")


def test_a_package_that_is_not_installed(package, select):
    there = package("sound")
    refused(select("compute", "acme-compute"), "DRIVER_PACKAGE_MISSING",
            f"there is no {driver_folder()}/acme-compute.so; installed: ", "broken")  # fmt: skip
    there.unlink()


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/b", "-a", "A", "a.so", "a" * 65, "'a b'", "'@acme/vault'"])
def test_a_name_that_is_no_package(select, name):
    (problem,) = problems(select("compute", name))
    assert problem["code"] == "STARTUP_FIELD_INVALID"
    assert "drivers.compute.package: must be a package's name: at most 64 of a-z, 0-9 and -" in problem["message"]


def test_whose_a_package_is(package, select):
    path = package("sound")
    env = select("compute", path)
    shutil.chown(path, USER)
    uid = path.stat().st_uid
    refused(env, "DRIVER_PACKAGE_OWNER", f"The package {path.stem} is not loaded: {path} is owned by user {uid}, not root")
    shutil.chown(path, "root")
    for mode in (0o775, 0o757, 0o777):
        path.chmod(mode)
        refused(env, "DRIVER_PACKAGE_WRITABLE", f"{path} is writable by others than root (mode {mode:04o})")
    path.chmod(0o755)
    check(env).ok()


def test_a_package_that_is_no_regular_file(package, select):
    sound, link, pipe, folder = package("sound"), *(package(word, source=None) for word in ("link", "pipe", "folder"))
    link.symlink_to(sound)
    refused(select("compute", link), "DRIVER_PACKAGE_NOT_REGULAR", f"{link} is a link, not a regular file")
    os.mkfifo(pipe)
    refused(select("compute", pipe), "DRIVER_PACKAGE_NOT_REGULAR", f"{pipe} is no regular file")
    folder.mkdir()
    refused(select("compute", folder), "DRIVER_PACKAGE_NOT_REGULAR", f"{folder} is no regular file")


def test_a_package_that_the_workers_user_cannot_read(package, select):
    path = package("sound")
    path.chmod(0o700)
    message = refused(select("compute", path), "DRIVER_PACKAGE_UNREADABLE", f"{path} cannot be opened", user=USER)
    assert "Permission denied" in message


# Not dumpable, its own descriptors are still its own.
def test_a_package_is_loaded_by_a_worker_that_is_not_root(package, select):
    check(select("compute", package("sound")), user=USER).ok()


@pytest.fixture
def scripted_configuration(scripted, bootstrapped):
    def with_text(text):
        scripted.write("drivers:\n  compute:\n    id: compute-scripted\n    package: scripted\n" + text)
        return {"NODE_ENV": "development", **bootstrapped.environment(), **scripted.env}

    return with_text


def test_its_configuration_is_checked_by_its_own_schema(scripted, scripted_configuration):
    env = scripted_configuration("    configuration: {folder: relative, surprise: 1, apiToken: hunter2}\n")
    found = problems(env)
    told = {(problem["code"], problem["message"].split(": ")[0]) for problem in found}
    file = env["OCC_CONFIG_PATH"]
    assert ("STARTUP_FIELD_UNKNOWN", f"{file}:5:39 drivers.compute.configuration.surprise") in told, found
    assert "hunter2" not in str(found)
    env = scripted_configuration("")
    found = problems(env)
    assert [problem["code"] for problem in found] == ["STARTUP_FIELD_MISSING"], found
    assert found[0]["message"].startswith(f"{file}:3:5 drivers.compute.configuration.folder: is required"), found


# What one does in a verification is told by name, and the verification ends in time.
@pytest.mark.parametrize("word, status, code", [("crash", 70, "DRIVER_CRASHED"), ("hang", 69, "DRIVER_HUNG")])
def test_a_package_that_ends_its_host_while_it_is_loaded(package, select, word, status, code):
    path = package(word)
    begun = time.monotonic()
    checked = check(select("compute", path), deadline=40)
    assert checked.status == status, checked
    (problem,) = checked.json["data"]["problems"]
    assert problem["code"] == code
    assert f"loading the package {path.stem} for drivers.compute" in problem["message"]
    assert time.monotonic() - begun < 30 * PATIENCE


CRASHED, HUNG = (70, "DRIVER_CRASHED"), (69, "DRIVER_HUNG")


@pytest.mark.parametrize(
    "capability, step, status, code",
    [
        # Without a Sandbox Driver, which needs compute-kubernetes: its start is in kubernetes/test_start.py.
        *((capability, "crash", *CRASHED) for capability in IDS if capability != "sandbox"),
        ("compute", "exit 0", *CRASHED),
        ("compute", "hang", *HUNG),
        ("secret", "hang", *HUNG),
    ],
)
def test_a_preflight_that_ends_its_host(scripted, bootstrapped, capability, step, status, code):
    scripted.select(drivers=sorted({"compute", capability}))
    scripted.on("preflight" if capability == "compute" else f"{capability}.preflight", f"{step} forever")
    env = {"NODE_ENV": "development", **bootstrapped.environment(), **scripted.env}
    checked = check(env, deadline=40)
    assert checked.status == status, checked
    (problem,) = checked.json["data"]["problems"]
    assert problem["code"] == code
    kind = {"iam": "IAM"}.get(capability, capability.capitalize())
    assert f"in the preflight of the {kind} Driver {IDS[capability]} (package scripted)" in problem["message"]


@pytest.mark.parametrize(
    "step, status, code",
    [
        ("pending NOT_YET", 69, "NOT_YET"),
        ("retryable EXAMPLE_UNAVAILABLE", 69, "EXAMPLE_UNAVAILABLE"),
        ("permanent EXAMPLE_REJECTED", 78, "EXAMPLE_REJECTED"),
        ("cancelled", 78, "INVALID_DRIVER_OBSERVATION"),
        ("result 77", 78, "INVALID_DRIVER_OBSERVATION"),
    ],
)
def test_what_a_preflight_says(scripted, bootstrapped, step, status, code):
    scripted.on("preflight", f"{step} forever")
    checked = check({"NODE_ENV": "development", **bootstrapped.environment(), **scripted.env})
    assert checked.status == status, checked
    assert [problem["code"] for problem in checked.json["data"]["problems"]] == [code]


def test_an_open_that_breaks_the_interface(package, select):
    path = package("open")
    (problem,) = problems(select("compute", path))
    assert problem["code"] == "INVALID_DRIVER_OBSERVATION"
    assert f'compute-broken (package {path.stem}) answered open with a code that is none ("not a code")' in problem["message"]


def test_an_open_that_waits_too_long(scripted, bootstrapped):
    """Through the host, so that nothing hangs: it hears of its deadline."""
    scripted.on("open", "delay 60000 forever")
    begun = time.monotonic()
    checked = check({"NODE_ENV": "development", **bootstrapped.environment(), **scripted.env}, deadline=40)
    assert checked.status == 69, checked
    (problem,) = checked.json["data"]["problems"]
    assert problem["code"] == "DRIVER_DEADLINE_EXCEEDED" and "compute-scripted did not finish open" in problem["message"]
    assert 9 < time.monotonic() - begun < 30 * PATIENCE


def test_a_bad_package_ends_a_reload_and_nothing_else(worker, scripted, notify):
    worker_ = worker(env={**scripted.env, "NOTIFY_SOCKET": notify.path})
    worker_.wait_for("worker.started")
    scripted.on("preflight", "crash forever")
    mark = worker_.mark()
    worker_.send(1)
    told = worker_.wait_for("worker.error", role="reload", since=mark, deadline=20)
    assert told["code"] == "DRIVER_CRASHED" and "compute-scripted" in told["message"]
    scripted.off()
    worker_.send(1)
    worker_.wait_for("worker.reloaded", deadline=20)


@pytest.mark.release
def test_a_process_stays_hardened(package, select, worker, bootstrapped):
    """What a package does to its process's attributes is undone. (Not under the leak sanitizer, which needs to look.)"""
    env = select("compute", package("shown"))
    worker_ = worker(env=env, user=USER)
    worker_.wait_for("worker.started")
    Admission(bootstrapped).wait_ready()
    # A process that may not be looked into is root's in /proc.
    owners = [os.stat(f"/proc/{child.pid}/environ").st_uid for child in worker_.children("reconciler")]
    assert owners and set(owners) == {0}


def test_the_supervisor_and_the_dispatcher_load_nothing(worker, scripted):
    worker_ = worker(env=scripted.env)
    worker_.wait_for("worker.started")

    def maps(pid):
        return re.findall(r"\S*/scripted\.so$", open(f"/proc/{pid}/maps", encoding="utf-8").read(), re.M)

    poll(lambda: maps(worker_.child("reconciler").pid), 10)
    assert not maps(worker_.pid)
    assert not maps(worker_.child("dispatcher").pid)
