# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people type and read about each package manager. Private to this collection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PackageWords:
    """Commands without the packages' names, and where a hold is written."""

    name: str
    install: str
    simulate: str
    remove: str
    simulate_removal: str
    held: str
    unhold: str
    repair: str
    manual: str


WORDS = {
    "apt": PackageWords(
        name="apt",
        install="apt-get install",
        simulate="apt-get --simulate install",
        remove="apt-get remove",
        simulate_removal="apt-get --simulate remove",
        held="dpkg selection hold",
        unhold="apt-mark unhold",
        repair="dpkg --configure -a; apt-get --fix-broken install",
        manual="apt-get(8)",
    ),
    "dnf": PackageWords(
        name="dnf",
        install="dnf install",
        simulate="dnf --assumeno install",
        remove="dnf remove",
        simulate_removal="dnf --assumeno remove",
        held="/etc/dnf/plugins/versionlock.list",
        unhold="dnf versionlock delete",
        repair="dnf check; rpm --rebuilddb",
        manual="dnf(8)",
    ),
}
