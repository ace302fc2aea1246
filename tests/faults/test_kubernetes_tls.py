# SPDX-License-Identifier: MIT
"""What goes wrong between us and an API server before HTTP begins, and credentials that change under an open client.

Each failure of TLS has its own words and its own cause; what passes by itself stays a matter of the connection.
"""

import os
import socket
import ssl
import threading

import pytest

from support.certificates import Authority
from support.kubernetes_api import outcome
from support.waiting import free_port, poll

TLS_FAILED = ("configuration", "KUBERNETES_TLS_FAILED")
UNAVAILABLE = ("pending", "KUBERNETES_API_UNAVAILABLE")
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture
def fake(fake_kubernetes):
    return fake_kubernetes()


@pytest.fixture
def somebody_else(folder):
    return Authority.create(folder / "somebody-else", "somebody else")


def write(path, content):
    """As a careful program replaces a file."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.chmod(0o600)
    new.rename(path)
    return path


def failed(api, cause, words):
    said = api.version()
    assert (outcome(said), said.cause) == (TLS_FAILED, cause), said
    assert words in said.message, said.message
    assert said.dependency == "kubernetes"
    return said


class Listener:
    """A server of one behaviour: each connection is given to `serve`, in a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = 0
        self.closed = threading.Event()
        self._serve = serve
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection):
        try:
            with connection:
                connection.settimeout(60)
                self._serve(connection)
        except OSError:
            pass

    def close(self):
        self.closed.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def listener():
    made = []

    def start(serve):
        made.append(Listener(serve))
        return made[-1]

    yield start
    for each in made:
        each.close()


def to_the_end(connection):
    """Reads what the other side sends until it goes: a socket that is closed with something unread in it takes the
    words that were sent last away from the other side."""
    while connection.recv(65536):
        pass


# The server's certificate


def test_one_of_several_authorities_is_enough(fake, somebody_else, kubernetes_api):
    """As while an authority is replaced: the file names both, and the server moves from one to the other."""
    both = fake.folder / "both.crt"
    both.write_bytes(somebody_else.certificate.read_bytes() + b"\n# the server's\n" + fake.authority.certificate.read_bytes())
    assert kubernetes_api(fake.kubeconfig(ca=both)).version().ok
    fake.show(somebody_else.issue("server", "/CN=server", names=("IP:127.0.0.1",)))
    assert kubernetes_api(fake.kubeconfig(ca=both)).version().ok


def test_a_certificate_may_be_for_the_name_that_is_configured(fake, kubernetes_api):
    """tls-server-name: the address stays what it is, and only that name counts."""
    fake.show(fake.authority.issue("named", "/CN=fake", names=("DNS:kubernetes.example.test",)))
    failed(kubernetes_api(fake.kubeconfig()), "other-name", "is for another name")

    def named(name):
        path = fake.kubeconfig()
        text = path.read_text().replace("    server:", f"    tls-server-name: {name}\n    server:")
        assert name in text
        return write(path, text)

    assert kubernetes_api(named("kubernetes.example.test")).version().ok
    assert fake.requests[-1].headers["host"] == fake.place
    failed(kubernetes_api(named("other.example.test")), "other-name", "not for the server name that is configured")


def test_the_environment_brings_neither_an_authority_nor_a_proxy(fake, kubernetes_api, somebody_else):
    """Variables that OpenSSL, curl and others follow."""
    proxy = f"http://127.0.0.1:{free_port()}"
    variables = {"SSL_CERT_FILE": fake.authority.certificate, "CURL_CA_BUNDLE": fake.authority.certificate,
                 "HTTPS_PROXY": proxy, "https_proxy": proxy, "ALL_PROXY": proxy}  # fmt: skip
    assert kubernetes_api(fake.kubeconfig(), env=variables).version().ok
    failed(kubernetes_api(fake.kubeconfig(ca=somebody_else.certificate), env=variables), "untrusted", "no trusted certificate vouches for")


# Our certificate


def demanding(fake, listener, version, trusted):
    """A server that demands a certificate, speaks one version of TLS, and hears a client out that it refuses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(fake.authority.issue("demanding", "/CN=fake", names=("IP:127.0.0.1",)).chain)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(trusted.certificate)

    def serve(connection):
        kept = socket.socket(fileno=os.dup(connection.fileno()))
        with kept:
            kept.settimeout(60)
            try:
                context.wrap_socket(connection, server_side=True)
            except OSError:
                kept.shutdown(socket.SHUT_WR)
                to_the_end(kept)

    return listener(serve).url


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_demanded_certificate_that_is_not_there_is_told(fake, listener, kubernetes_api, version):
    url = demanding(fake, listener, version, fake.authority)
    failed(kubernetes_api(fake.kubeconfig(server=url)), "refused", "client certificate, and none is configured")


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_certificate_of_ours_that_the_server_does_not_know_is_told(fake, listener, somebody_else, kubernetes_api, version):
    url = demanding(fake, listener, version, fake.authority)
    certificate = somebody_else.issue("client", "/CN=worker")
    said = failed(kubernetes_api(fake.kubeconfig(server=url, certificate=certificate)), "refused", "refused our client certificate")
    assert "no CA that it trusts vouches for it" in said.message


def test_a_certificate_of_ours_that_has_expired_is_refused_before_it_is_shown(fake, kubernetes_api):
    expired = fake.authority.issue("late", "/CN=worker", begins=-7200, ends=-3600)
    said = kubernetes_api(fake.kubeconfig(certificate=expired)).version()
    assert outcome(said) == ("configuration", "KUBERNETES_AUTHENTICATION_INVALID")
    assert str(expired.certificate) in said.message and "has expired at 20" in said.message
    assert not fake.requests


# No TLS


def test_a_server_of_plain_http_is_told(fake, listener, kubernetes_api):
    def serve(connection):
        connection.recv(1)
        connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent something else.\n")
        connection.shutdown(socket.SHUT_WR)
        to_the_end(connection)

    failed(kubernetes_api(fake.kubeconfig(server=listener(serve).url)), "no-tls", "speaks no TLS: is it a port of plain http?")


def test_a_server_of_an_old_tls_is_told(fake, listener, kubernetes_api):
    """The alert protocol_version (RFC 8446 section 6.2), as such a server sends it."""

    def serve(connection):
        connection.recv(1)
        connection.sendall(bytes([21, 3, 1, 0, 2, 2, 70]))
        connection.shutdown(socket.SHUT_WR)
        to_the_end(connection)

    failed(kubernetes_api(fake.kubeconfig(server=listener(serve).url)), "no-tls", "no TLS of version 1.2 or later")


# What passes by itself


def test_a_stalled_handshake_ends_in_time_and_names_its_stage(fake, listener, kubernetes_api):
    silent = listener(lambda connection: silent.closed.wait())
    said = kubernetes_api(fake.kubeconfig(server=silent.url)).version(timeoutMs=1500)
    assert (outcome(said), said.cause) == (UNAVAILABLE, "timeout")
    assert "did not end the TLS handshake in time (stage TLS)" in said.message
    assert said.turns > 1


def test_a_connection_that_nobody_takes_names_its_stage(fake, kubernetes_api):
    """The kernel drops what a full queue of connections has no room for, as a firewall does."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = []
        try:
            for _ in range(4):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex(full.getsockname())
            url = f"https://127.0.0.1:{full.getsockname()[1]}"
            said = kubernetes_api(fake.kubeconfig(server=url)).version(timeoutMs=1500)
        finally:
            for each in waiting:
                each.close()
    assert (outcome(said), said.cause) == (UNAVAILABLE, "timeout")
    assert "was not connected in time (stage connect)" in said.message


def test_a_handshake_that_is_cut_is_no_matter_of_certificates(fake, listener, kubernetes_api):
    def serve(connection):
        connection.recv(65536)

    said = kubernetes_api(fake.kubeconfig(server=listener(serve).url)).version()
    assert (outcome(said), said.cause) == (UNAVAILABLE, "unavailable")
    assert "in the TLS handshake" in said.message or "without an answer" in said.message


# Changes under an open client


@pytest.fixture
def rotated(fake, kubernetes_api):
    """A client whose kubeconfig names everything by path, that has spoken to the server: .ca, .token."""
    ca = write(fake.folder / "trusted.crt", fake.authority.certificate.read_bytes())
    token = write(fake.folder / "token", "first\n")
    path = fake.kubeconfig(tokenFile=token.name)
    lines = [line for line in path.read_text().splitlines() if "certificate-authority-data" not in line]
    text = "\n".join(lines).replace("    server:", f"    certificate-authority: {ca.name}\n    server:") + "\n"
    write(path, text)
    api = kubernetes_api(path)
    api.ca, api.token, api.kubeconfig = ca, token, path
    assert api.version().ok and fake.connected == 1
    return api


def test_another_token_goes_out_on_the_same_connection(fake, rotated):
    peers = fake.peers
    write(rotated.token, "second\n")
    assert rotated.version().ok
    assert [request.headers["authorization"] for request in fake.requests[-2:]] == ["Bearer first", "Bearer second"]
    assert fake.peers == peers


def test_an_authority_that_is_no_longer_trusted_ends_the_connection(fake, rotated, somebody_else):
    """The connection that its certificate vouched for is not used again, nor its TLS session."""
    before = len(fake.requests)
    write(rotated.ca, somebody_else.certificate.read_bytes())
    failed(rotated, "untrusted", "no trusted certificate vouches for")
    assert len(fake.requests) == before
    poll(lambda: fake.connected == 0, what="the end of the old connection")
    # And the other way round: the server's new certificate and its authority come in, without a restart.
    fake.show(somebody_else.issue("server", "/CN=server", names=("IP:127.0.0.1",)))
    assert rotated.version().ok


def test_a_file_that_was_only_touched_keeps_the_connection(fake, rotated):
    peers = fake.peers
    write(rotated.ca, rotated.ca.read_bytes())
    os.utime(rotated.kubeconfig)
    assert rotated.version().ok
    assert fake.peers == peers


def test_half_a_file_changes_nothing(fake, rotated, somebody_else):
    peers = fake.peers
    whole = rotated.ca.read_bytes()
    write(rotated.ca, whole[: len(whole) // 2])
    rotated.token.unlink()
    assert rotated.version().ok
    assert fake.peers == peers
    write(rotated.ca, somebody_else.certificate.read_bytes())
    write(rotated.token, "second")
    failed(rotated, "untrusted", "no trusted certificate vouches for")


def test_another_client_certificate_makes_another_connection(fake, kubernetes_api):
    certificate = fake.authority.issue("client", "/CN=worker")
    other = fake.authority.issue("other-client", "/CN=worker")
    api = kubernetes_api(fake.kubeconfig(certificate=certificate))
    assert api.version().ok
    peers = fake.peers
    # The two files cannot be replaced at once; between them the former pair stays.
    write(certificate.certificate, other.certificate.read_bytes())
    assert api.version().ok and fake.peers == peers
    write(certificate.key, other.key.read_bytes())
    assert api.version().ok
    poll(lambda: fake.connected == 1, what="the end of the old connection")
    assert fake.peers.isdisjoint(peers)


def test_another_server_in_the_kubeconfig_is_followed(fake, fake_kubernetes, kubernetes_api):
    second = fake_kubernetes()
    path = fake.kubeconfig()
    api = kubernetes_api(path)
    assert api.version().ok
    write(path, second.kubeconfig().read_bytes())
    assert api.version().ok
    assert [len(fake.asked("GET", "/version")), len(second.asked("GET", "/version"))] == [1, 1]


def test_a_pods_token_is_followed_through_its_links(fake, kubernetes_api, folder):
    """Kubernetes swaps the link ..data under a mounted token; everybody in the Pod may read it."""
    account = folder / "account"
    account.mkdir()

    def put(version, token):
        inner = account / f"..{version}"
        inner.mkdir()
        for name, content in (("token", token.encode()), ("ca.crt", fake.authority.certificate.read_bytes())):
            (inner / name).write_bytes(content)
            (inner / name).chmod(0o644)
        (account / "..new").symlink_to(inner.name)
        (account / "..new").rename(account / "..data")

    put(1, "first")
    for name in ("token", "ca.crt"):
        (account / name).symlink_to(f"..data/{name}")
    api = kubernetes_api.in_cluster("127.0.0.1", fake.port, account)
    assert api.version().ok
    put(2, "second")
    assert api.version().ok
    assert [request.headers["authorization"] for request in fake.requests] == ["Bearer first", "Bearer second"]
