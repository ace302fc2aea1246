# SPDX-License-Identifier: MIT
"""Counts what ran:  tally.py pytest REPORT.xml STATUS   or   tally.py unit BUILD/tests/unit STATUS

Prints "PASSED FAILED SKIPPED". What did not say how it went counts as failed: a program that crashed in the middle, a
report that was never written, an exit status that nothing explains.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree


def of_pytest(report, status):
    try:
        cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, 1, 0
    # A test that failed at its end again is listed twice.
    results = {}
    for case in cases:
        name = (case.get("classname"), case.get("name"))
        kinds = {child.tag for child in case}
        result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        if results.get(name) != "failed":
            results[name] = result
    found = list(results.values())
    passed, failed, skipped = (found.count(kind) for kind in ("passed", "failed", "skipped"))
    # 5: nothing was selected, which is for the caller to judge by the counts.
    if status not in (0, 5) and failed == 0:
        failed = 1
    return passed, failed, skipped


def of_unit(folder, status):
    passed = failed = skipped = 0
    for trs in sorted(pathlib.Path(folder).rglob("*.trs")):
        text = trs.with_suffix(".log").read_text(errors="replace")
        planned = sum(int(count) for count in re.findall(r"^1\.\.(\d+)", text, re.M))
        bad = len(re.findall(r"^not ok \d+", text, re.M))
        skips = len(re.findall(r"^ok \d+.*# SKIP", text, re.M | re.I))
        good = len(re.findall(r"^ok \d+", text, re.M)) - skips
        bad += max(0, planned - good - bad - skips)
        went_well = ":test-result: PASS" in trs.read_text(errors="replace")
        if (not went_well and bad == 0) or planned == 0:
            bad += 1
        passed, failed, skipped = passed + good, failed + bad, skipped + skips
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


if __name__ == "__main__":
    kind, path, exit_status = sys.argv[1:]
    print(*{"pytest": of_pytest, "unit": of_unit}[kind](path, int(exit_status)))
