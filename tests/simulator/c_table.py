# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the models and the symbol table as C source for the simulated NVML."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.health import KEYS, LOST_WITH_RESET
from simulator.model import VGA, MigProfile, Model


def model_table(models: Iterable[Model]) -> str:
    """C source that defines `models` and `model_count` of nvml/model.h."""
    rows = list(models)
    profiles = "\n".join(_profile_array(number, model) for number, model in enumerate(rows))
    table = "\n".join(_model_row(number, model) for number, model in enumerate(rows))
    return (
        f'#include "model.h"\n\n{profiles}\nconst struct model models[] = {{\n{table}\n}};\n'
        "const unsigned model_count = sizeof models / sizeof *models;\n"
    )


def health_header() -> str:
    """C header that numbers the values of health.py: HEALTH_<key>, their names, and which a reset takes away."""
    rows = "\n".join(f"    HEALTH_{key}," for key in KEYS)
    names = ", ".join(f'"{key}"' for key in KEYS)
    lost = _list(int(key in LOST_WITH_RESET) for key in KEYS)
    return (
        f"#ifndef SIMHW_HEALTH_VALUES_H\n#define SIMHW_HEALTH_VALUES_H\n\nenum {{\n{rows}\n    HEALTH_VALUES\n}};\n\n"
        f"#define HEALTH_KEYS {names}\n#define HEALTH_LOST_WITH_RESET {lost}\n\n#endif\n"
    )


def stub_table(wanted: Iterable[str], defined: Iterable[str]) -> str:
    """C source with one function that returns NVML_ERROR_NOT_SUPPORTED for every wanted symbol that is not defined."""
    missing = sorted(set(wanted) - set(defined))
    body = "\n".join(f"EXPORT nvmlReturn_t {name}(void) {{ return NVML_ERROR_NOT_SUPPORTED; }}" for name in missing)
    return f'#include "types.h"\n\n{body}\n'


def _profile_array(number: int, model: Model) -> str:
    if not model.profiles:
        return ""
    rows = "\n".join(_profile_row(profile) for profile in model.profiles)
    return f"static const struct gi_profile profiles_{number}[] = {{\n{rows}\n}};\n"


def _profile_row(profile: MigProfile) -> str:
    numbers = [profile.enum, profile.id, profile.slices, profile.memory_mib, profile.count, profile.multiprocessors]
    numbers += [*profile.engines, profile.size, len(profile.starts)]
    last = _list([profile.since, profile.capabilities])
    return f'    {{"{profile.name}", {_list(numbers)}, {{{_list(profile.starts)}}}, {last}}},'


def _model_row(number: int, model: Model) -> str:
    texts = [model.key, model.name, model.vbios, model.part_number]
    numbers: list[int] = [model.device_id << 16 | 0x10DE, model.subsystem, model.architecture]
    numbers += [*model.compute, model.brand]
    numbers += [model.memory_mib, model.bar1_mib, model.multiprocessors, model.cores, *model.power, *model.clocks]
    numbers += [model.bus_width, model.pcie_generation, model.mig_units, int(model.mig_needs_reset)]
    numbers += [*model.mig_engines, model.mig_slice_multiprocessors, model.mig_revision1_multiprocessors]
    numbers += [*model.temperatures, *model.nvlink, int(model.ecc), model.row_banks, int(model.hbm), model.fans]
    numbers += [int(model.coherent), int(model.pci_class == VGA), model.last_branch]
    pointer = f"profiles_{number}" if model.profiles else "0"
    quoted = ", ".join(f'"{text}"' for text in texts)
    return f'    {{{quoted}, {_list(numbers)}, "{model.first_driver}", {len(model.profiles)}, {pointer}}},'


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)
