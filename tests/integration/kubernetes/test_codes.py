# SPDX-License-Identifier: MIT
"""Every code that a pass of the Kubernetes Drivers ends with has a sentence for who looks at its work, and is in occ-worker(8)."""

import re

from support import tree

# A variable's name, and a warning of a start.
OTHERS = {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_VERSION_OLD"}
CODE = r'"((?:KUBERNETES|REVISION|AGENT|NAMESPACE)_[A-Z_]+[A-Z])"'


def codes():
    """Those of lib/kubernetes, but for what only occctl is told."""
    texts = [path.read_text() for path in sorted((tree.SOURCE / "lib/kubernetes").rglob("*.c"))]
    found = {code for text in texts for code in re.findall(CODE, text)}
    assert len(found) > 30
    return found - OTHERS


def test_each_has_a_sentence():
    known = set(re.findall(CODE, (tree.SOURCE / "lib/admit/reason.c").read_text()))
    assert codes() - known == set()


def test_each_is_documented():
    page = (tree.SOURCE / "man/occ-worker.8").read_text()
    # Of Configurations and Secrets: occctl(1).
    assert {code for code in codes() - {"NAMESPACE_NOT_READY"} if not re.search(rf"\b{code}\b", page)} == set()
