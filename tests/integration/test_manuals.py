# SPDX-License-Identifier: MIT
"""The manual pages: one for each program, well formed, and true to what the programs say of themselves."""

import re
import subprocess

import pytest
from support import sources, tree
from support.program import run

PAGES = sorted((tree.SOURCE / "man").glob("*.[1578]"))
WANTED = {
    "occ-worker.8", "occ-migrate.8", "occ-bootstrap.8", "occctl.1", "occ-installation.yaml.5", "occ-driver.7",
    "occ-runtime-image.7",
}  # fmt: skip
PROGRAMS = [page for page in PAGES if page.suffix not in (".5", ".7")]


def complaints(page):
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "style,stop", str(page)], capture_output=True, text=True, check=False
    )
    # Whether the page it refers to is installed here says nothing about this page.
    return [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if "referenced manual not found" not in line and "outdated mandoc.db" not in line
    ]


def plain(page):
    done = subprocess.run(["mandoc", "-T", "utf8", str(page)], capture_output=True, text=True, check=True)
    return re.sub(".\b", "", done.stdout)


def help_of(name):
    """All that a program's help says, that of its commands included."""
    told = run(name, "--help").ok().out
    commands = re.search(r"^Commands:\n((?:  .*\n)+)", told, re.M)
    for line in commands[1].splitlines() if commands else []:
        words = re.match(r"  ((?:[a-z-]+ ?)+)", line)[1].split()
        told += run(name, *words, "--help").ok().out
    return told


def differences(told, written):
    """Flags and variables, both ways."""
    flags, variables = r"(?<![\w-])--[a-z][a-z-]*[a-z]", r"\b(?:OCC_[A-Z_]*[A-Z]|NODE_ENV|DOCKER_HOST)\b"
    found = {
        f"{name} is not in the page"
        for pattern in (flags, variables)
        for name in re.findall(pattern, told)
        if not re.search(rf"(?<![\w-]){name}(?![\w-])", written)
    }
    # Examples show other programs' flags; what the page defines as its own stands at the start of a line.
    defined = set(re.findall(r"^ {5,}(?:-\w, )?(--[a-z][a-z-]*[a-z])", written, re.M))
    known = set(re.findall(flags, told))
    return sorted(found | {f"{name} is not in --help" for name in defined - known})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_well_formed(page):
    assert complaints(page) == []


def test_a_mistake_is_found(tmp_path):
    page = tmp_path / "wrong.8"
    page.write_text(".Dd May 1, 2025\n.Dt WRONG 8\n.Os\n.Sh NAME\n.Nm wrong\n.Nd wrong\n.Sh DESCRIPTION\n.Bl -tag\n.It a\n")
    assert complaints(page)


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_pages_name_what_help_names(page):
    assert differences(help_of(page.stem), plain(page)) == []


def test_a_difference_is_found():
    told = "  --poll-interval-ms MS\n        OCC_WORKER_POLL_INTERVAL_MS\n  --check\n"
    written = "     --check\n     --poll-interval-ms-more MS\n     -o, --output FORM\n"
    assert differences(told, written) == [
        "--output is not in --help",
        "--poll-interval-ms is not in the page",
        "--poll-interval-ms-more is not in --help",
        "OCC_WORKER_POLL_INTERVAL_MS is not in the page",
    ]
    assert differences("  --check  NODE_ENV", "     --check\n     NODE_ENV\n     see --other\n") == []


def test_every_page_is_there_and_distributed():
    listed = " ".join(sources.texts("man/Makefile.inc").values())
    assert {page.name for page in PAGES} == WANTED
    assert [page.name for page in PAGES if f"man/{page.name}" not in listed] == []
