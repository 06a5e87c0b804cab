# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container that holds a GPU of a lab host: real podman and runc, with a process that NVML shows on the GPU.

The container sees the host's own /usr, so that no image is needed. It is a unit of systemd: whatever ends the container
(`podman stop`, `podman kill`, the unit) ends the process on the GPU, too.
"""

from __future__ import annotations

from .host import Host

SIMHW = "/usr/lib/simhw/simhw"
PROGRAM, MEMORY_MIB = "python3", 2048
START = """
name=lab-workload-{gpu} root=/var/lib/lab/workload
mkdir -p $root/etc $root/dev $root/proc $root/sys $root/tmp $root/run $root/usr $root/var
for link in bin lib lib64 sbin; do [ -e $root/$link ] || ln -s usr/$link $root/$link; done
cat > /run/$name.started <<'SCRIPT'
for n in $(seq 100); do
    pid=$(podman inspect --format '{{{{.State.Pid}}}}' lab-workload-{gpu} 2>/dev/null || echo 0)
    [ "$pid" = 0 ] || break
    sleep 0.1
done
echo $pid > /run/lab-workload-{gpu}.pid
{simhw} process add --pid $pid --gpu {gpu} --memory {memory} --name {program}
SCRIPT
echo "{simhw} process remove --pid \\$(cat /run/$name.pid)" > /run/$name.ended
systemd-run --quiet --unit=$name --description="Container that holds GPU {gpu}" \\
    --property="ExecStartPost=/bin/sh -eu /run/$name.started" --property="ExecStopPost=/bin/sh -eu /run/$name.ended" \\
    podman run --rm --name=$name --network=none --volume=/usr:/usr:ro \\
    --device=/dev/nvidia{gpu} --device=/dev/nvidiactl \\
    --rootfs $root {program} -c 'import time; time.sleep(10**6)'
"""


def start(host: Host, gpu: int = 0) -> int:
    """Starts one on the GPU with this device minor; returns the pid that nvidia-smi shows."""
    host.shell(START.format(gpu=gpu, simhw=SIMHW, memory=MEMORY_MIB, program=PROGRAM))
    return int(host.run(["cat", f"/run/lab-workload-{gpu}.pid"]))


def stop(host: Host, gpu: int = 0) -> None:
    """Ends it in order."""
    host.shell(f"podman stop --time=1 lab-workload-{gpu}; systemctl stop lab-workload-{gpu} 2>/dev/null || true")
