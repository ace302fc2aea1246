# SPDX-License-Identifier: MIT
"""The image of contrib/kubernetes/Containerfile as near as it can be had without a network: the built programs in the same
places, with the libraries that they load on this machine, and the one command of the base that the Deployment calls."""

import re
import shutil
import subprocess

from . import tree

PROGRAMS = {"occ-worker": "usr/sbin", "occ-migrate": "usr/sbin", "occ-bootstrap": "usr/sbin", "occctl": "usr/bin"}
COMMANDS = ("/usr/bin/install",)  # what worker.yaml calls of Debian's base


def libraries(program):
    """The files that the dynamic linker loads for a program, itself included."""
    read = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return {found for found in re.findall(r"(?:=>\s+|^\s+)(/\S+) \(0x", read, re.M)}


def add(root, program, place):
    """Copies a program and what it loads."""
    for source, target in [(program, place), *((each, each) for each in libraries(program))]:
        target = root / target.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)


def fill(root):
    """Writes the image's file system into a folder."""
    for name, place in PROGRAMS.items():
        add(root, tree.program(name), f"{place}/{name}")
    for command in COMMANDS:
        add(root, command, command)
    (root / "tmp").mkdir()
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/none\nocc:x:65532:65532:occ:/:/none\n")


def push(kubernetes, folder):
    """Puts the image into the cluster's registry; its name with the digest."""
    root = folder / "worker-image"
    try:
        fill(root)
        return kubernetes.push("occ-worker", root, 'CMD ["/usr/sbin/occ-worker"]', "USER 65532:65532")
    finally:
        shutil.rmtree(root, ignore_errors=True)
