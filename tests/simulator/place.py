# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a simulated machine keeps its parts: the real places of a host, or the same names below one folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Root of the machine; `Path("/")` on a simulated host."""

    root: Path

    @property
    def state(self) -> Path:
        """The state file."""
        return self.root / "var/lib/simhw/state"

    @property
    def run(self) -> Path:
        """What is gone after a reboot."""
        return self.root / "run/simhw"

    @property
    def modules(self) -> Path:
        """What libc programs see as /proc/modules."""
        return self.run / "proc/modules"

    @property
    def devices(self) -> Path:
        """What is mounted over /proc/devices."""
        return self.run / "proc/devices"

    @property
    def kernel_log(self) -> Path:
        """Records of the kernel log."""
        return self.run / "kmsg"

    @property
    def kernel_log_pipe(self) -> Path:
        """What the journal reads as /dev/kmsg."""
        return self.run / "kmsg.pipe"

    @property
    def efi_variables(self) -> Path:
        """The EFI variables of a machine with UEFI firmware; not there on one with a BIOS."""
        return self.root / "var/lib/simhw/efivars"

    @property
    def adapters(self) -> Path:
        """The InfiniBand adapters that are plugged in."""
        return self.root / "var/lib/simhw/adapters.json"

    @property
    def efi_console(self) -> Path:
        """Is there when somebody will confirm at the console, at the next boot, what mokutil asked for."""
        return self.root / "var/lib/simhw/efi-console"

    @property
    def sys(self) -> Path:
        """/sys."""
        return self.root / "sys"

    @property
    def driver(self) -> Path:
        """/proc/driver."""
        return self.root / "proc/driver"

    @property
    def installed(self) -> Path:
        """The simulator itself."""
        return self.root / "usr/lib/simhw"

    @property
    def release(self) -> str:
        """The kernel release that the machine pretends to run."""
        return (self.installed / "kernel").read_text().strip()


def here() -> Place:
    """This machine, or the one in the folder that GPU_FLEET_SIM_ROOT names."""
    return Place(Path(os.environ.get("GPU_FLEET_SIM_ROOT") or "/"))
