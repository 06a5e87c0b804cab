#!/usr/bin/python
# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells a container engine of NVIDIA's runtime handlers and of CDI."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_runtime
short_description: Configure a container engine for NVIDIA GPUs
version_added: 0.1.0
description:
  - Adds NVIDIA's runtime handlers to containerd, CRI-O or Docker, and switches CDI on. Removes them again.
  - Edits key by key. Comments, order and unrelated keys survive, and files are replaced atomically.
  - Has the engine check the result, and puts the old files back if it refuses them.
  - Restarts nothing. See RV(restart_required).
options:
  runtime:
    description:
      - The engine. V(podman) needs no configuration and is looked at only.
      - V(auto) takes the one that the kubelet speaks to, else one that runs, else one that is installed. Without any,
        O(state=absent) has nothing to do.
    type: str
    choices: [auto, containerd, crio, docker, podman]
    default: auto
  distribution:
    description:
      - The Kubernetes distribution whose own containerd is meant. It has files, sockets and units of its own, and
        writes its settings at every start, so its drop-in (k3s, RKE2, k0s) or its template (MicroK8s) is changed.
      - V(auto) takes the one that is on the host, unless O(config_path) says what is meant. V(none) is the system's own
        containerd.
    type: str
    choices: [auto, none, k3s, rke2, k0s, microk8s]
    default: auto
  state:
    description: Whether the handlers are there.
    type: str
    choices: [present, absent]
    default: present
  config_path:
    description:
      - The engine's configuration file. The default is C(/etc/containerd/config.toml), C(/etc/crio/crio.conf) or
        C(/etc/docker/daemon.json).
    type: path
  drop_in_path:
    description:
      - File that gets the handlers. The default is C(/etc/containerd/conf.d/99-nvidia.toml) or
        C(/etc/crio/crio.conf.d/99-nvidia.toml).
      - Empty to edit O(config_path) itself, which is also done with Docker and with version 1 of containerd's
        configuration.
    type: str
  config_source:
    description:
      - From where the handlers inherit options such as the cgroup driver, V(file) is O(config_path), V(command)
        what the engine says is in effect.
    type: str
    choices: [file, command]
    default: file
  executable:
    description: The engine's program on the running machine. Searched in PATH by default.
    type: path
  handlers:
    description:
      - Handlers, the first of which O(set_as_default) is about.
      - The default is C(nvidia), and C(nvidia-cdi) and C(nvidia-legacy) where their programs are on the host.
      - An empty list is for hosts without NVIDIA's programs. Only the switches of CDI and NRI are set then.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the handler, as in a RuntimeClass.
        type: str
        required: true
      path:
        description: Program that it runs. The default is C(/usr/bin/nvidia-container-runtime).
        type: str
  runtime_name:
    description: Name of the only handler.
    type: str
  runtime_path:
    description: Program of the only handler.
    type: str
  set_as_default:
    description: Whether containers that ask for no handler run with the first one.
    type: bool
    default: false
  cdi_enabled:
    description: Whether CDI is switched on. V(false) leaves it as it is.
    type: bool
    default: false
  nri_enabled:
    description: Whether the Node Resource Interface is switched on (containerd 1.7 and later, CRI-O).
    type: bool
    default: false
  annotations:
    description: Prefixes of annotations that pods hand to the handlers, for example C(cdi.k8s.io/).
    type: list
    elements: str
    default: []
  restart:
    description:
      - Whether whoever runs this module restarts the engine where RV(restart_required) says so, as role
        C(gpu.fleet.toolkit) does.
      - The plan then has the step C(restart) where nothing has to be written, but the files are newer than the engine's
        start. Check mode reports it as a change. This module itself still restarts nothing.
    type: bool
    default: false
  restart_busy:
    description:
      - Whether O(restart) also holds while containers compute on GPUs. Otherwise a finding names them, and
        RV(restart_allowed) is false.
    type: bool
    default: false
  prove_running:
    description:
      - Whether to wait until the running engine says (C(crictl info), C(docker info)) that it is ready and has the
        handlers. Fails after O(prove_seconds). Needs C(crictl) or C(docker), and says so in RV(cri) where there is
        none.
    type: bool
    default: false
  prove_seconds:
    description: How long O(prove_running) waits.
    type: int
    default: 60
extends_documentation_fragment:
  - gpu.fleet._attributes
  - gpu.fleet._host_root
  - gpu.fleet._plan
requirements:
  - tomlkit on the host or on the controller, which sends its own copy where the host has none
author:
  - gpu.fleet contributors (!UNKNOWN)
"""

EXAMPLES = r"""
- name: Let containerd run GPU pods
  gpu.fleet.container_runtime:
    runtime: containerd
    cdi_enabled: true
  register: engine
  notify: Restart containerd

- name: Two handlers, in the file that the administrator edits
  gpu.fleet.container_runtime:
    runtime: containerd
    drop_in_path: ""
    handlers:
      - name: nvidia
        path: /usr/local/nvidia/toolkit/nvidia-container-runtime
      - name: nvidia-cdi
        path: /usr/local/nvidia/toolkit/nvidia-container-runtime.cdi

- name: Take the handlers out of Docker
  gpu.fleet.container_runtime:
    runtime: docker
    state: absent
"""

RETURN = r"""
files:
  description: The engine's files that this module cares for.
  type: list
  elements: dict
  returned: always
  sample:
    - {path: /etc/containerd/config.toml, present: true}
    - {path: /etc/containerd/conf.d/99-nvidia.toml, present: true}
restart_required:
  description: Whether the engine has to be restarted, because its files changed now or since it was started.
  type: bool
  returned: always
  sample: true
restart_allowed:
  description: Whether it may be restarted now, by O(restart) and O(restart_busy).
  type: bool
  returned: always
  sample: true
effective:
  description:
    - What is in effect for GPUs. C(source) is V(engine) where the engine said it, V(files) where it was
      read from its files.
    - C(cdi_enabled) is null where nothing is said and the default of the engine's version holds.
  type: dict
  returned: always
  sample:
    handlers: {nvidia: /usr/bin/nvidia-container-runtime, runc: ""}
    default_runtime: runc
    cdi_enabled: true
    cdi_spec_dirs: [/etc/cdi, /var/run/cdi]
    nri_enabled: true
    source: engine
runtime:
  description: The engine that was chosen.
  type: str
  returned: always
  sample: containerd
distribution:
  description: The Kubernetes distribution whose containerd it is. Null for the system's own.
  type: str
  returned: always
  sample: null
unit:
  description: The systemd unit that has to be restarted, null for an engine without one.
  type: str
  returned: always
  sample: containerd.service
cri:
  description: What the running engine said, with O(prove_running).
  type: dict
  returned: when O(prove_running) is true
  sample: {ready: true, handlers: [nvidia, runc], error: ""}
plan:
  description: What was, or in check mode would be, done.
  type: dict
  returned: always
  sample:
    disrupts: nothing
    steps:
      - action: edit_file
        target: /etc/containerd/config.toml
        before: "imports: absent"
        after: "imports: ['/etc/containerd/conf.d/*.toml']"
        reason: containerd reads the drop-in only where the main file imports it
        disrupts: nothing
findings:
  description: Disagreements found, each with both sides and a remedy.
  type: list
  elements: dict
  returned: always
  sample: []
"""

import shutil
from dataclasses import asdict
from functools import partial
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._act.bring_about import bring_about
from ..module_utils._act.engine import Refused
from ..module_utils._act.lock import LockedError
from ..module_utils._act.ownership import OwnershipError
from ..module_utils._act.runtime import Engine
from ..module_utils._act.toml_file import EditError
from ..module_utils._ansible import alone, runner
from ..module_utils._catalog.engines import AUTO, DISTRIBUTIONS, NONE
from ..module_utils._observe.cri import endpoint_of, read_cri, read_docker, wait_for_handlers
from ..module_utils._observe.engines import engine_places, find_runtime
from ..module_utils._observe.files import HostRoot
from ..module_utils._observe.gpu_containers import read_gpu_containers
from ..module_utils._observe.helpers import find_helper
from ..module_utils._observe.podman import read_podman, untouched
from ..module_utils._plan.engine import RUNTIMES, EngineWish, find_busy, plan_restart
from ..module_utils._plan.model import Plan
from ..module_utils._plan.runtime import make_engine_wish

ARGUMENTS: dict[str, Any] = {
    "runtime": {"type": "str", "choices": ["auto", *RUNTIMES], "default": "auto"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "config_path": {"type": "path"},
    "drop_in_path": {"type": "str"},
    "config_source": {"type": "str", "choices": ["file", "command"], "default": "file"},
    "executable": {"type": "path"},
    "handlers": {
        "type": "list",
        "elements": "dict",
        "options": {"name": {"type": "str", "required": True}, "path": {"type": "str"}},
    },
    "runtime_name": {"type": "str"},
    "runtime_path": {"type": "str"},
    "distribution": {"type": "str", "choices": [AUTO, NONE, *DISTRIBUTIONS], "default": AUTO},
    "set_as_default": {"type": "bool", "default": False},
    "nri_enabled": {"type": "bool", "default": False},
    "annotations": {"type": "list", "elements": "str", "default": []},
    "cdi_enabled": {"type": "bool", "default": False},
    "restart": {"type": "bool", "default": False},
    "restart_busy": {"type": "bool", "default": False},
    "prove_running": {"type": "bool", "default": False},
    "prove_seconds": {"type": "int", "default": 60},
    "host_root": {"type": "path", "default": "/"},
}


def configure(module: AnsibleModule, host: HostRoot, runtime: str) -> dict[str, Any]:
    """Observe, plan, apply, prove."""
    toml = find_helper("tomlkit")
    if toml is None:
        module.fail_json(msg="this host's Python lacks tomlkit", missing_helpers=["tomlkit"])
    places = engine_places(host, {**module.params, "runtime": runtime})
    wish = make_engine_wish(places, programs=host.is_executable)
    options = {name: module.params[name] for name in ("executable", "config_source")}
    engine = Engine(host, wish, run=runner(module), toml=toml, **options)
    result = bring_about(
        module,
        observe=engine.observe,
        decide=lambda state: engine.decide(state, programs_may_come=module.check_mode),
        act=engine.act,
        returns=engine.returns,
    )
    foretell_restart(module, host, result, stale=engine.reader.started_before_files())
    if module.params["prove_running"]:
        result["cri"] = prove(module, wish)
    return result


def foretell_restart(module: AnsibleModule, host: HostRoot, result: dict[str, Any], *, stale: bool) -> None:
    """Whether the engine has to be restarted, whether it may, and the step where nothing else is one."""
    result["restart_required"] = result["changed"] or stale
    asked = result["restart_required"] and module.params["restart"]
    busy = read_gpu_containers(host) if asked and not module.params["restart_busy"] else ()
    result["restart_allowed"] = module.params["restart"] and not busy
    if busy:
        result["findings"].append(asdict(find_busy(result["runtime"], result["unit"], busy)))
    elif asked and not result["changed"]:
        plan = plan_restart(result["runtime"], result["unit"] or result["runtime"])
        # Where it is not only foretold, the task that restarts the engine reports the change.
        result.update(plan=plan.result()["plan"], diff=plan.diff(), changed=module.check_mode)


def prove(module: AnsibleModule, wish: EngineWish) -> dict[str, Any]:
    """What the running engine says; ends the module where it is not what was configured."""
    runtime, names = wish.runtime, wish.names if wish.state == "present" else ()
    endpoint, program = endpoint_of(runtime, wish.distribution), "docker" if runtime == "docker" else "crictl"
    if shutil.which(program) is None or (endpoint is None and runtime != "docker"):
        return {"ready": None, "handlers": [], "error": f"no {program} on this host, or an engine without CRI"}
    ask = read_docker if endpoint is None else partial(read_cri, endpoint=endpoint)
    status = wait_for_handlers(partial(ask, runner(module)), names, seconds=module.params["prove_seconds"])
    missing = [n for n in names if n not in status.handlers]
    if status.error or not status.ready or missing:
        said = status.error or f"ready: {status.ready}, handlers: {', '.join(status.handlers) or 'none'}"
        module.fail_json(
            msg=f"the running {runtime} does not offer {', '.join(names)}: {said}; look at: journalctl -u {runtime}"
        )
    return asdict(status)


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
        mutually_exclusive=[("handlers", "runtime_name"), ("handlers", "runtime_path")],
    )
    host, runtime = HostRoot(module.params["host_root"]), module.params["runtime"]
    if runtime == "auto":
        runtime = find_runtime(host)
    if runtime is None and module.params["state"] == "absent":
        module.exit_json(**untouched(None, Plan(), cdi_enabled=None))
    if runtime is None:
        module.fail_json(
            msg="container_runtime: no container engine was found; install one, or name it with the option runtime"
        )
    if runtime == "podman":
        module.exit_json(**read_podman(host, runner(module)))
    try:
        with alone(module):
            module.exit_json(**configure(module, host, runtime))
    except (OSError, LockedError, OwnershipError, EditError, Refused) as error:
        module.fail_json(msg=f"container_runtime: {error}")


if __name__ == "__main__":
    main()
