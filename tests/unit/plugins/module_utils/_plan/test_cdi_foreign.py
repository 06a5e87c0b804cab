# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs of the same kind that somebody else has written."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_foreign import (
    ForeignSpec,
    judge_foreign,
    report_left,
)

OURS, RANK = "/var/run/cdi/nvidia.yaml", 1
# foreign spec -> word of the summary
CASES = {
    "same directory": (ForeignSpec("/var/run/cdi/x.yaml", ("0", "all"), 1), "drop these from both"),
    "earlier directory, devices of its own": (ForeignSpec("/etc/cdi/x.yaml", ("0", "5"), 0), "nobody keeps up to date"),
    "earlier directory, the same devices": (ForeignSpec("/etc/cdi/x.yaml", ("0",), 0), "is hidden by the one"),
    "later directory": (ForeignSpec("/opt/cdi/x.yaml", ("0",), 2), "hides the one that is written here"),
    "other devices only": (ForeignSpec("/var/run/cdi/x.yaml", ("7",), 1), "nobody keeps up to date"),
}


@pytest.mark.parametrize(("spec", "word"), CASES.values(), ids=CASES)
def test_each_is_a_warning_with_both_sides(spec, word):
    (finding,) = judge_foreign(OURS, RANK, ("0", "all"), [spec])
    assert (finding.id, finding.severity, finding.remedy) == ("GPU-CDI-113", "warning", f"rm {spec.path}")
    assert word in finding.summary
    assert OURS in finding.wanted
    assert spec.path in finding.found


def test_removal_reports_what_is_left():
    many = ForeignSpec("/etc/cdi/x.yaml", tuple(str(n) for n in range(9)))
    (finding,) = report_left("nvidia.com/gpu", [many])
    assert finding.found == "/etc/cdi/x.yaml: 0, 1, 2, 3, 4, 5 and 3 more"
