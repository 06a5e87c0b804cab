# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What readers found, as plain data that deciders take. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class OsRelease:
    """``id`` and ``version`` are ID and VERSION_ID, ``name`` is PRETTY_NAME; empty where the file lacks the field."""

    id: str
    version: str
    name: str


@dataclass(frozen=True)
class Kernel:
    """The running kernel. ``headers``: /lib/modules/<release>/build is there.

    ``secure_boot`` None: not known, mostly because the host was not booted by EFI.
    """

    release: str
    machine: str
    headers: bool
    secure_boot: bool | None


@dataclass(frozen=True)
class PciFunction:
    """One function. ``address`` as in sysfs (0000:41:00.0); ids four hex digits; ``pci_class`` the first four of six.

    ``driver`` is the kernel driver that owns it, None for none.
    """

    address: str
    vendor: str
    device: str
    subsystem: str
    pci_class: str
    driver: str | None

    @property
    def id(self) -> str:
        """Vendor and device as lspci writes them: 10de:2330."""
        return f"{self.vendor}:{self.device}"


@dataclass(frozen=True)
class DriverVersion:
    """``flavour`` is open or proprietary; ``signer`` the key's name in modinfo, None: unsigned, or a loaded module."""

    version: str
    flavour: str
    signer: str | None = None


@dataclass(frozen=True)
class LoadedModule:
    """One line of /proc/modules: who uses it (other modules), and the reference count, which counts processes too."""

    name: str
    references: int
    users: tuple[str, ...]


@dataclass(frozen=True)
class Holder:
    """A process that has device nodes of the driver open.

    ``name`` as the kernel cuts it to 15 characters; ``command``: the first two words of its command line. ``unit``,
    ``container`` (its id) and ``pod`` (namespace/name, else its uid) by its control group, '' for none.
    """

    pid: int
    name: str
    devices: tuple[str, ...]
    command: str = ""
    unit: str = ""
    container: str = ""
    pod: str = ""

    def __str__(self) -> str:
        places = {"unit": self.unit, "container": self.container[:12], "pod": self.pod}
        rows = [f"{kind} {name}" for kind, name in places.items() if name]
        about = "; ".join([", ".join(self.devices), *rows])
        return f"{self.command or self.name} (pid {self.pid}: {about})"


@dataclass(frozen=True)
class Service:
    """One unit in systemd's words: ``loaded`` (not-found, masked ...), ``active``, ``enabled`` ('': no unit file)."""

    name: str
    loaded: str
    active: str
    enabled: str


@dataclass(frozen=True)
class Package:
    """One package. ``state`` is dpkg's third word: installed, half-configured, unpacked ...; rpm has the first only."""

    name: str
    version: str
    architecture: str
    state: str
    held: bool

    @property
    def installed(self) -> bool:
        """Whether dpkg is done with it."""
        return self.state == "installed"


@dataclass(frozen=True)
class AptSource:
    """One enabled entry of apt's sources: its file, URI without a slash at its end, suite, Signed-By, components."""

    path: str
    uri: str
    suite: str
    signed_by: str
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class DnfSource:
    """One enabled section of a .repo file: its file, id, and base address without a slash at its end ('': mirrors)."""

    path: str
    id: str
    uri: str


@dataclass(frozen=True)
class Resolution:
    """What the package manager would do: packages with versions to install, names to remove.

    ``error`` is its text when it refuses, ``failure`` what that text says (see _observe/texts), else empty.
    """

    install: dict[str, str]
    remove: tuple[str, ...] = ()
    error: str = ""
    failure: Mapping[str, Any] = field(default_factory=dict)
