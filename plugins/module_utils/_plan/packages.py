# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of one version set: install, pin, hold, remove. Private to this collection."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._catalog.packages import KERNEL_IMAGE_PATTERNS
from .facts import Package, Resolution
from .model import Finding, Step
from .versions import satisfies, upstream_version
from .work import Call, Work, join_work, remove_file, write_file

PREFERENCES = "/etc/apt/preferences.d"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"

# Above 1000 apt goes back to an older version of the whole set too (apt_preferences(5)).
PIN_PRIORITY = 1001

APT = "ansible.builtin.apt"
# An unattended upgrade at first boot may hold dpkg's lock for minutes (ansible/ansible#51663).
LOCK_SECONDS = 300


@dataclass(frozen=True)
class PackageSet:
    """What is wanted of one set of packages that share a version.

    ``names`` are asked for and have the set's version; ``others`` are wanted in any version (headers). ``patterns`` are
    the names that belong to the set, ``prefix`` what their versions begin with (a branch or an exact version).
    """

    owner: str
    names: tuple[str, ...]
    others: tuple[str, ...]
    patterns: tuple[str, ...]
    prefix: str
    hold: bool

    @property
    def pin_path(self) -> str:
        """Our one preferences file for this set."""
        return pin_path(self.owner)


def pin_path(owner: str) -> str:
    """The preferences file of the set that ``owner`` (a role) has."""
    return f"{PREFERENCES}/gpu-fleet-{owner}"


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a package's name is one of the patterns."""
    return any(fnmatch.fnmatchcase(name, p) for p in patterns)


def render_pin(patterns: Sequence[str], version: str) -> str:
    """The preferences file (apt_preferences(5)); ``version`` may end with a wildcard."""
    return f"{HEADER}Package: {' '.join(patterns)}\nPin: version {version}\nPin-Priority: {PIN_PRIORITY}\n"


def lacking(wanted: PackageSet, packages: Mapping[str, Package]) -> tuple[str, ...]:
    """The packages that are absent, half installed, or of another version than wanted or than the rest of the set."""
    right = tuple(n for n in wanted.names if _is_right(packages.get(n), wanted.prefix))
    versions = {upstream_version(packages[n].version) for n in right}
    named = wanted.names if len(versions) > 1 else tuple(n for n in wanted.names if n not in right)
    return named + tuple(n for n in wanted.others if n not in packages or not packages[n].installed)


def _is_right(package: Package | None, prefix: str) -> bool:
    if package is None or not package.installed:
        return False
    return satisfies(package.version, prefix) or package.version.startswith(f"{prefix}.")


def find_foreign_holds(
    names: Iterable[str], packages: Mapping[str, Package], owned: Iterable[str]
) -> tuple[Finding, ...]:
    """Packages that have to change and are held by somebody else: their hold is a decision that is not ours to undo."""
    record = set(owned)
    held = [n for n in names if n in packages and packages[n].held and f"hold:{n}" not in record]
    if not held:
        return ()
    return (
        Finding(
            id="GPU-PKG-008",
            severity="error",
            summary=f"{held[0]} has to change, and somebody holds it",
            wanted="no hold, or one of ours (/var/lib/gpu-fleet/owned)",
            found=f"dpkg selection hold of {', '.join(held)}, version {packages[held[0]].version}",
            remedy=f"release it: apt-mark unhold {' '.join(held)}",
            source="github.com/NVIDIA/deepops#1123",
        ),
    )


def pin_version(wanted: PackageSet, version: str) -> str | None:
    """What the preferences file pins: the exact version while held, else the branch; None for nothing to pin."""
    if wanted.hold or "." in wanted.prefix:
        return f"{version}-*"
    return f"{wanted.prefix}.*" if wanted.prefix else None


def plan_pin(wanted: PackageSet, version: str, *, found: str | None, owned: Iterable[str]) -> Work:
    """One preferences file of ours, so that apt never mixes versions of the set."""
    pinned = pin_version(wanted, version)
    if pinned is not None:
        reason = "apt must not mix versions of this set, whatever other repositories offer"
        text = render_pin(wanted.patterns, pinned)
        return write_file(wanted.pin_path, text, found=found, action="pin", reason=reason)
    if f"file:{wanted.pin_path}" in set(owned):
        return remove_file(wanted.pin_path, found=found, action="unpin", reason="no version is pinned any more")
    return Work()


def plan_packages(
    wanted: PackageSet, packages: Mapping[str, Package], *, resolution: Resolution, disrupts: str
) -> Work:
    """What apt answered, as work; held packages that change are released before.

    Records every package that was not there before. apt's index is read again: the version was chosen from a fresh one.
    What has to go goes first and may take packages with it that stay wanted, so then all of the set is asked for.
    """
    names = lacking(wanted, packages)
    if not names and not resolution.remove:
        return Work()
    versions = resolution.install
    asked = (*wanted.names, *wanted.others) if resolution.remove else names
    args = {
        "name": [f"{n}={_version(n, versions, packages)}" if n in wanted.names else n for n in asked],
        "state": "present",
        "update_cache": True,
        "allow_downgrade": any(n in packages for n in names),
        **_options(),
    }
    objects = {f"package:{n}": (None, v) for n, v in versions.items() if n not in packages}
    changing = tuple(n for n in (*versions, *resolution.remove) if n in packages and packages[n].held)
    release = select(changing, "install", action="unhold", reason="its version changes now")
    steps = tuple(_install(name, packages.get(name), versions.get(name, ""), disrupts) for name in names)
    install = Work(steps, (Call(APT, args),), objects=objects)
    return join_work([release, _make_way(resolution.remove, packages, disrupts), install])


def _version(name: str, versions: Mapping[str, str], packages: Mapping[str, Package]) -> str:
    return versions[name] if name in versions else packages[name].version


def _make_way(names: Sequence[str], packages: Mapping[str, Package], disrupts: str) -> Work:
    """Removes what excludes the packages that come; apt's module cannot do both in one call."""
    if not names:
        return Work()
    reason = "it excludes what is wanted"
    steps = tuple(Step("remove", n, packages[n].version, None, reason, disrupts) for n in names if n in packages)
    args = {"name": list(names), "state": "absent", "autoremove": False, "purge": False, "lock_timeout": LOCK_SECONDS}
    return Work(steps, (Call(APT, args),))


def _install(name: str, found: Package | None, version: str, disrupts: str) -> Step:
    before = None if found is None else f"{found.version} ({found.state})"
    reason = (
        "it is not installed" if found is None else "another version is wanted, or its installation was not finished"
    )
    return Step("install", name, before, version or (found.version if found else None), reason, disrupts)


def _options() -> dict[str, Any]:
    return {
        "install_recommends": False,
        "lock_timeout": LOCK_SECONDS,
        "dpkg_options": "force-confdef,force-confold",
    }


def plan_holds(names: Sequence[str], packages: Mapping[str, Package], *, hold: bool, ours: Iterable[str]) -> Work:
    """dpkg's selection ``hold`` for every one of ``names``; without ``hold`` only our own holds are released."""
    if hold:
        free = tuple(n for n in names if n not in packages or not packages[n].held)
        return select(free, "hold", action="hold", reason="an unattended upgrade must not change it under its clients")
    own = set(ours)
    kept = tuple(n for n in names if n in packages and packages[n].held and f"hold:{n}" in own)
    return select(kept, "install", action="unhold", reason="holds are not wanted any more")


def select(names: Sequence[str], selection: str, *, action: str, reason: str) -> Work:
    """Sets dpkg's selection of each package."""
    other = "install" if selection == "hold" else "hold"
    return Work(
        steps=tuple(Step(action, n, other, selection, reason) for n in names),
        calls=tuple(Call("ansible.builtin.dpkg_selections", {"name": n, "selection": selection}) for n in names),
        objects={f"hold:{n}": (False, True) for n in names} if action == "hold" else {},
    )


def plan_no_packages(
    wanted: PackageSet,
    packages: Mapping[str, Package],
    *,
    removable: Sequence[str],
    pin: str | None,
    owned: Iterable[str],
) -> Work:
    """Takes away what the record says that we brought and nothing else needs: holds, packages, pin."""
    record = tuple(owned)
    names = tuple(n for n in removable if n in packages and f"package:{n}" in record)
    held = tuple(n for n, p in sorted(packages.items()) if p.held and f"hold:{n}" in record)
    parts = [
        select(held, "install", action="unhold", reason="nothing of ours needs the hold any more"),
        _remove(names, packages),
    ]
    if f"file:{wanted.pin_path}" in record:
        parts.append(
            remove_file(wanted.pin_path, found=pin, action="unpin", reason="no package of the set is pinned any more")
        )
    if not names and not held:
        parts.append(Work(gone=tuple(o for o in record if o.startswith(("package:", "hold:")))))
    return join_work(parts)


def _remove(names: Sequence[str], packages: Mapping[str, Package]) -> Work:
    if not names:
        return Work()
    reason = "it came with this role and nothing else needs it"
    steps = tuple(Step("remove", n, packages[n].version, None, reason, "gpu_workloads") for n in names)
    args = {"name": list(names), "state": "absent", "autoremove": False, "purge": False, "lock_timeout": LOCK_SECONDS}
    return Work(steps, (Call(APT, args),))


def find_kernel_images(resolution: Resolution) -> tuple[Finding, ...]:
    """A kernel among what apt would install: this collection never installs one."""
    images = [n for n in resolution.install if matches(n, KERNEL_IMAGE_PATTERNS)]
    if not images:
        return ()
    return (
        Finding(
            id="GPU-PKG-108",
            severity="error",
            summary=f"apt would install the kernel {images[0]} together with the driver",
            wanted="no kernel as a side effect",
            found=f"apt-get --simulate install: {', '.join(images)}",
            remedy=f"decide about the kernel first: apt-get install {images[0]}, reboot, and run again",
            source="github.com/NVIDIA/ansible-role-nvidia-driver#18",
        ),
    )


def packages_of(steps: Iterable[Step]) -> dict[str, list[str]]:
    """Names of packages by what happens to them: install, remove, hold, unhold."""
    rows = tuple(steps)
    return {
        action: [s.target for s in rows if s.action == action] for action in ("install", "remove", "hold", "unhold")
    }
