# SPDX-License-Identifier: MIT
"""What all programs have in common."""

import re

import pytest

from support import tree
from support.program import run

PROGRAMS = ("occ-worker", "occ-migrate", "occ-bootstrap", "occctl")


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_needs_no_setting(name):
    done = run(name, "--help").ok()
    assert done.out.startswith(f"Usage: {name} ") and done.err == ""
    assert max(map(len, done.lines)) <= 100


@pytest.mark.parametrize("name", PROGRAMS)
def test_version_is_the_builds(name):
    version = re.search(r"AC_INIT\(\[[^]]*\],\[([^]]*)\]", (tree.SOURCE / "configure.ac").read_text())[1]
    assert run(name, "--version").ok().out.split()[-1] == version


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["--no-such-flag=1"], ["--check=maybe"], ["-Z"]])
def test_an_unknown_flag_is_named_and_a_usage_error(name, arguments):
    done = run(name, *(["status"] if name == "occctl" else []), *arguments)
    assert done.status == 2 and done.out == "", done
    assert arguments[0].partition("=")[0] in done.err


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_flag_for_a_secret_does_not_exist(name):
    told = run(name, "--help").ok().out
    flags = set(re.findall(r"--[a-z-]+", told))
    assert not [flag for flag in flags if re.search(r"password|key|token|secret|url", flag) and not flag.endswith("-file")]
