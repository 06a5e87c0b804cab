# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a configuration of containerd: a file, a template of k3s, or ``containerd config dump``.

Private to this collection. Only the dump is what is in effect: imports add to a file, and before 1.7 hid parts of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..._plan.containerd import CRI_NAMES, NEWEST_VERSION, handlers_of, plugin_name
from ..._plan.engine import lookup
from .documents import parse_toml, table_of, texts_of, without_template

NVIDIA = "nvidia"
# Files that a Kubernetes distribution writes at each start, from a template beside them.
GENERATED = re.compile(
    r"/var/lib/rancher/(?:k3s|rke2)/agent/etc/containerd/config\.toml$|/run/k0s/containerd|/var/snap/microk8s"
)
# k3s and RKE2 run a containerd of their own, which reads nothing below /etc.
SYSTEM_FILE = re.compile(r"(?:^|\s)/etc/containerd/")
DUMP = "config dump"
TEMPLATE = "{{"
FIRST_VERSION = 1
VERSIONS = range(FIRST_VERSION, NEWEST_VERSION + 1)


def read_containerd_config(text: str, source: str = "") -> dict[str, Any]:
    """What the configuration says of GPUs. ``source``: its path, or the command.

    ``valid_toml``, else ``error`` and ``error_line`` (from 1). ``template``: Go template actions were taken out.
    ``version`` as written, None for absent, which means 1; ``schema``: the version that counts;
    ``tables_fit_version``: whether the CRI plugin's table has the name of that version, else containerd ignores it
    (None: no table). ``cri``: disabled, present (the plugin has a table) or None (not named: containerd's own defaults
    hold). ``imports``. ``handlers``: name -> program; ``nvidia_runtime``: whether one of them is NVIDIA's;
    ``nvidia_binary``: its program; ``default_runtime``; ``systemd_cgroup``: of NVIDIA's handler (None: not said);
    ``runc_defined``; ``cdi``: enable_cdi (None: not said, on from 2.0); ``cdi_spec_dirs``.
    ``effective_config_may_lack_cri``: imports could add or hide handlers, so ``read_config_dump_instead``.
    ``generated_file_will_be_overwritten``: a change belongs into the template. ``wrong_file_for_k3s``: k3s and RKE2 do
    not read this file.
    """
    template = TEMPLATE in text
    parsed = parse_toml(without_template(text) if template else text)
    document = dict(parsed.table)
    generated = GENERATED.search(source) is not None
    return {
        "valid_toml": parsed.error is None,
        "error": parsed.error,
        "error_line": parsed.error_line,
        "template": template,
        **_settings(document),
        "read_config_dump_instead": bool(document.get("imports")) and DUMP not in source,
        "generated_file_will_be_overwritten": generated,
        "wrong_file_for_k3s": SYSTEM_FILE.search(source) is not None,
    }


def _settings(document: dict[str, Any]) -> dict[str, Any]:
    version = document.get("version")
    schema = version if isinstance(version, int) else FIRST_VERSION
    wanted, found = plugin_name(schema), _plugin_name(document, schema)
    plugin = table_of(lookup(document, "plugins", found))
    handlers = _handlers(plugin)
    ours = _ours(handlers)
    imports, disabled = texts_of(document.get("imports")), texts_of(document.get("disabled_plugins"))
    options = table_of(lookup(plugin, "containerd", "runtimes", ours or "", "options"))
    return {
        "version": version if isinstance(version, int) else None,
        "schema": schema,
        "tables_fit_version": found == wanted if plugin else None,
        "cri": "disabled" if set(disabled) & set(CRI_NAMES) else "present" if plugin else None,
        "imports": imports,
        "handlers": handlers,
        "nvidia_runtime": ours is not None,
        "nvidia_binary": handlers.get(ours or "") or None,
        "default_runtime": _text(lookup(plugin, "containerd", "default_runtime_name")),
        "systemd_cgroup": _flag(options.get("SystemdCgroup")),
        "runc_defined": "runc" in handlers,
        "cdi": _flag(plugin.get("enable_cdi", lookup(plugin, "containerd", "enable_cdi"))),
        "cdi_spec_dirs": texts_of(plugin["cdi_spec_dirs"]) if "cdi_spec_dirs" in plugin else None,
        "effective_config_may_lack_cri": bool(imports) and not plugin,
    }


def _plugin_name(document: dict[str, Any], schema: int) -> str:
    """The CRI plugin's table: the version's own, else the one that is there."""
    names = (plugin_name(schema), *(plugin_name(v) for v in VERSIONS))
    return next((n for n in names if table_of(lookup(document, "plugins", n))), names[0])


def _handlers(plugin: Mapping[str, Any]) -> dict[str, str]:
    if not isinstance(lookup(plugin, "containerd", "runtimes"), dict):
        return {}
    return handlers_of({"version": NEWEST_VERSION, "plugins": {plugin_name(NEWEST_VERSION): plugin}})


def _ours(handlers: Mapping[str, str]) -> str | None:
    """The handler ``nvidia``, else the first one that runs a program of NVIDIA's."""
    if NVIDIA in handlers:
        return NVIDIA
    return next((name for name, program in handlers.items() if NVIDIA in program), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
