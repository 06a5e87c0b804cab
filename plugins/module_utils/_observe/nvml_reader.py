# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks one GPU many things, and keeps why it did not answer some. Private to this collection."""

from __future__ import annotations

from typing import Any

from .nvml import ABSENT, Nvml, NvmlFailure


class NvmlReader:
    """``unknown`` maps the key of a report to NVML's reason, for each question without an answer."""

    def __init__(self, nvml: Nvml, gpu: Any) -> None:
        self.nvml = nvml
        self.gpu = gpu
        self.unknown: dict[str, str] = {}

    def ask(self, key: str, name: str, *args: Any) -> Any:
        """The answer of pynvml's function ``name`` about this GPU; None where NVML refuses, then with a reason."""
        try:
            return self.nvml.call(name, self.gpu, *args)
        except NvmlFailure as failure:
            self.unknown[key] = str(failure)
            return None

    def ask_if_any(self, key: str, name: str, *args: Any, absent: tuple[int, ...] = ABSENT) -> Any:
        """Like ``ask``, but where the GPU, the driver or nvidia-ml-py has no such thing, None is the whole answer."""
        try:
            return self.nvml.ask(name, self.gpu, *args, absent=absent)
        except NvmlFailure as failure:
            self.unknown[key] = str(failure)
            return None
