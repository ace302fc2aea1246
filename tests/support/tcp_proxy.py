# SPDX-License-Identifier: MIT
"""A TCP proxy on 127.0.0.1 whose path can be cut, silenced, slowed or closed to new connections."""

import ctypes
import socket
import threading
import time

PASS, SILENT, REFUSE = "pass", "silent", "refuse"


class TcpProxy:
    """Forwards to 127.0.0.1:`target`. `port` is where it listens; it stays the same for life."""

    def __init__(self, target):
        self.target = target
        self.accepted = 0
        self.delay = 0.0
        self._mode = PASS
        self._budget = None
        self._lock = threading.Condition()
        self._pairs = []
        self._closed = False
        self._listener = self._listen(0)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True, name="proxy").start()

    @staticmethod
    def _listen(port):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        listener.settimeout(0.1)
        return listener

    # What a test does to the path.

    def silence(self):
        """Connections stay open and nothing passes in either direction, new ones included: a path without RST."""
        self._set(SILENT)

    def refuse(self):
        """New connections are refused; those that are open go on."""
        self._set(REFUSE)

    def restore(self):
        """Everything passes again, with what was held back."""
        self._set(PASS)

    def cut(self):
        """Resets every open connection. New ones are served."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _reset(end)

    def down(self):
        """Refuses new connections and resets the open ones: a server that went away."""
        self.refuse()
        self.cut()

    def cut_after(self, count):
        """Resets the connections when `count` more bytes have come from the server: the answer of a commit is lost."""
        with self._lock:
            self._budget = count

    def slow(self, seconds):
        """Holds each piece back for this long, in each direction."""
        self.delay = seconds

    @property
    def connections(self):
        with self._lock:
            return len(self._pairs)

    def close(self):
        self._closed = True
        self._set(PASS)
        self.cut()
        self._close_listener()

    # How it does it.

    def _close_listener(self):
        # close() alone leaves it listening for as long as the other thread waits in accept().
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def _set(self, mode):
        with self._lock:
            before, self._mode = self._mode, mode
            if mode == REFUSE and before != REFUSE:
                self._close_listener()
            elif before == REFUSE and mode != REFUSE and not self._closed:
                self._listener = self._listen(self.port)
            self._lock.notify_all()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except socket.timeout:
                continue
            except OSError:
                time.sleep(0.01)
                continue
            client.settimeout(None)
            threading.Thread(target=self._serve, args=(client,), daemon=True, name="proxy").start()

    def _serve(self, client):
        with self._lock:
            self.accepted += 1
            while self._mode == SILENT and not self._closed:
                self._lock.wait(0.5)
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (client, server)
        with self._lock:
            self._pairs.append(pair)
        threading.Thread(target=self._copy, args=(client, server, pair, False), daemon=True, name="proxy").start()
        self._copy(server, client, pair, True)

    def _copy(self, source, sink, pair, from_server):
        try:
            while True:
                data = source.recv(65536)
                with self._lock:
                    while self._mode == SILENT and not self._closed:
                        self._lock.wait(0.5)
                if self.delay:
                    time.sleep(self.delay)
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                if from_server and self._spend(len(data)):
                    self.cut()
                    return
                sink.sendall(data)
        except OSError:
            self._forget(pair)

    def _spend(self, count):
        with self._lock:
            if self._budget is None:
                return False
            self._budget -= count
            if self._budget >= 0:
                return False
            self._budget = None
            return True

    def _forget(self, pair):
        with self._lock:
            if pair in self._pairs:
                self._pairs.remove(pair)
        for end in pair:
            # close() alone would leave the other side open for as long as the other thread waits in recv().
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


_libc = ctypes.CDLL(None, use_errno=True)


def _reset(end):
    """Ends a connection with RST at once, though another thread may wait in recv() on it (close() would wait)."""
    try:
        # Connecting to "no address" is how Linux aborts a connection.
        _libc.connect(end.fileno(), bytes(16), 16)
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
