# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of module cdi_spec, checked. Private to this collection."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from .cdi_rules import is_vendor_or_class
from .model import Finding

DEFAULT_PATH = "/var/run/cdi/nvidia.yaml"
MODES = ("auto", "nvml", "csv", "wsl", "management", "gds", "gdrcopy", "imex", "mofed", "nvswitch")
STRATEGIES = ("index", "uuid", "type-index")
FORMATS = ("yaml", "json")
NO_HOOKS = "none"
DEFAULT_HOOK = "nvidia-cdi-hook"
DEFAULT_HOOK_PATH = "/usr/bin/nvidia-cdi-hook"

LISTS = (
    "device_name_strategies",
    "device_ids",
    "library_search_paths",
    "config_search_paths",
    "csv_files",
    "csv_ignore_patterns",
    "wsl_driver_store_paths",
    "enabled_hooks",
    "disabled_hooks",
    "feature_flags",
)


@dataclass(frozen=True)
class CdiWish:
    """One wanted spec. Names and meaning are the module's; None means its default."""

    path: str = DEFAULT_PATH
    format: str = "yaml"
    mode: str = "auto"
    vendor: str = "nvidia.com"
    class_name: str = "gpu"
    device_name_strategies: tuple[str, ...] = ("index", "uuid")
    device_ids: tuple[str, ...] = ("all",)
    all_device: bool = True
    hooks: str = "program"
    driver_root: str = "/"
    dev_root: str = "/"
    hook_path: str = DEFAULT_HOOK
    ldconfig_path: str = ""
    library_search_paths: tuple[str, ...] = ()
    config_search_paths: tuple[str, ...] = ()
    csv_files: tuple[str, ...] = ()
    csv_ignore_patterns: tuple[str, ...] = ()
    csv_compat_container_root: str = ""
    wsl_driver_store_paths: tuple[str, ...] = ()
    enabled_hooks: tuple[str, ...] = ()
    disabled_hooks: tuple[str, ...] = ()
    feature_flags: tuple[str, ...] = ()
    env_path: str = ""
    xdg_data_dirs: str = ""
    kernel_release: str = ""
    machine: str = ""

    @property
    def kind(self) -> str:
        """vendor/class of the spec."""
        return f"{self.vendor}/{self.class_name}"

    def saved(self) -> dict[str, Any]:
        """What has to be kept to write the same spec later: everything that is not the default."""
        defaults = asdict(CdiWish())
        own = {name: value for name, value in asdict(self).items() if value != defaults[name] or name == "path"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}


def make_wish(options: Mapping[str, Any]) -> CdiWish:
    """The wish that module options or saved ones say; what is None or empty there is the default.

    The path's suffix decides the format. A path without suffix gets that of the format, and one with a
    suffix that CDI readers skip (.yml) gets the right one.
    """
    known = {f.name for f in fields(CdiWish)}
    renamed = {("class_name" if name == "class" else name): value for name, value in options.items()}
    given = {name: v for name, v in renamed.items() if name in known and v is not None and v != "" and v != []}
    for name in LISTS:
        if name in given:
            given[name] = tuple(part.strip() for entry in given[name] for part in str(entry).split(","))
    # The device nodes are below the driver root unless something else is said.
    given.setdefault("dev_root", given.get("driver_root", "/"))
    given["path"], given["format"] = _path_and_format(given.get("path", DEFAULT_PATH), given.get("format"))
    return CdiWish(**given)


def check_wish(wish: CdiWish) -> tuple[Finding, ...]:
    """One error for each option that cannot be meant so."""
    findings = []
    for option, value in (("vendor", wish.vendor), ("class", wish.class_name)):
        if not is_vendor_or_class(value):
            wanted = "a letter first, a letter or digit last, letters, digits, _ - and dots between"
            findings.append(_refused(option, value, wanted))
    findings += [_refused("mode", wish.mode, f"one of {', '.join(MODES)}")] if wish.mode not in MODES else []
    findings += [_refused("format", wish.format, f"one of {', '.join(FORMATS)}")] if wish.format not in FORMATS else []
    for strategy in wish.device_name_strategies:
        if strategy not in STRATEGIES:
            findings.append(_refused("device_name_strategies", strategy, f"only {', '.join(STRATEGIES)}"))
    twice = {s for s in wish.device_name_strategies if wish.device_name_strategies.count(s) > 1}
    findings += [_refused("device_name_strategies", f"{s} twice", "each strategy once") for s in sorted(twice)]
    if "all" in wish.enabled_hooks:
        findings.append(
            _refused("enabled_hooks", "all", "the hooks by name; all are enabled unless disabled_hooks says so")
        )
    for option in ("path", "driver_root", "dev_root"):
        if not getattr(wish, option).startswith("/"):
            findings.append(_refused(option, getattr(wish, option), "an absolute path"))
    return tuple(findings)


def _refused(option: str, value: str, wanted: str) -> Finding:
    return Finding(
        id="GPU-CDI-101",
        severity="error",
        summary=f"option {option} of cdi_spec cannot be {value!r}",
        wanted=f"{option}: {wanted}",
        found=f"{option}: {value}",
        remedy=f"set {option} to {wanted}",
        source="CDI specification 1.1.0; NVIDIA Container Toolkit 1.20.0, nvidia-ctk cdi generate --help",
    )


def _path_and_format(path: str, wanted: str | None) -> tuple[str, str]:
    suffix = posixpath.splitext(path)[1]
    if suffix == ".yaml" or suffix == ".json":
        return path, suffix[1:]
    if suffix == ".yml":
        return f"{path[: -len(suffix)]}.yaml", "yaml"
    return f"{path}.{wanted or 'yaml'}", wanted or "yaml"
