# SPDX-License-Identifier: MIT
"""An Agent that can be deployed, made by occctl alone with whatever Drivers are selected; a worker must run."""

import json

from .operator import Operator
from .tenant import OPENCLAW

SECRET = "s3cr3t"


class Desk:
    """A Namespace "acme" with an Agent "support", whose Harness authenticates with the Secret "model", which its
    Configuration binds as KEY, too. `env` selects the Drivers; run() is occctl."""

    def __init__(self, occctl, database, folder, env):
        self.occctl, self.env = occctl, env
        self.run("namespace", "create", "acme", "--wait")
        value, document = folder / "value", folder / "document.json"
        value.write_text(SECRET)
        value.chmod(0o600)
        document.write_text(json.dumps(OPENCLAW))
        self.run("secret", "create", "model", "-n", "acme", "--value-file", value)
        configuration = self.run("configuration", "create", document, "-n", "acme", "--bind", "KEY=model")["id"]
        arguments = ("--configuration", configuration, "--execution-mode", "embedded", "--harness-auth", "api_key=model")
        self.id = self.run("agent", "create", "support", "-n", "acme", *arguments)["id"]
        # The Agent's own principal must be allowed what its deployment uses.
        asking = Operator.__new__(Operator)
        asking.database = database
        asking.id = database.one("select service_principal_id from occ.agents where id = %s", self.id)
        asking.grant("secret:operate", resource=("secret", database.one("select id from occ.secrets")))

    def run(self, *arguments):
        """The document that occctl gives; fails where it refuses."""
        result = self.occctl(*arguments, "-o", "json", env=self.env, deadline=120).ok()
        return json.loads(result.out) if result.out.strip() else None

    def deploy(self):
        return self.run("agent", "deploy", self.id, "--wait", "--timeout-ms", "90000")
