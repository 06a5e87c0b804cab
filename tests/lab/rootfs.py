# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root file systems that lab hosts start from: a Debian with an engine to run containers, and no driver at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev import cache, machine, progress

from . import rpm_base
from .suites import EL, SUITES, UBUNTU, Suite

BASE = "systemd systemd-sysv dbus udev kmod procps iproute2 openssh-server ca-certificates gnupg pciutils"
PYTHON = "python3 python3-apt python3-debian"
RPM = "rpm dnf python3-dnf dnf-plugins-core"
# Programs and records of Debian's package manager, which an Enterprise Linux host does not have.
DPKG = (
    *(f"usr/bin/{name}" for name in ("apt", "apt-get", "apt-cache", "apt-mark", "apt-config", "apt-key", "apt-cdrom")),
    *(
        f"usr/bin/{name}"
        for name in ("dpkg", "dpkg-query", "dpkg-deb", "dpkg-divert", "dpkg-statoverride", "dpkg-split")
    ),
    *("etc/apt", "etc/dpkg", "var/lib/apt", "var/lib/dpkg", "var/cache/apt"),
)
COMPILER = "gcc make libc6-dev"
ENGINE = "podman runc crun conntrack iptables ethtool containernetworking-plugins"
# Timers that would hold dpkg's lock or use the network at a moment of their own.
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer")
# Each host gets its own; the mirror of the outer machine is out of reach in a lab.
REMOVED = (
    "etc/ssh/ssh_host_*",
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/*",
    "etc/machine-id",
    "var/lib/apt/lists/*",
)
KEPT_OPTIONS = ('Acquire::Check-Valid-Until "false";', 'Acquire::Languages "none";', 'APT::Install-Recommends "false";')
BUILD_SECONDS = 900


def rootfs(name: str) -> Path:
    """The cached root file system of a suite, the lower layer of its hosts. machine.Unfit for an unknown suite."""
    if name not in SUITES:
        raise machine.Unfit(f"There is no lab host of suite {name!r}; wanted one of {', '.join(SUITES)}")
    suite = SUITES[name]
    if suite.family == UBUNTU:
        return rootfs(suite.base)
    recipe = [suite.base, *packages(suite), *MASKED, *REMOVED, *KEPT_OPTIONS]
    if suite.family == EL:
        recipe += [rpm_base.spec(suite, kernel(suite)), *DPKG]
    return cache.artifact("rootfs", recipe, lambda out: _build(name, suite, out)) / "root"


def packages(suite: Suite) -> list[str]:
    """Names of the Debian packages asked for; their dependencies come with them, recommendations do not."""
    return f"{BASE} {PYTHON} {COMPILER} {ENGINE} {RPM if suite.family == EL else ''}".split()


def kernel(suite: Suite) -> str:
    """The release of the kernel that hosts of the suite pretend to run."""
    from .packages import distributions, kernels

    return distributions.DISTRIBUTIONS[suite.folder].kernel or kernels.release(suite.base)


def build_all(names: Iterable[str]) -> None:
    """Makes the root file systems of these suites, side by side."""
    wanted = sorted({SUITES[name].base if SUITES[name].family == UBUNTU else name for name in names})
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(rootfs, wanted))


def mirror() -> str:
    """URI of the Debian mirror that the outer machine itself uses.

    Raises progress.CommandFailed or machine.Unfit when apt has none.
    """
    lines = progress.output(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Identifier: Packages"])
    for line in lines.splitlines():
        uri, codename = line.split()
        if codename.isalpha():  # bookworm, and neither bookworm-updates nor bookworm-security
            return uri
    raise machine.Unfit(
        "apt has no index of a Debian release on this machine: configure a mirror, run `apt-get update`"
    )


def _build(name: str, suite: Suite, out: Path) -> None:
    root = out / "root"
    with progress.step(f"building the root file system of {suite.title}"):
        command = ["nice", "-n", "10", "eatmydata", "mmdebstrap", "--mode=root", "--variant=minbase"]
        command += [f"--aptopt={option}" for option in KEPT_OPTIONS]
        command += [f"--include={','.join(packages(suite))}", suite.base, str(root), mirror()]
        progress.run(command, log=cache.root() / "logs" / f"rootfs-{name}.log", timeout=BUILD_SECONDS)
        _strip(root)
        if suite.family == EL:
            rpm_base.install(root, suite, kernel(suite))
            for place in DPKG:
                machine.remove(root / place)


def _strip(root: Path) -> None:
    for pattern in REMOVED:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for unit in MASKED:
        (root / "etc/systemd/system" / unit).symlink_to("/dev/null")
    for leftover in (root / "etc/apt/apt.conf.d").glob("*mmdebstrap*"):
        leftover.unlink()
    (root / "etc/apt/apt.conf.d/90lab").write_text("\n".join([*KEPT_OPTIONS, ""]))
    (root / "etc/machine-id").touch()
