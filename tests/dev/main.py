# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where `./dev` enters Python: first the system's own, then that of the virtual environment."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

if sys.version_info < (3, 11):
    sys.exit(f"./dev needs Python 3.11 or later, found {sys.version.split()[0]}: start it as `python3.11 {__file__}`")

from dev import cli

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
