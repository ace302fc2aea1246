# SPDX-License-Identifier: MIT
"""A server of a test's (support/fake_server.py) on 127.0.0.1, over TLS."""

import socket
import ssl

from .fake_server import FakeServer


class TlsServer(FakeServer):
    def __init__(self, certificate, clients=None):
        """`clients` is the Authority of which every client must show a certificate, if any."""
        self.port = 0
        self._clients = clients
        self.show(certificate)
        super().__init__()

    def show(self, certificate):
        """From now on new connections meet this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.chain)
        if self._clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self._clients.certificate)
        self._tls = context

    @property
    def place(self):
        return f"127.0.0.1:{self.port}"

    def _listen(self):
        listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.port = listener.getsockname()[1]
        return listener

    def _shake(self, connection):
        connection.settimeout(60)
        return self._tls.wrap_socket(connection, server_side=True)
