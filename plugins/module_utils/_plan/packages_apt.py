# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of one version set under apt: pin, install, hold, remove. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .facts import Package, Resolution
from .model import Step
from .package_manager import Change, Removal
from .packages import LOCK_SECONDS, PackageSet, install_step, lacking
from .repository import Repository, plan_no_repository, plan_repository
from .repository_dnf import DnfRepository
from .work import Call, Work, join_work, remove_file, write_file

PREFERENCES = "/etc/apt/preferences.d"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"

# Above 1000 apt goes back to an older version of the whole set too (apt_preferences(5)).
PIN_PRIORITY = 1001

APT = "ansible.builtin.apt"


def pin_path(owner: str) -> str:
    """The preferences file of the set that ``owner`` (a role) has."""
    return f"{PREFERENCES}/gpu-fleet-{owner}"


def render_pin(patterns: Sequence[str], version: str) -> str:
    """The preferences file (apt_preferences(5)); ``version`` may end with a wildcard."""
    return f"{HEADER}Package: {' '.join(patterns)}\nPin: version {version}\nPin-Priority: {PIN_PRIORITY}\n"


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
        return write_file(pin_path(wanted.owner), text, found=found, action="pin", reason=reason)
    if f"file:{pin_path(wanted.owner)}" in set(owned):
        return remove_file(pin_path(wanted.owner), found=found, action="unpin", reason="no version is pinned any more")
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
    versions, of_set = resolution.install, (*wanted.names, *wanted.along)
    names = (*names, *wanted.along)
    asked = (*wanted.names, *wanted.others, *wanted.along) if resolution.remove else names
    args = {
        "name": [f"{n}={_version(n, versions, packages)}" if n in of_set else n for n in asked],
        "state": "present",
        "update_cache": True,
        "allow_downgrade": any(n in packages for n in names),
        **_options(),
    }
    objects = {f"package:{n}": (None, v) for n, v in versions.items() if n not in packages}
    changing = tuple(n for n in (*versions, *resolution.remove) if n in packages and packages[n].held)
    release = select(changing, "install", action="unhold", reason="its version changes now")
    steps = tuple(install_step(name, packages.get(name), versions.get(name, ""), disrupts) for name in names)
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
    if f"file:{pin_path(wanted.owner)}" in record:
        parts.append(
            remove_file(
                pin_path(wanted.owner), found=pin, action="unpin", reason="no package of the set is pinned any more"
            )
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


class Apt:
    """apt and dpkg."""

    name = "apt"

    def paths(self, owner: str) -> tuple[str, ...]:
        """The preferences file."""
        return (pin_path(owner),)

    def pin(self, wanted: PackageSet, repository: Repository | DnfRepository | None) -> str:
        """Preferences for the branch or version that is asked for, '' for any."""
        version = pin_version(replace(wanted, hold=False), wanted.prefix)
        return render_pin(wanted.patterns, version) if version else ""

    def plan_install(self, change: Change) -> Work:
        """Repository, preferences, packages, holds."""
        wanted, resolution, repository = change.wanted, change.resolution, change.repository
        changing = (*resolution.install, *resolution.remove)
        # What changes was released before, so it has to be held again.
        free = {n: replace(p, held=p.held and n not in changing) for n, p in change.packages.items()}
        parts = [
            plan_pin(wanted, change.version, found=change.files.get(pin_path(wanted.owner)), owned=change.owned),
            plan_packages(wanted, change.packages, resolution=resolution, disrupts=change.disrupts),
            plan_holds(wanted.names, free, hold=wanted.hold, ours=change.owned),
        ]
        if isinstance(repository, Repository):
            parts.insert(0, plan_repository(repository, change.files, key=change.key))
        return join_work(parts)

    def plan_repository_gone(self, change: Change, repository: Repository | DnfRepository) -> Work:
        """Source and key, where they are ours."""
        if not isinstance(repository, Repository):
            return Work()
        return plan_no_repository(repository, change.files, change.owned)

    def plan_remove(self, removal: Removal) -> Work:
        """Holds, packages, preferences, sources and keys."""
        wanted = PackageSet(removal.owner, (), (), (), "", True)
        pin = removal.files.get(pin_path(removal.owner))
        parts = [plan_no_packages(wanted, removal.packages, removable=removal.removable, pin=pin, owned=removal.owned)]
        parts += [
            plan_no_repository(r, removal.files, removal.owned)
            for r in removal.repositories
            if isinstance(r, Repository)
        ]
        return join_work(parts)
