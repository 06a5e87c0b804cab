# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's Debian repositories: real packages of each suite with all they depend on, fetched by the machine's apt.

apt runs with folders of its own (sources, lists, cache, status); nothing of the machine's apt is read but its mirror.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from dev.progress import output, run, step
from lab.packages import deb, index
from lab.packages.keys import key
from lab.packages.package import Package
from lab.rootfs import mirror

HEADERS = "linux-headers-cloud-amd64"
# adduser: the driver's packages make a user. gpg: keys of other repositories. mokutil: Secure Boot questions.
# The last two: the NVLink subnet manager wants them.
PACKAGES = ("dkms", HEADERS, "adduser", "gpg", "mokutil", "libibumad3", "infiniband-diags")
KERNEL_FILE = "KERNEL"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCES = """\
Types: deb
URIs: {mirror}
Suites: {suite} {suite}-updates
Components: main
Signed-By: {keyring}

Types: deb
URIs: {mirror}-security
Suites: {suite}-security
Components: main
Signed-By: {keyring}
"""


def build(suite: str, out: Path) -> None:
    """Downloads the packages of `suite` into `out`, indexes them, writes the kernel release of the headers to KERNEL.

    Everything is fetched, base system included, so that a host of any age of this suite finds what fits together.
    Raises CommandFailed, machine.Unfit when the machine's apt has no Debian mirror.
    """
    private = out / "apt"
    options = _prepare(suite, private)
    with step(f"downloading Debian packages of {suite}"):
        run(["apt-get", *options, "update"])
        run(["apt-get", *options, "install", "--yes", "--download-only", *PACKAGES])
        release = _kernel(options)
    for path in (private / "cache/archives").glob("*.deb"):
        path.rename(out / path.name.replace("%3a", "."))
    shutil.rmtree(private)
    (out / KERNEL_FILE).write_text(release + "\n")
    _replace_image(out, release)
    index.write(out, "Debian", f"gpu.fleet lab {suite}", key("debian"))


def image_version(folder: Path, release: str) -> str:
    """Version of the kernel image package in a built repository."""
    headers = next(folder.glob(f"linux-headers-{release}_*.deb"))
    return output(["dpkg-deb", "--field", headers, "Version"]).strip()


def _replace_image(out: Path, release: str) -> None:
    """An empty package instead of the kernel image, which newer headers depend on and which a host runs already."""
    for path in out.glob("linux-image-*.deb"):
        path.unlink()
    image = Package(f"linux-image-{release}", image_version(out, release), "Linux kernel image")
    with tempfile.TemporaryDirectory() as scratch:
        deb.write(image, out, Path(scratch))


def _prepare(suite: str, private: Path) -> list[str]:
    for name in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (private / name).mkdir(parents=True)
    sources = private / "etc/lab.sources"
    sources.write_text(SOURCES.format(mirror=mirror().rstrip("/"), suite=suite, keyring=KEYRING))
    status = private / "state/status"
    status.touch()  # nothing is installed; a file of our own, because dpkg's lock lies beside it
    settings = {
        "Dir::Etc": private / "etc",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": os.devnull,
        "Dir::State": private / "state",
        "Dir::State::status": status,
        "Dir::Cache": private / "cache",
        "APT::Architecture": "amd64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "APT::Keep-Downloaded-Packages": "true",
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Languages": "none",
    }
    return [f"-o{name}={value}" for name, value in settings.items()]


def _kernel(options: list[str]) -> str:
    """The release that the headers' meta package stands for, such as 6.12.118+deb13-cloud-amd64."""
    prefix = "Depends: linux-headers-"
    for line in output(["apt-cache", *options, "depends", HEADERS]).splitlines():
        if line.strip().startswith(prefix):
            return line.strip()[len(prefix) :]
    raise LookupError(f"{HEADERS} depends on no linux-headers-<release>: the suite's package has another form")
