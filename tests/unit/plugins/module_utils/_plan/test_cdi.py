# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When CDI specs are written and removed."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi import (
    CREATE_NODE,
    FORGET,
    REMOVE,
    SAVE,
    WRITE,
    CdiState,
    ExistingSpec,
    build,
    plan_cdi,
    plan_removal,
    wanted_specs,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_foreign import ForeignSpec
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_host import (
    CapabilityNode,
    CdiHost,
    DriverFiles,
    File,
    Gpu,
    Library,
    MigDevice,
    Node,
    TegraFiles,
    WslFiles,
)
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_stale import Stale
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_wish import make_wish

WISH = make_wish({})
SO = "/usr/lib64/libcuda.so.570.1"
NODE = Node("/dev/nvidia0", "/dev/nvidia0", 195, 0, 0o666, 0)
GPU = Gpu(0, 0, "GPU-a", "L40S", "0000:41:00.0")
MIG = MigDevice(0, "MIG-a", 1, 0, "1g.10gb")
DRIVER = DriverFiles("570.1", ("/usr/lib64",), (Library(SO, SO, "libcuda.so.1", frozenset({"libcuda.so.1"})),))
HOST = CdiHost("nvml", gpus=(GPU,), driver=DRIVER, nodes={"/dev/nvidia0": NODE}, hook_path="/usr/bin/nvidia-cdi-hook")
NO_DRIVER = CdiHost("nvml", nvml_error="Driver Not Loaded", nvml_absent=True)
SPEC = build(WISH, CdiState(HOST, None)).spec
OTHER = {**SPEC, "devices": SPEC["devices"][:1]}
STALE = (Stale("driver_version", "570.1", "560.1"),)

# state, at_boot -> actions
CASES = {
    "nothing there": (CdiState(HOST, None), False, [WRITE]),
    "nothing there, at boot too": (CdiState(HOST, None), True, [WRITE, SAVE]),
    "as wanted": (CdiState(HOST, ExistingSpec(SPEC)), False, []),
    "as wanted, at boot too": (CdiState(HOST, ExistingSpec(SPEC), saved=WISH.saved()), True, []),
    "other options at boot": (
        CdiState(HOST, ExistingSpec(SPEC), saved={"path": WISH.path, "mode": "gds"}),
        True,
        [SAVE],
    ),
    "other content": (CdiState(HOST, ExistingSpec(OTHER)), False, [WRITE]),
    "no spec": (CdiState(HOST, ExistingSpec(None, error="no YAML")), False, [WRITE]),
    "nobody may read it": (CdiState(HOST, ExistingSpec(SPEC, 0o600)), False, [WRITE]),
}


@pytest.mark.parametrize(("state", "at_boot", "actions"), CASES.values(), ids=CASES)
def test_steps(state, at_boot, actions):
    assert [s.action for s in plan_cdi(WISH, state, at_boot=at_boot).steps] == actions


def test_reason_names_what_is_stale():
    (step,) = plan_cdi(WISH, CdiState(HOST, ExistingSpec(OTHER), STALE), at_boot=False).steps
    assert step.reason == "the spec is stale: driver_version"


def test_without_driver_a_run_is_blocked_and_a_check_says_later():
    state = CdiState(NO_DRIVER, None)
    assert plan_cdi(WISH, state, at_boot=True).blocked
    plan = plan_cdi(WISH, state, at_boot=True, may_come=True)
    assert [(s.action, s.after) for s in plan.steps][0] == (WRITE, "known after load nvidia")
    assert not plan.blocked


def test_mismatch_is_blocked_in_a_check_too():
    host = CdiHost("nvml", nvml_error="Driver/library version mismatch")
    plan = plan_cdi(WISH, CdiState(host, None), at_boot=False, may_come=True)
    assert "reboot" in plan.findings[0].remedy


REMOVAL = {
    "there": (CdiState(None, ExistingSpec(SPEC), saved=WISH.saved()), [REMOVE, FORGET]),
    "gone with the last boot": (CdiState(None, None, saved=WISH.saved()), [FORGET]),
    "never there": (CdiState(None, None), []),
}


@pytest.mark.parametrize(("state", "actions"), REMOVAL.values(), ids=REMOVAL)
def test_removal(state, actions):
    assert [s.action for s in plan_removal(WISH, state).steps] == actions


def test_missing_hook_program_is_a_warning_but_not_where_it_may_come():
    state = CdiState(CdiHost(**{**vars(HOST), "hook_found": False}), None)
    assert [f.id for f in plan_cdi(WISH, state, at_boot=False).findings] == ["GPU-CDI-111"]
    assert plan_cdi(WISH, state, at_boot=False, may_come=True).findings == ()


def test_missing_capability_node_is_an_error():
    mig = Gpu(0, 0, "GPU-a", "H100", "0000:41:00.0", True, (MIG,))
    host = CdiHost(**{**vars(HOST), "gpus": (mig,), "mig_minors": {"gpu0/gi1/access": 3, "gpu0/gi1/ci0/access": 4}})
    (finding,) = plan_cdi(WISH, CdiState(host, None), at_boot=False).findings
    assert finding.id == "GPU-CDI-106"
    assert finding.remedy == "nvidia-modprobe -f /proc/driver/nvidia/capabilities/gpu0/mig/gi1/access"


def test_capability_nodes_that_can_be_made_are_steps_before_the_spec():
    mig = Gpu(0, 0, "GPU-a", "H100", "0000:41:00.0", True, (MIG,))
    caps = {f"/dev/nvidia-caps/nvidia-cap{n}": n for n in (3, 4, 9)}
    creatable = {p: CapabilityNode(Node(p, p, 237, n, 0o444, 0), f"/proc/x/{n}") for p, n in caps.items()}
    minors = {"gpu0/gi1/access": 3, "gpu0/gi1/ci0/access": 4}
    host = CdiHost(**{**vars(HOST), "gpus": (mig,), "mig_minors": minors, "creatable": creatable})
    steps = plan_cdi(WISH, CdiState(host, None), at_boot=False).steps
    wanted = [(CREATE_NODE, "/dev/nvidia-caps/nvidia-cap3"), (CREATE_NODE, "/dev/nvidia-caps/nvidia-cap4")]
    assert [(s.action, s.target) for s in steps] == [*wanted, (WRITE, WISH.path)]


def coherent(**gpus):
    rows = tuple(Gpu(i, i, uuid, "GB200", None, coherent=mark) for i, (uuid, mark) in enumerate(gpus.items()))
    nodes = {f"/dev/nvidia{i}": Node(f"/dev/nvidia{i}", f"/dev/nvidia{i}", 195, i, 0o666, 0) for i in range(len(rows))}
    return CdiState(CdiHost(**{**vars(HOST), "gpus": rows, "nodes": nodes}), None)


COHERENT = make_wish({"feature_flags": ["enable-coherent-annotations"], "device_name_strategies": ["index"]})


def test_gpus_with_coherent_memory_have_a_spec_of_their_own():
    specs = wanted_specs(COHERENT, build(COHERENT, coherent(a=True, b=False, c=None)))
    named = {path: [d["name"] for d in spec["devices"]] for path, spec in specs.items()}
    assert named == {
        "/var/run/cdi/nvidia.yaml": ["0", "1", "2", "all"],
        "/var/run/cdi/nvidia.coherent.yaml": ["0", "all"],
        "/var/run/cdi/nvidia.noncoherent.yaml": ["1", "all"],
    }
    first = specs["/var/run/cdi/nvidia.coherent.yaml"]
    assert (first["kind"], first["cdiVersion"]) == ("nvidia.com/gpu.coherent", "0.6.0")
    assert first["devices"][0]["annotations"] == {"gpu.nvidia.com/coherent": "true"}


def test_a_part_without_gpus_goes():
    state = coherent(a=False)
    path = "/var/run/cdi/nvidia.coherent.yaml"
    kept = CdiState(state.host, None, further={path: ExistingSpec({"kind": "nvidia.com/gpu.coherent", "devices": []})})
    steps = [(s.action, s.target) for s in plan_cdi(COHERENT, kept, at_boot=False).steps]
    assert steps == [(WRITE, WISH.path), (WRITE, "/var/run/cdi/nvidia.noncoherent.yaml"), (REMOVE, path)]
    assert [s.target for s in plan_removal(COHERENT, kept).steps] == [path]


def test_specs_of_others_are_told_and_stop_nothing():
    foreign = (ForeignSpec("/etc/cdi/nvidia.yaml", ("0", "9"), 0),)
    plan = plan_cdi(WISH, CdiState(HOST, ExistingSpec(SPEC), foreign=foreign, rank=1), at_boot=False)
    assert ([f.id for f in plan.findings], plan.steps) == (["GPU-CDI-113"], ())
    left = plan_removal(WISH, CdiState(None, ExistingSpec(SPEC), foreign=foreign))
    assert ([f.id for f in left.findings], [s.action for s in left.steps]) == (["GPU-CDI-113"], [REMOVE])


def test_a_file_that_engines_ignore_is_the_reason():
    state = CdiState(HOST, ExistingSpec({**SPEC, "extra": 1}, error="it has the unknown key extra"))
    (step,) = plan_cdi(WISH, state, at_boot=False).steps
    assert step.reason == "engines ignore the file: it has the unknown key extra"


def test_a_spec_that_engines_would_refuse_is_not_written():
    plan = plan_cdi(WISH, CdiState(CdiHost(**{**vars(HOST), "hook_path": "hooks/x"}), None), at_boot=False)
    assert [f.id for f in plan.findings] == ["GPU-CDI-116"]
    assert plan.steps == ()


def test_a_node_whose_major_the_kernel_gave_up_is_told():
    host = CdiHost(**{**vars(HOST), "majors": {"/dev/nvidia0": 511}})
    (finding,) = plan_cdi(WISH, CdiState(host, None), at_boot=False).findings
    assert (finding.id, finding.wanted) == ("GPU-CDI-117", "/dev/nvidia0 of major 511 (/proc/devices)")


NO_HOOKS = make_wish({"hooks": "none"})


def library(name, soname, *links):
    path = f"/usr/lib64/{name}"
    return Library(path, path, soname, frozenset(links))


def test_without_hooks_links_are_mounts():
    libraries = (
        library("libcuda.so.570.1", "libcuda.so.1", "libcuda.so.1"),
        library("libnvidia-ml.so.570.1", "libnvidia-ml.so.1"),
        library("libnvidia-nvvm.so.570.1", None),
        library("libGLX_nvidia.so.570.1", "libGLX_nvidia.so.0", "libGLX_nvidia.so.0"),
        library("libsame.so.570.1", "libsame.so.570.1"),
    )
    allocator = File("/usr/lib64/libnvidia-allocator.so.570.1", "/root/usr/lib64/libnvidia-allocator.so.570.1")
    driver = DriverFiles("570.1", ("/usr/lib64",), libraries, graphics_libraries=(allocator,))
    spec = build(NO_HOOKS, CdiState(CdiHost(**{**vars(HOST), "driver": driver}), None)).spec
    edits = spec["containerEdits"]
    assert "hooks" not in edits
    mounts = {m["containerPath"]: m["hostPath"] for m in edits["mounts"]}
    assert len(mounts) == len(edits["mounts"])
    assert {path: host for path, host in mounts.items() if path != host} == {
        "/usr/lib64/libcuda.so": "/usr/lib64/libcuda.so.570.1",
        "/usr/lib64/libcuda.so.1": "/usr/lib64/libcuda.so.570.1",
        "/usr/lib64/libnvidia-ml.so.1": "/usr/lib64/libnvidia-ml.so.570.1",
        "/usr/lib64/libGLX_indirect.so.0": "/usr/lib64/libGLX_nvidia.so.570.1",
        "/usr/lib64/libGLX_nvidia.so.0": "/usr/lib64/libGLX_nvidia.so.570.1",
        "/usr/lib64/gbm/nvidia-drm_gbm.so": allocator.host_path,
    }


def test_hooks_that_are_switched_off_leave_no_mounts_behind():
    wish = make_wish({"disabled_hooks": ["all"]})
    mounts = build(wish, CdiState(HOST, None)).spec["containerEdits"]["mounts"]
    assert [m["containerPath"] for m in mounts] == [SO]


def test_without_hooks_wsl_and_tegra_have_their_links_as_mounts():
    store = tuple(File(f"/wsl/{name}", f"/wsl/{name}") for name in ("libcuda.so.1.1", "nvidia-smi"))
    node = Node("/dev/dxg", "/dev/dxg", 10, 125, 0o666, 0)
    wsl = CdiHost("wsl", nodes={node.path: node}, wsl=WslFiles("/wsl", required=store))
    mounts = build(NO_HOOKS, CdiState(wsl, None)).spec["containerEdits"]["mounts"]
    assert ("/wsl/nvidia-smi", "/usr/bin/nvidia-smi") in [(m["hostPath"], m["containerPath"]) for m in mounts]
    tegra = TegraFiles(nodes=(NODE,), libraries=(library("libcuda.so.1.1", "libcuda.so.1"),), links=("a.so::/x/b.so",))
    spec = build(NO_HOOKS, CdiState(CdiHost("csv", tegra=tegra), None)).spec
    paths = {m["containerPath"]: m["hostPath"] for m in spec["containerEdits"]["mounts"]}
    assert paths["/usr/lib64/libcuda.so.1"] == "/usr/lib64/libcuda.so.1.1"
    assert paths["/x/b.so"] == "/x/b.so"
    assert "hooks" not in spec["containerEdits"]
