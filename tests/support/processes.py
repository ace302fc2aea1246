# SPDX-License-Identifier: MIT
"""Processes, as /proc shows them. Only processes that a test started are ever signalled, always by pid."""

import os
import pwd
import signal
import subprocess
from dataclasses import dataclass

from .waiting import poll


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    session: int
    state: str
    started: int
    arguments: tuple

    @property
    def alive(self):
        now = look(self.pid)
        return now is not None and now.started == self.started and now.state not in "ZX"

    def kill(self, number=signal.SIGKILL):
        """Signals the process, if it still is the same one."""
        if self.alive:
            os.kill(self.pid, number)

    def wait_gone(self, deadline=5.0):
        poll(lambda: not self.alive, deadline, what=f"the end of process {self.pid} {' '.join(self.arguments)}")

    def status(self):
        """/proc/PID/status as a dict."""
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def environment(self):
        with open(f"/proc/{self.pid}/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
        return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        """{number: what it points at}"""
        found = {}
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                found[int(name)] = os.readlink(f"/proc/{self.pid}/fd/{name}")
            except FileNotFoundError:
                pass
        return found


def look(pid):
    """The process with this pid, or None."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(") ")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = tuple(os.fsdecode(word) for word in file.read().split(b"\0")[:-1])
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Process(pid, int(fields[1]), int(fields[3]), fields[0], int(fields[19]), arguments)


def everything():
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process is not None]


def children(pid):
    return [process for process in everything() if process.parent == pid]


def in_session(session):
    """Live processes of the session that the process `session` leads: those that it started, orphans included."""
    return [process for process in everything() if process.session == session and process.state not in "ZX"]


def without_root(user, command, death=signal.SIGKILL):
    """The command, run as `user` where we are root, and signalled with `death` if this process dies first."""
    prefix = ["setpriv", f"--pdeathsig={death.name[3:]}"]
    if os.geteuid() == 0:
        prefix += [f"--reuid={user}", f"--regid={user}", "--init-groups"]
    return prefix + ["--"] + [str(word) for word in command]


def give(path, user):
    """Makes `path` the user's, where we are root."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def finish(popen, number=signal.SIGTERM, deadline=10.0):
    """Ends a subprocess of ours: `number`, then KILL after the deadline. Gives its exit status."""
    if popen.poll() is None:
        popen.send_signal(number)
        try:
            popen.wait(deadline)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
    return popen.returncode
