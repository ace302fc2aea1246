# SPDX-License-Identifier: MIT
"""A way from the Pods of a test cluster to a server on this machine, which they cannot reach otherwise."""

import ctypes
import socket
import threading

from .tcp_proxy import TcpProxy

CLONE_NEWNET = 0x40000000
NODE = "10.244.0.1"  # the node's address in the cluster's own network (tests/services/kubernetes)


class PodProxy(TcpProxy):
    """Listens on NODE:`port` inside the network namespace of process `pid`, and forwards to 127.0.0.1:`target` here."""

    def __init__(self, target, pid):
        self.pid = pid
        super().__init__(target)

    def _listen(self, port):
        # A socket stays where it was made, and a thread may go there alone.
        made = []
        thread = threading.Thread(target=lambda: made.append(self._listen_inside(port)))
        thread.start()
        thread.join()
        return made[0]

    def _listen_inside(self, port):
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{self.pid}/ns/net", "rb") as space:
            if libc.setns(space.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        listener = socket.create_server((NODE, port), backlog=64)
        listener.settimeout(0.1)
        return listener
