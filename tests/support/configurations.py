# SPDX-License-Identifier: MIT
"""occctl configuration with a root of its own."""

import subprocess

from . import tree
from .program import environment
from .rows import Store
from .waiting import poll

DOCUMENT = '{"agents": {"defaults": {"model": "openai/gpt"}},\n "logging": {"file": "x"}}\n'


class Configurations:
    """occctl configuration on the Namespace `acme`, with a root of its own."""

    def __init__(self, occctl, database, folder):
        self.occctl, self.database, self.root = occctl, database, folder / "configurations"
        self.root.mkdir(mode=0o700)
        self.namespace = occctl("namespace", "create", "acme", "-o", "json").ok().json["id"]
        self.store = Store(database)

    def __call__(self, *arguments, env=None, **more):
        variables = {"OCC_DEVELOPMENT_CONFIGURATION_ROOT": self.root, **(env or {})}
        return self.occctl("configuration", *arguments, env=variables, **more)

    def create(self, document=DOCUMENT, *arguments, **more):
        return self("create", "-n", "acme", "-", "-o", "json", *arguments, stdin=document, **more)

    def made(self, *arguments):
        return self.create(*arguments).ok().json["id"]

    def update(self, identifier, document=DOCUMENT, *arguments, **more):
        return self("update", identifier, "-", "-o", "json", *arguments, stdin=document, **more)

    def get(self, identifier):
        return self("get", identifier, "-o", "json").ok().json

    def row(self, identifier):
        rows = self.database.query("select * from occ.configurations where id = %s", identifier)
        return rows[0] if rows else None

    def path(self, identifier):
        return self.root / self.namespace / f"{identifier}.json"

    def files(self):
        return sorted(path.name for path in self.root.rglob("*") if path.is_file())

    def count(self):
        return self.database.one("select count(*) from occ.configurations")

    def raw(self, *arguments, stdin=b""):
        """Bytes in, bytes out."""
        env = {"NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": self.database.key_file}
        env.update(self.database.environment(), OCC_DEVELOPMENT_CONFIGURATION_ROOT=self.root)
        command = [tree.program("occctl"), "configuration", *arguments]
        done = subprocess.run(command, env=environment(env), cwd="/", input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done
        return done.stdout


def waiting(database, count):
    poll(
        lambda: database.one(
            "select count(*) = %s from pg_stat_activity where datname = %s and usename = 'occ_app'"
            " and wait_event_type = 'Lock'",
            count,
            database.name,
        ),
        what="writers that wait",
    )
