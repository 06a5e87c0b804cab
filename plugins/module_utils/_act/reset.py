# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resets one GPU. Private to this collection."""

from __future__ import annotations

from .._observe.command import Run
from .._observe.texts.nvidia_smi_failure import read_smi_failure


class ResetRefused(Exception):
    """The reset did not happen; the message is what nvidia-smi said, ``kind`` what it means (empty: not known)."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def reset_gpu(run: Run, pci_address: str) -> None:
    """Resets the GPU at ``pci_address`` (0000:41:00.0) and no other, through nvidia-smi on PATH.

    NVML has no call for it. The caller's own NVML session has to be closed: an open one counts as a client of the GPU.
    Raises ResetRefused.
    """
    status, out, err = run(["nvidia-smi", "--gpu-reset", "-i", pci_address])
    if status:
        said, failure = " ".join((out + err).split()) or "nothing", read_smi_failure(f"{out}\n{err}")
        text = f"nvidia-smi --gpu-reset -i {pci_address} ended with {status} and said: {said}"
        raise ResetRefused(text, failure["kind"] if failure else "")
