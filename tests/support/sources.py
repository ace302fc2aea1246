# SPDX-License-Identifier: MIT
"""The repository's own files, and what is wrong with them. Checks take {path: text}, so that they can be tried out."""

import os
import re
import subprocess

from . import tree

LAYERS = ("base", "io", "config", "store", "iam", "driver", "DRIVERS", "catalog", "reconcile", "admit")
# What fills the contracts: the bundled Drivers, and `package`, which stands for the installed ones.
DRIVERS = ("docker", "kubernetes", "filesystem", "package")
# What a layer must not know although it is below it: no SQL in Drivers and their contracts, no Driver in the passes.
APART = {
    "driver": ("store", "iam"),
    **{driver: ("store", "iam") for driver in DRIVERS},
    "catalog": ("store", "iam"),
    "reconcile": (*DRIVERS, "catalog"),
    "admit": (*DRIVERS, "catalog"),
}
# Inside of lib/kubernetes, downwards as well; its files at the root, the Drivers, are above all folders.
KUBERNETES = ("api", "object", "tenant", "agent")
# What the Driver was told, which every folder may read.
FOR_ALL = "lib/kubernetes/settings.h"
# Foreign libraries are reached through lib/io alone: it has the deadlines and limits.
WRAPPED = {"curl/curl.h": "lib/io/", "libpq-fe.h": "lib/io/", "yaml.h": "lib/io/"}
# What is to be copied out of the tree has none of its headers.
ALONE = "contrib/"
MAXIMUM_LINES = 800
MAXIMUM_FUNCTION = 80
WITH_LICENCE = (".c", ".h", ".py", ".sql", ".sh", ".inc", ".am", ".ac", ".in", ".service")


def paths():
    """Every file of the project: what is in git or would be added; in an unpacked distribution, what is there."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", tree.SOURCE, "ls-files", "-z", "-co", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = sorted(set(listed.stdout.decode().rstrip("\0").split("\0")))
        return [name for name in names if (tree.SOURCE / name).is_file()]
    found = []
    for folder, folders, files in os.walk(tree.SOURCE):
        folders[:] = [name for name in folders if not name.startswith((".", "build", "autom4te", "__pycache__"))]
        found += [os.path.relpath(os.path.join(folder, name), tree.SOURCE) for name in files]
    return sorted(found)


def texts(*suffixes):
    """{path: text} of the files with one of these suffixes."""
    return {
        path: (tree.SOURCE / path).read_text(encoding="utf-8")
        for path in paths()
        if path.endswith(suffixes) and not path.startswith("tests/fuzz/corpus")
    }


def layer_of(path):
    """(rank, name): base is 0, the Drivers share a rank, src is above all; None for what has no layer (tests)."""
    parts = path.split("/")
    if parts[0] == "src":
        return len(LAYERS), "/".join(parts[:2])
    if parts[0] != "lib":
        return None
    name = parts[1]
    if name in DRIVERS:
        return LAYERS.index("DRIVERS"), name
    if name not in LAYERS:
        raise AssertionError(f"{path}: lib/{name} is no layer; see LAYERS in tests/support/sources.py")
    return LAYERS.index(name), name


def _rank_in_kubernetes(path):
    parts = path.split("/")
    if parts[:2] != ["lib", "kubernetes"]:
        return None
    return KUBERNETES.index(parts[2]) if len(parts) > 3 else len(KUBERNETES)


def includes(text):
    """(line number, quoted?, what) of each include."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if found:
            yield number, found[1] == '"', found[2]


def _of_the_tree(text):
    for number, _, what in includes(text):
        if what == "config.h" or what.startswith(("lib/", "src/", "tests/", "include/")):
            yield number, what


def wrong_includes(files):
    wrong = []
    for path, text in files.items():
        if path.startswith(ALONE):
            wrong += [f"{path}:{number}: includes {what}: it must stand alone" for number, what in _of_the_tree(text)]
            continue
        own = layer_of(path)
        for number, quoted, what in includes(text):
            where = f"{path}:{number}: includes {what}"
            if not quoted:
                home = WRAPPED.get(what)
                if home and not path.startswith(home) and own is not None:
                    wrong.append(f"{where}: only {home} may")
                continue
            if what == "config.h":
                if path != "lib/base/build.h":
                    wrong.append(f"{where}: only lib/base/build.h may")
                continue
            if what.startswith("include/"):
                if own is not None and own[1] != "package":
                    wrong.append(f"{where}: the interface of installed Drivers is lib/package/'s alone")
                continue
            if not what.startswith(("lib/", "src/", "tests/")):
                wrong.append(f"{where}: write it from the top of the tree")
                continue
            if own is None:
                continue
            target = layer_of(what)
            if target is None:
                wrong.append(f"{where}: neither lib nor src may include tests")
            elif target[0] > own[0]:
                wrong.append(f"{where}: upwards, {own[1]} is below {target[1]}")
            elif target[0] == own[0] and target[1] != own[1]:
                wrong.append(f"{where}: sideways")
            elif own[1] == target[1] == "kubernetes" and what != FOR_ALL:
                if _rank_in_kubernetes(what) > _rank_in_kubernetes(path):
                    wrong.append(f"{where}: upwards, inside of lib/kubernetes")
            elif target[1] in APART.get(own[1], ()):
                wrong.append(f"{where}: {own[1]} must not know {target[1]}")
    return wrong


def without_build_header(files):
    wrong = []
    for path, text in files.items():
        first = next(includes(text), None)
        if path.endswith(".c") and not path.startswith(ALONE) and (first is None or first[2] != "lib/base/build.h"):
            wrong.append(f"{path}: the first include must be lib/base/build.h")
    return wrong


def stray_sql(files):
    """Statements on the platform's tables outside of lib/store."""
    statement = re.compile(r"\b(select|insert\s+into|update|delete\s+from)\b[^;]*?\bocc\.[a-z_]+\b", re.I | re.S)
    wrong = []
    for path, text in files.items():
        if not path.startswith(("lib/", "src/")) or path.startswith("lib/store/"):
            continue
        # Neighbouring literals are one string, as the compiler sees it.
        joined = re.sub(r'"\s*"', "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined):
            if statement.search(literal):
                wrong.append(f"{path}: SQL belongs to lib/store: {literal[:60]}")
    return wrong


def without_licence(files):
    return [
        f"{path}: no SPDX line at its top"
        for path, text in files.items()
        if "SPDX-License-Identifier: MIT" not in "\n".join(text.splitlines()[:3])
    ]


def too_long(files):
    wrong = []
    for path, text in files.items():
        lines = text.splitlines()
        if len(lines) > MAXIMUM_LINES:
            wrong.append(f"{path}: {len(lines)} lines, at most {MAXIMUM_LINES}")
        start = None
        for number, line in enumerate(lines, 1):
            # The formatter puts the braces of a function, and no others but tables', at the line's start.
            if line == "{":
                start = number
            elif line == "}" and start is not None:
                if number - start - 1 > MAXIMUM_FUNCTION:
                    wrong.append(f"{path}:{start}: a function of {number - start - 1} lines, at most {MAXIMUM_FUNCTION}")
                start = None
    return wrong


def unlisted(files, makefiles):
    """Sources that no Makefile.inc lists: they would be missing in a distribution."""
    listed = " ".join(makefiles.values())
    return [f"{path}: in no Makefile.inc" for path in files if not re.search(rf"(^|[\s/]){re.escape(path)}\s", listed + " ")]
