# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides the driver's packages, modules and services on one host. Private to this collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._catalog import branches
from .._catalog import packages as names
from .._catalog.components import GRIDD
from .ask import Answer, Ask
from .driver_host import DriverHost
from .driver_parts import Parts, decide_parts, plan_no_parts
from .driver_proof import Wanted
from .driver_repository import driver_repository, find_repository, our_repositories
from .driver_set import (
    ROLE,
    DriverSet,
    choose,
    default_branch,
    driver_sets,
    kernel_packages,
    of_other_sources,
)
from .driver_wish import AUTO, CUDA_REPO, DISTRO, PREINSTALLED, DriverWish
from .facts import Resolution
from .flavour import NO_GPU, Flavour, decide_flavour, gpus_of
from .foreign_driver import find_foreign
from .kernel_findings import find_nouveau, find_secure_boot
from .model import Finding, Step
from .module_trust import find_untrusted, is_trusted
from .modules import (
    LOADED,
    RELOADED,
    UNLOADED,
    after_load,
    blockers,
    find_in_use,
    is_stale,
    plan_modules,
    start_again,
    to_load,
    unload_steps,
)
from .offer_findings import (
    find_no_compiled,
    find_no_lock,
    find_no_packages,
    find_other_release,
    find_repository_package,
    find_taken_along,
    find_transitional,
    find_unresolved,
    find_wrong_version,
    place_of,
)
from .package_manager import Change, Removal
from .package_managers import manager_of
from .packages import find_foreign_holds, find_kernel_images, is_of, lacking, matches
from .preinstalled import find_preinstalled
from .release_findings import find_build_limits, find_known_bad, find_too_early
from .removal_findings import find_needed_by_others, find_staying
from .unsupported_host import find_unsupported
from .versions import is_release, upstream_version
from .work import Call, Work, join_work, remove_file, write_file

MODULES_LOAD = "/etc/modules-load.d/gpu-fleet.conf"


@dataclass(frozen=True)
class DriverDecision:
    """The work, or the question that comes first. ``ignored`` says why a host is none of ours."""

    work: Work = Work()
    ask: Ask | None = None
    version: str | None = None
    flavour: str | None = None
    reboot_required: bool = False
    ignored: str = ""
    parts: Parts | None = None

    def with_findings(self, found: tuple[Finding, ...]) -> DriverDecision:
        """The same with what a proof says against the driver."""
        return replace(self, work=join_work([self.work, Work(findings=found)]))


def decide_driver(wish: DriverWish, host: DriverHost, *, answer: Answer | None = None) -> DriverDecision:
    """All of the driver for one host. Without ``answer`` the decision is an ``ask`` where something has to be asked.

    With an answer it may be another one: nobody offers the compiled modules, so DKMS is to build them.
    """
    gpus = gpus_of(host.pci)
    if wish.state == "absent":
        return _absent(wish, host, answer)
    if not gpus:
        return DriverDecision(ignored=NO_GPU)
    blocked = find_unsupported(host.os, host.kernel)
    wish = settled(wish, host)
    branch = branches.branch_of(wish.branch)
    if blocked or branch is None:
        return DriverDecision(Work(findings=blocked))
    if wish.source == PREINSTALLED:
        found = host.module.loaded or host.module.on_disk
        parts = decide_parts(wish, host, found.flavour if found else "")
        return _Kept(wish, host, parts).decide(find_preinstalled(wish, host) + parts.findings)
    flavour = decide_flavour(gpus, branch=branch, wanted=wish.flavour)
    parts = decide_parts(wish, host, flavour.name or "")
    sets = driver_sets(wish, host.os, host.kernel, host.packages, flavour.name) if flavour.name else ()
    blocked = _refusals(wish, host, flavour, sets) + parts.findings
    if any(f.severity == "error" for f in blocked):
        return DriverDecision(Work(findings=blocked), flavour=flavour.name)
    return _Present(wish, host, flavour.name or "", parts, sets, answer).decide(blocked)


def settled(wish: DriverWish, host: DriverHost) -> DriverWish:
    """The wish with what ``auto`` and an empty branch mean here; ``any_source``: auto, without a driver of ours."""
    source = wish.source if wish.source != AUTO else _own_source(host)
    branch = default_branch(host.os, source) if wish.any_branch else wish.branch
    return replace(wish, source=source, branch=branch, any_source=wish.source == AUTO and source == CUDA_REPO)


def _own_source(host: DriverHost) -> str:
    """That of the driver that we brought, NVIDIA's repository otherwise."""
    others = of_other_sources(host.os, CUDA_REPO, host.packages)
    return DISTRO if any(f"package:{n}" in host.owned for n in others) else CUDA_REPO


def _refusals(wish: DriverWish, host: DriverHost, flavour: Flavour, sets: Sequence[DriverSet]) -> tuple[Finding, ...]:
    """What forbids the driver before the package manager is asked; warnings among it."""
    found = flavour.findings + find_foreign(host, any_source=wish.any_source)
    if flavour.name and not sets:
        found += find_no_packages(wish, host.os, flavour.name)
    if sets:
        found += find_transitional(wish, host.os)
        found += find_repository_package(sets[0].row.repository_package, host.packages, wish)
    return found + find_repository(driver_repository(wish, host), host)


def what_to_prove(wish: DriverWish, host: DriverHost, decision: DriverDecision) -> Wanted | None:
    """What has to be true now; None where something is still to be done, or no driver is wanted to run."""
    loaded, parts = host.module.loaded, decision.parts
    done = not (decision.work.steps or decision.reboot_required or decision.work.plan.blocked)
    if not done or loaded is None or parts is None or not wish.load:
        return None
    return Wanted(
        version=decision.version or "",
        flavour=decision.flavour or "",
        loaded=loaded,
        components=parts.components.wanted,
        imex_nodes=bool(wish.parts.imex_nodes),
        persistenced=wish.persistenced,
        licence=bool(wish.parts.gridd_token) or wish.parts.component(GRIDD) == "true",
        parameters=tuple(parts.parameters.get("nvidia", ())),
    )


class _Kept:
    """The decision for a driver that somebody else keeps, and the part that is the same for one of ours."""

    def __init__(self, wish: DriverWish, host: DriverHost, parts: Parts) -> None:
        self.wish, self.host, self.parts = wish, host, parts
        self.lacking: tuple[str, ...] = ()
        self.kernel_package = ""
        # Modules that the distribution compiled are signed with a key of its own.
        self.signed = False

    def decide(self, found: tuple[Any, ...]) -> DriverDecision:
        """Modules and services alone; nothing is installed."""
        driver = self.host.module.loaded or self.host.module.on_disk
        version, flavour = (driver.version, driver.flavour) if driver else (None, None)
        found += find_known_bad(version, gpus_of(self.host.pci)) if version else ()
        if any(f.severity == "error" for f in found):
            return DriverDecision(Work(findings=found), version=version, flavour=flavour)
        modules, reboot = self._modules(version or "")
        work = join_work([Work(findings=found), self.parts.before(), modules, *self.parts.after(reboot=reboot)])
        return DriverDecision(work, None, version, flavour, reboot, parts=self.parts)

    def _modules(self, version: str) -> tuple[Work, bool]:
        """Boot list, then loading; and whether only a reboot can bring the driver."""
        wish, host = self.wish, self.host
        if not wish.load:
            return Work(), False
        text = "".join(f"{name}\n" for name in self.parts.modules)
        reason = "the modules are loaded at boot; nvidia_uvm is loaded by nobody else on a headless host"
        boot = write_file(MODULES_LOAD, text, found=host.files.get(MODULES_LOAD), action="load_at_boot", reason=reason)
        nouveau = find_nouveau(gpus_of(host.pci))
        if nouveau:
            return join_work([Work(findings=nouveau), boot]), True
        refused = self._refused()
        if refused is not None:
            return join_work([Work(findings=(refused,)), boot]), True
        loading, reboot = self._after_install() if self.lacking else self._now()
        told = find_secure_boot(host.kernel, host.module) if self._trusted() is None else ()
        return join_work([Work(findings=told), boot, loading]), reboot

    def _refused(self) -> Finding | None:
        """Secure Boot would refuse what is to be loaded: known before a service stops or a module goes."""
        module = self.host.module
        if self._trusted() is not False or not (self.lacking or module.loaded is None or is_stale(module)):
            return None
        return find_untrusted(self.host.trust, module.on_disk, severity="warning" if self.lacking else "error")

    def _trusted(self) -> bool | None:
        on_disk = None if self.lacking else self.host.module.on_disk
        return self.signed or is_trusted(self.host.kernel, on_disk, self.host.trust)

    def _after_install(self) -> tuple[Work, bool]:
        """Loading when the packages are still to come: what it brings is known only then."""
        module = self.host.module
        if module.loaded and blockers(module.holders):
            return Work(findings=(find_in_use(module, severity="warning"),)), True
        after = f"known after install {self.kernel_package}"
        reason = "the installed module replaces the loaded one"
        names = to_load(module, self.parts.modules) if module.loaded else self.parts.modules
        steps = list(unload_steps(module, reason=reason)) if module.loaded else []
        steps += [Step("load", n, None, after, "the module is not loaded") for n in names]
        steps += after_load(links=True)
        steps += start_again((*(module.running if module.loaded else ()), *module.stopped))
        return Work(tuple(steps), (self._call(RELOADED if module.loaded else LOADED),)), False

    def _now(self) -> tuple[Work, bool]:
        plan = plan_modules(self.host.module, state=RELOADED, wanted=self.parts.modules, links=True)
        if any(f.id == "GPU-KRN-026" for f in plan.errors):
            return Work(findings=(find_in_use(self.host.module, severity="warning"),)), True
        calls = (self._call(RELOADED),) if plan.steps else ()
        return Work(plan.steps, calls, plan.findings), False

    def _call(self, state: str) -> Call:
        return Call(
            "gpu.fleet.driver_modules", {"state": state, "modules": list(self.parts.modules), "dev_char_links": True}
        )


class _Present(_Kept):
    """The decision for state present on a host that can have the driver."""

    def __init__(
        self,
        wish: DriverWish,
        host: DriverHost,
        flavour: str,
        parts: Parts,
        sets: Sequence[DriverSet],
        answer: Answer | None,
    ) -> None:
        super().__init__(wish, host, parts)
        sets = parts.extend(sets)
        compiled = answer.compiled if answer else None
        usable = answer is None or (answer.offered and not answer.resolution.error)
        self.chosen = choose(sets, host.packages, compiled, usable=usable)
        # An answer about compiled modules says nothing about the set that takes their place.
        self.answer = answer if bool(compiled) == bool(self.chosen.compiled) or not answer else None
        self.flavour, self.set = flavour, self.chosen.wanted
        self.fell_back = answer is not None and bool(sets[0].compiled) and not self.chosen.compiled
        self.manager = manager_of(host.os)
        self.repository = driver_repository(wish, host)
        self.kernel_package = self.chosen.kernel
        self.signed = bool(self.chosen.compiled)
        self.lacking = lacking(self.set, host.packages)
        fingerprint = self.repository.key_fingerprint if self.repository else ""
        self.needs_key = bool(fingerprint) and host.key != fingerprint

    def decide(self, found: tuple[Any, ...]) -> DriverDecision:
        """Asks first where packages or the key lack; then all the work in the order in which it has to be done."""
        if self.answer is None and (self.lacking or self.chosen.in_the_way or self.needs_key):
            return DriverDecision(Work(findings=found), ask=self._ask(), flavour=self.flavour)
        resolution = self.answer.resolution if self.answer else Resolution({})
        found += self._problems(resolution) + find_no_lock(self.repository, self.set, self.manager.name)
        version = self._version(resolution)
        gpus = gpus_of(self.host.pci)
        found += find_known_bad(version, gpus) + find_too_early(version, gpus)
        found += find_build_limits(resolution.install, self.host.kernel)
        found += self.parts.find_other_versions(version, self.set.names)
        if any(f.severity == "error" for f in found):
            return DriverDecision(Work(findings=found), version=version, flavour=self.flavour)
        modules, reboot = self._modules(version)
        first = [Work(findings=found), self.parts.before(), self._packages(resolution, version), modules]
        work = join_work([*first, *self.parts.after(reboot=reboot)])
        return DriverDecision(work, None, version, self.flavour, reboot, parts=self.parts)

    def _ask(self) -> Ask:
        chosen, every = self.chosen, (*self.set.names, *self.set.others)
        return Ask(
            kind="install",
            packages=every if chosen.in_the_way else self.lacking,
            without=chosen.in_the_way,
            repository=self.repository,
            pin=self.manager.pin(self.set, self.repository),
            kernel_package=chosen.version_of if "*" in chosen.kernel or chosen.compiled else chosen.kernel,
            needs_key=self.needs_key,
            manager=self.manager.name,
            compiled=chosen.compiled,
            prefix=self.set.prefix,
            of_set=self.set.names,
            welcome=chosen.welcome if self.lacking else (),
            along=self._along(),
        )

    def _version(self, resolution: Resolution) -> str:
        return upstream_version(self._found(resolution))

    def _found(self, resolution: Resolution) -> str:
        """The version of the package that has the driver's: as it will be, else as it is."""
        package = self.host.packages.get(self.chosen.version_of)
        return resolution.install.get(self.chosen.version_of) or (package.version if package else "")

    def _problems(self, resolution: Resolution) -> tuple[Any, ...]:
        fallback = find_no_compiled(self.chosen, self.host.kernel, severity="info") if self.fell_back else ()
        if not (self.lacking or self.chosen.in_the_way) or self.answer is None:
            return fallback
        host, program, kernel = self.host, self.manager.name, self.chosen.version_of
        if self.chosen.compiled and not self.answer.offered:
            return find_no_compiled(self.chosen, host.kernel, severity="error")
        where = place_of(self.repository, host.os)
        other = find_other_release(resolution.error, self.set) if self.chosen.compiled else ()
        if other:
            return other
        if resolution.error:
            return (find_unresolved(self.set, kernel, self.answer, where, host.kernel, manager=program),)
        if not is_of(self._found(resolution), self.set.prefix):
            return (find_wrong_version(self.set, kernel, self.answer, where),)
        changing = (*resolution.install, *resolution.remove)
        blocked = find_kernel_images(resolution, manager=program)
        blocked += find_foreign_holds(changing, host.packages, host.owned, manager=program)
        return fallback + blocked + find_taken_along(resolution, self.chosen, host, manager=program)

    def _packages(self, resolution: Resolution, version: str) -> Work:
        host = self.host
        change = Change(
            wanted=self._named(resolution),
            repository=self.repository,
            packages=host.packages,
            files=host.files,
            owned=host.owned,
            resolution=resolution,
            key=self.answer.key if self.answer else None,
            version=version,
            disrupts="gpu_workloads" if host.module.loaded else "nothing",
            stream=self.chosen.row.stream,
        )
        paths = {self.repository.source_path} if self.repository else set()
        others = [r for r in our_repositories(self.wish, host) if r.source_path not in paths]
        gone = [self.manager.plan_repository_gone(change, other) for other in others]
        return join_work([*gone, self.manager.plan_install(change)])

    def _named(self, resolution: Resolution) -> Any:
        """The set with the names that the answer has for patterns, and with what was welcome and is on offer."""
        found = tuple(next((i for i in resolution.install if "*" in n and matches(i, (n,))), n) for n in self.set.names)
        more = tuple(n for n in self.chosen.welcome if n in resolution.install and n not in self.set.others)
        along = self.answer.along if self.answer else ()
        return replace(self.set, names=found, others=(*self.set.others, *more), along=along)

    def _along(self) -> tuple[str, ...]:
        """Packages of ours with another version of the driver that nothing makes follow (nvidia-modprobe)."""
        host, stay = self.host, (*self.set.names, *self.chosen.in_the_way)
        ours = (n for n in host.packages if f"package:{n}" in host.owned and n not in stay)
        versions = {n: host.packages[n].version for n in ours if matches(n, names.OWN_PATTERNS)}
        return tuple(n for n, v in versions.items() if is_release(v) and not is_of(v, self.set.prefix))


def _absent(wish: DriverWish, host: DriverHost, answer: Answer | None) -> DriverDecision:
    """Takes away what the record names and is the driver's, and nothing else."""
    if not host.owned:
        return DriverDecision()
    manager = manager_of(host.os)
    ours = tuple(n for n in sorted(host.packages) if f"package:{n}" in host.owned)
    asked = tuple(n for n in ours if matches(n, (*names.OWN_PATTERNS, *names.HEADERS_PATTERNS)))
    if asked and answer is None:
        return DriverDecision(ask=Ask("remove", asked, None, manager=manager.name))
    resolution = answer.resolution if answer else Resolution({})
    removable = tuple(n for n in resolution.remove if n in asked)
    repositories = our_repositories(wish, host)
    removal = Removal(ROLE, repositories, host.packages, host.files, host.owned, removable)
    problems = find_needed_by_others(answer, ours, manager=manager.name) if answer else ()
    problems += find_staying(ours, asked, manager=manager.name)
    parts = [Work(findings=problems), _unload(host, removable), plan_no_parts(host), manager.plan_remove(removal)]
    if f"file:{MODULES_LOAD}" in host.owned:
        boot, reason = host.files.get(MODULES_LOAD), "there is nothing to load any more"
        parts.append(remove_file(MODULES_LOAD, found=boot, action="forget_at_boot", reason=reason))
    return DriverDecision(join_work(parts))


def _unload(host: DriverHost, removable: Sequence[str]) -> Work:
    """Modules go before their packages, and only when their packages go."""
    if not kernel_packages(host.os, removable) or host.module.loaded is None:
        return Work()
    plan = plan_modules(host.module, state=UNLOADED, wanted=(), links=False)
    unload = tuple(s for s in plan.steps if s.action in ("stop", "unload"))
    call = Call("gpu.fleet.driver_modules", {"state": UNLOADED, "dev_char_links": False})
    return Work(unload, (call,) if unload else (), plan.findings)
