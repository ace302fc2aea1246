# SPDX-License-Identifier: MIT
"""A running occ-worker: its log, its processes, its end."""

import json
import os
import signal
import subprocess
import threading
import time

from . import processes, tree
from .program import BROKEN, TRACER, environment
from .waiting import PATIENCE, DeadlineExceeded, poll

ROLES = ("dispatcher", "reconciler", "exporter", "preflight")


class Worker:
    """Use through the fixture `worker`, which ends it and checks what it left.

    `records` are the parsed JSON lines of stderr in order; `noise` are lines that are not JSON, which fail the test
    unless it sets `noise_expected`. `program`: the command that runs it, where that is not just its path.
    """

    def __init__(self, arguments=(), env=None, user=None, stdout=None, program=None):
        self.records = []
        self.noise = []
        self.noise_expected = False
        self.text = []
        self._changed = threading.Condition()
        command = [*(program or [tree.program("occ-worker")]), *map(str, arguments)]
        if user is not None and os.geteuid() == 0:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--", *command]
        self.command = command
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            env=environment(env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read, daemon=True, name="worker log")
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            text = line.decode("utf-8", "backslashreplace").rstrip("\n")
            with self._changed:
                self.text.append(text)
                try:
                    record = json.loads(text)
                    assert isinstance(record, dict)
                    self.records.append(record)
                except (ValueError, AssertionError):
                    if not TRACER.fullmatch(text):
                        self.noise.append(text)
                self._changed.notify_all()

    @property
    def log(self):
        return "\n".join(self.text)

    # What it said.

    def events(self, event=None, **fields):
        """Records so far with this event and these field values. A callable value is asked."""
        return [record for record in list(self.records) if _fits(record, event, fields)]

    def mark(self):
        """A place in the log, for wait_for(since=...)."""
        return len(self.records)

    def wait_for(self, event, deadline=10.0, since=0, count=1, **fields):
        """The `count`th record from `since` on that fits; fails at the deadline, or when the worker ends without."""
        end = time.monotonic() + deadline * PATIENCE
        with self._changed:
            while True:
                found = [record for record in self.records[since:] if _fits(record, event, fields)]
                if len(found) >= count:
                    return found[count - 1]
                left = end - time.monotonic()
                ended = not self._reader.is_alive()
                if left <= 0 or ended:
                    why = f"the worker ended ({self.process.poll()})" if ended else f"{deadline} s passed"
                    wanted = " ".join([str(event), *(f"{name}={value!r}" for name, value in fields.items())])
                    raise DeadlineExceeded(f"no record {wanted}: {why}. Its log:\n{self.log[-6000:]}")
                self._changed.wait(min(left, 0.2))

    # Its processes.

    def children(self, role=None):
        """Live children, all or those of one role."""
        found = [child for child in processes.children(self.pid) if child.state not in "ZX"]
        return [child for child in found if role is None or role_of(child) == role]

    def child(self, role, deadline=5.0):
        """One child of a role, waited for."""
        return poll(lambda: self.children(role), deadline, what=f"a child with the role {role}")[0]

    def everyone(self):
        """All live processes that this worker ever started, and itself."""
        return processes.in_session(self.pid)

    @property
    def running(self):
        return self.process.poll() is None

    # Its end.

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, deadline=10.0):
        """Its exit status (negative: the signal), when it ends by itself."""
        try:
            status = self.process.wait(deadline * PATIENCE)
        except subprocess.TimeoutExpired:
            raise DeadlineExceeded(f"the worker did not end within {deadline} s. Its log:\n{self.log[-6000:]}") from None
        # A child that outlives it for a moment still holds stderr.
        self._reader.join(5.0 * PATIENCE)
        return status

    def stop(self, number=signal.SIGTERM, deadline=15.0):
        """Asks it to stop; its exit status. It may have ended already."""
        if self.running:
            self.send(number)
        return self.wait(deadline)

    def kill(self):
        """The end without a word."""
        if self.running:
            self.process.kill()
        self.process.wait()

    def close(self):
        """Ends what is left; AssertionError on anything that a worker must never leave or write."""
        was_running = self.running
        if was_running:
            try:
                self.stop()
            except DeadlineExceeded:
                self._end_all()
                raise
        left = []
        try:
            poll(lambda: not self.everyone(), 5.0)
        except DeadlineExceeded:
            left = self.everyone()
        self._end_all()
        broken = [line for line in self.text if BROKEN.search(line)]
        assert not broken, f"occ-worker wrote {broken[0]}\n--- its log:\n{self.log[-8000:]}"
        assert not left, f"processes of occ-worker outlived it: {left}"
        assert self.noise_expected or not self.noise, f"lines on stderr that are not records: {self.noise[:5]}"

    def _end_all(self):
        for process in self.everyone():
            process.kill()
        self.process.wait()
        self._reader.join(5.0 * PATIENCE)
        self.process.stderr.close()


def role_of(process):
    """The role that a child was executed in, from its arguments."""
    words = {word.strip("-").rpartition("=")[2] for word in process.arguments[:4]}
    for word in list(words):
        words.update(word.replace(":", " ").split())
    return next((role for role in ROLES if role in words), None)


def _fits(record, event, fields):
    if event is not None and record.get("event") != event:
        return False
    for name, wanted in fields.items():
        value = record.get(name)
        if not (wanted(value) if callable(wanted) else value == wanted):
            return False
    return True
