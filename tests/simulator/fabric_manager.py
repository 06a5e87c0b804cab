# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for NVIDIA's fabric manager and its subnet manager nvlsm, as `simhw fabric-manager` and `simhw nvlsm`.

The packages' own programs call these. Texts and exit codes as recorded (NVIDIA/gpu-operator#544,
data-infra/cube-studio#29, leptonai/gpud fabric-manager/testdata); what the real ones do over days is not simulated.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from simulator import infiniband
from simulator.kernel_modules import Refused
from simulator.layout import COMPLETED, SWITCH_CHIPS
from simulator.models import MODELS
from simulator.place import Place
from simulator.state import State, edit, read

CONFIGURATION = Path("/usr/share/nvidia/nvswitch/fabricmanager.cfg")
NVLSM_PID = Path("/run/nvidia-fabricmanager/nvlsm.pid")
PID = Path("/run/nvidia-fabricmanager/nv-fabricmanager.pid")
NVLSM_LOG = Path("/var/log/nvlsm.log")
LOG = Path("/var/log/fabricmanager.log")
NVLINK5 = 7  # NVML_NVLINK_VERSION_5_0
# healthMask of nvmlGpuFabricInfo_v3_t: bit pairs "false" for four conditions, "none" for wrong configurations.
HEALTHY_MASK, HEALTHY = 0x1AA, 1
MISMATCH = (
    "fabric manager NVIDIA GPU driver interface version {own} don't match with driver version {loaded}. "
    "Please update with matching NVIDIA driver package."
)
NOTHING_TO_DO = (
    "request to query NVSwitch device information from NVSwitch driver failed with "
    "error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"
)
TOPOLOGY = "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"
CONNECTED = "Connected to 1 node."
CONFIGURED = "Successfully configured all the available GPUs and NVSwitches to route NVLink traffic."


def add_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser], place: Place) -> None:
    """Adds both daemons to the command `simhw`."""
    manager = verbs.add_parser("fabric-manager", help="what nv-fabricmanager does")
    manager.add_argument("--driver-version", required=True, help="version of its package")
    manager.add_argument("-c", "--config", type=Path, default=CONFIGURATION)
    manager.add_argument("-g", "--fm-sm-mgmt-port-guid", dest="guid", help="port of the subnet manager, NVLink 5")
    manager.set_defaults(run=lambda options: manage(place, options))
    subnet = verbs.add_parser("nvlsm", help="what nvlsm does")
    subnet.add_argument("-g", "--guid", required=True)
    subnet.set_defaults(run=lambda options: manage_subnet(place, options.guid))


def problem(state: State, loaded: str, own: str, *, subnet_manager: bool) -> str:
    """Why the fabric manager of version `own` cannot work, in its words; empty when it can. The first check decides."""
    if loaded != own:
        return MISMATCH.format(own=own, loaded=loaded)
    generations = {MODELS[gpu["model"]].nvlink[1] for gpu in state.gpus if gpu["nvlink"] == "switch"}
    if NVLINK5 in generations:
        return "" if subnet_manager else NOTHING_TO_DO
    if not state.switches:
        return NOTHING_TO_DO
    wanted = {SWITCH_CHIPS[generation].count for generation in generations if generation in SWITCH_CHIPS}
    return "" if len(state.switches) in wanted else TOPOLOGY


def configure(state: State) -> None:
    """All GPUs join the fabric."""
    for row in state.fabrics:
        row.update({"state": str(COMPLETED), "status": "0", "health": str(HEALTHY_MASK), "summary": str(HEALTHY)})


def manage(place: Place, options: argparse.Namespace) -> None:
    """Checks, configures, and stays in the background until SIGTERM. Raises Refused(1) with a message otherwise."""
    settings = configuration(options.config.read_text())
    version = place.sys / "module/nvidia/version"
    loaded = version.read_text().strip() if version.exists() else "none"
    subnet_manager = bool(options.guid) and _runs(NVLSM_PID)
    reason = problem(read(place.state), loaded, options.driver_version, subnet_manager=subnet_manager)
    if reason:
        _log(settings, "ERROR", reason)
        sys.stderr.write(f"{reason}\n")
        if settings.get("FM_STAY_RESIDENT_ON_FAILURES") != "1":
            raise Refused(errno.EPERM)  # 1, the exit code on record
    else:
        _log(settings, "INFO", CONNECTED)
        with edit(place.state) as state:
            configure(state)
        _log(settings, "INFO", CONFIGURED)
    _stay(PID, "nv-fabricmanage", hold=None if reason else place.state.with_name("state.fabric"))


def manage_subnet(place: Place, guid: str) -> None:
    """Brings the ports of the NVLink switches up, and stays in the background."""
    found = [a for a in infiniband.load(place) if a.bridge and f"0x{a.guid:016x}" == guid]
    if not found or not found[0].manager:
        sys.stderr.write(f"nvlsm: no port {guid} on which a subnet manager may run\n")
        raise Refused(errno.EPERM)
    for adapter in infiniband.load(place):
        if adapter.bridge:
            infiniband.set_state(place, adapter, infiniband.ACTIVE)
    with NVLSM_LOG.open("a") as log:
        log.write(f"{time.strftime('%b %d %H:%M:%S')} 000000 [{threading.get_native_id():X}] 0x80 -> SUBNET UP\n")
    _stay(NVLSM_PID, "nvlsm", hold=None)


def configuration(text: str) -> dict[str, str]:
    """KEY=VALUE lines of fabricmanager.cfg; others are comments."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _sign, value in pairs}


def log_line(level: str, text: str) -> str:
    """A line of the fabric manager's log, of now."""
    stamp = time.strftime("%b %d %Y %H:%M:%S")
    return f"[{stamp}] [{level}] [tid {threading.get_native_id()}] {text}\n"


def _log(settings: Mapping[str, str], level: str, text: str) -> None:
    path = Path(settings.get("LOG_FILE_NAME", str(LOG)))
    with path.open("a" if settings.get("LOG_APPEND_TO_LOG", "1") == "1" else "w") as log:
        log.write(log_line(level, text))


def _runs(pid_file: Path) -> bool:
    return pid_file.exists() and Path("/proc", pid_file.read_text().strip() or "none").exists()


def _stay(pid_file: Path, name: str, *, hold: Path | None) -> None:
    """Goes on in the background under `name`; `hold` is locked meanwhile. Ends by SIGTERM."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.read(reader, 1)  # until its pid file is there
        return
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    Path("/proc/self/comm").write_text(name)
    lock = hold.open("w") if hold else None
    if lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
    pid_file.parent.mkdir(parents=True, exist_ok=True)
    pid_file.write_text(f"{os.getpid()}\n")
    os.close(writer)
    signal.sigwait({signal.SIGTERM})
    pid_file.unlink()
    os._exit(0)
