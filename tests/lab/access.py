# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Ansible reaches the hosts of a lab: key, known hosts, inventory, settings."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dev import collection, progress

from . import keeper, module_runs

if TYPE_CHECKING:
    from .lab import Lab

GROUP = "gpu_hosts"
# Variables that name the cluster; where they are empty, there is none for gpu.fleet.
CLUSTER = ("KUBECONFIG", "K8S_AUTH_KUBECONFIG")
SETTINGS = """\
[defaults]
inventory = {folder}/inventory
host_key_checking = true
retry_files_enabled = false
stdout_callback = default
result_format = yaml
[ssh_connection]
pipelining = true
"""


def prepare(lab: Lab) -> None:
    """Makes the key pair, and the files that stand for the outer machine's /etc/hosts and resolv.conf in the lab."""
    progress.output(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"lab-{lab.id}", "-f", lab.folder / "id"])
    (lab.folder / "etc/resolv.conf").touch()
    (lab.folder / "inventory/group_vars").mkdir(parents=True)
    (lab.folder / "ansible.cfg").write_text(SETTINGS.format(folder=lab.folder))
    write_inventory(lab)


def write_inventory(lab: Lab) -> None:
    """Writes inventory/hosts.yml, known_hosts and the hosts file for the hosts that there are now."""
    hosts = lab.hosts
    group = {"hosts": {host.name: _variables(host.address) for host in hosts}, "vars": _common(lab)}
    (lab.folder / "inventory/hosts.yml").write_text(json.dumps({GROUP: group}, indent=2) + "\n")  # JSON is YAML
    known = [f"{host.address} {host.public_key}" for host in hosts]
    (lab.folder / "known_hosts").write_text("\n".join(known) + "\n")
    names = ["127.0.0.1 localhost", f"{keeper.GATEWAY} lab", *(f"{host.address} {host.name}" for host in hosts)]
    (lab.folder / "etc/hosts").write_text("\n".join(names) + "\n")


def write_group_vars(lab: Lab, variables: dict[str, object]) -> None:
    """Variables of the lab's hosts in the product's own names: repositories, keys."""
    (lab.folder / f"inventory/group_vars/{GROUP}.yml").write_text(json.dumps(variables, indent=2) + "\n")


def ansible_env(lab: Lab) -> dict[str, str]:
    """As Lab.ansible_env."""
    folders, kubeconfig = [str(Path(sys.executable).parent)], lab.folder / "cluster/admin.kubeconfig"
    cluster: dict[str, str] = {}
    if kubeconfig.exists():
        from .cluster import programs

        cluster = dict.fromkeys(CLUSTER, str(kubeconfig))
        folders.append(str(programs.program("kubectl").parent))
    return {
        "ANSIBLE_CONFIG": str(lab.folder / "ansible.cfg"),
        "ANSIBLE_HOME": str(lab.folder / "ansible"),
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(lab.folder / "cp"),
        "ANSIBLE_NOCOLOR": "1",
        "GPU_FLEET_INVENTORY": str(lab.folder / "inventory"),
        "PATH": ":".join([*folders, os.environ["PATH"]]),
        **cluster,
        **lab.environment(),
    }


def _variables(address: str) -> dict[str, object]:
    return {"ansible_host": address}


def _common(lab: Lab) -> dict[str, object]:
    known = f"-o UserKnownHostsFile={lab.folder}/known_hosts -o GlobalKnownHostsFile=/dev/null"
    return {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(lab.folder / "id"),
        "ansible_ssh_common_args": f"-F /dev/null -o IdentitiesOnly=yes {known}",
        "ansible_python_interpreter": module_runs.INTERPRETER,
    }
