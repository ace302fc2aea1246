# SPDX-License-Identifier: MIT
"""One database of the private cluster."""

import itertools
import os

import psycopg2
import psycopg2.extras

from . import tree
from .postgres import ROLES
from .program import run

_numbers = itertools.count(1)


class Database:
    """Fresh for each test. `admin` connects as the superuser and is outside of transactions."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.key_file = None
        self._admin = None
        self._connections = []

    @classmethod
    def create(cls, cluster, template=None, name=None):
        """A new database; `template` is the name of one to clone, which nobody may be connected to."""
        name = name or f"occ_{os.getpid()}_{next(_numbers)}"
        connection = cluster.connect()
        with connection.cursor() as cursor:
            cursor.execute(f"create database {name} template {template or 'template0'}")
            # A clone has what is in the template, but not the rights on the database itself, as roles.sql gives them.
            cursor.execute(f"revoke all on database {name} from public")
            cursor.execute(f"grant connect, create on database {name} to occ_migrator")
            cursor.execute(f"grant connect on database {name} to occ_app, occ_metrics")
        connection.close()
        if template is None:
            cluster.psql(ROLES, name)
        return cls(cluster, name)

    def migrate(self):
        """Brings the schema up to date with occ-migrate; with the plain SQL files where that is not built yet."""
        if (tree.BUILD / "occ-migrate").exists():
            done = run("occ-migrate", env=self.environment("OCC_MIGRATION_DATABASE_URL"), deadline=60)
            assert done.status == 0, f"occ-migrate: {done}"
            return self
        for path in sorted((tree.SOURCE / "lib" / "store" / "migrations").glob("[0-9]*.sql")):
            self.cluster.psql(path, self.name, "occ_migrator")
        return self

    def url(self, role="occ_app", **change):
        return self.cluster.url(self.name, role, **change)

    app_url = property(lambda self: self.url("occ_app"))
    migrator_url = property(lambda self: self.url("occ_migrator"))
    metrics_url = property(lambda self: self.url("occ_metrics"))
    admin_url = property(lambda self: self.url("postgres"))

    def environment(self, *names):
        """The environment variables that name this database (by default OCC_DATABASE_URL alone)."""
        roles = {
            "OCC_DATABASE_URL": "occ_app",
            "OCC_MIGRATION_DATABASE_URL": "occ_migrator",
            "OCC_METRICS_DATABASE_URL": "occ_metrics",
        }
        return {name: self.url(roles[name]) for name in names or ("OCC_DATABASE_URL",)}

    def connect(self, role="postgres", autocommit=True):
        """A connection that ends with the test."""
        connection = self.cluster.connect(self.name, role, autocommit)
        self._connections.append(connection)
        return connection

    @property
    def admin(self):
        if self._admin is None or self._admin.closed:
            self._admin = self.connect()
        return self._admin

    def query(self, sql, *values):
        """All rows, as dicts. Connects again if the server went away in between."""
        try:
            return self._query(sql, values)
        except (psycopg2.OperationalError, psycopg2.InterfaceError):
            self._admin = None
            return self._query(sql, values)

    def _query(self, sql, values):
        with self.admin.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(sql, values or None)
            return [dict(row) for row in cursor.fetchall()] if cursor.description else []

    def one(self, sql, *values):
        """The only value of the only row."""
        rows = self.query(sql, *values)
        assert len(rows) == 1 and len(rows[0]) == 1, f"one value expected of {sql!r}, got {rows!r}"
        return next(iter(rows[0].values()))

    def execute(self, sql, *values):
        """Number of rows changed."""
        with self.admin.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.rowcount

    def work(self, key=None):
        """Rows of the queue, oldest first; with a key, that row or None."""
        rows = self.query("select * from occ.controller_work order by created_at, idempotency_key")
        if key is None:
            return rows
        return next((row for row in rows if row["idempotency_key"] == key), None)

    def namespace(self, name):
        """The row of the Namespace with this name, or None."""
        rows = self.query("select * from occ.namespaces where name = %s", name)
        return rows[0] if rows else None

    def sessions(self, role="occ_app"):
        """What pg_stat_activity shows of a role's sessions on this database."""
        return self.query("select * from pg_stat_activity where datname = %s and usename = %s", self.name, role)

    def close(self):
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._admin = None

    def drop(self):
        self.close()
        connection = self.cluster.connect()
        with connection.cursor() as cursor:
            cursor.execute(f"drop database if exists {self.name} with (force)")
        connection.close()
