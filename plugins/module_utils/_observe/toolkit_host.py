# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all that the decision about the toolkit's packages takes. Private to this collection."""

from __future__ import annotations

from .._plan.packages_apt import pin_path
from .._plan.toolkit_packages import ROLE, ToolkitHost, ToolkitWish, toolkit_repository
from .apt_sources import read_sources
from .files import HostRoot
from .kernel import read_kernel
from .os_release import read_os_release
from .packages import read_packages
from .repository_key import read_key


def read_toolkit_host(host: HostRoot, wish: ToolkitWish, *, owned: tuple[str, ...]) -> ToolkitHost:
    """One look at everything. ``owned``: the names of the record of the toolkit's packages."""
    kernel = read_kernel(host)
    repository = toolkit_repository(wish, kernel)
    paths = (repository.key_path, repository.source_path, pin_path(ROLE))
    return ToolkitHost(
        os=read_os_release(host),
        kernel=kernel,
        packages=read_packages(host),
        files={p: host.text(p) for p in paths},
        key=read_key(host, repository.key_path),
        sources=read_sources(host),
        owned=owned,
    )
