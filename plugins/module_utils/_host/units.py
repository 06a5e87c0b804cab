# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the host program and its units are, as files: role prereq puts them there. Private to this collection.

Order at boot: kernel modules -> devices -> persistenced, fabric manager -> mig -> cdi -> engines -> validation ->
kubelet.
Nothing requires anything: a host whose MIG layout cannot be restored still gets a CDI spec for what it has, and
validation says what is wrong.
"""

from __future__ import annotations

PROGRAM_PATH = "/usr/local/sbin/gpu-fleet-host"
PYTHON_PATH = "/usr/local/lib/gpu-fleet/python"

PROGRAM = f"""\
#!/usr/bin/python3
import sys

sys.path.insert(0, "{PYTHON_PATH}")
from gpu_fleet._host.program import main

sys.exit(main())
"""

# Engines, and distributions that bring an engine and a kubelet in one unit. systemd ignores what is not there.
ENGINES = "containerd.service crio.service docker.service"
DISTRIBUTIONS = (
    "k3s.service k3s-agent.service rke2-server.service rke2-agent.service k0scontroller.service k0sworker.service "
    "snap.microk8s.daemon-containerd.service"
)

DEVICES_SERVICE = f"""\
[Unit]
Description=gpu.fleet: load the driver, make device nodes and /dev/char links
Documentation=https://github.com/gpu-fleet/gpu.fleet
After=systemd-modules-load.service
Before=nvidia-persistenced.service nvidia-fabricmanager.service gpu-fleet-mig.service gpu-fleet-cdi.service
ConditionPathExists=/etc/modules-load.d/gpu-fleet.conf

[Service]
Type=oneshot
ExecStart={PROGRAM_PATH} devices
TimeoutStartSec=300

[Install]
WantedBy=multi-user.target
"""

# The program has a limit of its own, from the number of GPUs; systemd's comes after that of 16 GPUs.
MIG_SERVICE = f"""\
[Unit]
Description=gpu.fleet: bring the GPUs to their MIG layout
Documentation=https://github.com/gpu-fleet/gpu.fleet
After=gpu-fleet-devices.service nvidia-persistenced.service nvidia-fabricmanager.service
Before=gpu-fleet-cdi.service {ENGINES} {DISTRIBUTIONS} kubelet.service
ConditionPathExists=/var/lib/gpu-fleet/mig/wish.yaml

[Service]
Type=oneshot
ExecStart={PROGRAM_PATH} mig
TimeoutStartSec=1200

[Install]
WantedBy=multi-user.target
"""

CDI_SERVICE = f"""\
[Unit]
Description=gpu.fleet: write the CDI specs
Documentation=https://github.com/gpu-fleet/gpu.fleet
After=gpu-fleet-devices.service nvidia-persistenced.service nvidia-fabricmanager.service gpu-fleet-mig.service
Before={ENGINES} {DISTRIBUTIONS} kubelet.service
ConditionPathExists=/var/lib/gpu-fleet/cdi/wish.yaml

[Service]
Type=oneshot
ExecStart={PROGRAM_PATH} cdi
TimeoutStartSec=300

[Install]
WantedBy=multi-user.target
"""

VALIDATION_SERVICE = f"""\
[Unit]
Description=gpu.fleet: prove the GPU stack and write the barrier files
Documentation=https://github.com/gpu-fleet/gpu.fleet
After=gpu-fleet-mig.service gpu-fleet-cdi.service {ENGINES}
Before=kubelet.service

[Service]
Type=oneshot
ExecStart={PROGRAM_PATH} validation
TimeoutStartSec=300

[Install]
WantedBy=multi-user.target
"""

# A driver that is installed or removed rewrites modules.dep of its kernel (%v: the running one); a change of the MIG
# layout writes its checkpoint before it begins and when it ends. The unit waits for the lock that the change holds.
CDI_PATH = """\
[Unit]
Description=gpu.fleet: watch for changes of driver and MIG layout
Documentation=https://github.com/gpu-fleet/gpu.fleet

[Path]
PathChanged=/lib/modules/%v/modules.dep
PathChanged=/lib/modules/%v/modules.dep.bin
PathChanged=/var/lib/gpu-fleet/mig/checkpoint.json
Unit=gpu-fleet-cdi.service

[Install]
WantedBy=multi-user.target
"""

# MIG layouts go with the module, so a reload needs all of them again. Debian's own module is called nvidia-current.
DRIVER_RULES = """\
ACTION=="add", SUBSYSTEM=="module", KERNEL=="nvidia|nvidia_current", TAG+="systemd", \\
  ENV{SYSTEMD_WANTS}+="gpu-fleet-devices.service gpu-fleet-mig.service", \\
  ENV{SYSTEMD_WANTS}+="gpu-fleet-cdi.service gpu-fleet-validation.service"
"""

# path -> (text, permission bits)
FILES = {
    PROGRAM_PATH: (PROGRAM, 0o755),
    "/etc/systemd/system/gpu-fleet-devices.service": (DEVICES_SERVICE, 0o644),
    "/etc/systemd/system/gpu-fleet-mig.service": (MIG_SERVICE, 0o644),
    "/etc/systemd/system/gpu-fleet-cdi.service": (CDI_SERVICE, 0o644),
    "/etc/systemd/system/gpu-fleet-validation.service": (VALIDATION_SERVICE, 0o644),
    "/etc/systemd/system/gpu-fleet-cdi.path": (CDI_PATH, 0o644),
    "/etc/udev/rules.d/99-gpu-fleet-driver.rules": (DRIVER_RULES, 0o644),
}

# Enabled for the next boot; only the path unit is also started at once.
ENABLED = (
    "gpu-fleet-devices.service",
    "gpu-fleet-mig.service",
    "gpu-fleet-cdi.service",
    "gpu-fleet-validation.service",
    "gpu-fleet-cdi.path",
)
STARTED = ("gpu-fleet-cdi.path",)
