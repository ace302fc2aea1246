# SPDX-License-Identifier: MIT
"""A worker on the scripted Driver, and what must stay as it is while that Driver misbehaves."""

from .admission import Admission
from .waiting import poll


def start(worker, scripted, database, marker, *flags, package="scripted", drivers=("compute",), settings=None):
    """Starts a worker and waits until it is ready and has done what there was to do. `marker` is its readiness file."""
    scripted.select(package, drivers, **(settings or {}))
    made = worker(f"--readiness-path={marker}", *flags, env=scripted.env)
    poll(lambda: marker.exists() or not made.running, 20, what="readiness")
    assert made.running, made.log
    poll(lambda: {row["state"] for row in database.work()} == {"succeeded"}, 15)
    made.marker = marker
    return made


class Standing:
    """The supervisor, its readiness, and all children but `victims` of them."""

    def __init__(self, worker, victims=1):
        self.worker = worker
        self.before = {child.pid for child in worker.children()}
        self.victims = victims

    def check(self):
        assert self.worker.running and self.worker.marker.exists(), self.worker.log[-3000:]
        gone = self.before - {child.pid for child in self.worker.children()}
        assert len(gone) <= self.victims, f"{gone} are gone of {self.before}"


def others_go_on(database, standing, count=5):
    """Namespaces beside the one that suffers are made as if nothing was."""
    for _ in range(count):
        other = Admission(database)
        other.wait_ready()
        standing.check()
