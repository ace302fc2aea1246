# SPDX-License-Identifier: MIT
"""tests/run counts what did not say how it went as failed."""

import subprocess

import pytest

from support import tree
from support.tally import of_pytest, of_unit


def _report(path, *cases):
    body = "".join(f'<testcase classname="c" name="{name}">{inside}</testcase>' for name, inside in cases)
    path.write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>")
    return path


def test_a_pytest_report_is_counted_by_test(tmp_path):
    report = _report(tmp_path / "r.xml", ("a", ""), ("b", "<skipped/>"), ("c", "<failure/>"), ("c", "<error/>"), ("d", ""))
    assert of_pytest(report, 1) == (2, 1, 1)


def test_a_test_that_passed_and_failed_at_its_end_has_failed(tmp_path):
    assert of_pytest(_report(tmp_path / "r.xml", ("a", "<error/>"), ("a", "")), 1) == (0, 1, 0)


@pytest.mark.parametrize("status", [1, 2, 3, 4, -9, 137])
def test_a_pytest_that_broke_is_a_failure(tmp_path, status):
    assert of_pytest(tmp_path / "none.xml", status) == (0, 1, 0)
    assert of_pytest(_report(tmp_path / "r.xml", ("a", "")), status) == (1, 1, 0)
    (tmp_path / "half.xml").write_text("<testsuites><testsuite><testcase")
    assert of_pytest(tmp_path / "half.xml", 0) == (0, 1, 0)


def _unit(folder, name, log, result="PASS"):
    (folder / f"{name}.log").write_text(log)
    (folder / f"{name}.trs").write_text(f":test-result: {result}\n")


def test_unit_programs_are_counted_by_test(tmp_path):
    _unit(tmp_path, "test_a", "1..3\nok 1 - x\nnot ok 2 - y\nok 3 - z # SKIP\n", "FAIL")
    _unit(tmp_path, "test_b", "1..1\nok 1 - x\n1..2\nok 1 - x\nok 2 - y\n")
    assert of_unit(tmp_path, 1) == (4, 1, 1)


def test_a_unit_program_that_broke_is_a_failure(tmp_path):
    _unit(tmp_path, "test_crash", "1..3\nok 1 - x\n", "FAIL")
    assert of_unit(tmp_path, 0) == (1, 2, 0)
    _unit(tmp_path, "test_silent", "")
    assert of_unit(tmp_path, 0) == (1, 3, 0)
    _unit(tmp_path, "test_exit", "1..1\nok 1 - x\n", "FAIL")
    assert of_unit(tmp_path, 0) == (2, 4, 0)


def test_a_make_that_broke_is_a_failure(tmp_path):
    assert of_unit(tmp_path, 2) == (0, 1, 0)


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--only", "nothing"], ["-j", "0"]])
def test_run_refuses_what_it_does_not_know(arguments):
    done = subprocess.run([tree.SOURCE / "tests" / "run", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "tests/run [--quick]" in done.stderr


def test_run_has_help():
    done = subprocess.run([tree.SOURCE / "tests" / "run", "--help"], capture_output=True, text=True, check=True)
    for option in ("--quick", "--only PART", "-k PATTERN", "-j N", "--no-install"):
        assert option in done.stdout
