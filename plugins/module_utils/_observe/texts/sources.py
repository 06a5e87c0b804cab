# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the reader for a recorded text by the command or path that it came from. Private to this collection.

A new kind of text is one row in SOURCES.
"""

from __future__ import annotations

import re

from .apt_errors import read_apt_errors
from .apt_policy import read_apt_policy
from .capability import read_capability, read_minors
from .device_nodes import read_device_nodes
from .dkms import read_dkms_status
from .dnf import read_dnf_errors, read_module_streams, read_nvidia_plugin
from .dpkg_list import read_dpkg_list
from .driver_banner import read_driver_banner
from .driver_params import read_driver_params
from .gpu_information import read_gpu_information, read_gpu_numa_status, read_gpu_power, read_nvswitch_information
from .host_log import read_host_log
from .infiniband import read_ibdev2netdev, read_ibstat, read_infiniband_class
from .kernel_log import read_kernel_log
from .loaded_module import read_loaded_module
from .modinfo import read_modinfo
from .module_list import read_module_list, read_modules_in_use
from .pci_list import read_pci_list
from .plain import plain
from .proc_devices import read_proc_devices
from .rpm_list import read_rpm_list
from .secure_boot import read_efi_variable, read_enrolled_keys, read_key_test, read_sb_state
from .source import Found, Source, text_only
from .tool_sources import TOOL_SOURCES

RC = re.compile(r"\brc (\d+)\b")


# The first row whose pattern is found counts.
SOURCES = (
    # Kernel, packages, firmware.
    Source("driver_banner", r"/proc/driver/nvidia/version", text_only(read_driver_banner)),
    Source("gpu_information", r"/proc/driver/nvidia/gpus/\S+/information", text_only(read_gpu_information)),
    Source("gpu_power", r"/proc/driver/nvidia/gpus/\S+/power", text_only(read_gpu_power)),
    Source("gpu_numa_status", r"/proc/driver/nvidia/gpus/\S+/numa_status", text_only(read_gpu_numa_status)),
    Source("nvswitch_information", r"/proc/driver/nvidia-nvswitch/devices/", text_only(read_nvswitch_information)),
    Source("loaded_module", r"/sys/module/[\w-]+/\w+", read_loaded_module),
    Source("driver_params", r"/proc/driver/nvidia/params", read_driver_params),
    Source("capability", r"/proc/driver/nvidia/capabilities/", text_only(read_capability)),
    Source("minors", r"/proc/driver/nvidia-caps/\S+-minors", text_only(read_minors)),
    Source("proc_devices", r"/proc/devices", text_only(read_proc_devices)),
    Source("device_nodes", r"\bls -\w*l\w*( -\S+)* /dev/", text_only(read_device_nodes)),
    Source("modules", r"/proc/modules|\blsmod\b", text_only(read_module_list)),
    Source("modules_in_use", r"\brmmod\b|\bmodprobe (-r|--remove)", text_only(read_modules_in_use)),
    Source("dkms_status", r"\bdkms status\b", text_only(read_dkms_status)),
    Source("modinfo", r"\bmodinfo\b", read_modinfo),
    Source("efi_variable", r"/efivars/(SecureBoot|SetupMode)-", text_only(read_efi_variable)),
    Source("sb_state", r"\bmokutil --sb-state", text_only(read_sb_state)),
    Source("enrolled_keys", r"\bmokutil (--list-(enrolled|new)|-[lN]\b)", text_only(read_enrolled_keys)),
    Source("key_test", r"\bmokutil (--test-key|-t\b)", text_only(read_key_test)),
    Source("pci_list", r"\blspci\b", text_only(read_pci_list)),
    Source("ibstat", r"\bibstat\b", text_only(read_ibstat)),
    Source("ibdev2netdev", r"\bibdev2netdev\b", text_only(read_ibdev2netdev)),
    Source("infiniband_class", r"/sys/class/infiniband", text_only(read_infiniband_class)),
    Source("apt_policy", r"\bapt(-cache)? policy\b", text_only(read_apt_policy)),
    Source("dpkg_list", r"\bdpkg -l\b|\bdpkg-query\b", text_only(read_dpkg_list)),
    Source("rpm_list", r"\brpm -q", text_only(read_rpm_list)),
    Source("module_streams", r"\b(dnf|yum) module list\b", text_only(read_module_streams)),
    Source("nvidia_plugin", r"\bdnf nvidia-plugin\b", text_only(read_nvidia_plugin)),
    Source("apt_error", r"\bapt(-get)? |\bansible\.builtin\.apt\b|\bdpkg --configure\b", read_apt_errors),
    Source("dnf_error", r"\b(dnf5?|yum|microdnf|tdnf) |\bansible\.builtin\.(dnf5?|yum)\b", read_dnf_errors),
    # GPU tools, fabric, containers, cluster.
    *TOOL_SOURCES,
    # Logs of the whole host come last: a text of a tool may have one behind it.
    Source(
        "kernel_log",
        r"\b(dmesg|insmod|modprobe|nvidia-persistenced)\b|/dev/kmsg|journalctl -k|/var/log/kern\.log",
        read_kernel_log,
    ),
    Source("host_log", r"\b(syslog|journalctl)\b|/var/log/messages", read_host_log),
)


def read_output(source: str, text: str) -> Found:
    """What ``text`` says, which ``source`` printed or holds: ``{"kind": ..., ...}``, further keys as the reader says.

    ``source``: ``dkms status``, ``/proc/driver/nvidia/version``, ``apt-get install nvidia-open (rc 100)`` ... An exit
    status in it is ``rc``; without one that is the status which a message goes with. Any text is read, also a cut or
    empty one. Raises ValueError for an unknown source.
    """
    found = next((s for s in SOURCES if re.search(s.pattern, source)), None)
    if found is None:
        raise ValueError(f"no reader for texts of {source!r}")
    status = RC.search(source)
    told = {"rc": int(status.group(1))} if status else {}
    return {"kind": found.kind, **found.read(plain(text), source), **told}
