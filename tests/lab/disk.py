# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of a lab host, and snapshots of it.

A host's root is an overlay: read-only layers below, and one that takes what the host writes. A snapshot turns that one
into a further read-only layer, so that it costs nothing to make, and going back to it only throws away what came after.
The disk is a file system of its own in a sparse file, so that it can be full or slow without the machine being so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lab import Lab

FRESH = "fresh"  # the snapshot that every host has: as it was laid out, before its first boot
SIZE = "32G"
LOOP_CONTROL = Path("/dev/loop-control")
# Container stores are not part of the overlay: it cannot have its upper layer on an overlay.
STORES = {"containers": "/var/lib/containers", "containerd": "/var/lib/containerd"}
_MAKE = (
    "truncate --size={size} {image}; mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard {image}"
)
_ATTACH = "mount -o loop {image} {disk}; rmdir {disk}/lost+found"


@dataclass(frozen=True)
class Record:
    """What is written down of a disk: folders below all of its own layers, layers of each snapshot, and those in use.

    Everything from the topmost down.
    """

    below: list[str]
    saved: dict[str, list[str]] = field(default_factory=dict)
    current: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Disk:
    """All below `folder`, which is the host's: `disk.img`, `disk`, `root` and what is written down in `disk.json`."""

    lab: Lab
    folder: Path

    @property
    def mount(self) -> Path:
        """Where it is mounted in the lab."""
        return self.folder / "disk"

    @property
    def upper(self) -> Path:
        """What the host has written since the last snapshot, as this process reaches it."""
        return self.lab.path(self.mount / "upper")

    @property
    def lower(self) -> list[Path]:
        """The layers below it, the topmost first, as this process reaches them."""
        record = self._read()
        own = [self.lab.path(self.mount / "layers" / number / "upper") for number in record.current]
        return [*own, *map(Path, record.below)]

    @property
    def is_own(self) -> bool:
        """Whether it is a file system of its own; a folder on the machine's disk where there are no loop devices."""
        return (self.folder / "disk.img").exists()

    @property
    def is_slow(self) -> Path:
        """A file that is there while the kernel keeps the host to a rate."""
        return self.folder / "slow"

    @property
    def snapshots(self) -> list[str]:
        """Names of the snapshots, the oldest first."""
        return list(self._read().saved) if (self.folder / "disk.json").exists() else []

    def make(self, layers: Sequence[Path]) -> None:
        """Makes the disk and mounts the root over `layers`, the topmost first."""
        self.mount.mkdir(parents=True)
        if LOOP_CONTROL.exists():
            values = {"size": SIZE, "image": self.folder / "disk.img", "disk": self.mount}
            self._do(_MAKE.format(**values), _ATTACH.format(**values))
        self._write(Record([str(layer) for layer in layers]))
        self._mount_root()

    def save(self, name: str) -> None:
        """Makes the host's files, which must be off, the snapshot `name`; an older one of that name is forgotten."""
        record = self._read()
        number = str(1 + max((int(n) for layers in record.saved.values() for n in layers), default=0))
        layer = self.mount / "layers" / number
        stores = " ".join(str(self.mount / store) for store in STORES)
        self._do(
            f"umount {self.folder}/root; mkdir -p {layer}/stores; mv {self.mount}/upper {layer}/upper",
            f"cp -a {stores} {layer}/stores",
        )
        current = [number, *record.current]
        self._write(replace(record, saved={**record.saved, name: current}, current=current))
        self._mount_root()

    def restore(self, name: str) -> None:
        """Throws away all that was written after the snapshot; the host must be off. KeyError without such a one."""
        record = self._read()
        current = record.saved[name]
        gone = " ".join(str(self.mount / part) for part in ("upper", "work", *STORES))
        self._do(
            f"umount --lazy {self.folder}/root; rm -rf {gone}",
            f"cp -a {self.mount}/layers/{current[0]}/stores/. {self.mount}",
        )
        self._write(replace(record, current=current))
        self._mount_root()

    def remove(self) -> None:
        """Removes it with all that is on it; the host must be off."""
        self._do(
            f"umount --lazy {self.folder}/root",
            f"! mountpoint -q {self.mount} || umount --lazy {self.mount}",
            f"rm -rf {self.folder}",
        )

    def _mount_root(self) -> None:
        record = self._read()
        parts = " ".join(str(self.mount / part) for part in ("upper", "work", *STORES))
        lower = ":".join([*(f"{self.mount}/layers/{number}/upper" for number in record.current), *record.below])
        options = f"lowerdir={lower},upperdir={self.mount}/upper,workdir={self.mount}/work"
        self._do(f"mkdir -p {parts} {self.folder}/root; mount -t overlay overlay -o {options} {self.folder}/root")

    def _do(self, *scripts: str) -> None:
        self.lab.run(["sh", "-euc", "\n".join(scripts)])

    def _read(self) -> Record:
        return Record(**json.loads((self.folder / "disk.json").read_text()))

    def _write(self, record: Record) -> None:
        (self.folder / "disk.json").write_text(json.dumps(asdict(record)) + "\n")
