# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which components a host gets beside the driver. Private to this collection.

auto follows the hardware, or what is installed where no hardware tells; what cannot work is refused by a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .._catalog import driver_components as catalog
from .._catalog.components import FABRIC_MANAGER, GDRCOPY, GDS, GRIDD, IMEX, PEERMEM, PORTAL, component_packages
from .._catalog.fabrics import NVLINK5, RACK, fabric_of
from .._catalog.gpus import NVIDIA, NVSWITCH_CLASS, board_of
from .._catalog.module_parameters import COHERENT_MODE
from . import component_findings as findings
from .component_wish import AUTO, FALSE, TRUE, ComponentWish
from .facts import OsRelease, Package, PciFunction, Service
from .flavour import PROPRIETARY, gpus_of
from .model import Finding

Verdict = tuple[bool, tuple[Finding, ...]]


@dataclass(frozen=True)
class ComponentHost:
    """What was read of a host for its components.

    ``bridges``: InfiniBand devices that manage NVLink 5 switches (mlx5_8). ``ofed``: NVIDIA's own InfiniBand stack is
    loaded, not that of the kernel. ``settings``: path of a key=value file -> its keys, None where it is absent.
    ``texts``: path -> text of files that are wholly ours. ``changed``: path -> time of its last change;
    ``started``: unit -> time of its start, both in seconds since the epoch. ``kernel_modules``: those of NVLink 5 that
    the kernel has now. ``before``: names of our record that begin with setting: -> the value from before us.
    """

    bridges: tuple[str, ...] = ()
    ofed: bool = False
    settings: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)
    texts: Mapping[str, str | None] = field(default_factory=dict)
    changed: Mapping[str, float] = field(default_factory=dict)
    started: Mapping[str, float] = field(default_factory=dict)
    kernel_modules: tuple[str, ...] = ()
    before: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """What the decisions about components look at: the wish, and what was read of one host."""

    wish: ComponentWish
    pci: Sequence[PciFunction]
    packages: Mapping[str, Package]
    services: Mapping[str, Service]
    seen: ComponentHost
    flavour: str
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def switches(self) -> tuple[PciFunction, ...]:
        """NVSwitches up to NVLink 4: PCI functions of their own."""
        return tuple(f for f in self.pci if f.vendor == NVIDIA and f.pci_class == NVSWITCH_CLASS)

    @property
    def rack(self) -> PciFunction | None:
        """A GPU whose NVLink switches are in trays elsewhere in its rack."""
        return self._with_fabric(RACK)

    @property
    def board(self) -> PciFunction | None:
        """A GPU whose NVLink 5 switches are on the board beside it."""
        return self._with_fabric(NVLINK5)

    def _with_fabric(self, name: str) -> PciFunction | None:
        boards = ((g, board_of(int(g.device, 16))) for g in gpus_of(self.pci))
        return next((g for g, board in boards if board is not None and board.fabric == name), None)

    @property
    def coherent(self) -> PciFunction | None:
        """A GPU of a Grace host."""
        return next((g for g in gpus_of(self.pci) if catalog.is_coherent(int(g.device, 16))), None)

    def unit(self, component: str) -> Service | None:
        """The component's unit where systemd has it."""
        found = self.services.get(catalog.component_of(component).unit or "")
        return found if found is not None and found.loaded != "not-found" else None

    def installed(self, component: str) -> bool:
        """Whether a package is there that says that somebody wants the component."""
        return any(n in self.packages for n in catalog.INSTALLED_BY.get(component, ()))


@dataclass(frozen=True)
class ComponentNames:
    """Packages of components: ``same`` have the driver's version, ``own`` another; ``missing``: components without."""

    same: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Components:
    """The decision. ``wanted`` in the order of starting; ``nvlink5``: the fabric manager has NVLink 5 switches."""

    wanted: tuple[str, ...] = ()
    nvlink5: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """Kernel modules that are components themselves."""
        return tuple(m for m in (catalog.component_of(n).module for n in self.wanted) if m)

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of the kernel that the components need first."""
        fabric = fabric_of(NVLINK5) if self.nvlink5 else None
        return fabric.modules if fabric else ()

    def packages(self, os: OsRelease, *, branch: int, source: str, machine: str) -> ComponentNames:
        """Packages with the driver's version, packages with versions of their own, components that have none."""
        same: list[str] = []
        own: list[str] = []
        missing: list[str] = []
        for name in self.wanted:
            for part in (name, *catalog.WITH.get(name, ()), *self._more(name)):
                row = component_packages(part, os.id, os.version, branch=branch, source=source, machine=machine)
                # Nobody has NVSDM for Arm; what a portal has is on the host already, or the component is refused.
                if row is None and part == name:
                    missing.append(name)
                elif row is not None and row.repository != PORTAL:
                    (same if row.same_version else own).extend(row.names)
        return ComponentNames(tuple(same), tuple(own), tuple(missing))

    def _more(self, name: str) -> tuple[str, ...]:
        return catalog.WITH_NVLINK5.get(name, ()) if self.nvlink5 else ()


def decide_components(scene: Scene) -> Components:
    """All components of one host."""
    verdicts = {name: DECIDERS[name](scene) for name in catalog.NAMES}
    wanted = tuple(name for name, (is_wanted, _found) in verdicts.items() if is_wanted)
    return Components(
        wanted=wanted,
        nvlink5=FABRIC_MANAGER in wanted and bool(scene.seen.bridges),
        findings=tuple(f for _wanted, found in verdicts.values() for f in found),
    )


def _fabric_manager(scene: Scene) -> Verdict:
    word = scene.wish.component(FABRIC_MANAGER)
    fabric = bool(scene.switches or scene.seen.bridges)
    if scene.rack is not None and not scene.switches:
        return False, _no_fabric_manager_in_rack(scene, word)
    if word == FALSE:
        return False, (findings.find_unmanaged_fabric(scene.switches, scene.seen.bridges),) if fabric else ()
    if fabric:
        return True, ()
    if scene.board is not None:
        return False, (findings.find_no_bridges(scene.board, wanted=word == TRUE),)
    if word == TRUE:
        return False, (findings.find_no_switch(),)
    unit = scene.unit(FABRIC_MANAGER)
    idle = unit is not None and unit.enabled.startswith("enabled")
    return False, (findings.find_idle_fabric_manager(),) if idle else ()


def _no_fabric_manager_in_rack(scene: Scene, word: str) -> tuple[Finding, ...]:
    unit = scene.unit(FABRIC_MANAGER)
    runs = unit is not None and (unit.active == "active" or unit.enabled.startswith("enabled"))
    if scene.rack is None or not (runs or word == TRUE):
        return ()
    return (findings.find_fabric_manager_in_rack(scene.rack, wanted=word == TRUE),)


def _imex(scene: Scene) -> Verdict:
    word = scene.wish.component(IMEX)
    if word == FALSE:
        return False, ()
    # GH200 NVL32 has NVSwitches, and its domain spans hosts too.
    spans = scene.rack is not None or (scene.coherent is not None and bool(scene.switches))
    if not spans:
        return False, (findings.find_no_domain(),) if word == TRUE else ()
    if not scene.wish.imex_nodes and not has_nodes(scene.seen):
        return word == AUTO, (findings.find_no_nodes(wanted=word == TRUE),)
    return True, ()


def has_nodes(seen: ComponentHost) -> bool:
    """Whether the file of IMEX has addresses, whoever wrote them."""
    return bool((seen.texts.get(catalog.IMEX_NODES) or "").strip())


def _gds(scene: Scene) -> Verdict:
    word = scene.wish.component(GDS)
    if word == FALSE or (word == AUTO and not scene.installed(GDS)):
        return False, ()
    if scene.flavour == PROPRIETARY:
        return False, (findings.find_gds_proprietary(wanted=word == TRUE),)
    mode = scene.parameters.get("nvidia", {}).get(COHERENT_MODE)
    if scene.coherent is not None and mode == "driver":
        return False, (findings.find_gds_coherent(scene.coherent, wanted=word == TRUE),)
    return True, ()


def _gdrcopy(scene: Scene) -> Verdict:
    word = scene.wish.component(GDRCOPY)
    return word == TRUE or (word == AUTO and scene.installed(GDRCOPY)), ()


def _peermem(scene: Scene) -> Verdict:
    word = scene.wish.component(PEERMEM)
    adapter = any(f.vendor == catalog.MELLANOX for f in scene.pci)
    if word == FALSE or (word == AUTO and not (adapter and scene.seen.ofed)):
        return False, ()
    if not adapter:
        return False, (findings.find_no_adapter(),)
    if not scene.seen.ofed:
        return False, (findings.find_inbox_rdma(),)
    return True, ()


def _gridd(scene: Scene) -> Verdict:
    word = scene.wish.component(GRIDD)
    if word == FALSE:
        return False, ()
    there = scene.unit(GRIDD) is not None
    if word == TRUE and not there:
        return False, (findings.find_no_gridd(),)
    return there, ()


DECIDERS: Mapping[str, Callable[[Scene], Verdict]] = {
    FABRIC_MANAGER: _fabric_manager,
    IMEX: _imex,
    GRIDD: _gridd,
    PEERMEM: _peermem,
    GDS: _gds,
    GDRCOPY: _gdrcopy,
}
