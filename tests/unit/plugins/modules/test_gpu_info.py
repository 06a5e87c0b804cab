# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_info on simulated machines that are well, broken, or not to be read: real pynvml, simulated NVML."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._observe import gpu_stack
from ansible_collections.gpu.fleet.plugins.module_utils._observe.lenient import LenientRoot
from ansible_collections.gpu.fleet.plugins.modules import gpu_info
from simulator.layout import machine_state
from simulator.module_host import Host
from simulator.state import edit

NO_PERMISSION, NOT_LOADED, NOT_FOUND, MISMATCH, UNKNOWN = 4, 9, 12, 18, 999

# NVML_ERROR_* of nvmlInit -> a word of the error
INIT = {
    NO_PERMISSION: "Insufficient Permissions",
    NOT_LOADED: "Driver Not Loaded",
    NOT_FOUND: "NVML Shared Library Not Found",
    MISMATCH: "version mismatch",
    UNKNOWN: "Unknown Error",
}


def test_facts_of_a_mig_host(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x2")
    host.want({"3g.20gb": 2})
    facts = host.module("gpu_info")
    assert facts["ansible_facts"]["gpu_fleet"]["gpus"] == facts["gpus"]
    gpu = facts["gpus"][0]
    assert (gpu["pci_id"], gpu["pci_class"], gpu["minor"], gpu["memory_mib"]) == ("10de:20b0", "0x030200", 0, 40537)
    assert [(d["profile"], d["memory_mib"]) for d in gpu["mig"]["devices"]] == [("3g.20gb", 19968)] * 2
    assert (gpu["error"], gpu["unknown"]) == (None, {})
    assert facts["driver"]["nvml"] == {"available": True, "error": None}
    assert facts["driver"]["loaded_version"] == "570.172.08"
    assert facts["topology"]["matrix"][0][0] == "X"
    assert facts["unreadable"] == {}


@pytest.mark.parametrize(("code", "words"), INIT.items())
def test_nvml_that_does_not_start_is_told_and_gpus_come_from_pci(tmp_path: Path, code: int, words: str) -> None:
    host = Host(tmp_path, "h100x2")
    host.box.fault("nvmlInit", code)
    facts = host.module("gpu_info")
    nvml = facts["driver"]["nvml"]
    assert (nvml["available"], facts["driver"]["cuda_version"]) == (False, None)
    assert words in nvml["error"]
    assert [(g["pci_id"], g["architecture"], g["uuid"], g["processes"]) for g in facts["gpus"]] == [
        ("10de:2330", "hopper", None, None)
    ] * 2
    assert all(g["error"] == nvml["error"] for g in facts["gpus"])
    assert facts["pci"]["missing_in_nvml"] is None
    assert facts["topology"]["error"] == nvml["error"]
    assert facts["topology"]["matrix"] == [["X", None], [None, "X"]]


def test_module_that_is_not_loaded(tmp_path: Path) -> None:
    host = Host(tmp_path, "h100x1")
    with edit(host.box.state_path) as state:
        state.driver = None
    facts = host.module("gpu_info")
    assert "Driver Not Loaded" in facts["driver"]["nvml"]["error"]
    assert [g["pci_address"] for g in facts["gpus"]] == [host.box.state.gpus[0]["bus"]]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_one_lost_gpu_hides_no_other(tmp_path: Path, index: int) -> None:
    host = Host(tmp_path, ["H100-80"] * 3)
    host.set_gpu(index, lost="1")
    facts = host.module("gpu_info")
    lost = host.box.state.gpus[index]["bus"]
    rows = {g["pci_address"]: g for g in facts["gpus"]}
    assert len(rows) == 3
    assert "GPU is lost" in rows[lost]["error"]
    assert rows[lost]["uuid"] is None
    others = [g for address, g in rows.items() if address != lost]
    assert all(g["uuid"] and g["error"] is None and g["memory_mib"] for g in others)
    assert facts["driver"]["nvml"]["available"]
    assert "GPU is lost" in facts["driver"]["nvml"]["error"]


# what NVML refuses -> the key that is null, and the keys that have the reason: those of the row, those of its health
REFUSED = {
    "nvmlDeviceGetMemoryInfo": ("memory_mib", {"memory_mib"}, set()),
    "nvmlDeviceGetMinorNumber": ("minor", {"minor"}, set()),
    "nvmlDeviceGetArchitecture": ("architecture", {"architecture"}, set()),
    "nvmlDeviceGetCudaComputeCapability": ("compute_capability", {"compute_capability"}, set()),
    "nvmlDeviceGetComputeRunningProcesses": ("processes", {"processes"}, set()),
    "nvmlDeviceGetGraphicsRunningProcesses": ("processes", {"processes"}, set()),
    "nvmlDeviceGetGpuFabricInfo": ("fabric", {"fabric"}, set()),
    "nvmlDeviceGetTemperature": ("health.temperature_c", set(), {"temperature_c"}),
    "nvmlDeviceGetPowerUsage": ("health.power_w", set(), {"power_w"}),
    "nvmlDeviceGetEccMode": ("health.ecc", set(), {"ecc"}),
    "nvmlDeviceGetRemappedRows": ("health.remapped_rows", set(), {"remapped_rows"}),
    "nvmlDeviceGetCurrPcieLinkWidth": ("health.link.width", set(), {"link.width"}),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("code", [NO_PERMISSION, UNKNOWN])
def test_value_that_nvml_refuses_is_null_with_its_reason(tmp_path: Path, name: str, code: int) -> None:
    key, reasons, health = REFUSED[name]
    host = Host(tmp_path, "h100x1")
    host.box.fault(name, code)
    gpu = host.module("gpu_info")["gpus"][0]
    assert at(gpu, key) is None
    assert (set(gpu["unknown"]), set(gpu["health"]["unknown"])) == (reasons, health)
    assert all(name in text for text in [*gpu["unknown"].values(), *gpu["health"]["unknown"].values()])
    assert gpu["uuid"]


# below the root -> a key that is null then, though the file is there
DENIED = {
    "sys/bus/pci/devices/{gpu}/numa_node": "gpus.0.numa_node",
    "proc/driver/nvidia/version": None,
    "proc/modules": None,
    "etc/containerd/config.toml": None,
    "var/run/cdi/nvidia.yaml": None,
    "var/lib/dkms": None,
    "lib/modules": None,
}


@pytest.mark.parametrize("path", DENIED)
def test_file_that_the_user_may_not_read_is_named(tmp_path: Path, path: str) -> None:
    host = Host(tmp_path, "h100x1")
    named = path.format(gpu=host.box.state.gpus[0]["bus"])
    target = tmp_path / named
    target.parent.mkdir(parents=True, exist_ok=True)
    kernel = tmp_path / "lib/modules/6.1.0-sim-amd64"
    kernel.mkdir(parents=True, exist_ok=True)
    (kernel / "modules.dep").touch()
    if not target.exists():
        target.mkdir() if target.name in {"dkms", "modules"} else target.write_text("x")
    target.chmod(0)
    facts = host.module("gpu_info", by_mode=True)
    assert facts["unreadable"][f"/{named}"] == "Permission denied"
    assert len(facts["gpus"]) == 1
    if DENIED[path]:
        assert at(facts, DENIED[path]) is None


# file -> contents that nobody wants to find there
NASTY = {
    "etc/containerd/config.toml": ["version = 3\nplugins = 'x'\n", "[[[", "\x00\xff", "version = 'new'\n[plugins]\n"],
    "etc/docker/daemon.json": ["[]", "{", '{"runtimes": []}', '{"runtimes": {"nvidia": 3}, "features": "cdi"}'],
    "etc/crio/crio.conf": ["crio = 1\n", "[crio]\nruntime = 'x'\n", "[crio.runtime]\nruntimes = 5\n"],
    "var/run/cdi/nvidia.yaml": [
        "kind: nvidia.com/gpu\ndevices: [1, null]\n",
        "devices: [{name: a, containerEdits: 5}]\n",
        "devices: [{containerEdits: {deviceNodes: [5], mounts: {}, hooks: [{}]}}]\n",
        "devices: []\ncontainerEdits: []\n",
        "kind: 5\ncdiVersion: [1]\ndevices: [{name: 5}]\n",
        "- 1\n",
        "{",
        "",
    ],
    "var/lib/kubelet/config.yaml": ["{", "cgroupDriver: {}\n", "\xff\xfe"],
    "proc/driver/nvidia/version": ["", "NVRM version:\n", "\x00" * 10],
    "proc/modules": ["nvidia\n", "nvidia x y z w\n", "nvidia 1 x - Live 0x0\n"],
    "var/lib/dpkg/status": ["Package: a\n", "Status: install ok installed\n\nPackage\n", ":\n"],
    "sys/bus/pci/devices/{gpu}/numa_node": ["x\n", "", "-2\n"],
    "sys/bus/pci/devices/{gpu}/class": ["", "0x\n", "banana\n"],
    "sys/bus/pci/devices/{gpu}/config": ["", "\x00" * 256, "\xff" * 256, "\x09" * 4096],
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": ["", "\x06\x00\x00"],
}
PAIRS = [(path, content) for path, contents in NASTY.items() for content in contents]


@pytest.mark.parametrize(("path", "content"), PAIRS)
def test_nothing_on_a_host_stops_the_module(tmp_path: Path, path: str, content: str) -> None:
    host = Host(tmp_path, "h100x1")
    target = tmp_path / path.format(gpu=host.box.state.gpus[0]["bus"])
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.chmod(target.stat().st_mode | stat.S_IWUSR)
    target.write_bytes(content.encode("latin-1"))
    facts = host.module("gpu_info")
    assert facts["driver"]["nvml"]["available"] is True
    assert facts["gpus"][0]["uuid"] == host.box.state.gpus[0]["uuid"]


def test_host_without_gpu(tmp_path: Path) -> None:
    facts = Host(tmp_path, "none").module("gpu_info")
    assert (facts["gpus"], facts["pci"]["nvswitches"], facts["topology"]["devices"]) == ([], [], [])
    assert facts["driver"]["nvml"] == {"available": False, "error": "not asked: the host has no NVIDIA GPU"}
    assert facts["driver"]["source"] == "none"


# what is on the host -> the Python packages that it takes to read it
HELPERS = {
    "nothing": ("none", "", []),
    "a GPU": ("t4x1", "", ["pynvml"]),
    "an engine": ("none", "etc/containerd/config.toml", ["tomlkit"]),
    "Docker": ("none", "etc/docker/daemon.json", []),
    "a spec": ("none", "etc/cdi/x.yaml", ["yaml"]),
    "a driver without GPU on the PCI bus": ("none", "dev/nvhost-ctrl", ["pynvml"]),
}


@pytest.mark.parametrize(("profile", "path", "wanted"), HELPERS.values(), ids=HELPERS)
def test_host_needs_only_the_packages_for_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str, path: str, wanted: list[str]
) -> None:
    Host(tmp_path, profile)
    if path:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.setattr(gpu_stack, "find_helper", lambda _name: None)
    assert gpu_stack.missing_helpers(LenientRoot(str(tmp_path)), gpu_stack.SUBSETS) == wanted


def test_sixty_four_gpus_of_several_models(tmp_path: Path) -> None:
    models = ["H100-80"] * 32 + ["A100-40"] * 31 + ["T4"]
    facts = Host(tmp_path, machine_state(models, "big")).module("gpu_info")
    assert [g["index"] for g in facts["gpus"]] == list(range(64))
    assert len({g["uuid"] for g in facts["gpus"]}) == 64
    assert {g["error"] for g in facts["gpus"]} == {None}
    assert [len(row) for row in facts["topology"]["matrix"]] == [64] * 64


def test_gpus_behind_switches_have_as_many_links_as_both(tmp_path: Path) -> None:
    facts = Host(tmp_path, machine_state(["H100-80"] * 8, "hgx", nvlink="switch")).module("gpu_info")
    row = facts["topology"]["matrix"][0]
    assert row == ["X", *["NV18"] * 7]
    assert [s["generation"] for s in facts["pci"]["nvswitches"]] == [3] * 4


def test_subset(tmp_path: Path) -> None:
    host = Host(tmp_path, "a100x1")
    facts = host.module("gpu_info", gather_subset=["!topology", "!runtimes", "!cdi"])
    assert not {"topology", "runtimes", "cdi"} & set(facts)
    assert "kubelet" in facts
    assert "'gpus'" in host.module("gpu_info", gather_subset=["gpus"])["msg"]


def test_gpus_have_no_error_where_nvml_was_not_asked(tmp_path: Path) -> None:
    facts = Host(tmp_path, "a100x1").module("gpu_info", gather_subset=["pci"])
    assert [(g["uuid"], g["error"]) for g in facts["gpus"]] == [(None, None)]


# A host with one of everything that has keys of its own: path -> text.
RICH = {
    "etc/containerd/config.toml": "version = 3\n",
    "var/run/cdi/x.yaml": "cdiVersion: 0.5.0\nkind: a.b/c\ndevices: [{name: x}]\n",
    "etc/os-release": "ID=debian\nVERSION_ID=12\n",
    "var/lib/dpkg/status": "Package: nvidia-kernel-open-dkms\nStatus: hold ok installed\nVersion: 595.71.05-1\n",
    "etc/dnf/modules.d/nvidia-driver.module": "[nvidia-driver]\nstream=580-open\nstate=enabled\n",
    "etc/apt/sources.list.d/c.sources": "Types: deb\nURIs: http://m/cuda/debian12/x86_64/\nSuites: /\n",
    "etc/modprobe.d/x.conf": "options nvidia NVreg_EnableStreamMemOPs=1\n",
    "var/lib/dkms/mok.pub": "DER",
    "lib/modules/6.8.0-149-generic/modules.dep": "",
    "proc/77/comm": "train\n",
}


def test_every_key_is_documented(tmp_path: Path) -> None:
    """A key without a description is one whose unit and source nobody knows."""
    host = Host(tmp_path, machine_state(["A100-40", "H100-80"], "both", nvlink="switch"))
    for path, text in RICH.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "proc/77/fd").mkdir()
    (tmp_path / "proc/77/fd/3").symlink_to("/dev/nvidia0")
    facts = host.module("gpu_info")
    documented = yaml.safe_load(gpu_info.RETURN)
    assert sorted(set(undocumented(facts, documented, ""))) == []
    driver = facts["driver"]
    assert sorted(absent(driver, documented["driver"], "")) == []
    assert sorted(set(documented["driver"]["sample"]) ^ set(driver)) == []


def undocumented(found: Mapping[str, Any], documented: Mapping[str, Any], where: str) -> Iterator[str]:
    """Keys, dotted, that the RETURN block does not describe; what is named by the host (a package) is no key."""
    for key, value in found.items():
        if not where and key in {"changed", "invocation", "writes"}:
            continue
        row = documented.get(key)
        if row is None or not row.get("description"):
            yield f"{where}{key}"
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and "contains" in row:
                yield from undocumented(inner, row["contains"], f"{where}{key}.")
            elif isinstance(inner, dict) and inner and "sample" not in row:
                yield f"{where}{key} (neither contains nor sample)"


def absent(found: Any, row: Mapping[str, Any], where: str) -> Iterator[str]:
    """Keys, dotted, that RETURN describes and the host's facts lack; each list of the rich host has a row."""
    if "contains" not in row or found is None:
        return
    if row["type"] == "list":
        if not found:
            yield f"{where} (empty)"
        for inner in found:
            yield from absent(inner, {**row, "type": "dict"}, where)
        return
    for key, inner in row["contains"].items():
        if key not in found:
            yield f"{where}{key}"
        else:
            yield from absent(found[key], inner, f"{where}{key}.")


def at(facts: Any, path: str) -> Any:
    for key in path.split("."):
        facts = facts[int(key)] if key.isdigit() else facts[key]
    return facts
