# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides the driver's packages, modules and services on one host. Private to this collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._catalog import branches, distributions
from .._catalog import packages as names
from . import driver_findings as findings
from .ask import Answer, Ask
from .driver_wish import DriverWish
from .facts import AptSource, DriverVersion, Kernel, OsRelease, Package, PciFunction, Resolution, Service
from .flavour import NO_GPU, decide_flavour, gpus_of
from .model import Step
from .modules import (
    LOADED,
    RELOADED,
    UNLOADED,
    ModuleHost,
    after_load,
    blockers,
    find_in_use,
    in_order,
    plan_modules,
)
from .packages import (
    PackageSet,
    find_foreign_holds,
    find_kernel_images,
    lacking,
    matches,
    pin_version,
    plan_holds,
    plan_no_packages,
    plan_packages,
    plan_pin,
    render_pin,
)
from .repository import Repository, find_conflicts, plan_no_repository, plan_repository
from .versions import satisfies, upstream_version
from .work import Call, Work, join_work, remove_file, write_file

MODULES_LOAD = "/etc/modules-load.d/gpu-fleet.conf"
ROLE = "driver"


@dataclass(frozen=True)
class DriverHost:
    """What was read. ``files``: path -> text of our files, None where absent. ``owned``: names in our record.

    ``key``: fingerprint of the repository key that the host has for us, None for none.
    """

    os: OsRelease
    kernel: Kernel
    pci: tuple[PciFunction, ...]
    packages: Mapping[str, Package]
    files: Mapping[str, str | None]
    key: str | None
    sources: tuple[AptSource, ...]
    module: ModuleHost
    services: Mapping[str, Service]
    runfile: str | None
    owned: tuple[str, ...]


@dataclass(frozen=True)
class DriverDecision:
    """The work, or the question that comes first. ``ignored`` says why a host is none of ours."""

    work: Work = Work()
    ask: Ask | None = None
    version: str | None = None
    flavour: str | None = None
    reboot_required: bool = False
    ignored: str = ""


def decide_driver(wish: DriverWish, host: DriverHost, *, answer: Answer | None = None) -> DriverDecision:
    """All of the driver for one host. Without ``answer`` the decision may be an ``ask``; with it, never."""
    gpus = gpus_of(host.pci)
    if wish.state == "absent":
        return _absent(wish, host, answer)
    if not gpus:
        return DriverDecision(ignored=NO_GPU)
    blocked = findings.find_unsupported(host.os, host.kernel)
    branch = branches.branch_of(wish.branch)
    if blocked or branch is None:
        return DriverDecision(Work(findings=blocked))
    flavour = decide_flavour(gpus, branch=branch, wanted=wish.flavour)
    repository = driver_repository(wish, host)
    blocked = flavour.findings + findings.find_foreign(host.packages, host.runfile, host.module, host.owned)
    blocked += find_conflicts(repository, host.sources)
    if flavour.name is None or any(f.severity == "error" for f in blocked):
        return DriverDecision(Work(findings=blocked), flavour=flavour.name)
    return _Present(wish, host, flavour.name, repository, answer).decide(blocked)


def driver_repository(wish: DriverWish, host: DriverHost) -> Repository:
    """NVIDIA's CUDA repository for the host's distribution and machine, or the user's copy of it."""
    row = distributions.distribution_of(host.os.id, host.os.version)
    machine = distributions.machine_of(host.kernel.machine)
    folder = f"{row.directory}/{machine.directory}" if row and machine else ""
    uri = f"{wish.repository_url or distributions.CUDA_REPOSITORY}/{folder}/"
    return Repository(
        name="cuda",
        uri=uri,
        suite="/",
        architecture=machine.debian if machine else "",
        key_url=wish.repository_key_url or f"{uri}{row.key_file if row else ''}",
        key_fingerprint=wish.repository_key_fingerprint or (row.key_fingerprint if row else ""),
    )


def package_set(wish: DriverWish, host: DriverHost, flavour: str) -> PackageSet:
    """The packages to ask for on this host."""
    row = names.driver_packages(host.os.id, branch=wish.branch, flavour=flavour, package_set=wish.package_set)
    wanted = tuple(n.format(branch=wish.branch) for n in row.names) if row else ()
    persistenced = (names.PERSISTENCED_PACKAGE,) if wish.persistenced else ()
    headers = names.HEADERS[host.os.id].format(release=host.kernel.release)
    needs_headers = wish.kernel_headers and not host.kernel.headers
    return PackageSet(
        owner=ROLE,
        names=tuple(dict.fromkeys((*wanted, *persistenced))),
        others=(headers,) if needs_headers else (),
        patterns=names.DRIVER_PATTERNS,
        prefix=wish.prefix,
        hold=wish.hold,
    )


class _Present:
    """The decision for state present on a host that can have the driver."""

    def __init__(
        self, wish: DriverWish, host: DriverHost, flavour: str, repository: Repository, answer: Answer | None
    ) -> None:
        self.wish, self.host, self.flavour, self.repository, self.answer = wish, host, flavour, repository, answer
        self.set = package_set(wish, host, flavour)
        self.kernel_package = names.KERNEL_PACKAGES[flavour]
        self.lacking = lacking(self.set, host.packages)
        others = names.other_flavour_packages(host.os.id, branch=wish.branch, flavour=flavour)
        self.others = tuple(n for n in others if n in host.packages)
        self.needs_key = host.key != repository.key_fingerprint

    def decide(self, found: tuple[Any, ...]) -> DriverDecision:
        """Asks first where packages or the key lack; then all the work in the order in which it has to be done."""
        if self.answer is None and (self.lacking or self.others or self.needs_key):
            return DriverDecision(Work(findings=found), ask=self._ask(), flavour=self.flavour)
        resolution = self.answer.resolution if self.answer else Resolution({})
        found += self._problems(resolution)
        version = self._version(resolution)
        gpus = gpus_of(self.host.pci)
        found += findings.find_known_bad(version, gpus) + findings.find_too_early(version, gpus)
        if any(f.severity == "error" for f in found):
            return DriverDecision(Work(findings=found), version=version, flavour=self.flavour)
        modules, reboot = self._modules(version)
        work = join_work([Work(findings=found), self._packages(resolution, version), modules, *self._services(reboot)])
        return DriverDecision(work, version=version, flavour=self.flavour, reboot_required=reboot)

    def _ask(self) -> Ask:
        return Ask(
            kind="install",
            packages=self.set.names + self.set.others if self.others else self.lacking,
            without=self.others,
            repository=self.repository,
            pin=render_pin(self.set.patterns, pin_version(replace(self.set, hold=False), self.set.prefix) or ""),
            kernel_package=self.kernel_package,
            needs_key=self.needs_key,
        )

    def _version(self, resolution: Resolution) -> str:
        package = self.host.packages.get(self.kernel_package)
        found = resolution.install.get(self.kernel_package) or (package.version if package else "")
        return upstream_version(found)

    def _problems(self, resolution: Resolution) -> tuple[Any, ...]:
        if not (self.lacking or self.others) or self.answer is None:
            return ()
        if resolution.error:
            return (
                findings.find_unresolved(self.set, self.kernel_package, self.answer, self.repository, self.host.kernel),
            )
        version = resolution.install.get(self.kernel_package) or self.host.packages[self.kernel_package].version
        if not satisfies(version, self.set.prefix) and not version.startswith(f"{self.set.prefix}."):
            return (findings.find_wrong_version(self.set, self.kernel_package, self.answer, self.repository),)
        changing = (*resolution.install, *resolution.remove)
        return find_kernel_images(resolution) + find_foreign_holds(changing, self.host.packages, self.host.owned)

    def _packages(self, resolution: Resolution, version: str) -> Work:
        host, key = self.host, self.answer.key if self.answer else None
        changing = (*resolution.install, *resolution.remove)
        # What changes was released before, so it has to be held again.
        free = {n: replace(p, held=p.held and n not in changing) for n, p in host.packages.items()}
        disrupts = "gpu_workloads" if host.module.loaded else "nothing"
        return join_work(
            [
                plan_repository(self.repository, host.files, key=key),
                plan_pin(self.set, version, found=host.files.get(self.set.pin_path), owned=host.owned),
                plan_packages(self.set, host.packages, resolution=resolution, disrupts=disrupts),
                plan_holds(self.set.names, free, hold=self.set.hold, ours=host.owned),
            ]
        )

    def _modules(self, version: str) -> tuple[Work, bool]:
        """Boot list, then loading; and whether only a reboot can bring the driver."""
        wish, host = self.wish, self.host
        if not wish.load:
            return Work(), False
        text = "".join(f"{name}\n" for name in wish.modules)
        reason = "the modules are loaded at boot; nvidia_uvm is loaded by nobody else on a headless host"
        boot = write_file(MODULES_LOAD, text, found=host.files.get(MODULES_LOAD), action="load_at_boot", reason=reason)
        nouveau = findings.find_nouveau(gpus_of(host.pci))
        if nouveau:
            return join_work([Work(findings=nouveau), boot]), True
        loading, reboot = self._after_install() if self.lacking else self._now()
        return join_work([Work(findings=findings.find_secure_boot(host.kernel, host.module)), boot, loading]), reboot

    def _after_install(self) -> tuple[Work, bool]:
        """Loading when the packages are still to come: what it brings is known only then."""
        module = self.host.module
        if module.loaded and blockers(module.holders):
            return Work(findings=(find_in_use(module, severity="warning"),)), True
        after = f"known after install {self.kernel_package}"
        present = in_order(n for n in module.modules if n in self.wish.modules) if module.loaded else ()
        reason = "the installed module replaces the loaded one"
        steps = [Step("unload", n, "loaded", None, reason, "gpu_workloads") for n in reversed(present)]
        steps += [Step("load", n, None, after, "the module is not loaded") for n in self.wish.modules]
        steps += after_load(links=True)
        return Work(tuple(steps), (self._call(RELOADED if module.loaded else LOADED),)), False

    def _now(self) -> tuple[Work, bool]:
        plan = plan_modules(self.host.module, state=RELOADED, wanted=self.wish.modules, links=True)
        if any(f.id == "GPU-KRN-026" for f in plan.errors):
            return Work(findings=(find_in_use(self.host.module, severity="warning"),)), True
        calls = (self._call(RELOADED),) if plan.steps else ()
        return Work(plan.steps, calls, plan.findings), False

    def _call(self, state: str) -> Call:
        return Call(
            "gpu.fleet.driver_modules", {"state": state, "modules": list(self.wish.modules), "dev_char_links": True}
        )

    def _services(self, reboot: bool) -> list[Work]:
        unit = self.host.services.get(names.PERSISTENCED_UNIT)
        running = self.wish.load and not reboot
        return [plan_service(unit, wanted=self.wish.persistenced, running=running, name=names.PERSISTENCED_UNIT)]


def plan_service(unit: Service | None, *, wanted: bool, running: bool, name: str) -> Work:
    """The unit enabled (and active where ``running``), or neither where it is not wanted."""
    found = unit if unit is not None and unit.loaded != "not-found" else None
    if found is None and not wanted:
        return Work()
    before = "not installed" if found is None else f"{found.active}, {found.enabled or 'no unit file'}"
    reason = "GPUs stay initialised while nobody uses them" if wanted else "driver_persistenced is false"
    enabled = found is not None and found.enabled.startswith("enabled")
    active = found is not None and found.active == "active"
    steps: list[Step] = []
    args: dict[str, Any] = {"name": name}
    if enabled != wanted:
        steps.append(Step("enable" if wanted else "disable", name, before, "enabled" if wanted else "disabled", reason))
        args["enabled"] = wanted
    if active != wanted and (running or not wanted):
        steps.append(Step("start" if wanted else "stop", name, before, "active" if wanted else "inactive", reason))
        args["state"] = "started" if wanted else "stopped"
    return Work(tuple(steps), (Call("ansible.builtin.systemd_service", args),)) if steps else Work()


def _absent(wish: DriverWish, host: DriverHost, answer: Answer | None) -> DriverDecision:
    """Takes away what the record names, and nothing else."""
    if not host.owned:
        return DriverDecision()
    repository = driver_repository(wish, host)
    wanted = PackageSet(ROLE, (), (), names.DRIVER_PATTERNS, wish.prefix, True)
    ours = tuple(n for n in sorted(host.packages) if f"package:{n}" in host.owned)
    if ours and answer is None:
        asked = tuple(n for n in ours if matches(n, (*names.DRIVER_PATTERNS, *names.HEADERS_PATTERNS)))
        return DriverDecision(ask=Ask("remove", asked, repository))
    resolution = answer.resolution if answer else Resolution({})
    problems = findings.find_needed_by_others(answer, ours) if answer else ()
    removable = tuple(n for n in resolution.remove if n in ours)
    modules = _unload(host, removable)
    pin = host.files.get(wanted.pin_path)
    boot = host.files.get(MODULES_LOAD)
    owned_boot = f"file:{MODULES_LOAD}" in host.owned
    parts = [
        Work(findings=problems),
        modules,
        plan_no_packages(wanted, host.packages, removable=removable, pin=pin, owned=host.owned),
        plan_no_repository(repository, host.files, host.owned),
    ]
    if owned_boot:
        parts.append(
            remove_file(MODULES_LOAD, found=boot, action="forget_at_boot", reason="there is nothing to load any more")
        )
    return DriverDecision(join_work(parts))


def _unload(host: DriverHost, removable: Sequence[str]) -> Work:
    """Modules go before their packages, and only when their packages go."""
    if not any(n in removable for n in names.KERNEL_PACKAGES.values()) or host.module.loaded is None:
        return Work()
    plan = plan_modules(host.module, state=UNLOADED, wanted=(), links=False)
    unload = tuple(s for s in plan.steps if s.action == "unload")
    call = Call("gpu.fleet.driver_modules", {"state": UNLOADED, "dev_char_links": False})
    return Work(unload, (call,) if unload else (), plan.findings)


def installed_version(host: DriverHost) -> DriverVersion | None:
    """The driver that dpkg has, by its package of kernel modules."""
    for flavour, package in names.KERNEL_PACKAGES.items():
        if package in host.packages:
            return DriverVersion(upstream_version(host.packages[package].version), flavour)
    return None
