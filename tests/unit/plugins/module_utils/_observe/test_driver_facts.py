# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gpu_info says about drivers of every origin, on trees of files as such hosts have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.driver_facts import read_driver_facts
from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.module_trust import read_module_trust
from ansible_collections.gpu.fleet.plugins.module_utils._observe.nouveau import read_nouveau

OUTPUTS = Path(__file__).parents[3] / "fixtures" / "outputs"
KERNEL = "6.8.0-149-generic"
BANNER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (a@b)  Tue Jul\nGCC version:  gcc\n"
)
RELEASES = {
    "debian": 'ID=debian\nVERSION_ID="12"\n',
    "ubuntu": 'ID=ubuntu\nVERSION_ID="24.04"\n',
    "rocky": 'ID="rocky"\nVERSION_ID="9.8"\n',
    "alma": 'ID="almalinux"\nVERSION_ID="10.2"\n',
    "fedora": "ID=fedora\nVERSION_ID=44\n",
}


def write(root: Path, path: str, text: str = "") -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def dpkg(*packages: str) -> str:
    """``name version`` for an installed package, ``name version status`` for another status."""
    rows = (p.split(maxsplit=2) for p in packages)
    return "".join(
        f"Package: {row[0]}\nStatus: {row[2] if len(row) > 2 else 'install ok installed'}\n"
        f"Architecture: amd64\nVersion: {row[1]}\n\n"
        for row in rows
    )


def rpm(*packages: str) -> str:
    """``name epoch version-release`` as rpm prints it for the reader's format."""
    rows = (p.split() for p in packages)
    return "".join(f"{n}\t{e}\t{v.partition('-')[0]}\t{v.partition('-')[2]}\tx86_64\n" for n, e, v in rows)


class Machine:
    """A tree, and what its programs say: command (its first words) -> status, output, errors."""

    def __init__(self, root: Path, system: str, said: dict[str, tuple[int, str, str]] | None = None) -> None:
        self.root, self.said, self.asked = root, said or {}, []
        write(root, "/etc/os-release", RELEASES[system])
        write(root, "/proc/sys/kernel/osrelease", f"{KERNEL}\n")

    def run(self, args: list[str]) -> tuple[int, str, str]:
        self.asked.append(args)
        line = " ".join(a for a in args if a not in ("--root", "-b", str(self.root)))
        found = (answer for words, answer in self.said.items() if line.startswith(words))
        return next(found, (127, "", f"{args[0]}: not found"))

    def facts(self) -> dict[str, Any]:
        return read_driver_facts(HostRoot(str(self.root)), self.run)


# name -> system, dpkg's or rpm's packages, further files -> source, rows of sources (packager, modules, version).
ORIGINS: dict[str, tuple[str, list[str], list[str], str | None, list[tuple[str, str, str | None, str | None]]]] = {
    "nothing": ("debian", ["bash 5.2-1"], [], "none", []),
    "Debian, CUDA repository": (
        "debian", ["nvidia-kernel-open-dkms 595.71.05-1", "nvidia-driver-cuda 595.71.05-1"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "dkms", "595.71.05")],
    ),
    "Debian, its archive": (
        "debian", ["nvidia-kernel-dkms 535.261.03-1", "nvidia-alternative 535.261.03-1"], [],
        "distro", [("distro", "debian", "dkms", "535.261.03")],
    ),
    "Debian, its archive, open": (
        "debian", ["nvidia-open-kernel-dkms 550.163.01-2"], [],
        "distro", [("distro", "debian", "dkms", "550.163.01")],
    ),
    "Debian, its archive, an old branch": (
        "debian", ["nvidia-tesla-470-kernel-dkms 470.256.02-3"], [],
        "distro", [("distro", "debian", "dkms", "470.256.02")],
    ),
    "Ubuntu, compiled by Canonical": (
        "ubuntu",
        ["linux-modules-nvidia-580-server-open-6.8.0-149-generic 6.8.0-149.149",
         "libnvidia-compute-580-server 580.178.04-0ubuntu0.24.04.1"], [],
        "distro", [("distro", "ubuntu", "precompiled", None)],
    ),
    "Ubuntu, DKMS of its archive": (
        "ubuntu", ["nvidia-dkms-580-server-open 580.178.04-0ubuntu0.24.04.1"], [],
        "distro", [("distro", "ubuntu", "dkms", "580.178.04")],
    ),
    "Ubuntu, DKMS of its desktop line": (
        "ubuntu", ["nvidia-dkms-580 580.178.04-0ubuntu0.24.04.1"], [],
        "distro", [("distro", "ubuntu", "dkms", "580.178.04")],
    ),
    "Ubuntu, CUDA repository, names with branch": (
        "ubuntu", ["nvidia-dkms-580-open 580.178.04-1ubuntu1"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "dkms", "580.178.04")],
    ),
    "Ubuntu, CUDA repository, names without": (
        "ubuntu", ["nvidia-dkms-open 595.71.05-1ubuntu1"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "dkms", "595.71.05")],
    ),
    "EL, CUDA repository": (
        "rocky", ["kmod-nvidia-open-dkms 3 595.71.05-1.el9", "nvidia-driver-cuda 3 595.71.05-1.el9"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "dkms", "595.71.05")],
    ),
    "EL, compiled by NVIDIA": (
        "rocky", ["kmod-nvidia-580.178.04-5.14.0-687.51.1 3 580.178.04-3.el9_8"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "precompiled", "580.178.04")],
    ),
    "Alma, its own modules": (
        "alma", ["nvidia-open-kmod 3 615.71.09-1.el10"], [],
        "distro", [("distro", "almalinux", "kmod", "615.71.09")],
    ),
    "RPM Fusion on a system that the catalog lacks": (
        "fedora", ["akmod-nvidia 3 595.80-1.fc44"], ["/usr/lib/sysimage/rpm/rpmdb.sqlite"],
        "distro", [("distro", "rpmfusion", "akmods", "595.80")],
    ),
    ".run installer": (
        "debian", ["bash 5.2-1"], ["/usr/bin/nvidia-uninstall", "/var/lib/nvidia/log=580.95.05\nNVIDIA driver\n"],
        "runfile", [("runfile", "", None, "580.95.05")],
    ),
    "driver container": (
        "ubuntu", ["bash 5.2-1"],
        ["/run/nvidia/driver/usr/bin/nvidia-smi",
         "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1->libnvidia-ml.so.580.95.05"],
        "container", [("container", "", None, "580.95.05")],
    ),
    "archive and CUDA repository": (
        "debian", ["nvidia-open-kernel-dkms 550.163.01-2", "nvidia-kernel-open-dkms 595.71.05-1"], [],
        "mixed", [("distro", "debian", "dkms", "550.163.01"), ("cuda_repo", "nvidia", "dkms", "595.71.05")],
    ),
    "packages and .run": (
        "rocky", ["kmod-nvidia-open-dkms 3 595.71.05-1.el9"], ["/usr/bin/nvidia-installer"],
        "mixed", [("cuda_repo", "nvidia", "dkms", "595.71.05"), ("runfile", "", None, None)],
    ),
    "compiled and DKMS, both of Ubuntu": (
        "ubuntu", ["linux-modules-nvidia-580-server-6.8.0-149-generic 6.8.0-149.149",
                   "nvidia-dkms-580-server 580.178.04-0ubuntu0.24.04.1"], [],
        "distro", [("distro", "ubuntu", "precompiled", None), ("distro", "ubuntu", "dkms", "580.178.04")],
    ),
    "removed, its configuration left": (
        "debian", ["nvidia-kernel-open-dkms 595.71.05-1 deinstall ok config-files"], [], "none", [],
    ),
    "half installed": (
        "debian", ["nvidia-kernel-open-dkms 595.71.05-1 install ok half-configured"], [],
        "cuda_repo", [("cuda_repo", "nvidia", "dkms", "595.71.05")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORIGINS)
def test_origin(tmp_path, name):
    system, packages, files, source, rows = ORIGINS[name]
    machine = Machine(tmp_path, system)
    if system in ("debian", "ubuntu"):
        write(tmp_path, "/var/lib/dpkg/status", dpkg(*packages))
    else:
        machine.said["rpm"] = (0, rpm(*packages), "")
    lay(tmp_path, files)
    facts = machine.facts()
    assert facts["source"] == source
    assert [(r["source"], r["packager"], r["modules"], r["version"]) for r in facts["sources"]] == rows
    assert all(row["evidence"] for row in facts["sources"])


def lay(root: Path, files: list[str]) -> None:
    """``path``, ``path=text`` or ``path->link``."""
    for row in files:
        path, _arrow, target = row.partition("->")
        if target:
            link = root / path.lstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
            write(link.parent, target)
        else:
            name, _equals, text = row.partition("=")
            write(root, name, text)


MODINFO = (
    "filename:       /lib/modules/{k}/updates/dkms/nvidia.ko\nversion:        {v}\nlicense:        {l}\n"
    "srcversion:     {s}\nvermagic:       {k} SMP\nsigner:         DKMS module signing key\nsig_key:        AA\n"
)


def modinfo(version: str = "595.71.05", terms: str = "Dual MIT/GPL", source: str = "ABC") -> tuple[int, str, str]:
    return 0, MODINFO.format(k=KERNEL, v=version, l=terms, s=source), ""


def loaded(root: Path, version: str = "595.71.05", source: str = "ABC") -> None:
    write(root, "/proc/driver/nvidia/version", BANNER.format(version))
    write(root, "/sys/module/nvidia/version", f"{version}\n")
    write(root, "/sys/module/nvidia/srcversion", f"{source}\n")
    write(root, "/proc/driver/nvidia/params", 'EnableStreamMemOPs: 0\nImexChannelCount: 2048\nRmMsg: ""\n')
    write(root, "/proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 2 3 nvidia_uvm, Live 0x0\n")


def test_loaded_driver(tmp_path):
    machine = Machine(tmp_path, "ubuntu", {"modinfo": modinfo()})
    loaded(tmp_path)
    write(
        tmp_path, "/etc/modprobe.d/gpu.conf", "# ours\noptions nvidia NVreg_EnableStreamMemOPs=1 \\\n NVreg_RmMsg=x\n"
    )
    (tmp_path / "proc/77/fd").mkdir(parents=True)
    (tmp_path / "proc/77/fd/3").symlink_to("/dev/nvidia0")
    write(tmp_path, "/proc/77/comm", "train\n")
    write(tmp_path, "/proc/77/cmdline", "python3\0train.py\0--token=secret\0")
    write(tmp_path, "/proc/77/cgroup", "0::/system.slice/job.service\n")
    facts = machine.facts()
    assert facts["loaded"] == {
        "version": "595.71.05",
        "flavour": "open",
        "signer": "DKMS module signing key",
        "parameters": {"EnableStreamMemOPs": 0, "ImexChannelCount": 2048, "RmMsg": ""},
        "modules": {
            "nvidia": {"references": 3, "users": ["nvidia_uvm"]},
            "nvidia_uvm": {"references": 0, "users": []},
        },
        "holders": [
            {
                "pid": 77,
                "name": "train",
                "devices": ["/dev/nvidia0"],
                "command": "python3 train.py",
                "unit": "job.service",
                "container": "",
                "pod": "",
            }
        ],
        "unknown": {},
    }
    assert facts["module_options"] == [
        {
            "path": "/etc/modprobe.d/gpu.conf",
            "module": "nvidia",
            "options": "NVreg_EnableStreamMemOPs=1   NVreg_RmMsg=x",
        }
    ]
    # Nothing on the host says where it came from.
    assert facts["source"] is None
    assert "accounts for" in facts["unknown"]["source"]
    assert facts["branch"]["number"] == 595
    assert (facts["module_kind"], facts["module_path"]) == ("dkms", f"/lib/modules/{KERNEL}/updates/dkms/nvidia.ko")


# version and source version of the module on disk -> whether its signer is the loaded one's
SAME = {("595.71.05", "ABC"): True, ("595.71.05", "XYZ"): False, ("595.91.07", "ABC"): False}


@pytest.mark.parametrize(("on_disk", "same"), SAME.items(), ids=str)
def test_signer_of_the_loaded_module_is_told_only_where_the_file_is_the_same(tmp_path, on_disk, same):
    machine = Machine(tmp_path, "ubuntu", {"modinfo": modinfo(on_disk[0], source=on_disk[1])})
    loaded(tmp_path)
    found = machine.facts()["loaded"]
    assert found["signer"] == ("DKMS module signing key" if same else None)
    assert set(found["unknown"]) == (set() if same else {"signer"})


def test_every_null_has_a_reason(tmp_path):
    facts = Machine(tmp_path, "debian").facts()
    nulls = {key for key, value in facts.items() if value is None}
    assert nulls == set(facts["unknown"]) - {"packages"}
    assert {"installed_version", "loaded_version", "library_version", "loaded", "secure_boot"} <= nulls
    trust = facts["module_trust"]
    assert {k for k, v in trust.items() if v is None} == set(trust["unknown"])
    assert trust["unknown"]["enrolled_keys"] == "the host was not booted by EFI"


def test_rpm_that_does_not_answer_is_no_host_without_driver(tmp_path):
    facts = Machine(tmp_path, "rocky", {"rpm": (1, "", "error: rpmdb open failed")}).facts()
    assert facts["source"] is None
    assert "rpmdb open failed" in facts["unknown"]["packages"]
    assert facts["unknown"]["source"] == facts["unknown"]["packages"]


def test_module_that_nobody_accounts_for(tmp_path):
    machine = Machine(tmp_path, "debian", {"modinfo": modinfo()})
    write(tmp_path, "/var/lib/dpkg/status", dpkg("bash 5.2-1"))
    assert machine.facts()["source"] is None


def test_parts_of_two_versions_and_unfinished_packages(tmp_path):
    machine = Machine(tmp_path, "debian")
    write(
        tmp_path,
        "/var/lib/dpkg/status",
        dpkg(
            "libcuda1 570.211.01-1",
            "nvidia-kernel-open-dkms 580.178.04-1",
            "nvidia-persistenced 580.178.04-1 install ok half-configured",
            "nvidia-driver-cuda 580.178.04-1 hold ok installed",
            "libnvidia-container1 1.20.0-1",
            "nvidia-container-toolkit 1.20.0-1",
        ),
    )
    facts = machine.facts()
    assert facts["mixed_versions"] == {
        "570.211.01": ["libcuda1"],
        "580.178.04": ["nvidia-driver-cuda", "nvidia-kernel-open-dkms"],
    }
    assert facts["unfinished"] == {"nvidia-persistenced": "half-configured"}
    assert facts["held"] == ["nvidia-driver-cuda"]
    assert sorted(facts["packages"]) == ["libcuda1", "nvidia-driver-cuda", "nvidia-kernel-open-dkms"]


CUDA_PIN = "Package: nsight-compute\nPin: origin *ubuntu.com*\nPin-Priority: -1\n\n"
CUDA_PIN += "Package: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n"


def test_locks_of_apt(tmp_path):
    machine = Machine(tmp_path, "debian")
    write(
        tmp_path,
        "/var/lib/dpkg/status",
        dpkg("nvidia-driver-pinning-595 595-1", "libcuda1 595.71.05-1 hold ok installed", "vim 2-1 hold ok installed"),
    )
    write(tmp_path, "/etc/apt/preferences.d/cuda-repository-pin-600", CUDA_PIN)
    write(tmp_path, "/etc/apt/preferences.d/ignored.bak", CUDA_PIN)
    write(tmp_path, "/etc/apt/preferences", "Package: nvidia-*\nPin: version 580.*\nPin-Priority: 1001\n")
    assert [tuple(row.values()) for row in machine.facts()["locks"]] == [
        ("pinning_package", "nvidia-driver-pinning-595", "nvidia-driver-pinning-595", ""),
        ("hold", "dpkg", "libcuda1", "595.71.05-1"),
        ("apt_pin", "/etc/apt/preferences", "nvidia-*", "version 580.*, priority 1001"),
        (
            "apt_pin",
            "/etc/apt/preferences.d/cuda-repository-pin-600",
            "*",
            "release l=NVIDIA CUDA, priority 600",
        ),
    ]


def test_locks_and_streams_of_dnf(tmp_path):
    machine = Machine(tmp_path, "rocky", {"rpm": (0, rpm("nvidia-driver-cuda 3 580.178.04-1.el9"), "")})
    write(
        tmp_path,
        "/etc/dnf/plugins/versionlock.list",
        "# lock\n\nnvidia-driver-cuda-3:580.178.04-1.el9.*\nbash-0:5*\n",
    )
    write(tmp_path, "/etc/dnf/versionlock.toml", 'version = "1.0"\n[[packages]]\nname = "nvidia-open"\n')
    write(tmp_path, "/etc/dnf/dnf.conf", "[main]\nexcludepkgs=kernel* nvidia-driver-620*\n")
    write(
        tmp_path,
        "/etc/yum.repos.d/cuda.repo",
        "[cuda]\nbaseurl=http://m/cuda/\nexclude=cuda-drivers,vim\n  *nvidia*620*\n",
    )
    write(
        tmp_path,
        "/etc/dnf/modules.d/nvidia-driver.module",
        "[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nprofiles=default,fm\nstate=enabled\n",
    )
    write(tmp_path, "/etc/dnf/modules.d/nodejs.module", "[nodejs]\nstream=20\nstate=enabled\n")
    facts = machine.facts()
    assert [tuple(row.values()) for row in facts["locks"]] == [
        ("versionlock", "/etc/dnf/plugins/versionlock.list", "nvidia-driver-cuda-3:580.178.04-1.el9.*", ""),
        ("versionlock", "/etc/dnf/versionlock.toml", "nvidia-open", ""),
        ("exclude", "/etc/dnf/dnf.conf [main]", "nvidia-driver-620*", ""),
        ("exclude", "/etc/yum.repos.d/cuda.repo [cuda]", "cuda-drivers *nvidia*620*", ""),
    ]
    assert facts["held"] == ["nvidia-driver-cuda"]
    assert facts["streams"] == [
        {"module": "nvidia-driver", "stream": "580-open", "state": "enabled", "profiles": ["default", "fm"]}
    ]


def test_repositories_of_dnf(tmp_path):
    keys = "gpg-pubkey 0 d42d0685-62589a51"
    machine = Machine(tmp_path, "rocky", {"rpm": (0, rpm(keys), "")})
    base = "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64"
    write(
        tmp_path,
        "/etc/yum.repos.d/cuda-rhel9.repo",
        f"[cuda-rhel9-x86_64]\nbaseurl={base}\nenabled=1\ngpgkey={base}/D42D0685.pub\n",
    )
    write(
        tmp_path, "/etc/yum.repos.d/mirror.repo", "[mirror]\nbaseurl=http://m/rhel$releasever/$basearch/\nenabled=0\n"
    )
    write(tmp_path, "/etc/yum.repos.d/base.repo", "[baseos]\nbaseurl=http://m/rocky/9/BaseOS/x86_64/os/\n")
    found = {row["name"]: row for row in machine.facts()["repositories"]}
    assert sorted(found) == ["cuda-rhel9-x86_64", "mirror"]
    key = found["cuda-rhel9-x86_64"]["signing_keys"][0]
    assert key["fingerprint"] == "610C7B14E068A878070DA4E99CD0A493D42D0685"
    assert (key["known"], key["retired"], key["unknown"]) == (True, False, {})
    mirror = found["mirror"]
    assert (mirror["kind"], mirror["enabled"], mirror["signing_keys"][0]["fingerprint"]) == ("cuda", False, None)
    assert mirror["signing_keys"][0]["unknown"]["fingerprint"].startswith("the entry names no key")


def test_repositories_of_apt(tmp_path):
    machine = Machine(tmp_path, "debian")
    base = "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/"
    write(
        tmp_path,
        "/etc/apt/sources.list",
        f"deb [signed-by=/k.gpg] {base} /\ndeb http://deb.debian.org/d bookworm main\n",
    )
    write(
        tmp_path,
        "/etc/apt/sources.list.d/old.sources",
        f"Types: deb\nURIs: {base}\nSuites: /\nSigned-By: AE09FE4BBD223A84B2CCFCE3F60F4B3D7FA2AF80\n",
    )
    write(tmp_path, "/k.gpg", "no key")
    rows = machine.facts()["repositories"]
    assert [(r["path"], r["kind"], r["signing_keys"][0]["retired"]) for r in rows] == [
        ("/etc/apt/sources.list", "cuda", None),
        ("/etc/apt/sources.list.d/old.sources", "cuda", True),
    ]
    assert rows[0]["signing_keys"][0]["unknown"] == {"fingerprint": "there is no key in this file"}


def test_kernels(tmp_path):
    answers = {f"modinfo -k {KERNEL}": modinfo(), "modinfo -k 6.8.0-160-generic": (1, "", "not found")}
    machine = Machine(tmp_path, "ubuntu", answers)
    for release in (KERNEL, "6.8.0-160-generic"):
        write(tmp_path, f"/lib/modules/{release}/modules.dep")
    (tmp_path / f"lib/modules/{KERNEL}/build").mkdir()
    (tmp_path / f"var/lib/dkms/nvidia/595.71.05/{KERNEL}").mkdir(parents=True)
    (tmp_path / f"var/lib/dkms/nvidia/kernel-{KERNEL}-x86_64").symlink_to("595.71.05")
    old, new = machine.facts()["kernels"]
    assert old == {
        "version": KERNEL,
        "flavour": "generic",
        "running": True,
        "headers": True,
        "module": "595.71.05",
        "module_flavour": "open",
        "module_signer": "DKMS module signing key",
        "module_kind": "dkms",
        "dkms": "installed",
    }
    assert (new["running"], new["headers"], new["module"], new["module_kind"], new["dkms"]) == (
        *(False, False, None, None, "added"),
    )


def test_nouveau(tmp_path):
    machine = Machine(tmp_path, "debian")
    write(tmp_path, "/proc/modules", "nouveau 1 0 - Live 0x0\n")
    write(tmp_path, "/proc/cmdline", "root=x rd.driver.blacklist=nouveau,nova-core quiet\n")
    write(tmp_path, "/usr/lib/modprobe.d/nvidia.conf", "blacklist nouveau\nblacklist nova-core\n")
    write(tmp_path, "/lib/modprobe.d/hidden.conf", "blacklist nouveau\n")
    write(tmp_path, "/etc/modprobe.d/hidden.conf", "# the administrator's word counts\n")
    facts = machine.facts()
    assert (facts["nouveau"], facts["nouveau_in_initramfs"]) == (True, False)
    assert facts["nouveau_blacklist"] == {
        "files": ["/usr/lib/modprobe.d/nvidia.conf"],
        "kernel_arguments": ["rd.driver.blacklist=nouveau,nova-core"],
    }


def test_initramfs_of_another_root_is_not_asked(tmp_path):
    machine = Machine(tmp_path, "debian")
    write(tmp_path, f"/lib/modules/{KERNEL}/kernel/drivers/gpu/drm/nouveau/nouveau.ko")
    facts = machine.facts()
    assert facts["nouveau_in_initramfs"] is None
    assert facts["unknown"]["nouveau_in_initramfs"] == "not asked: another root is read"


class Running(HostRoot):
    """A tree that looks like the running system, so that its programs are asked."""

    def __init__(self, folder: Path) -> None:
        super().__init__("/")
        self.folder = str(folder)

    def _outer(self, path: str) -> str:
        return self.folder + ("" if path == "/" else path)


def asked(answers: dict[str, tuple[int, str, str]]):
    """Programs that say what ``answers`` has for their command line; the others are not there."""

    def run(args: list[str]) -> tuple[int, str, str]:
        return answers.get(" ".join(args), (127, "", f"{args[0]}: not found"))

    return run


ENROLLED = (OUTPUTS / "mokutil-list-enrolled-long.txt").read_text()


def test_keys_that_the_firmware_trusts(tmp_path):
    write(tmp_path, "/sys/firmware/efi/efivars/x")
    write(tmp_path, "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    write(tmp_path, "/sys/module/module/parameters/sig_enforce", "Y\n")
    write(tmp_path, "/var/lib/dkms/mok.pub", "DER")
    write(tmp_path, "/var/lib/shim-signed/mok/MOK.der", "DER")
    answers = {
        "mokutil --list-enrolled": (0, ENROLLED, ""),
        "mokutil --list-new": (255, "", ""),
        "mokutil --test-key /var/lib/dkms/mok.pub": (1, "/var/lib/dkms/mok.pub is not enrolled\n", ""),
        "mokutil --test-key /var/lib/shim-signed/mok/MOK.der": (0, "MOK.der is already enrolled\n", ""),
    }
    found = read_module_trust(Running(tmp_path), asked(answers))
    assert (found["lockdown"], found["signatures_forced"], found["pending_keys"]) == ("integrity", True, [])
    assert found["enrolled_keys"]
    assert found["dkms_keys"] == [
        {"path": "/var/lib/dkms/mok.pub", "enrolled": False},
        {"path": "/var/lib/shim-signed/mok/MOK.der", "enrolled": True},
    ]
    assert found["unknown"] == {}


def test_keys_without_mokutil(tmp_path):
    write(tmp_path, "/sys/firmware/efi/efivars/x")
    write(tmp_path, "/var/lib/dkms/mok.pub", "DER")
    found = read_module_trust(Running(tmp_path), asked({}))
    assert (found["enrolled_keys"], found["pending_keys"]) == (None, None)
    assert found["dkms_keys"] == [{"path": "/var/lib/dkms/mok.pub", "enrolled": None}]
    assert found["unknown"]["enrolled_keys"] == "mokutil is not installed"


IMAGE = "usr/lib/modules/{k}/kernel/drivers/gpu/drm/{m}.ko.xz\n"
# Program, image, answer -> whether nouveau is inside, beginning of the reason
DEBIAN_FORM = ("/usr/bin/lsinitramfs", "/boot/initrd.img-{k}")
INITRAMFS = {
    "Debian, inside": (*DEBIAN_FORM, (0, IMAGE.format(k=KERNEL, m="nouveau/nouveau"), ""), True, ""),
    "EL, inside": (
        *("/usr/bin/lsinitrd", "/boot/initramfs-{k}.img"),
        (0, IMAGE.format(k=KERNEL, m="nova-core/nova_core"), ""),
        True,
        "",
    ),
    "not inside": (*DEBIAN_FORM, (0, IMAGE.format(k=KERNEL, m="i915/i915"), ""), False, ""),
    "damaged": (*DEBIAN_FORM, (1, "", "cpio: premature end"), None, "/usr/bin/lsinitramfs"),
    "no program": ("/usr/bin/other", "/boot/initrd.img-{k}", (0, "", ""), None, "neither lsinitramfs"),
}


@pytest.mark.parametrize(("program", "image", "answer", "inside", "reason"), INITRAMFS.values(), ids=INITRAMFS)
def test_nouveau_in_the_initramfs(tmp_path, program, image, answer, inside, reason):
    write(tmp_path, f"/lib/modules/{KERNEL}/kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz")
    path = image.format(k=KERNEL)
    write(tmp_path, path)
    write(tmp_path, program)
    (tmp_path / program.lstrip("/")).chmod(0o755)
    found = read_nouveau(Running(tmp_path), asked({f"{program} {path}": answer}), set(), release=KERNEL)
    assert found["nouveau_in_initramfs"] is inside
    assert found["unknown"].get("nouveau_in_initramfs", "").startswith(reason)
    assert bool(found["unknown"]) == (inside is None)


@pytest.mark.parametrize(
    ("pid", "alive", "active"), [("812", True, "active"), ("812", False, "inactive"), ("x", True, "inactive")]
)
def test_the_subnet_manager_has_no_unit(tmp_path, pid, alive, active):
    write(tmp_path, "/run/nvidia-fabricmanager/nvlsm.pid", f"{pid}\n")
    (tmp_path / ("proc/812" if alive else "proc")).mkdir(parents=True)
    show = "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
    facts = read_driver_facts(
        Running(tmp_path), lambda args: (0, show, "") if args[0] == "systemctl" else (127, "", "")
    )
    assert facts["services"]["nvlsm"] == {"loaded": "no-unit", "active": active, "enabled": ""}
    assert facts["services"]["nvidia-fabricmanager.service"]["active"] == "active"
    assert facts["services"]["nvidia-imex.service"]["loaded"] == "not-found"
