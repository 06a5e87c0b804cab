# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of kernel headers by distribution and kernel, and what a kernel's release is made of. Private to this
collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .distributions import distribution_of

DEBIAN_INDEX = "Debian archive index"
UBUNTU_DOCS = "ubuntu.com/server/docs nvidia-drivers-installation"
GUIDE = "docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (590, 620), kernel headers"
AMAZON = "docs.aws.amazon.com/linux/al2023 kernels; public install scripts for GPU images"

# 6.8.0-149-generic, 6.1.0-37-amd64, 6.12.118+deb13-cloud-amd64
DEB_RELEASE = re.compile(r"\d[\d.]*(?:\+\w+)?(?:-\d+)?-(?P<flavour>[a-z].*)")
# 5.14.0-687.51.1.el9_8.x86_64, 5.14.0-503.14.1.el9_5.aarch64+64k, 6.1.150-174.273.amzn2023.x86_64
RPM_RELEASE = re.compile(
    r"(?P<version>(?P<build>\d[\w.]*-\d[\d.]*?)\.(?:el|amzn)\w+)\.(?P<machine>x86_64|aarch64)(?:\+(?P<flavour>\w+))?"
)


@dataclass(frozen=True)
class Headers:
    """What DKMS compiles against on a kernel whose release ``pattern`` fits (searched).

    ``name`` is the package for this very kernel, ``version`` its version where the name does not say it.
    ``follow`` brings the headers of later kernels, '' for none. Rows may hold the words of kernel_words().
    """

    systems: tuple[str, ...]
    pattern: str
    name: str
    version: str
    follow: str
    source: str
    as_of: str


EL = ("rhel9", "rhel10")
# The first row that fits counts.
HEADERS = (
    Headers(
        ("debian12", "debian13"), "", "linux-headers-{kernel}", "", "linux-headers-{kernel_flavour}", DEBIAN_INDEX,
        "2026-11-30",
    ),
    Headers(
        ("ubuntu2204", "ubuntu2404", "ubuntu2604"), "", "linux-headers-{kernel}", "",
        "linux-headers-{kernel_flavour}", UBUNTU_DOCS, "2026-07-23",
    ),
    Headers(EL, r"\+64k$", "kernel-64k-devel", "{kernel_version}", "kernel-64k-devel-matched", GUIDE, "2026-11-30"),
    Headers(EL, r"\+rt$", "kernel-rt-devel", "{kernel_version}", "kernel-rt-devel-matched", GUIDE, "2026-11-30"),
    Headers(EL, "", "kernel-devel", "{kernel_version}", "kernel-devel-matched", GUIDE, "2026-11-30"),
    Headers(("amzn2023",), r"^6\.1\.", "kernel-devel", "{kernel_version}", "", AMAZON, "2026-06-30"),
    Headers(("amzn2023",), r"^6\.12\.", "kernel6.12-devel", "{kernel_version}", "", AMAZON, "2026-06-30"),
    Headers(("amzn2023",), r"^6\.18\.", "kernel6.18-devel", "{kernel_version}", "", AMAZON, "2026-06-30"),
)  # fmt: skip


def headers_packages(distribution: str, version: str, *, kernel_release: str) -> Headers | None:
    """The row for a kernel with its names filled in; None where the catalog has none.

    ``distribution`` and ``version`` as in os-release, ``kernel_release`` as uname -r.
    """
    known = distribution_of(distribution, version)
    for row in HEADERS:
        if known is not None and known.directory in row.systems and re.search(row.pattern, kernel_release):
            words = kernel_words(kernel_release)
            return replace(
                row,
                name=row.name.format(**words),
                version=row.version.format(**words),
                follow=row.follow.format(**words),
            )
    return None


def kernel_words(release: str) -> dict[str, str]:
    """What rows of package names may hold about a kernel.

    ``kernel``: as uname -r. ``kernel_version``: version and release of the rpm. ``kernel_build``: the same without the
    distribution's mark, as in names of compiled modules. ``kernel_flavour``: generic, cloud-amd64, 64k; '' for none.
    """
    rpm = RPM_RELEASE.fullmatch(release)
    if rpm:
        words = rpm.groupdict(default="")
        return {
            "kernel": release,
            "kernel_version": words["version"],
            "kernel_build": words["build"],
            "kernel_flavour": words["flavour"],
        }
    deb = DEB_RELEASE.fullmatch(release)
    flavour = deb.group("flavour") if deb else ""
    return {"kernel": release, "kernel_version": release, "kernel_build": release, "kernel_flavour": flavour}
