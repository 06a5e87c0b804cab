# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systems that lab hosts run: Debian, and others that are simulated on it.

A simulated system is a Debian root with the other's identity, and for Enterprise Linux with dnf and rpm (Debian's
packages of them) in place of apt and dpkg. It tests what depends on a system's name, package manager and repositories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

DEBIAN, UBUNTU, EL = "debian", "ubuntu", "el"
# dnf as Enterprise Linux configures it; Debian's package switches a plugin on that upstream has off.
DNF = {
    "etc/dnf/dnf.conf": "[main]\ngpgcheck=1\ninstallonly_limit=3\nclean_requirements_on_remove=True\nbest=True\n"
    "skip_if_unavailable=False\n",
    "etc/dnf/plugins/local.conf": "[main]\nenabled=0\n",
}


@dataclass(frozen=True)
class Suite:
    """`base`: the Debian whose programs it has. `title`: as people call it, with `simulated` where it is not Debian.

    `folder`: its name in NVIDIA's CUDA repository. `release`: what its os-release says, without what marks it.
    """

    title: str
    family: str
    base: str
    folder: str
    release: dict[str, str] = field(default_factory=dict)

    @property
    def is_simulated(self) -> bool:
        return self.family != DEBIAN

    @property
    def summary(self) -> str:
        """One line for people."""
        return f"{self.title}, on {SUITES[self.base].title}" if self.is_simulated else f"{self.title}, real"


SUITES = {
    "bookworm": Suite("Debian 12", DEBIAN, "bookworm", "debian12"),
    "trixie": Suite("Debian 13", DEBIAN, "trixie", "debian13"),
    "ubuntu2404": Suite(
        "Ubuntu 24.04 (simulated)",
        UBUNTU,
        "bookworm",
        "ubuntu2404",
        {
            "PRETTY_NAME": "Ubuntu 24.04.3 LTS",
            "NAME": "Ubuntu",
            "VERSION_ID": "24.04",
            "VERSION": "24.04.3 LTS (Noble Numbat)",
            "VERSION_CODENAME": "noble",
            "ID": "ubuntu",
            "ID_LIKE": "debian",
            "UBUNTU_CODENAME": "noble",
        },
    ),
    "rhel9": Suite(
        "Rocky Linux 9 (simulated)",
        EL,
        "bookworm",
        "rhel9",
        {
            "NAME": "Rocky Linux",
            "VERSION": "9.8 (Blue Onyx)",
            "ID": "rocky",
            "ID_LIKE": "rhel centos fedora",
            "VERSION_ID": "9.8",
            "PLATFORM_ID": "platform:el9",
            "PRETTY_NAME": "Rocky Linux 9.8 (Blue Onyx)",
        },
    ),
    "rhel10": Suite(
        "Rocky Linux 10 (simulated)",
        EL,
        "trixie",
        "rhel10",
        {
            "NAME": "Rocky Linux",
            "VERSION": "10.2 (Red Quartz)",
            "ID": "rocky",
            "ID_LIKE": "rhel centos fedora",
            "VERSION_ID": "10.2",
            "PLATFORM_ID": "platform:el10",
            "PRETTY_NAME": "Rocky Linux 10.2 (Red Quartz)",
        },
    ),
}


def disguise(root: Path, suite: Suite) -> None:
    """Gives a root of the base the identity of a simulated system; nothing to a real one."""
    if not suite.is_simulated:
        return
    (root / "usr/lib/os-release").write_text(os_release(suite))
    for name in ("etc/issue", "etc/issue.net"):
        (root / name).write_text(f"{suite.release['PRETTY_NAME']} (simulated on {SUITES[suite.base].title})\n")
    if suite.family == UBUNTU:
        (root / "etc/lsb-release").write_text(_lsb_release(suite.release))
        (root / "etc/debian_version").write_text("trixie/sid\n")
    else:
        (root / "etc/debian_version").unlink(missing_ok=True)
        (root / "etc/rocky-release").write_text(f"{suite.release['NAME']} release {suite.release['VERSION']}\n")
        for name in ("redhat-release", "system-release"):
            (root / "etc" / name).unlink(missing_ok=True)
            (root / "etc" / name).symlink_to("rocky-release")
        for name, text in DNF.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)


def os_release(suite: Suite) -> str:
    """The text of os-release(5). VARIANT says that it is simulated; not on what, since Ansible looks for that word."""
    values = {**suite.release, "VARIANT": "simulated"}
    bare = {"ID", "VERSION_CODENAME", "UBUNTU_CODENAME"} if suite.family == UBUNTU else set()
    return "".join(f"{key}={value}\n" if key in bare else f'{key}="{value}"\n' for key, value in values.items())


def _lsb_release(release: dict[str, str]) -> str:
    return (
        f"DISTRIB_ID={release['NAME']}\nDISTRIB_RELEASE={release['VERSION_ID']}\n"
        f'DISTRIB_CODENAME={release["VERSION_CODENAME"]}\nDISTRIB_DESCRIPTION="{release["PRETTY_NAME"]}"\n'
    )
