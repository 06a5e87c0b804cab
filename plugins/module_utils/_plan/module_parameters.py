# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of the driver's kernel modules: wanted, written, and in effect. Private to this collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._catalog import module_parameters as catalog
from .._catalog.driver_components import is_coherent
from .component_wish import ComponentWish
from .facts import PciFunction
from .flavour import gpus_of
from .modules import in_order
from .work import Work, remove_file, write_file

OPTIONS_PATH = "/etc/modprobe.d/gpu-fleet-driver.conf"
HEADER = "# Managed by gpu.fleet; removed with the role that wrote it.\n"

# module -> parameter -> value
Parameters = Mapping[str, Mapping[str, str]]


def wanted_parameters(wish: ComponentWish, branch: int) -> dict[str, dict[str, str]]:
    """The defaults of a driver branch, and over them what the user wants; a value of None takes a default away."""
    found: dict[str, dict[str, str | None]] = {}
    for row in catalog.DEFAULTS:
        if branch >= row.first_branch:
            found.setdefault(row.module, {})[row.name] = row.value
    for module, rows in wish.module_parameters.items():
        found.setdefault(module, {}).update(rows)
    given = {m: {n: v for n, v in rows.items() if v is not None} for m, rows in found.items()}
    return {module: given[module] for module in in_order(given) if given[module]}


def render_options(parameters: Parameters) -> str:
    """The file for modprobe.d(5), '' for no parameters: one line a module."""
    lines = [f"options {m} {' '.join(f'{n}={v}' for n, v in rows.items())}\n" for m, rows in parameters.items()]
    return HEADER + "".join(lines) if lines else ""


def parse_options(text: str) -> dict[str, dict[str, str]]:
    """What render_options() wrote; other lines are passed over."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["options"] and len(words) > 2:
            found.setdefault(words[1], {}).update(dict(w.split("=", 1) for w in words[2:] if "=" in w))
    return found


def plan_options(parameters: Parameters, *, found: str | None, owned: Iterable[str]) -> Work:
    """The file with the parameters; removed where there are none and the file is ours."""
    text = render_options(parameters)
    if text:
        reason = "the modules take their parameters from here whenever they are loaded"
        return write_file(OPTIONS_PATH, text, found=found, action="set_parameters", reason=reason)
    if f"file:{OPTIONS_PATH}" in set(owned):
        reason = "no parameter is wanted any more"
        return remove_file(OPTIONS_PATH, found=found, action="forget_parameters", reason=reason)
    return Work()


def stale_parameters(wanted: Parameters, effective: Parameters, pci: Iterable[PciFunction]) -> tuple[str, ...]:
    """Parameters of loaded modules that have another value than wanted, each as words.

    ``effective``: what the loaded modules show; what they do not show is not judged.
    """
    coherent = any(is_coherent(int(g.device, 16)) for g in gpus_of(pci))
    quiet = {(r.module, r.name) for r in catalog.DEFAULTS if r.coherent_only and not coherent}
    return tuple(
        f"{name} of {module} is {effective[module][name]}, wanted {value}"
        for module, rows in wanted.items()
        for name, value in rows.items()
        if (module, name) not in quiet
        and name in effective.get(module, {})
        and _plain(effective[module][name]) != _plain(value)
    )


def _plain(value: str) -> str:
    """One spelling: the driver shows numbers in decimal and texts in quotes, sysfs shows truth as Y and N."""
    text = value.strip().strip('"')
    if text in ("Y", "N"):
        return str(int(text == "Y"))
    try:
        return str(int(text, 0))
    except ValueError:
        return text
