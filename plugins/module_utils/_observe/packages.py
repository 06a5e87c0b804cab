# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads dpkg's database. Private to this collection."""

from __future__ import annotations

from .._plan.facts import Package
from .files import HostRoot

STATUS = "/var/lib/dpkg/status"


def read_packages(host: HostRoot) -> dict[str, Package]:
    """dpkg's packages by name, without those of which only configuration files are left. Empty without dpkg."""
    return parse_status(host.text(STATUS) or "")


def parse_status(text: str) -> dict[str, Package]:
    """The stanzas of /var/lib/dpkg/status (dpkg-query(1)). Of two architectures of a name the first one counts."""
    found: dict[str, Package] = {}
    for stanza in text.split("\n\n"):
        fields = _fields(stanza)
        words = fields.get("Status", "").split()
        if "Package" in fields and len(words) == 3 and words[2] not in ("not-installed", "config-files"):
            package = Package(
                name=fields["Package"],
                version=fields.get("Version", ""),
                architecture=fields.get("Architecture", ""),
                state=words[2],
                held=words[0] == "hold",
            )
            found.setdefault(package.name, package)
    return found


def _fields(stanza: str) -> dict[str, str]:
    """Only what is asked for: descriptions and file lists are most of the text."""
    wanted = ("Package", "Status", "Version", "Architecture")
    pairs = (line.partition(": ") for line in stanza.splitlines() if not line.startswith(" "))
    return {name: value for name, colon, value in pairs if colon and name in wanted}
