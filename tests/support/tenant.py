# SPDX-License-Identifier: MIT
"""A ready Namespace with what Agents refer to, written by SQL and by hand: tests of Agents need no other command."""

import json
import os
import uuid

# Dedicated codex, by the provider of the one model.
CODEX = {
    "agents": {"defaults": {"model": "openai/gpt"}},
    "models": {"providers": {"openai": {"agentRuntime": {"id": "codex"}}}},
}
OPENCLAW = {"agents": {"defaults": {"model": "openai/gpt"}}}


class Tenant:
    """`env` makes occctl read documents from where they are written."""

    def __init__(self, database, folder, name="acme", status="ready"):
        self.database = database
        self.name = name
        self.root = folder / "configurations"
        self.root.mkdir(mode=0o700, exist_ok=True)
        self.id = f"ns_{uuid.uuid4()}"
        database.execute("insert into occ.namespaces (id, name, status) values (%s, %s, %s)", self.id, name, status)

    env = property(lambda self: {"OCC_DEVELOPMENT_CONFIGURATION_ROOT": str(self.root)})

    def reference(self, secret):
        return {"kind": "secret", "namespaceId": self.id, "id": secret}

    def configuration(self, document=None, bindings=None):
        """`bindings`: {name: id of a Secret}."""
        made = f"cfg_{uuid.uuid4()}"
        listed = [{"name": name, "source": self.reference(secret)} for name, secret in (bindings or {}).items()]
        self.database.execute(
            "insert into occ.configurations (id, namespace_id, secret_bindings) values (%s, %s, %s)",
            made,
            self.id,
            json.dumps(listed),
        )
        self.write(made, json.dumps(OPENCLAW if document is None else document))
        return made

    def write(self, configuration, text):
        """The document as config-filesystem keeps it."""
        home = self.root / self.id
        home.mkdir(mode=0o700, exist_ok=True)
        path = home / f"{configuration}.json"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def change(self, configuration, document):
        self.write(configuration, json.dumps(document))
        self.database.execute("update occ.configurations set generation = generation + 1 where id = %s", configuration)

    def secret(self, name, driver="secret-scripted"):
        made = f"sec_{uuid.uuid4()}"
        self.database.execute(
            "insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name,"
            " backend_key) values (%s, %s, %s, %s, 'tenant', %s, 'value')",
            made,
            self.id,
            name,
            driver,
            made,
        )
        return made

    def account(self, name, secret):
        made = f"sa_{uuid.uuid4()}"
        self.database.execute(
            "insert into occ.service_accounts (id, namespace_id, name, credential) values (%s, %s, %s, %s)",
            made,
            self.id,
            name,
            json.dumps(self.reference(secret)),
        )
        return made

    def agent(self, name):
        """The Agent's row."""
        rows = self.database.query("select * from occ.agents where namespace_id = %s and name = %s", self.id, name)
        return rows[0] if rows else None

    def revisions(self, agent):
        return self.database.query(
            "select * from occ.agent_revisions where agent_id = %s order by revision_number", agent
        )
