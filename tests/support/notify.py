# SPDX-License-Identifier: MIT
"""The service manager's side of sd_notify."""

import os
import socket
import struct
import threading
import time


class NotifySocket:
    """A datagram socket for NOTIFY_SOCKET. `messages` are (seconds, sender's pid, {name: value})."""

    def __init__(self, path):
        self.path = str(path)
        self.messages = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(self.path)
        os.chmod(self.path, 0o777)
        self._socket.settimeout(0.1)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True, name="notify")
        self._thread.start()

    def _read(self):
        while not self._closed.is_set():
            try:
                data, ancillary, _, _ = self._socket.recvmsg(8192, 256)
            except socket.timeout:
                continue
            except OSError:
                return
            pid = 0
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    pid = struct.unpack("iII", content[:12])[0]
            fields = dict(line.partition("=")[::2] for line in data.decode().splitlines() if line)
            self.messages.append((time.monotonic(), pid, fields))

    def seen(self, name, value=None):
        """The messages that carry the variable `name` (with this value)."""
        return [entry for entry in self.messages if name in entry[2] and value in (None, entry[2][name])]

    @property
    def ready(self):
        return bool(self.seen("READY", "1"))

    @property
    def status(self):
        """The latest STATUS, or None."""
        found = self.seen("STATUS")
        return found[-1][2]["STATUS"] if found else None

    def close(self):
        self._closed.set()
        self._thread.join()
        self._socket.close()
