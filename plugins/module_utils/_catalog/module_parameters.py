# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of the driver's kernel modules that are set by default. Private to this collection.

A new default is one row in DEFAULTS.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """``name`` of ``module`` gets ``value`` in branches from ``first_branch`` on.

    ``coherent_only``: it changes nothing for other GPUs, so their modules are not reloaded for it.
    """

    module: str
    name: str
    value: str
    first_branch: int
    coherent_only: bool
    source: str
    as_of: str


COHERENT_MODE = "NVreg_CoherentGPUMemoryMode"

# What NVIDIA's driver container always sets.
DEFAULTS = (
    # Memory of GH200 and GB200 stays the driver's (CDMM): as NUMA nodes it would count as the host's memory.
    Parameter(
        "nvidia", COHERENT_MODE, "driver", 580, True, "github.com/NVIDIA/gpu-driver-container 06a208c", "2026-08-17"
    ),
)

# NVreg_<name> of modprobe(8) -> name in /proc/driver/nvidia/params, where it is another one (open-gpu-kernel-modules).
SHOWN_AS = {
    "NVreg_RestrictProfilingToAdminUsers": "RmProfilingAdminOnly",
}


def shown_name(name: str) -> str:
    """How /proc/driver/nvidia/params calls a parameter of module nvidia."""
    return SHOWN_AS.get(name, name[len("NVreg_") :] if name.startswith("NVreg_") else name)
