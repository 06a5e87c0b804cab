# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the files of /proc/driver/nvidia/gpus/<address>/. Private to this collection.

Sources: open-gpu-kernel-modules nv-procfs.c; canonical/snapd#14893.
"""

from __future__ import annotations

import re
from typing import Any

from .plain import number

PAIR = re.compile(r"^(?P<key>[A-Za-z][\w .-]*?):[ \t]*(?P<value>.*?)\s*$")


def read_pairs(text: str) -> dict[str, str]:
    """``Key: <tabs> value`` lines by their keys as printed; of a repeated key the first counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = PAIR.match(line)
        if match:
            found.setdefault(match["key"], match["value"])
    return found


def read_gpu_information(text: str) -> dict[str, Any]:
    """File ``information``. What the driver does not know, prints as N/A or leaves out is None.

    ``model``, ``irq``, ``uuid``, ``vbios``, ``bus_type``, ``dma_bits``, ``dma_mask``, ``pci`` (as in sysfs), ``minor``
    (device minor, not NVML's index), ``gpu_firmware`` (version of the GSP firmware), ``excluded``. ``initialised``:
    False until the first client opens the GPU, which is no fault with persistence mode off; None: the text does not
    say.
    """
    pairs = read_pairs(text)
    excluded = _known(pairs.get("GPU Excluded"))
    pci = _known(pairs.get("Bus Location"))
    return {
        "model": _known(pairs.get("Model")),
        "irq": number(pairs.get("IRQ")),
        "uuid": _known(pairs.get("GPU UUID")),
        "vbios": _known(pairs.get("Video BIOS")),
        "bus_type": _known(pairs.get("Bus Type")),
        "dma_bits": number((pairs.get("DMA Size") or "").split(" ")[0]),
        "dma_mask": _known(pairs.get("DMA Mask")),
        "pci": pci.lower() if pci else None,
        "minor": number(pairs.get("Device Minor")),
        "gpu_firmware": _known(pairs.get("GPU Firmware")),
        "excluded": None if excluded is None else excluded == "Yes",
        "initialised": _initialised(pairs),
    }


def _known(value: str | None) -> str | None:
    return None if not value or "??" in value or value in ("N/A", "Unknown") else value


def _initialised(pairs: dict[str, str]) -> bool | None:
    """Question marks, or in later drivers no line: the UUID stands before Video BIOS."""
    if "GPU UUID" in pairs:
        return _known(pairs["GPU UUID"]) is not None
    return False if "Video BIOS" in pairs else None


def read_gpu_power(text: str) -> dict[str, Any]:
    """File ``power``: every line as a key in lower case with underscores (``runtime_d3_status``, ``video_memory``)."""
    return {re.sub(r"\W+", "_", key.lower()).strip("_"): _known(value) for key, value in read_pairs(text).items()}


def read_gpu_numa_status(text: str) -> dict[str, Any]:
    """File ``numa_status`` of coherent GPUs: ``node``, ``status`` (offline, online, online_failed ...), ``address``,
    ``size``.
    """
    pairs = read_pairs(text)
    return {
        "node": number(pairs.get("Node")),
        "status": _known(pairs.get("Status")),
        "address": _known(pairs.get("Address")),
        "size": _known(pairs.get("Size")),
    }


def read_nvswitch_information(text: str) -> dict[str, Any]:
    """File /proc/driver/nvidia-nvswitch/devices/<address>: ``vbios``, ``uuid`` (SWX-...), ``physical_id``; None: not
    told.
    """
    pairs = read_pairs(text)
    return {
        "vbios": _known(pairs.get("BIOS Version")),
        "uuid": _known(pairs.get("UUID")),
        "physical_id": number(pairs.get("Physical location ID")),
    }
