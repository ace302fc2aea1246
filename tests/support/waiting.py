# SPDX-License-Identifier: MIT
"""Waiting with a deadline. Nothing in the tests sleeps for a fixed time and hopes."""

import os
import socket
import time

# A loaded machine or a sanitizer build needs longer; a limit that is never reached costs nothing.
PATIENCE = float(os.environ.get("OCC_TEST_PATIENCE", "1"))


class DeadlineExceeded(AssertionError):
    pass


def poll(until, deadline=10.0, interval=0.01, what=None, patience=True):
    """Calls `until` until it gives something true, and gives that back; DeadlineExceeded after `deadline` seconds.

    With patience=False the deadline is taken as it is, for tests whose subject is a time.
    """
    end = time.monotonic() + deadline * (PATIENCE if patience else 1)
    while True:
        value = until()
        if value:
            return value
        if time.monotonic() >= end:
            name = what or getattr(until, "__name__", "the condition")
            raise DeadlineExceeded(f"{name} did not come true within {deadline} s; last value: {value!r}")
        time.sleep(interval)


def never(until, seconds, interval=0.02, what=None):
    """Watches for `seconds` that `until` stays false: for 'this does not happen', where no event can be awaited."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = until()
        assert not value, f"{what or 'what must not happen'} happened: {value!r}"
        time.sleep(interval)


def free_port():
    """A TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
