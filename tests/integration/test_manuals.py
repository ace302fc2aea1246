# SPDX-License-Identifier: MIT
"""The manual pages: well formed, and true to what the programs say of themselves."""

import re
import subprocess

import pytest
from support import tree
from support.program import run

PAGES = sorted((tree.SOURCE / "man").glob("*.[158]"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_well_formed(page):
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "style,stop", str(page)], capture_output=True, text=True, check=False
    )
    # Whether the page it refers to is installed here says nothing about this page.
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "referenced manual not found" not in line and "outdated mandoc.db" not in line
    ]
    assert said == []


def plain(page):
    done = subprocess.run(["mandoc", "-T", "utf8", str(page)], capture_output=True, text=True, check=True)
    return re.sub(".\b", "", done.stdout)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if (tree.BUILD / page.stem).exists()], ids=lambda page: page.name
)
def test_pages_name_what_help_names(page):
    """Each flag and variable, both ways."""
    told = run(page.stem, "--help").ok().out
    written = plain(page)
    flags, variables = r"(?<![\w-])--[a-z][a-z-]*[a-z]", r"\b(?:OCC_[A-Z_]*[A-Z]|NODE_ENV|DOCKER_HOST)\b"
    missing = {
        name for pattern in (flags, variables) for name in re.findall(pattern, told) if name not in written
    }
    assert missing == set()
    # Examples show other programs' flags; what the page defines as its own stands at the start of a line.
    defined = set(re.findall(r"^ {5}(?:-\w, )?(--[a-z][a-z-]*[a-z])", written, re.MULTILINE))
    assert {flag for flag in defined if flag not in told} == set()
