# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many packages at once: the work is that of child processes, so as many as the machine has processors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.packages import deb
from lab.packages.package import Package


def write_debs(packages: Iterable[Package], folder: Path, scratch: Path) -> None:
    """Builds the packages into `folder`, each file name once. Raises CommandFailed."""
    wanted = {deb.file_name(package): package for package in packages}
    missing = [package for name, package in wanted.items() if not (folder / name).exists()]
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for done in [workers.submit(deb.write, package, folder, scratch) for package in missing]:
            done.result()
