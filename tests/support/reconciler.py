# SPDX-License-Identifier: MIT
"""tests/integration/reconcile_probe: a reconciler whose host is the test and whose Driver does as it is told."""

import json
import subprocess
import threading

from . import tree
from .program import check_log, environment
from .waiting import PATIENCE, DeadlineExceeded, poll

LEASE = int(2000 * PATIENCE)  # milliseconds, for tests that are about the lease


class Reconciler:
    """`said` is what it announced, in order; `log` the records of its stderr."""

    def __init__(self, url, *arguments):
        self.said = []
        self.log = []
        self._err = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [str(tree.BUILD / "tests" / "integration" / "reconcile_probe"), *map(str, arguments)],
            env=environment({"OCC_DATABASE_URL": url}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=self._read, args=each, daemon=True)
            for each in ((self.process.stdout, self.said), (self.process.stderr, self.log))
        ]
        for each in self._threads:
            each.start()

    def _read(self, stream, kept):
        for line in stream:
            with self._changed:
                if stream is self.process.stderr:
                    self._err.append(line)
                if line.startswith("{"):
                    kept.append(json.loads(line))
                self._changed.notify_all()

    def order(self, word):
        """go, finish, abort or open."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def all(self, say):
        with self._changed:
            return [record for record in self.said if record["say"] == say]

    def wait(self, say, number=1, deadline=10.0, **fields):
        """The `number`th announcement of that kind which has these fields."""

        def found():
            fitting = [
                record
                for record in self.said
                if record["say"] == say and all(record.get(name) == value for name, value in fields.items())
            ]
            return fitting[number - 1] if len(fitting) >= number else None

        with self._changed:
            if not self._changed.wait_for(found, deadline * PATIENCE):
                raise DeadlineExceeded(f"no {say} {number} {fields}; said: {self.said[-20:]}; log: {self.log[-5:]}")
            return found()

    def report(self, number=1, deadline=10.0, **fields):
        return self.wait("report", number, deadline, **fields)

    def rest(self, number=1, deadline=10.0):
        return self.wait("rest", number, deadline)["rest"]

    def errors(self, code, count=0):
        """The records with this code so far, once there are so many: the log is read beside what the process reports."""

        def found():
            with self._changed:
                return [record for record in self.log if record.get("code") == code]

        if count:
            poll(lambda: len(found()) >= count, what=f"{count} records with {code}")
        return found()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        """Ends it (it hears the end of its host) and fails on a sanitizer's report or a wrong exit status."""
        killed = self.process.poll() is not None and self.process.returncode == -9
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        status = self.process.wait(20 * PATIENCE)
        for each in self._threads:
            each.join(5)
        check_log("".join(self._err), "reconcile_probe")
        assert killed or status in (0, 75, 78), f"reconcile_probe: {status}: {''.join(self._err)[-2000:]}"
