# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML through pynvml: open, ask, and name what went wrong. Private to this collection.

pynvml (nvidia-ml-py) opens libnvidia-ml.so.1 by name, so LD_LIBRARY_PATH decides which one answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

from .helpers import find_helper

Answer = TypeVar("Answer")

# NVML return codes (nvml.h) that mean "this GPU, driver or library does not have it".
NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, DEPRECATED = 3, 6, 13, 26
ABSENT = (NOT_SUPPORTED, FUNCTION_NOT_FOUND, DEPRECATED)

INVALID_ARGUMENT, NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, GPU_IS_LOST = 2, 4, 9, 12, 15
RESET_REQUIRED, LIB_RM_VERSION_MISMATCH, IN_USE, GPU_NOT_FOUND = 16, 18, 19, 28

# return code -> mig_config's error kind; everything else is nvml_error
KINDS = {
    NO_PERMISSION: "permission",
    DRIVER_NOT_LOADED: "driver_not_loaded",
    LIBRARY_NOT_FOUND: "driver_not_loaded",
    GPU_IS_LOST: "gpu_lost",
    GPU_NOT_FOUND: "gpu_lost",
    IN_USE: "in_use",
    RESET_REQUIRED: "reset_required",
}


class NvmlFailure(Exception):
    """NVML refused. ``code`` is its return code, ``kind`` mig_config's word for it; the message names the call."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.kind = KINDS.get(code, "nvml_error")


class HelperMissing(Exception):
    """The Python package pynvml is nowhere to be found on this host."""


class Nvml:
    """An open session. ``api`` is pynvml; ``call`` raises NvmlFailure, ``ask`` gives None for what is absent."""

    def __init__(self, api: ModuleType) -> None:
        self.api = api

    def call(self, name: str, *args: Any) -> Any:
        """pynvml's function ``name``; a function that pynvml itself lacks counts as FUNCTION_NOT_FOUND."""
        function: Callable[..., Any] | None = getattr(self.api, name, None)
        if function is None:
            raise NvmlFailure(FUNCTION_NOT_FOUND, f"{name}: not in this nvidia-ml-py")
        try:
            return function(*args)
        except self.api.NVMLError as error:
            raise NvmlFailure(error.value, f"{name}: {error}") from error

    def ask(self, name: str, *args: Any, absent: tuple[int, ...] = ABSENT) -> Any:
        """Like ``call``, with None where the return code is one of ``absent``."""
        try:
            return self.call(name, *args)
        except NvmlFailure as failure:
            if failure.code in absent:
                return None
            raise

    def gpus(self) -> list[Any]:
        """Handles in index order; an NvmlFailure stands in the place of a GPU that cannot be opened."""
        count = self.call("nvmlDeviceGetCount")
        return [self._handle(i) for i in range(count)]

    def _handle(self, index: int) -> Any:
        try:
            return self.call("nvmlDeviceGetHandleByIndex", index)
        except NvmlFailure as failure:
            return failure


@contextmanager
def open_nvml() -> Iterator[Nvml]:
    """NVML is initialised inside the block. Raises HelperMissing, or NvmlFailure where it cannot be."""
    api = find_helper("pynvml")
    if api is None:
        raise HelperMissing("the Python package pynvml (nvidia-ml-py) is missing")
    nvml = Nvml(api)
    nvml.call("nvmlInit")
    try:
        yield nvml
    finally:
        nvml.call("nvmlShutdown")


def text_of(value: Any) -> str | None:
    """NVML's texts come as bytes or str, depending on the version of nvidia-ml-py."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def sysfs_address(bus_id: str | bytes) -> str:
    """00000000:41:00.0 -> 0000:41:00.0, as sysfs writes it; domains beyond ffff keep their digits."""
    domain, _colon, rest = (text_of(bus_id) or "").lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"
