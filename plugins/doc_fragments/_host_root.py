# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option host_root of all host readers. Private to this collection."""

from __future__ import annotations


class ModuleDocFragment:
    """Where the host's files are."""

    DOCUMENTATION = r"""
options:
  host_root:
    description:
      - Directory below which every file, device node, C(/proc) and C(/sys) entry of the host is read.
      - NVML is the one exception. It comes through the dynamic loader's normal search.
    type: path
    default: /
"""
