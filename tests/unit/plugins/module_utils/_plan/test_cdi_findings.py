# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said to somebody whose host gets no CDI spec."""

from __future__ import annotations

import pynvml
import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_findings import nvml_unavailable

LOG = "journalctl -k"


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "load the driver"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "reload the modules"),
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "install the driver's libraries"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "become: true"),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "Xid"),
        (pynvml.NVML_ERROR_RESET_REQUIRED, "--gpu-reset"),
        (pynvml.NVML_ERROR_UNKNOWN, LOG),
        (pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, LOG),
        (pynvml.NVML_ERROR_NOT_FOUND, LOG),
        (pynvml.NVML_ERROR_OPERATING_SYSTEM, LOG),
    ],
)
def test_remedy_fits_the_code_that_nvml_returned(code, remedy):
    finding = nvml_unavailable(str(pynvml.NVMLError(code)))
    assert remedy in finding.remedy
    assert "modprobe" not in finding.remedy or code == pynvml.NVML_ERROR_DRIVER_NOT_LOADED
