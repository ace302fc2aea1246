# SPDX-License-Identifier: MIT
"""Where things are: the source tree, the build tree, the programs."""

import os
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OCC_BUILD_DIR", SOURCE / "build" / "tests")).resolve()


def program(name):
    """The path of a built program; AssertionError with advice where it is missing."""
    path = BUILD / name
    assert path.exists(), f"{path} is not built; run tests/run, or set OCC_BUILD_DIR to a folder with a build"
    return str(path)


def postgresql(name):
    """The path of a program of the newest PostgreSQL server that is installed (Debian keeps them out of PATH)."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    for folder in reversed(folders):
        if (folder / name).exists():
            return str(folder / name)
    raise AssertionError(f"{name} was not found under /usr/lib/postgresql; install the package postgresql-15")
