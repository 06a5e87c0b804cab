# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules of a simulated host: /proc/modules, /sys/module, and the kernel's answers to loads and removals."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from simulator.files import link, write_tree
from simulator.place import Place

SIZES = {"nvidia": 111489024, "nvidia_uvm": 2232320, "nvidia_drm": 151552, "nvidia_modeset": 1908736}
OTHER_SIZE = 16384
IGNORE_VERMAGIC = 2  # MODULE_INIT_IGNORE_VERMAGIC


class Refused(Exception):
    """The kernel's answer: an errno."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


@dataclass(frozen=True)
class Information:
    """What a module says of itself (.modinfo), and its signature as `signature=<hexadecimal>` (shim/libsimhw.c)."""

    name: str
    version: str
    license: str
    release: str
    depends: tuple[str, ...]
    sources: str
    in_tree: bool = False
    signature: bytes = b""  # PKCS #7, without what marks it at the end of the file

    @classmethod
    def parse(cls, section: bytes) -> Information:
        """The section's NUL-separated `key=value` texts. ENOEXEC when it has no name."""
        pairs = [text.partition("=") for text in section.decode("utf-8", "replace").split("\0") if "=" in text]
        values = {key: value for key, _sign, value in reversed(pairs)}
        if "name" not in values:
            raise Refused(errno.ENOEXEC)
        depends = tuple(_normal(name) for name in values.get("depends", "").split(",") if name)
        release = values.get("vermagic", "").partition(" ")[0]
        version, terms, sources = (values.get(key, "") for key in ("version", "license", "srcversion"))
        in_tree, signature = values.get("intree") == "Y", bytes.fromhex(values.get("signature", ""))
        return cls(_normal(values["name"]), version, terms, release, depends, sources, in_tree, signature)

    @property
    def taints(self) -> str:
        """Last column of /proc/modules: out of tree, unsigned, proprietary unless the licence is a free one."""
        if self.in_tree:
            return ""
        return "(OE)" if "GPL" in self.license else "(POE)"


@dataclass(frozen=True)
class Module:
    """One line of /proc/modules."""

    name: str
    size: int
    users: tuple[str, ...] = field(default=())
    taints: str = ""

    @classmethod
    def parse(cls, line: str) -> Module:
        """A line of /proc/modules -> Module."""
        name, size, _count, users, *rest = line.split()
        known = tuple(user for user in users.split(",") if user not in ("", "-"))
        return cls(name, int(size), known, " ".join(rest[2:]))

    @property
    def line(self) -> str:
        """The line of /proc/modules, without its end."""
        users = "".join(f"{user}," for user in self.users) or "-"
        return f"{self.name} {self.size} {len(self.users)} {users} Live 0x0000000000000000 {self.taints}".rstrip()


def insert(place: Place, information: Information, flags: int) -> None:
    """Adds the module, or raises Refused with the errno of a real kernel."""
    with _locked(place):
        modules = loaded(place)
        if information.release != place.release and not flags & IGNORE_VERMAGIC:
            raise Refused(errno.ENOEXEC)
        if information.name in modules:
            raise Refused(errno.EEXIST)
        if any(name not in modules for name in information.depends):
            raise Refused(errno.ENOENT)
        for name in information.depends:
            modules[name] = replace(modules[name], users=(information.name, *modules[name].users))
        module = Module(information.name, SIZES.get(information.name, OTHER_SIZE), (), information.taints)
        _save(place, {module.name: module, **modules})
        _show(place, information)


def remove(place: Place, name: str) -> None:
    """Takes the module away, or raises Refused: unknown, or used by another module."""
    with _locked(place):
        modules = loaded(place)
        check_removable(modules, name)
        del modules[_normal(name)]
        rest = {key: replace(row, users=_without(row.users, _normal(name))) for key, row in modules.items()}
        _save(place, rest)
        shutil.rmtree(place.sys / "module" / _normal(name))
        for holder in (place.sys / "module").glob(f"*/holders/{_normal(name)}"):
            holder.unlink()


def check_removable(modules: dict[str, Module], name: str) -> None:
    """Raises Refused when the kernel would not remove it."""
    if _normal(name) not in modules:
        raise Refused(errno.ENOENT)
    if modules[_normal(name)].users:
        raise Refused(errno.EAGAIN)


def loaded(place: Place) -> dict[str, Module]:
    """Modules by name, the newest first."""
    rows = [Module.parse(line) for line in place.modules.read_text().splitlines()]
    return {row.name: row for row in rows}


def _normal(name: str) -> str:
    return name.replace("-", "_")


def _without(users: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(user for user in users if user != name)


def _save(place: Place, modules: dict[str, Module]) -> None:
    replacement = place.modules.with_name("modules.new")
    replacement.write_text("".join(f"{module.line}\n" for module in modules.values()))
    replacement.replace(place.modules)
    for module in modules.values():
        write_tree(place.sys / "module" / module.name, {"refcnt": f"{len(module.users)}\n"})


def _show(place: Place, information: Information) -> None:
    folder = place.sys / "module" / information.name
    texts = {"version": information.version, "srcversion": information.sources, "taint": information.taints.strip("()")}
    files = {"initstate": "live\n", "coresize": f"{SIZES.get(information.name, OTHER_SIZE)}\n", "refcnt": "0\n"}
    files.update({name: f"{text}\n" for name, text in texts.items() if text})
    write_tree(folder, files)
    (folder / "holders").mkdir(exist_ok=True)
    for name in information.depends:
        link(place.sys / "module" / name / "holders" / information.name, f"../../{information.name}")


@contextmanager
def _locked(place: Place) -> Iterator[None]:
    with (place.run / "modules.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
