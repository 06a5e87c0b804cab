# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides how GPUs come to a MIG layout. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .._catalog.mig import COMPUTE_WIDTHS
from .mig_compute import place_compute
from .mig_config_file import Target
from .mig_findings import (
    KIND_OF,
    broken,
    in_use,
    mig_finding,
    mode_blocked,
    mode_word,
    not_capable,
    undescribed,
    waits_for_reset,
    wish_text,
)
from .mig_layout import ComputeInstance, DeviceName, GpuInstance, MigGpu, describe, device_counts
from .mig_search import KeptInstance, Layout, NewInstance, NoLayoutError, find_layout, fixed_layout
from .model import Finding, Plan, Step

SET_MODE = "set_mig_mode"
RESET = "reset_gpu"
DESTROY_GPU_INSTANCE = "destroy_gpu_instance"
DESTROY_COMPUTE_INSTANCE = "destroy_compute_instance"
CREATE_GPU_INSTANCE = "create_gpu_instance"
CREATE_COMPUTE_INSTANCE = "create_compute_instance"
# After any of these a program that has counted the devices before no longer knows what there is.
CHANGES_DEVICES = (
    SET_MODE,
    RESET,
    DESTROY_GPU_INSTANCE,
    DESTROY_COMPUTE_INSTANCE,
    CREATE_GPU_INSTANCE,
    CREATE_COMPUTE_INSTANCE,
)

# MIG mode changes on these need a GPU reset; later architectures change at once (MIG User Guide).
RESET_ARCHITECTURES = ("ampere",)


@dataclass(frozen=True)
class Operation:
    """A step together with what it works on. ``width`` and ``start`` are those of a compute instance to create; a start
    that is None is the driver's choice.
    """

    step: Step
    gpu: MigGpu
    enabled: bool = False
    instance: GpuInstance | None = None
    compute: ComputeInstance | None = None
    new: NewInstance | None = None
    width: int = 0
    start: int | None = None

    @property
    def changes_mode(self) -> bool:
        """Whether what the GPU offers has to be read again afterwards."""
        return self.step.action in (SET_MODE, RESET)

    @property
    def resets(self) -> bool:
        """Whether the GPU is reset: by us, or by its driver as part of a mode change."""
        mode = self.step.action == SET_MODE and self.step.disrupts != "nothing"
        return self.step.action == RESET or (mode and self.gpu.architecture in RESET_ARCHITECTURES)


@dataclass(frozen=True)
class Decision:
    """The plan for all GPUs. ``reboot_required``: a wanted mode waits for a reset that is not allowed."""

    operations: tuple[Operation, ...] = ()
    findings: tuple[Finding, ...] = ()
    reboot_required: bool = False

    @property
    def plan(self) -> Plan:
        """Steps and findings, in the form of every decider."""
        return Plan(tuple(o.step for o in self.operations), self.findings)

    @property
    def error_kind(self) -> str | None:
        """The kind of the first error, or None."""
        return next((KIND_OF[f.id] for f in self.findings if f.severity == "error"), None)

    @property
    def first_batch(self) -> tuple[Operation, ...]:
        """What may be done before the GPUs have to be read again: modes that are switched on, else everything."""
        enabling = tuple(o for o in self.operations if o.changes_mode and o.enabled)
        return enabling or self.operations


def plan_mig(
    gpus: Sequence[MigGpu],
    targets: Mapping[int, Target],
    *,
    mode_only: bool = False,
    skip_reset: bool = False,
    stoppable: Iterable[int] = (),
) -> Decision:
    """The way of all GPUs in ``targets`` (GPU index -> target) to what they have to be.

    Everything is checked for all GPUs before anything is planned, so an error finding means no operation at all.
    ``stoppable`` are process ids that are stopped before the change; they are in nobody's way.
    """
    wanted = [(g, targets[g.index]) for g in gpus if g.index in targets]
    skipped, errors = _check(wanted, mode_only)
    if errors:
        return Decision(findings=tuple(errors))
    ignore = set(stoppable)
    parts = [
        _plan_gpu(_without(g, ignore), t, mode_only=mode_only, skip_reset=skip_reset)
        for g, t in wanted
        if g.index not in {s.index for s in skipped}
    ]
    findings = [not_capable(g, severity="info") for g in skipped]
    findings += [f for p in parts for f in p.findings]
    reboot = any(p.reboot_required for p in parts)
    if any(f.severity == "error" for f in findings):
        return Decision(findings=tuple(findings), reboot_required=reboot)
    return Decision(_in_order(parts), tuple(findings), reboot)


def _in_order(parts: Sequence[Decision]) -> tuple[Operation, ...]:
    """Modes that go on come first: they fail most easily and cost nobody an instance. Creation comes last."""
    operations = [o for p in parts for o in p.operations]
    return tuple(sorted(operations, key=_phase))


def _phase(operation: Operation) -> int:
    if operation.changes_mode:
        return 0 if operation.enabled else 2
    return 1 if operation.step.action in (DESTROY_GPU_INSTANCE, DESTROY_COMPUTE_INSTANCE) else 3


def _check(wanted: Sequence[tuple[MigGpu, Target]], mode_only: bool) -> tuple[list[MigGpu], list[Finding]]:
    """GPUs that ``devices: all`` passes over because they have no MIG, and what makes the request impossible."""
    errors = [broken(g) for g, _t in wanted if g.error is not None]
    skipped = [g for g, t in wanted if g.error is None and t.enabled and g.capable is False]
    explicit = [g for g, t in wanted if g in skipped and t.explicit]
    able = [g for g, t in wanted if t.enabled and g not in skipped]
    if skipped and (explicit or not able):
        errors += [not_capable(g) for g in explicit or skipped]
    off = [g for g, t in wanted if not t.enabled and not g.capable]
    if not mode_only:
        errors += [f for g, t in wanted if g in able and g.error is None for f in _layout_errors(g, t)]
    return skipped + off, errors


def _layout_errors(gpu: MigGpu, target: Target) -> list[Finding]:
    """Unknown profiles, or a layout that has no legal placement."""
    names = [n for n, _count in target.counts] + [p.name for p in target.places or ()]
    if (names and not gpu.profiles) or gpu.capable is None:
        return [undescribed(gpu, target)]
    unknown = [f for name in names for f in _name_errors(gpu, target, name)]
    if unknown or _is_right(gpu, target):
        return unknown
    try:
        _layout(gpu, target)
    except NoLayoutError as error:
        text = f"{gpu.label} cannot hold the layout of {target.where}"
        return [mig_finding("infeasible_layout", text, wanted=wish_text(target), found=str(error))]
    return []


def _name_errors(gpu: MigGpu, target: Target, name: DeviceName) -> list[Finding]:
    profile = gpu.profile(name.profile)
    if profile and name.width in COMPUTE_WIDTHS.get(profile.slices, range(1, profile.slices + 1)):
        return []
    what = (
        f"no profile {name.profile}" if profile is None else f"no {name.width}-slice compute instance in {profile.name}"
    )
    found = f"it offers {', '.join(p.name for p in gpu.profiles)}"
    return [mig_finding("unknown_profile", f"{gpu.label} has {what}", wanted=f"{name} ({target.where})", found=found)]


def _plan_gpu(gpu: MigGpu, target: Target, *, mode_only: bool, skip_reset: bool) -> Decision:
    if target.enabled and gpu.enabled and gpu.pending:
        return Decision() if mode_only else _plan_layout(gpu, target)
    if target.enabled == gpu.enabled == gpu.pending:
        return Decision()
    if gpu.enabled and not target.enabled:
        return _plan_disable(gpu, skip_reset=skip_reset, mode_only=mode_only)
    mode = _plan_mode(gpu, target.enabled, skip_reset=skip_reset)
    if mode.findings and skip_reset and not mode_only and (target.counts or target.places):
        return Decision(findings=(waits_for_reset(gpu, "error"),), reboot_required=True)
    if mode_only or not target.enabled or mode.error_kind:
        return mode
    fresh = gpu if gpu.enabled else replace(gpu, instances=())
    layout = _plan_layout(fresh, target)
    return Decision(mode.operations + layout.operations, mode.findings + layout.findings, mode.reboot_required)


def _plan_disable(gpu: MigGpu, *, skip_reset: bool, mode_only: bool) -> Decision:
    """Instances go before the mode does, so whoever uses one is looked for first."""
    busy = [i for i in gpu.instances if i.users]
    if busy:
        return Decision(findings=(in_use(gpu, busy, "MIG disabled"),))
    mode = _plan_mode(gpu, False, skip_reset=skip_reset)
    if mode.error_kind or (skip_reset and not gpu.pending):
        return mode
    destroy = tuple(_destroy(gpu, i) for i in gpu.instances)
    return Decision(destroy + mode.operations, mode.findings, mode.reboot_required)


def _plan_mode(gpu: MigGpu, enabled: bool, *, skip_reset: bool) -> Decision:
    before = (
        f"{mode_word(gpu.enabled)}, pending {mode_word(gpu.pending)}"
        if gpu.enabled != gpu.pending
        else mode_word(gpu.enabled)
    )
    if gpu.enabled == enabled:
        step = Step(SET_MODE, gpu.pci_address, before, mode_word(enabled), "a pending mode change is not wanted")
        return Decision((Operation(step, gpu, enabled),))
    if gpu.clients:
        return Decision(findings=(mode_blocked(gpu, enabled),))
    if gpu.pending != enabled:
        reset = " and resets the GPU" if gpu.architecture in RESET_ARCHITECTURES else ""
        reason = f"the layout wants MIG {mode_word(enabled)}; the change needs an idle GPU{reset}"
        step = Step(SET_MODE, gpu.pci_address, before, mode_word(enabled), reason, "gpu_workloads")
        return Decision((Operation(step, gpu, enabled),))
    if skip_reset:
        return Decision(findings=(waits_for_reset(gpu, "warning"),), reboot_required=True)
    reason = "the wanted MIG mode is set and waits for a GPU reset"
    step = Step(RESET, gpu.pci_address, before, mode_word(enabled), reason, "gpu_workloads")
    return Decision((Operation(step, gpu, enabled),))


def _plan_layout(gpu: MigGpu, target: Target) -> Decision:
    if _is_right(gpu, target):
        return Decision()
    layout = _layout(gpu, target)
    if layout.lost:
        gone = [*layout.destroy, *(k.instance for k in layout.keep if any(c.clients for c in k.destroy))]
        return Decision(findings=(in_use(gpu, [i for i in gone if i.users], wish_text(target)),))
    operations = [_destroy(gpu, i) for i in layout.destroy]
    operations += [o for k in layout.keep for o in _change(gpu, k)]
    operations += [_create(gpu, n) for n in sorted(layout.create, key=lambda n: (-n.profile.size, n.start))]
    return Decision(tuple(operations))


def _layout(gpu: MigGpu, target: Target) -> Layout:
    """Raises NoLayoutError."""
    there = gpu.instances if gpu.enabled else ()
    if target.places is not None:
        return fixed_layout(gpu.profiles, there, [(p.name.profile, p.start, p.widths) for p in target.places])
    return find_layout(gpu.profiles, there, target.counts)


def _is_right(gpu: MigGpu, target: Target) -> bool:
    """Same devices, and no GPU instance without compute instances beside them. Starts matter only where given."""
    if not gpu.enabled or not all(i.compute for i in gpu.instances):
        return False
    if target.places is not None:
        return {(i.profile, i.start, i.widths) for i in gpu.instances} == {
            (p.name.profile, p.start, p.widths) for p in target.places
        }
    return device_counts(gpu.instances) == {str(n): c for n, c in target.counts}


def _destroy(gpu: MigGpu, instance: GpuInstance) -> Operation:
    step = Step(
        DESTROY_GPU_INSTANCE,
        f"{gpu.pci_address} {instance.place}",
        describe(device_counts([instance])),
        None,
        "the layout has no room or no use for it",
        "gpu_workloads",
    )
    return Operation(step, gpu, instance=instance)


def _change(gpu: MigGpu, kept: KeptInstance) -> list[Operation]:
    where = f"{gpu.pci_address} {kept.instance.place}"
    found = []
    for compute in kept.destroy:
        name = str(DeviceName(compute.width, kept.instance.profile, kept.instance.slices))
        reason = "the layout wants other compute instances here"
        target = f"{where} compute instance {compute.id}"
        step = Step(DESTROY_COMPUTE_INSTANCE, target, name, None, reason, "gpu_workloads")
        found.append(Operation(step, gpu, instance=kept.instance, compute=compute))
    for width, start in zip(kept.create, _starts(kept)):
        name = str(DeviceName(width, kept.instance.profile, kept.instance.slices))
        step = Step(CREATE_COMPUTE_INSTANCE, f"{where} {name}", None, name, "the layout wants it")
        found.append(Operation(step, gpu, instance=kept.instance, width=width, start=start))
    return found


def _starts(kept: KeptInstance) -> Sequence[int | None]:
    """First slices of the compute instances to create beside those that stay."""
    stay = [c for c in kept.instance.compute if c not in kept.destroy]
    if any(c.start is None for c in stay):
        return [None] * len(kept.create)
    taken = [(c.start or 0, c.width) for c in stay]
    return place_compute(kept.instance.slices, taken, kept.create) or [None] * len(kept.create)


def _create(gpu: MigGpu, new: NewInstance) -> Operation:
    names = [str(DeviceName(w, new.profile.name, new.profile.slices)) for w in new.widths]
    after = describe({n: names.count(n) for n in names})
    step = Step(CREATE_GPU_INSTANCE, f"{gpu.pci_address} {new.place}", None, after, "the layout wants it")
    return Operation(step, gpu, new=new)


def _without(gpu: MigGpu, pids: set[int]) -> MigGpu:
    """The GPU as it is once these processes are gone."""
    if not pids:
        return gpu

    def rest(clients: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(c for c in clients if c not in pids)

    instances = tuple(
        replace(i, clients=rest(i.clients), compute=tuple(replace(c, clients=rest(c.clients)) for c in i.compute))
        for i in gpu.instances
    )
    return replace(gpu, clients=rest(gpu.clients), instances=instances)
