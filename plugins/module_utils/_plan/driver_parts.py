# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to a driver beside its packages: components, parameters, files, services. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._catalog.components import COMPONENT_PACKAGES
from .._catalog.driver_components import component_of
from .._catalog.packages import PERSISTENCED_UNIT
from .component_files import plan_files, plan_no_files, plan_persistenced, plan_services
from .component_findings import find_no_component_packages, find_not_installed, find_other_version
from .components import ComponentNames, Components, Scene, decide_components
from .driver_host import DriverHost
from .driver_set import DriverSet
from .driver_wish import PREINSTALLED, DriverWish
from .facts import Package
from .kernel_files import plan_blacklist, plan_no_blacklist
from .model import Finding
from .module_parameters import plan_options, wanted_parameters
from .modules import blockers, in_order
from .versions import upstream_version
from .work import Work, join_work

NUMBERED = tuple(
    re.compile(name.format(branch=r"\d+"))
    for row in COMPONENT_PACKAGES
    for name in row.names
    if row.same_version and "{branch}" in name
)
SAME_VERSION = tuple(
    re.compile(name.format(branch=r"\d+")) for row in COMPONENT_PACKAGES for name in row.names if row.same_version
)


@dataclass(frozen=True)
class Parts:
    """The decision about everything beside the packages of the driver itself."""

    wish: DriverWish
    host: DriverHost
    components: Components
    parameters: Mapping[str, Mapping[str, str]]
    findings: tuple[Finding, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules to load: the wanted ones, and those that are components."""
        return in_order((*self.wish.modules, *self.components.modules))

    def extend(self, sets: Sequence[DriverSet]) -> tuple[DriverSet, ...]:
        """The same sets with the packages of the components: one version for all that have the driver's."""
        names = self._names()
        return tuple(
            replace(
                s,
                wanted=replace(
                    s.wanted,
                    names=tuple(dict.fromkeys((*s.wanted.names, *names.same))),
                    others=tuple(dict.fromkeys((*s.wanted.others, *names.own))),
                ),
                in_the_way=tuple(dict.fromkeys((*s.in_the_way, *self._renamed(names.same)))),
            )
            for s in sets
        )

    def _names(self) -> ComponentNames:
        wish, host = self.wish, self.host
        return self.components.packages(host.os, branch=wish.branch, source=wish.source, machine=host.kernel.machine)

    def _renamed(self, wanted: Iterable[str]) -> list[str]:
        """Installed packages of the same components under the name of another branch."""
        stay = set(wanted)
        return [n for n in self.host.packages if n not in stay and any(p.fullmatch(n) for p in NUMBERED)]

    def before(self) -> Work:
        """What has to be there before the packages come: they build modules, make an initramfs, and load."""
        host, wish = self.host, self.wish
        options = plan_options(self.parameters, found=host.options, owned=host.owned)
        blacklist = wish.parts.blacklist_nouveau and wish.source != PREINSTALLED
        return join_work([options, plan_blacklist(host.boot, wanted=blacklist, owned=host.owned)])

    def after(self, *, reboot: bool) -> list[Work]:
        """Files and services of components, then the persistence daemon, when the modules are there."""
        wish, host = self.wish, self.host
        running = wish.load and not reboot
        files = plan_files(wish.parts, self.components, host.seen, host.owned)
        services = plan_services(
            self.components,
            host.seen,
            host.services,
            files,
            wish=wish.parts,
            running=running,
            holders=blockers(host.module.holders),
        )
        return [files, services, self._persistenced(running)]

    def _persistenced(self, running: bool) -> Work:
        unit = self.host.services.get(PERSISTENCED_UNIT)
        if self.wish.source == PREINSTALLED and (unit is None or unit.loaded == "not-found"):
            return Work()
        return plan_persistenced(
            unit,
            self.host.seen,
            distribution=self.host.os.id,
            wanted=self.wish.persistenced,
            running=running,
            owned=self.host.owned,
        )

    def find_other_versions(self, version: str, wanted: Iterable[str]) -> tuple[Finding, ...]:
        """Installed packages of components that do not have the driver's version and are not about to get it."""
        stay = set(wanted)
        others = [p for n, p in self.host.packages.items() if n not in stay and _is_other(n, p, version)]
        return (find_other_version(others[0].name, others[0].version, version),) if others and version else ()


def _is_other(name: str, package: Package, version: str) -> bool:
    return any(p.fullmatch(name) for p in SAME_VERSION) and upstream_version(package.version) != version


def decide_parts(wish: DriverWish, host: DriverHost, flavour: str) -> Parts:
    """Everything beside the packages of the driver itself; ``wish`` with a settled source and branch."""
    parameters = parameters_for(wish, wish.branch)
    scene = Scene(wish.parts, host.pci, host.packages, host.services, host.seen, flavour, parameters)
    components = decide_components(scene)
    if wish.source == PREINSTALLED:
        return _installed_only(Parts(wish, host, components, parameters, components.findings), scene)
    parts = Parts(wish, host, components, parameters, components.findings)
    missing = components.packages(host.os, branch=wish.branch, source=wish.source, machine=host.kernel.machine).missing
    return replace(parts, findings=(*parts.findings, *(find_no_component_packages(n, wish.source) for n in missing)))


def _installed_only(parts: Parts, scene: Scene) -> Parts:
    """Of a driver that somebody else keeps: components whose unit is there; modules are told by modprobe."""
    lacking = [n for n in parts.components.wanted if component_of(n).unit and scene.unit(n) is None]
    stay = tuple(n for n in parts.components.wanted if n not in lacking)
    found = tuple(find_not_installed(n, wanted=scene.wish.component(n) == "true") for n in lacking)
    return replace(parts, components=replace(parts.components, wanted=stay), findings=(*parts.findings, *found))


def parameters_for(wish: DriverWish, branch: int) -> dict[str, dict[str, str]]:
    """Parameters of modules; those of a driver that somebody else keeps have no defaults of ours."""
    return wanted_parameters(wish.parts, 0 if wish.source == PREINSTALLED else branch)


def plan_no_parts(host: DriverHost) -> Work:
    """Takes away what the record names: settings, files, parameters, blacklist."""
    return join_work(
        [
            plan_no_files(host.seen, host.owned),
            plan_options({}, found=host.options, owned=host.owned),
            plan_no_blacklist(host.boot, host.owned),
        ]
    )
