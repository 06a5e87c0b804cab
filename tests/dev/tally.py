# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what passed and failed. A skipped test counts as failed: nothing here may be left out in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from . import progress


@dataclass
class Tally:
    """Numbers of checks, and a line about each one that failed."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> Tally:
        self.passed += other.passed
        self.failures += other.failures
        return self

    def command(
        self, title: str, args: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], timeout: float
    ) -> bool:
        """Runs a command as one check; prints the end of what it said when it fails. Options as progress.run."""
        begin = progress.log_path().stat().st_size if progress.log_path().exists() else 0
        with progress.step(title):
            status = progress.run(args, cwd=cwd, env=env, timeout=timeout, check=False)
        if status == 0:
            self.passed += 1
        else:
            self.failures.append(f"{title} (status {status})")
            progress.say(
                f"{title} failed:\n{progress.tail(progress.log_path(), begin)}\nWhole log: {progress.log_path()}"
            )
        return status == 0

    def report(self) -> int:
        """Prints each failure and, last, `N passed, N failed`. Returns the exit status."""
        for failure in self.failures:
            print(f"FAILED {failure}")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures else 0


def from_junit(file: Path, title: str) -> Tally:
    """Counts the cases of a JUnit file as pytest writes it; a file that is missing or empty counts as a failure."""
    if not file.exists():
        return Tally(failures=[f"{title}: it ended without a report"])
    tally = Tally()
    for case in ElementTree.parse(file).iter("testcase"):
        bad = [kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None]
        if bad:
            tally.failures.append(f"{title}: {case.get('classname', '')}::{case.get('name')} ({bad[0]})")
        else:
            tally.passed += 1
    if not tally.passed and not tally.failures:
        tally.failures.append(f"{title}: no test was found")
    return tally
