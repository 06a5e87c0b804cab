# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers for texts of GPU tools, fabric, containers and cluster. Private to this collection.

A new kind of text is one row in TOOL_SOURCES.
"""

from __future__ import annotations

import re

from .cdi_list import read_cdi_list
from .cdi_spec import read_cdi_spec
from .container_log import read_container_log
from .containerd_config import read_containerd_config
from .crictl_info import read_crictl_info
from .crio_config import read_crio_config
from .dcgm_diag import read_dcgm_diag
from .dcgm_discovery import read_dcgm_discovery
from .dcgm_health import read_dcgm_health
from .device_plugin_log import read_device_plugin_log
from .docker_daemon import read_docker_daemon
from .docker_info import read_docker_info
from .fabric_manager import read_fabric_manager_log
from .fabric_manager_status import read_fabric_manager_status
from .gridd import read_gridd_log
from .imex import read_imex
from .kubelet_sockets import read_device_plugin_checkpoint, read_device_plugin_folder
from .nvidia_smi import read_nvidia_smi
from .nvidia_smi_csv import read_smi_csv
from .nvidia_smi_list import read_smi_list
from .nvidia_smi_mig import read_smi_mig
from .nvidia_smi_nvlink import read_smi_nvlink
from .nvidia_smi_query import read_smi_query
from .nvidia_smi_topology import read_smi_topology
from .nvidia_smi_version import read_smi_version
from .nvidia_smi_xml import read_smi_xml
from .source import Found, Source, text_only
from .toolkit_config import read_toolkit_config
from .unit_status import read_unit_status

NVIDIA_SMI = "nvidia-smi"


def _in_container(text: str, source: str) -> Found:
    """What became of nvidia-smi in a container: it did not start, or it said something itself."""
    started = read_container_log(text)
    # What the device plugin says of NVML, nvidia-smi says too.
    if started["event"] is not None and not started["event"].startswith("plugin_"):
        return {"kind": "container_log", **started}
    inner = source[source.index(NVIDIA_SMI) :]
    row = next(s for s in TOOL_SOURCES if re.search(s.pattern, inner))
    return {"kind": row.kind, **row.read(text, inner)}


# The first row whose pattern is found counts.
TOOL_SOURCES: tuple[Source, ...] = (
    Source(
        "container_command",
        r"\b(docker|podman|nerdctl|ctr|crictl|kubectl)\b.* (run|exec|logs)\b.*\bnvidia-smi\b",
        _in_container,
    ),
    # GPU tools.
    Source("nvidia_smi_list", r"\bnvidia-smi\b.* (-L|--list-gpus)\b", text_only(read_smi_list)),
    Source("nvidia_smi_version", r"\bnvidia-smi\b.* --version\b", text_only(read_smi_version)),
    Source("nvidia_smi_csv", r"\bnvidia-smi\b.* (--query-[a-z]|--format=)", read_smi_csv),
    Source("nvidia_smi_topology", r"\bnvidia-smi\b.* topo\b", text_only(read_smi_topology)),
    Source("nvidia_smi_nvlink", r"\bnvidia-smi\b.* nvlink\b", text_only(read_smi_nvlink)),
    Source("nvidia_smi_mig", r"\bnvidia-smi (-i \S+ )?mig\b", text_only(read_smi_mig)),
    Source("nvidia_smi_xml", r"\bnvidia-smi\b.* (-q?x|--xml-format)\b", text_only(read_smi_xml)),
    Source("nvidia_smi_query", r"\bnvidia-smi\b.* (-q|--query)\b", text_only(read_smi_query)),
    Source("nvidia_smi", r"\bnvidia-smi\b", read_nvidia_smi),
    Source("dcgm_discovery", r"\bdcgmi discovery\b", text_only(read_dcgm_discovery)),
    Source("dcgm_diag", r"\bdcgmi diag\b", text_only(read_dcgm_diag)),
    Source("dcgm_health", r"\bdcgmi health\b|\bDCGM health\b", text_only(read_dcgm_health)),
    # Fabric and licences.
    Source("fabric_manager_status", r"\bsystemctl status \S*fabricmanager", text_only(read_fabric_manager_status)),
    Source("fabric_manager_log", r"fabric-?manager|\b[Ff]abric manager\b", text_only(read_fabric_manager_log)),
    Source("imex", r"\bnvidia-imex-ctl\b", text_only(read_imex)),
    Source("gridd_log", r"\b(nvidia-)?gridd\b", text_only(read_gridd_log)),
    # Containers and cluster.
    Source("cdi_list", r"\bnvidia-ctk cdi list\b", text_only(read_cdi_list)),
    Source("cdi_spec", r"\bnvidia-ctk cdi generate\b|/cdi/\S+\.(yaml|json)\b", text_only(read_cdi_spec)),
    Source(
        "containerd_config",
        r"\bcontainerd config dump\b|containerd\S*\.toml\b",
        read_containerd_config,
    ),
    Source("toolkit_config", r"\bnvidia-container-runtime/config\.toml\b", text_only(read_toolkit_config)),
    Source("crio_config", r"\bcrio(-status)?( status)? config\b|/crio/\S*\.conf\b", text_only(read_crio_config)),
    Source("docker_daemon", r"\bdaemon\.json\b", text_only(read_docker_daemon)),
    Source("docker_info", r"\bdocker( system)? info\b", text_only(read_docker_info)),
    Source("crictl_info", r"\bcrictl\b.* info\b", text_only(read_crictl_info)),
    Source("device_plugin_checkpoint", r"kubelet_internal_checkpoint", text_only(read_device_plugin_checkpoint)),
    Source("device_plugin_folder", r"\bls\b.*/device-plugins\b", text_only(read_device_plugin_folder)),
    Source("device_plugin_log", r"\bdevice[- ]plugin\b", text_only(read_device_plugin_log)),
    Source(
        "container_log",
        r"\bnvidia-container-(runtime|cli|toolkit)\b|\b(docker|podman|nerdctl|ctr|crictl) "
        r"|\bkubectl (describe|get events)\b"
        r"|\bjournalctl .*-u ?(containerd|docker|crio|kubelet|k3s|rke2)",
        text_only(read_container_log),
    ),
    Source("unit_status", r"\bsystemctl status\b", text_only(read_unit_status)),
)
