# SPDX-License-Identifier: MIT
"""Running one of the project's programs to its end."""

import json
import os
import re
import subprocess
from dataclasses import dataclass

from . import tree
from .waiting import PATIENCE

# Only what a program needs to start: a test says everything else, so that nothing of the developer's shell leaks in.
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}

BROKEN = re.compile(
    r"AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|ThreadSanitizer|runtime error: |Assertion .* failed"
    r"|stack smashing detected|buffer overflow detected|double free|corrupted|munmap_chunk\(\)|free\(\): invalid"
    r"|talloc: .*abort|Bad talloc magic|FAULT_BUG"
)

# What the leak sanitizer's tracer says when the process that it looks at is killed at that moment: no finding.
TRACER = re.compile(r"==\d+==Unable to get registers from thread \d+\.")


def environment(extra=None):
    """The environment of a program under test. A value None removes a variable."""
    made = dict(PLAIN)
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE"):
        if name in os.environ:
            made[name] = os.environ[name]
    made.update(extra or {})
    return {name: str(value) for name, value in made.items() if value is not None}


def check_log(text, name):
    """Fails on a line that a sanitizer, an assertion or the C library wrote."""
    for line in text.splitlines():
        assert not BROKEN.search(line), f"{name} wrote: {line}\n--- all of it:\n{text[-8000:]}"


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str
    command: tuple = ()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def records(self):
        """The JSON records of stderr."""
        return [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]

    def ok(self):
        assert self.status == 0, f"{' '.join(self.command)}: {self}"
        return self


def run(name, *arguments, env=None, deadline=30.0, stdin=None, user=None, check=True, cwd="/"):
    """Runs a program (a name in the build folder, or a path) to its end.

    A death by signal, a sanitizer's report and a run past the deadline fail the test; exit statuses are the test's.
    `user` runs it as that user, where we are root.
    """
    path = name if "/" in name else tree.program(name)
    command = [path, *map(str, arguments)]
    if user is not None and os.geteuid() == 0:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *command]
    done = subprocess.run(
        command,
        env=environment(env),
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=deadline * PATIENCE,
        check=False,
        text=True,
        errors="surrogateescape",
    )
    result = Result(done.returncode, done.stdout, done.stderr, tuple(command))
    check_log(done.stderr, name)
    assert not check or done.returncode >= 0, f"{' '.join(command)} died: {result}"
    return result
