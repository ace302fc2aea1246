# SPDX-License-Identifier: MIT
"""What README.md tells people to type about Agents comes true, word for word."""

import json
import re
import shlex

from support import tree
from support.standing import start
from support.tenant import OPENCLAW


def commands(heading):
    """The occctl commands of one section, as lists of words."""
    text = (tree.SOURCE / "README.md").read_text()
    section = re.search(rf"^## {heading}\n(.*?)^## ", text, re.M | re.S)[1]
    return [shlex.split(line, comments=True)[1:] for line in section.splitlines() if line.startswith("    occctl ")]


def test_an_agent(scripted, worker, occctl, bootstrapped, folder):
    start(worker, scripted, bootstrapped, folder / "ready", drivers=("compute", "configuration", "secret"))
    (folder / "key.txt").write_text("s3cr3t")
    (folder / "key.txt").chmod(0o600)
    (folder / "openclaw.json").write_text(json.dumps(OPENCLAW))
    occctl("namespace", "create", "acme", "--wait", env=scripted.env, deadline=60).ok()
    made, states = {}, []
    for words in commands("An Agent"):
        named = {"key.txt": str(folder / "key.txt"), "openclaw.json": str(folder / "openclaw.json"), "cfg_…": made.get("configuration")}
        given = [named.get(word, word) for word in words]
        shown = occctl(*given, "-o", "json", env=scripted.env, deadline=60).ok().json
        made[given[0]] = shown["id"]
        states += [shown["state"]] if given[0] == "agent" else []
        if given[:2] == ["agent", "create"]:
            occctl("iam", "role", "create", "harness", "--permission", "secret:operate").ok()
            principal = shown["servicePrincipalId"]
            secret = f"secret:{made['secret']}"
            occctl("iam", "binding", "create", "--role", "harness", "--identity", principal, "--resource", secret).ok()
    assert states == ["draft", "running", "running", "deleted"]
