# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard attribute blocks of the collection's module pages. Private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    """What every page says about check mode, diff mode and platforms."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return the plan without changing the host.
    support: full
  diff_mode:
    description: Shows what was or would be changed, one line a step.
    support: full
  platform:
    description: Operating systems on which the module runs.
    platforms: linux
    support: full
"""

    INFO = r"""
options: {}
attributes:
  check_mode:
    description: Reads only, so check mode makes no difference.
    support: full
  diff_mode:
    description: Changes nothing, so there is no difference to show.
    support: N/A
  platform:
    description: Operating systems on which the module runs.
    platforms: linux
    support: full
"""
