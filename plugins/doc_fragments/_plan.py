# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The return values plan and findings of all changing modules. Private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    """Return values are documented in each module; this fragment adds the note that explains them."""

    DOCUMENTATION = r"""
options: {}
notes:
  - A plan with a finding of severity C(error) is blocked. The task fails before the first change, in check mode too.
"""
