# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from dev import sanity, tally

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="good"/>
<testcase classname="tests.a" name="bad"><failure message="x"/></testcase>
<testcase classname="tests.b" name="broken"><error message="x"/></testcase>
<testcase classname="tests.b" name="left_out"><skipped message="x"/></testcase>
</testsuite></testsuites>"""
RAN = 'Running sanity test "pep8"\nRunning sanity test "import" on Python 3.9\nRunning sanity test "yamllint"\n'
FATAL = "FATAL: The 1 sanity test(s) listed below (out of 3) failed. See error output above for details.\n"
# text, status -> passed, failures
SANITY = {
    "all good": (RAN, 0, 3, []),
    "one failed": (f"{RAN}ERROR: x\n{FATAL}yamllint\n", 1, 2, ["leg: yamllint"]),
    "for one Python": (f"{RAN}{FATAL}import --python 3.9\n", 1, 2, ["leg: import --python 3.9"]),
    "died before the first": ("", 1, 0, ["leg: ansible-test ended with status 1"]),
    "died between": (RAN, 1, 3, ["leg: ansible-test ended with status 1"]),
    "without its program": (f'{RAN}Running sanity test "shellcheck"\nWARNING: Required program x\n', 0, 3, []),
    "tested nothing": ("WARNING: All targets skipped.\n", 0, 0, ["leg: ansible-test ended with status 0"]),
}


def test_only_what_passed_counts_as_passed(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    counted = tally.from_junit(tmp_path / "report.xml", "unit")
    assert counted.passed == 1
    assert counted.failures == [
        "unit: tests.a::bad (failure)",
        "unit: tests.b::broken (error)",
        "unit: tests.b::left_out (skipped)",
    ]


@pytest.mark.parametrize("text", [None, "<testsuites><testsuite/></testsuites>"], ids=["no report", "no test"])
def test_no_test_is_a_failure(tmp_path, text):
    report = tmp_path / "report.xml"
    if text is not None:
        report.write_text(text)
    counted = tally.from_junit(report, "unit")
    assert counted.passed == 0
    assert len(counted.failures) == 1


@pytest.mark.parametrize(("text", "status", "passed", "failures"), SANITY.values(), ids=SANITY)
def test_sanity_runs_are_counted(text, status, passed, failures):
    counted = sanity.count(text, status, "leg")
    assert (counted.passed, counted.failures) == (passed, failures)


def test_the_last_line_counts(capsys):
    assert tally.Tally(3, ["one"]).report() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed"
    assert tally.Tally(3).report() == 0
