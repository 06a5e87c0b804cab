# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the CDI modes list, and in which order."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_build import build_spec
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_host import (
    CdiHost,
    DriverFiles,
    File,
    Gpu,
    Library,
    MigDevice,
    Node,
    WslFiles,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import make_wish

SO = "/usr/lib64/libcuda.so.580.1"
DRIVER = DriverFiles("580.1", ("/usr/lib64",), (Library(SO, SO, "libcuda.so.1"),))
EVERYTHING = (
    "/dev/gdrdrv",
    "/dev/infiniband/issm0",
    "/dev/infiniband/rdma_cm",
    "/dev/infiniband/uverbs0",
    "/dev/infiniband/uverbs10",
    "/dev/nvidia-caps-imex-channels/channel0",
    "/dev/nvidia-caps/nvidia-cap1",
    "/dev/nvidia-fs0",
    "/dev/nvidia-nvlink",
    "/dev/nvidia-nvswitch0",
    "/dev/nvidia-nvswitchctl",
    "/dev/nvidia-uvm",
    "/dev/nvidia0",
    "/dev/nvidiactl",
)


def nodes(*paths):
    return {p: Node(p, p, 195, n, 0o666, 0) for n, p in enumerate(paths)}


def built(mode, host=None, **options):
    host = host or CdiHost(mode, driver=DRIVER, nodes=nodes(*EVERYTHING), hook_path="/usr/bin/nvidia-cdi-hook")
    return build_spec(make_wish({"mode": mode, **options}), host)


def device(spec, name="all"):
    (found,) = [d["containerEdits"] for d in spec["devices"] if d["name"] == name]
    return [n["path"] for n in found.get("deviceNodes", [])]


# mode -> nodes of the device all, parents before children
MODES = {
    "gds": ["/dev/nvidia-fs0"],
    "gdrcopy": ["/dev/gdrdrv"],
    "mofed": ["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs10"],
    "nvswitch": ["/dev/nvidia-nvswitch0", "/dev/nvidia-nvswitchctl"],
    "management": [
        "/dev/nvidia-uvm",
        "/dev/nvidia0",
        "/dev/nvidiactl",
        "/dev/nvidia-caps-imex-channels/channel0",
        "/dev/nvidia-caps/nvidia-cap1",
    ],
    "imex": ["/dev/nvidia-caps-imex-channels/channel0"],
}


@pytest.mark.parametrize(("mode", "paths"), MODES.items(), ids=MODES)
def test_nodes_of_a_mode(mode, paths):
    spec = built(mode).spec
    assert device(spec) == paths
    assert "NVIDIA_VISIBLE_DEVICES=void" in spec["containerEdits"]["env"]


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_without_its_nodes_is_an_error_and_no_empty_spec(mode):
    found = built(mode, CdiHost(mode, driver=DRIVER))
    assert (found.spec, [f.id for f in found.findings]) == (None, ["GPU-CDI-110"])


CHANNELS = {
    "all": (["all"], ["0", "all"]),
    "by name": (["channel0"], ["0", "all"]),
    "that is not there": (["7"], None),
    "beyond the last": ([str(1 << 20)], None),
    "no number": (["channelx"], None),
}


@pytest.mark.parametrize(("ids", "names"), CHANNELS.values(), ids=CHANNELS)
def test_channels(ids, names):
    found = built("imex", device_ids=ids)
    assert (found.spec and [d["name"] for d in found.spec["devices"]]) == names


def gpus(count):
    rows = tuple(Gpu(i, i, f"GPU-{i:02}", "NVIDIA H200", f"0000:{i:02x}:00.0") for i in range(count))
    paths = nodes(*(f"/dev/nvidia{i}" for i in range(count)))
    return CdiHost("nvml", gpus=rows, driver=DRIVER, nodes=paths, hook_path="/usr/bin/nvidia-cdi-hook")


def test_sixteen_gpus_are_in_the_order_of_their_names():
    spec = built("nvml", gpus(16), device_name_strategies=["index"]).spec
    assert [d["name"] for d in spec["devices"]] == [*sorted(map(str, range(16))), "all"]
    assert len(device(spec)) == 16
    assert device(spec, "10") == ["/dev/nvidia10"]


def graphics(profile):
    mig = MigDevice(0, "MIG-a", 1, 0, profile)
    gpu = Gpu(0, 0, "GPU-a", "NVIDIA RTX PRO 6000", "0000:41:00.0", True, (mig,))
    caps = ("/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13")
    return CdiHost(
        "nvml",
        gpus=(gpu,),
        driver=DRIVER,
        nodes=nodes("/dev/nvidia0", *caps, "/dev/dri/card1", "/dev/dri/renderD128"),
        drm={"0000:41:00.0": ("card1", "controlD64", "renderD128")},
        by_path={"/dev/dri/by-path/pci-0000:41:00.0-card": "../card1"},
        mig_minors={"gpu0/gi1/access": 12, "gpu0/gi1/ci0/access": 13},
        hook_path="/usr/bin/nvidia-cdi-hook",
    )


PROFILES = {"1g.24gb+gfx": True, "1g.24gb+me": False, "1g.24gb": False, "1c.1g.24gb+gfx": True}


@pytest.mark.parametrize(("profile", "display"), PROFILES.items(), ids=PROFILES)
def test_only_mig_devices_with_graphics_have_the_display_side(profile, display):
    spec = built("nvml", graphics(profile)).spec
    caps = ["/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"]
    drm = ["/dev/dri/card1", "/dev/dri/renderD128"] if display else []
    assert device(spec, "0:0") == ["/dev/nvidia0", *drm, *caps]
    (edits,) = [d["containerEdits"] for d in spec["devices"] if d["name"] == "0:0"]
    links = [a for h in edits.get("hooks", []) for a in h["args"] if "::" in a]
    assert links == (["../card1::/dev/dri/by-path/pci-0000:41:00.0-card"] if display else [])


def test_wsl():
    store = "/usr/lib/wsl/drivers/nv"
    files = WslFiles(
        store,
        dxcore=(File("/usr/lib/wsl/lib/libdxcore.so", "/usr/lib/wsl/lib/libdxcore.so"),),
        required=tuple(File(f"{store}/{n}", f"{store}/{n}") for n in ("libcuda.so.1.1", "nvidia-smi")),
    )
    spec = built("wsl", CdiHost("wsl", nodes=nodes("/dev/dxg"), wsl=files, hook_path="/usr/bin/nvidia-cdi-hook")).spec
    assert device(spec) == ["/dev/dxg"]
    words = [h["args"][1:] for h in spec["containerEdits"]["hooks"]]
    assert words == [
        ["create-symlinks", "--link", f"{store}/nvidia-smi::/usr/bin/nvidia-smi"],
        ["update-ldcache", "--folder", store, "--folder", "/usr/lib/wsl/lib"],
    ]
    assert built("wsl", CdiHost("wsl", wsl=WslFiles(None))).findings[0].id == "GPU-CDI-112"
