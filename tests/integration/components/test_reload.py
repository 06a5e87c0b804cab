# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules are loaded again: services stop and start, holders are named, a failure leaves nothing stopped."""

from __future__ import annotations

import pytest

from lab.host import Host

from .conftest import Play

SNAPSHOT = "fabric-ready"  # of test_fabric_manager
SERVICES = ("nvidia-fabricmanager.service", "nvidia-persistenced.service")
PARAMETERS = {"nvidia": {"NVreg_EnableStreamMemOPs": 1}}
SHOWN = "sed -n 's/^EnableStreamMemOPs: //p' /proc/driver/nvidia/params"
# The simulated node has no driver behind it, so that it cannot be opened for more than its name.
HOLD = """systemd-run --unit=job python3 -c 'import os, time
os.open("/dev/nvidia0", os.O_PATH); time.sleep(600)' --token=secret"""


WRAPPER = "/usr/local/sbin/modprobe"
REFUSES = """\
#!/bin/sh
case "$*" in -r*nvidia_uvm*) echo refused >&2; exit 1;; esac
exec /usr/sbin/modprobe "$@"
"""


@pytest.fixture
def ready(fabric: Host) -> Host:
    """The host with driver and fabric manager."""
    fabric.restore(SNAPSHOT)
    return fabric


def active(host: Host) -> list[str]:
    return [u for u in SERVICES if host.succeeds(f"systemctl is-active {u}")]


def test_another_parameter_is_a_reload_with_services_around_it(ready: Host, play: Play) -> None:
    planned = play(ready, check=True, driver_module_parameters=PARAMETERS)
    done = play(ready, driver_module_parameters=PARAMETERS)
    assert done.run.status == 0, done.run.end()
    assert planned.steps() == done.steps()
    assert ("stop", SERVICES[0]) in done.steps()
    assert ("start", SERVICES[0]) in done.steps()
    assert ready.shell(SHOWN).strip() == "1"
    assert active(ready) == list(SERVICES)
    assert play(ready, driver_module_parameters=PARAMETERS).steps() == {}


def test_a_job_is_named_and_nothing_is_unloaded(ready: Host, play: Play) -> None:
    ready.shell(f"{HOLD}; sleep 1; ls -l /proc/$(systemctl show --value --property=MainPID job)/fd | grep nvidia0")
    held = play(ready, driver_module_parameters=PARAMETERS)
    assert held.run.status == 0, held.run.end()
    assert held.ids() == ["GPU-KRN-026"]
    assert held.result["reboot_required"] is True
    assert "unit job.service" in str(held.result)
    assert "secret" not in str(held.result)
    assert ready.shell(SHOWN).strip() == "0"
    assert active(ready) == list(SERVICES)


def test_a_module_that_does_not_come_leaves_no_service_stopped(ready: Host, play: Play) -> None:
    ready.shell(f"cat > {WRAPPER} <<'END'\n{REFUSES}END\nchmod +x {WRAPPER}")
    failed = play(ready, driver_module_parameters=PARAMETERS)
    assert failed.run.status != 0
    assert "everything is as it was" in failed.run.text
    assert active(ready) == list(SERVICES)
    ready.run(["rm", WRAPPER])
    assert play(ready, driver_module_parameters=PARAMETERS).run.status == 0
    assert active(ready) == list(SERVICES)


def test_what_a_killed_run_left_stopped_is_started_by_the_next(ready: Host, play: Play) -> None:
    ready.shell(
        "mkdir -p /var/lib/gpu-fleet/driver; systemctl stop nvidia-fabricmanager; modprobe -r nvidia_uvm; "
        "echo '[\"nvidia-fabricmanager.service\"]' > /var/lib/gpu-fleet/driver/stopped.json"
    )
    done = play(ready)
    assert done.run.status == 0, done.run.end()
    assert active(ready) == list(SERVICES)
    assert not ready.succeeds("test -e /var/lib/gpu-fleet/driver/stopped.json")
    assert play(ready).steps() == {}


def test_nouveau_is_kept_away_in_the_initramfs_too(ready: Host, play: Play) -> None:
    ready.shell(
        "k=$(uname -r); echo 'kernel/drivers/gpu/drm/nouveau/nouveau.ko:' >> /lib/modules/$k/modules.dep; "
        "touch -d '2020-01-01' /boot/initrd.img-$k; "
        "printf '#!/bin/sh\\necho \"$@\" >> /root/rebuilt; touch /boot/initrd.img-$3\\n' > /usr/sbin/update-initramfs; "
        "chmod +x /usr/sbin/update-initramfs"
    )
    done = play(ready)
    assert done.run.status == 0, done.run.end()
    assert ("blacklist", "/etc/modprobe.d/gpu-fleet-nouveau.conf") in done.steps()
    release = ready.run(["uname", "-r"]).strip()
    assert ready.run(["cat", "/root/rebuilt"]).split() == ["-u", "-k", release]
    assert play(ready).steps() == {}
    ready.run(["touch", "-d", "2020-01-01", f"/boot/initrd.img-{release}"])
    assert play(ready).steps() == {("rebuild_initramfs", f"/boot/initrd.img-{release}"): 1}
