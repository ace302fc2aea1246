# SPDX-License-Identifier: MIT
"""PgBouncer in front of the private cluster."""

import pathlib
import shutil
import subprocess
import tempfile

import psycopg2

from .postgres import USER
from .processes import finish, give, without_root
from .waiting import free_port, poll


class PgBouncer:
    """Pools in transaction mode, and accepts no start-up parameter beyond what PgBouncer itself allows."""

    def __init__(self, cluster, mode="transaction", pool_size=4, settings=None):
        self.cluster = cluster
        self.port = free_port()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="occ-bouncer-", dir="/tmp"))
        self.log = self.folder / "log"
        options = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": self.folder / "users",
            "pool_mode": mode,
            "default_pool_size": pool_size,
            "max_client_conn": 200,
            "logfile": self.log,
            # Several server connections in turn: state that a client left in its session is met by another.
            "server_round_robin": 1,
            **(settings or {}),
        }
        users = "".join(f'"{role}" "{password}"\n' for role, password in cluster.passwords.items())
        self._write("users", users)
        lines = ["[databases]", f"* = host=127.0.0.1 port={cluster.port}", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in options.items()]
        self._write("pgbouncer.ini", "\n".join(lines) + "\n")
        give(self.folder, USER)
        self.process = None

    def _write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        give(path, USER)

    def start(self):
        self.process = subprocess.Popen(
            without_root(USER, ["pgbouncer", "-q", self.folder / "pgbouncer.ini"]),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        poll(self._answers, 10.0, what=f"the start of PgBouncer (see {self.log})")
        return self

    def _answers(self):
        assert self.process.poll() is None, f"PgBouncer ended: {self.log.read_text(errors='replace')[-2000:]}"
        try:
            self.cluster.connect(port=self.port).close()
            return True
        except psycopg2.OperationalError:
            return False

    def url(self, database, role="occ_app"):
        return self.cluster.url(database.name, role, port=self.port)

    def stop(self):
        if self.process is not None:
            finish(self.process)
            self.process = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
