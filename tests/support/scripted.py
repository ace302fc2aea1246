# SPDX-License-Identifier: MIT
"""The scripted Driver (tests/drivers): an installed Driver that does what a test tells it to.

    scripted.on("ensure_namespace", "pending NAMESPACE_INCOMPLETE x2", "ready")        twice pending, then ready
    scripted.on("prepare_revision", "effect + kill", subject="support/2")              dies after it, once
    scripted.on("activate_revision", "gate here + ready")                              waits for scripted.open("here")
    worker(env=scripted.env)

The words are listed in tests/drivers/scripted.h. The latest rule that fits and is not used up wins; without one an
operation is ready at once. What it did is in journal(), what it made in made() and revisions().
"""

import itertools
import json
import os

from . import kubernetes_startup, tree
from .waiting import poll

IDS = {
    "compute": "compute-scripted",
    "iam": "iam-scripted",
    "configuration": "config-scripted",
    "secret": "secret-scripted",
    "sandbox": "sandbox-scripted",
}
PACKAGES = ("scripted", "scripted-early", "scripted-maintained", "scripted-plain")
IMPLEMENTATION = "scripted-1"


def driver_folder():
    """Where the programs of this build look for packages; AssertionError where they do not look into the build."""
    listed = [line for line in (tree.BUILD / "Makefile").read_text().splitlines() if line.startswith("driverdir = ")]
    wanted = tree.BUILD / "tests" / "drivers"
    assert listed == [f"driverdir = {wanted}"], f"configure this build with --with-driverdir={wanted}, as tests/run does"
    return wanted


class Scripted:
    """Use through the fixture `scripted`, which fails the test on what a host must never ask for, unless it sets
    `violations_expected`."""

    def __init__(self, folder, package="scripted", drivers=("compute",)):
        self.folder = folder / "scripted"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.violations_expected = False
        self._rules = []
        self._numbers = itertools.count(1)
        self._path = folder / "scripted.yaml"
        driver_folder()
        self.select(package, drivers)

    # The startup YAML.

    def select(self, package="scripted", drivers=("compute",), **settings):
        """Writes the startup YAML that selects these capabilities of a package; `settings` go into each."""
        configuration = json.dumps({"folder": str(self.folder), **settings})
        lines = [
            f"  {capability}: {{id: {IDS[capability]}, package: {package}, configuration: {configuration}}}"
            for capability in drivers
        ]
        return self.write("drivers:\n" + "\n".join(lines) + "\n")

    def select_beside_kubernetes(self, *drivers):
        """The same with compute-kubernetes, as a Sandbox Driver needs, of a cluster that there is not."""
        image = f"registry.test/runtime@sha256:{'0' * 64}"
        nowhere = {"mode": "kubeconfig", "kubeconfigPath": "/nonexistent/kubeconfig", "context": "test"}
        compute = {"id": "compute-kubernetes", "configuration": kubernetes_startup.compute(nowhere, image, image)}
        self.select(drivers=drivers)
        return self.write(f"{self._path.read_text()}  compute: {json.dumps(compute)}\n")

    def write(self, text):
        """Another text for the startup YAML."""
        beside = self._path.with_suffix(".new")
        beside.write_text(text)
        os.replace(beside, self._path)
        return self

    @property
    def env(self):
        """What selects it, for a worker or for occctl."""
        return {"OCC_CONFIG_PATH": str(self._path)}

    # What it does.

    def on(self, operation, *steps, subject=None):
        """Puts a rule in front of the others; gives it, for off(). `subject`: an id, a name or a revision's number."""
        rule = f"{operation}{f' {subject}' if subject is not None else ''}: {' ; '.join(steps)} # {next(self._numbers)}"
        self._rules.insert(0, rule)
        self._write_script()
        return rule

    def off(self, rule=None):
        """Takes back one rule, or all."""
        self._rules = [] if rule is None else [other for other in self._rules if other != rule]
        self._write_script()

    def _write_script(self):
        beside = self.folder / "script.new"
        beside.write_text("\n".join(self._rules) + "\n")
        beside.chmod(0o666)
        os.replace(beside, self.folder / "script")

    def open(self, gate):
        """Lets everything through that waits at this gate, or will."""
        (self.folder / gate).touch()

    def needs_stopped(self, *modes):
        """Revisions of these execution modes need stopped predecessors."""
        (self.folder / "needs-stopped").write_text(" ".join(modes))

    # What it did.

    def journal(self, operation=None, what=None, **fields):
        """Entries so far, oldest first, that fit: namespaceId, agentId, revisionId, number, changed, result …"""
        path = self.folder / "journal"
        text = path.read_text() if path.exists() else ""
        # The last line may not be complete yet.
        entries = [json.loads(line) for line in text.split("\n")[:-1]]
        return [entry for entry in entries if _fits(entry, {"operation": operation, "what": what, **fields})]

    def wait_for(self, operation=None, what="begin", count=1, deadline=15.0, **fields):
        """The `count`th entry that fits."""
        wanted = " ".join(f"{name}={value}" for name, value in {"operation": operation, "what": what, **fields}.items())
        found = poll(
            lambda: self.journal(operation, what, **fields)[count - 1 :], deadline, what=f"entry {count} of {wanted}"
        )
        return found[0]

    def wait_at(self, gate, **more):
        """Waits until an operation waits at the gate; its entry, with `pid`."""
        return self.wait_for(what="gate", gate=gate, **more)

    def calls(self, **fields):
        """The operations that began, by name, oldest first."""
        return [entry["operation"] for entry in self.journal(what="begin", **fields)]

    def changes(self, operation=None, **fields):
        """What changed the world, not only found it as it should be."""
        return self.journal(operation, "effect", changed=True, **fields)

    def violations(self):
        """What a host must never ask for, as far as the Driver or its journal can see it."""
        return [entry["why"] for entry in self.journal(what="violation")] + self._overlaps()

    def _overlaps(self):
        """Two operations of one lane, both of which went on: the one that began first ended after the other began."""
        running, wrong = {}, []
        for entry in self.journal():
            lane = entry.get("agentId") or entry.get("namespaceId")
            # Admissions ask and keep beside the work, and observe nothing of it.
            if not lane or entry["operation"].partition(".")[0] in ("iam", "secret", "configuration"):
                continue
            if entry["what"] == "begin":
                running.setdefault(lane, {})[entry["pid"]] = entry
            elif entry["what"] == "end":
                begun = running.get(lane, {})
                mine = begun.pop(entry["pid"], None)
                beside = [other for other in begun.values() if mine and other["atMs"] > mine["atMs"]]
                wrong += [f"{entry['operation']} and {other['operation']} of {lane} at once" for other in beside]
        return wrong

    # What it made.

    def made(self, kind):
        """{id: what is written of it}. Kinds: namespace, agent, credentials, revision, sandbox; secret and
        configuration (bytes)."""
        folder = self.folder / "world" / kind
        paths = [path for path in folder.iterdir() if "." not in path.name] if folder.is_dir() else []
        if kind in ("secret", "configuration"):
            return {path.name: path.read_bytes() for path in paths}
        return {path.name: json.loads(path.read_text()) for path in paths}

    def put(self, kind, name, **what):
        """Makes a thing as if an earlier operation had: put("revision", id, agentId=…, number=1, state="active")."""
        folder = self.folder / "world" / kind
        for each in (folder.parent, folder):
            each.mkdir(exist_ok=True)
            each.chmod(0o777)
        (folder / name).write_text(json.dumps({"id": name, **what}, separators=(",", ":")))
        (folder / name).chmod(0o666)

    def revisions(self, agent):
        """{number: "prepared" | "active" | "stopped" | "retired"} of an Agent."""
        return {each["number"]: each["state"] for each in self.made("revision").values() if each["agentId"] == agent}

    def close(self):
        """Fails on what a host must never ask for."""
        assert self.violations_expected or not self.violations(), self.violations()


def _fits(entry, fields):
    return all(value is None or entry.get(name) == value for name, value in fields.items())
