# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of one version set under dnf: stream, lock, install, remove. Private to this collection.

Two things keep a version: the module stream that is enabled keeps the branch, and excludes in our own .repo file keep
the exact version. Both are files, so that a switch is one write, and no plugin of dnf is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .facts import Package, Resolution
from .model import Step
from .package_manager import Change, Removal
from .packages import LOCK_SECONDS, PackageSet, install_step, lacking, matches
from .repository import Repository
from .repository_dnf import DnfRepository
from .versions import upstream_version
from .work import Call, Work, join_work, remove_file, write_file

DNF = "ansible.builtin.dnf"
MODULE = "nvidia-driver"
DRIVER = "driver"
STREAM_PATH = f"/etc/dnf/modules.d/{MODULE}.module"

# All of the driver has epoch 3 (NVIDIA/yum-packaging-nvidia-driver), what goes with it has none: patterns of
# <name>-<epoch>:<version> as dnf's excludes take them.
LOCKED = ("*-3:", "nvidia-fabric*-0:", "nvidia-imex*-0:", "libnvidia-nscq*-0:", "libnvsdm*-0:")


def render_stream(stream: str) -> str:
    """dnf's own file about a module with this stream enabled."""
    return f"[{MODULE}]\nname={MODULE}\nstream={stream}\nprofiles=\nstate=enabled\n"


def stream_of(text: str | None) -> str | None:
    """The stream that dnf's file about the module names; None for none."""
    fields = dict(line.split("=", 1) for line in (text or "").splitlines() if "=" in line)
    return fields.get("stream") or None


def locked_names(wanted: PackageSet) -> tuple[str, ...]:
    """The beginnings of the excludes: the driver's are many and know each other by their epoch, others have names."""
    return LOCKED if wanted.owner == DRIVER else tuple(f"{name}-0:" for name in wanted.patterns)


def lock(prefix: str, names: Sequence[str] = LOCKED) -> tuple[str, ...]:
    """Excludes that leave nothing but the branch or the exact version ``prefix``; none for any version.

    dnf knows no "all but": so one pattern for each place at which another version can differ.
    """
    version = upstream_version(prefix)
    if not version:
        return ()
    stem = version if "." in version else f"{version}."
    differs = [f"{stem[:place]}[!{sign}]*" for place, sign in enumerate(stem)]
    ends_early = [stem[:place] for place in range(1, len(stem))]
    # Not ?*: where no version fits a pattern, dnf holds it against name, version and release as one text.
    goes_on = [f"{stem}[!-]*"] if stem == version else []
    tails = (*differs, *ends_early, *goes_on)
    return tuple(f"{name}{tail}" for name in names for tail in tails)


def locked_version(wanted: PackageSet, version: str) -> str:
    """What the excludes leave: the exact version while held, else the branch or version that is asked for."""
    return version if wanted.hold else wanted.prefix


class Dnf:
    """dnf 4 and rpm."""

    name = "dnf"

    def paths(self, owner: str) -> tuple[str, ...]:
        """dnf's file about the module."""
        return (STREAM_PATH,)

    def pin(self, wanted: PackageSet, repository: Repository | DnfRepository | None) -> str:
        """The repository's file with the lock; all streams are seen, because the right one is enabled only later."""
        if not isinstance(repository, DnfRepository):
            return ""
        return repository.render(lock(wanted.prefix, locked_names(wanted)), all_streams=True)

    def plan_install(self, change: Change) -> Work:
        """Key, repository with its lock, stream, packages."""
        return join_work([_repository(change), _stream(change), _packages(change)])

    def plan_repository_gone(self, change: Change, repository: Repository | DnfRepository) -> Work:
        """The .repo file and the key, where they are ours; the stream follows the set."""
        if not isinstance(repository, DnfRepository):
            return Work()
        return _no_files(repository, change.files, change.owned)

    def plan_remove(self, removal: Removal) -> Work:
        """Packages, stream, .repo files, keys."""
        record = set(removal.owned)
        names = tuple(n for n in removal.removable if n in removal.packages and f"package:{n}" in record)
        parts = [_remove(names, removal.packages), _no_stream(removal.files, removal.owned)]
        for repository in removal.repositories:
            if isinstance(repository, DnfRepository):
                parts += [
                    _no_files(repository, removal.files, removal.owned),
                    _distrust(repository, removal.packages, removal.owned),
                ]
        if not names:
            parts.append(Work(gone=tuple(o for o in removal.owned if o.startswith("package:"))))
        return join_work(parts)


def _repository(change: Change) -> Work:
    """The lock is a part of the .repo file: one write for both, and one step, named after what changes."""
    repository = change.repository
    if not isinstance(repository, DnfRepository):
        return Work()
    parts = []
    if change.key is not None:
        reason = f"rpm trusts {repository.uri} by the key {repository.key_fingerprint} only"
        found = change.files.get(repository.key_path)
        parts.append(write_file(repository.key_path, change.key, found=found, action="add_key", reason=reason))
        if not any(matches(n, (f"{repository.rpm_key}*",)) for n in change.packages):
            parts.append(Work(objects={f"rpm_key:{repository.key_fingerprint}": (None, True)}))
    text = repository.render(lock(locked_version(change.wanted, change.version), locked_names(change.wanted)))
    found = change.files.get(repository.source_path)
    action = "add_repository" if found is None else "pin"
    reason = "the packages come from this repository, in this version only"
    return join_work([*parts, write_file(repository.source_path, text, found=found, action=action, reason=reason)])


def _stream(change: Change) -> Work:
    found = change.files.get(STREAM_PATH)
    if not change.stream:
        return _no_stream(change.files, change.owned)
    before = stream_of(found)
    if before == change.stream and "state=enabled" in (found or ""):
        return Work()
    work = write_file(STREAM_PATH, render_stream(change.stream), found=found, action="", reason="")
    step = Step(
        "switch_stream" if before else "enable_stream",
        f"{MODULE}:{change.stream}",
        before,
        change.stream,
        "packages of other streams of this module are hidden",
    )
    return Work((step,), work.calls, objects=work.objects)


def _no_stream(files: Mapping[str, str | None], owned: Sequence[str]) -> Work:
    if f"file:{STREAM_PATH}" not in owned:
        return Work()
    found = files.get(STREAM_PATH)
    return remove_file(STREAM_PATH, found=found, action="reset_stream", reason="no stream is wanted any more")


def _packages(change: Change) -> Work:
    """One transaction: what is in the way goes in the same."""
    wanted, packages, resolution = change.wanted, change.packages, change.resolution
    names = lacking(wanted, packages)
    if not names and not resolution.remove:
        return Work()
    names = (*names, *wanted.along)
    asked = (*wanted.names, *wanted.others, *wanted.along) if resolution.remove else names
    args = {
        "name": [_spec(n, wanted, resolution, packages) for n in asked],
        "state": "present",
        "update_cache": True,
        "allow_downgrade": True,
        "allowerasing": bool(resolution.remove),
        "install_weak_deps": False,
        "use_backend": "dnf4",
        "lock_timeout": LOCK_SECONDS,
    }
    versions = resolution.install
    objects = {f"package:{n}": (None, v) for n, v in versions.items() if n not in packages}
    reason = "it excludes what is wanted"
    steps = [
        Step("remove", n, packages[n].version, None, reason, change.disrupts)
        for n in resolution.remove
        if n in packages
    ]
    steps += [install_step(n, packages.get(n), _after(n, versions), change.disrupts) for n in names]
    return Work(tuple(steps), (Call(DNF, args),), objects=objects)


def _spec(name: str, wanted: PackageSet, resolution: Resolution, packages: Mapping[str, Package]) -> str:
    """Name and exact version of what has the set's version; else the name, which may hold a version itself."""
    if name not in (*wanted.names, *wanted.along):
        return name
    version = resolution.install.get(name) or (packages[name].version if name in packages else "")
    return f"{name}-{version}" if version else name


def _after(name: str, versions: Mapping[str, str]) -> str:
    """The version of a name, or of a name with a version (kernel-devel-5.14.0-1.el9)."""
    return versions.get(name) or next((v for n, v in versions.items() if f"{n}-{v}" == name), "")


def _remove(names: Sequence[str], packages: Mapping[str, Package]) -> Work:
    if not names:
        return Work()
    reason = "it came with this role and nothing else needs it"
    steps = tuple(Step("remove", n, packages[n].version, None, reason, "gpu_workloads") for n in names)
    args = {
        "name": list(names),
        "state": "absent",
        "autoremove": False,
        "use_backend": "dnf4",
        "lock_timeout": LOCK_SECONDS,
    }
    return Work(steps, (Call(DNF, args),))


def _no_files(repository: DnfRepository, files: Mapping[str, str | None], owned: Sequence[str]) -> Work:
    paths = (
        (repository.source_path, "remove_repository", "nothing comes from this repository any more"),
        (repository.key_path, "remove_key", "no repository of ours is signed by this key any more"),
    )
    return join_work(
        remove_file(path, found=files.get(path), action=action, reason=reason)
        for path, action, reason in paths
        if f"file:{path}" in owned
    )


def _distrust(repository: DnfRepository, packages: Mapping[str, Package], owned: Sequence[str]) -> Work:
    """rpm has trusted the key since the first package that it signed; not where it did so before us."""
    name = f"rpm_key:{repository.key_fingerprint}"
    if name not in owned:
        return Work()
    key = next((n for n in packages if matches(n, (f"{repository.rpm_key}*",))), None)
    if key is None:
        return Work(gone=(name,))
    step = Step("distrust_key", key, "trusted by rpm", None, "nothing of ours is signed by it any more")
    args = {"key": repository.key_fingerprint[-8:], "state": "absent"}
    return Work((step,), (Call("ansible.builtin.rpm_key", args),))
