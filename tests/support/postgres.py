# SPDX-License-Identifier: MIT
"""A private PostgreSQL cluster in a temporary folder."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import psycopg2

from . import tree
from .processes import finish, give, without_root
from .waiting import free_port, poll

USER = "postgres"
ROLES = tree.SOURCE / "contrib" / "postgresql" / "roles.sql"

# fsync is off: it guards against the loss of the whole machine, which no test can cause, and costs most of the time.
# A commit still waits until its WAL record is with the kernel, so a killed server loses nothing that was acknowledged
# (that is synchronous_commit, which stays on). The time zone and date style are odd on purpose: a program that lets
# the server's defaults shine through reads wrong times.
SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "max_wal_size": "512MB",
    "autovacuum_naptime": "5s",
    "timezone": "'Asia/Kathmandu'",
    "datestyle": "'SQL, DMY'",
    "shared_preload_libraries": "'pg_stat_statements'",
    "log_line_prefix": "'%m [%p] %q%u@%d/%a '",
    "log_lock_waits": "on",
}


class Cluster:
    """One server. Roles of the platform have the password that `passwords` says; all logins are scram-sha-256."""

    def __init__(self, folder=None, settings=None):
        # Not below pytest's own folder: that is closed to other users, and a socket's path must be short.
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="occ-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.settings = {**SETTINGS, **(settings or {})}
        self.passwords = {"postgres": "pw-admin-4f1c"}
        self.port = None
        self.server = None
        give(self.folder, USER)

    def create(self):
        password = self.folder / "password"
        password.write_text(self.passwords["postgres"] + "\n")
        password.chmod(0o600)
        give(password, USER)
        subprocess.run(
            without_root(
                USER,
                [tree.postgresql("initdb"), "--no-sync", "--pgdata", self.data, "--username=postgres"]
                + ["--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--locale=C.UTF-8"],
            ),
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return self

    def start(self, deadline=30.0):
        """Starts the server, on the port it had before if it had one."""
        self.port = self.port or free_port()
        options = dict(self.settings, port=self.port, unix_socket_directories=f"'{self.folder}'")
        command = [tree.postgresql("postgres"), "-D", self.data]
        for name, value in options.items():
            command += ["-c", f"{name}={str(value)}".replace("'", "")]
        with open(self.log, "ab") as log:
            # INT is the server's "fast shutdown": what it gets if the tests themselves are killed.
            self.server = subprocess.Popen(
                without_root(USER, command, death=signal.SIGINT),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        poll(self._answers, deadline, what=f"the start of PostgreSQL (see {self.log})")
        return self

    def _answers(self):
        if self.server.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise AssertionError(f"PostgreSQL ended with {self.server.returncode} at its start:\n{tail}")
        try:
            self.connect().close()
            return True
        except psycopg2.OperationalError:
            return False

    def stop(self, how=signal.SIGINT):
        """SIGINT: fast. SIGQUIT: immediate, as a crash. SIGKILL leaves its children behind for a moment."""
        if self.server is not None:
            finish(self.server, how, deadline=30.0)
            self.server = None

    def restart(self, how=signal.SIGINT):
        self.stop(how)
        self.start()

    def remove(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, database="postgres", role="postgres", autocommit=True, host=None, port=None):
        """A psycopg2 connection. By default as the administrator, outside of a transaction."""
        connection = psycopg2.connect(
            host=host or "127.0.0.1",
            port=port or self.port,
            dbname=database,
            user=role,
            password=self.passwords[role],
            connect_timeout=10,
            application_name="tests",
        )
        connection.autocommit = autocommit
        return connection

    def url(self, database, role, host="127.0.0.1", port=None, password=None):
        return f"postgresql://{role}:{password or self.passwords[role]}@{host}:{port or self.port}/{database}"

    def psql(self, path, database, role="postgres"):
        """Runs a file of SQL with psql, as an administrator would."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
            + ["-U", role, "-d", database, "-f", str(path)],
            env={**os.environ, "PGPASSWORD": self.passwords[role]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"psql -f {path} failed:\n{done.stderr}"

    def create_roles(self):
        """Applies roles.sql and gives each role a password, which the file leaves to its user."""
        self.psql(ROLES, "postgres")
        with self.connect() as connection, connection.cursor() as cursor:
            for role in ("occ_app", "occ_migrator", "occ_metrics"):
                self.passwords[role] = f"pw-{role}-8d2e"
                cursor.execute(f"alter role {role} login password %s", (self.passwords[role],))
        connection.close()
