# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs on a host, and what the kernel says of their nodes."""

from __future__ import annotations

import pytest
import yaml
from trees.host import build

from ansible_collections.gpu.fleet.plugins.module_utils._observe.cdi_specs import (
    read_foreign,
    read_spec,
    read_spec_facts,
    yaml_loader,
)
from ansible_collections.gpu.fleet.plugins.module_utils._observe.devices import read_kernel_majors
from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_stale import stale_because

LOAD, PATH, KIND = yaml_loader(yaml), "/var/run/cdi/nvidia.yaml", "nvidia.com/gpu"
DEVICES = "Character devices:\n195 nvidia-frontend\n511 nvidia-uvm\n237 nvidia-caps\n\nBlock devices:\n  8 sd\n"


def spec(kind=KIND, names=("all",), node="/dev/nvidia-uvm", major=510):
    nodes = [{"path": node, "major": major}]
    devices = [{"name": n, "containerEdits": {"deviceNodes": nodes}} for n in names]
    return yaml.safe_dump({"cdiVersion": "0.3.0", "kind": kind, "devices": devices})


def tree(tmp_path, *rows):
    files = [{"type": "file", "path": path, "content": text} for path, text in rows]
    links = [{"type": "dir", "path": "/run"}, {"type": "dir", "path": "/var"}]
    run = [{"type": "link", "path": "/var/run", "target": "/run"}]
    node = [{"type": "char", "path": "/dev/nvidia-uvm", "major": 510, "minor": 0}]
    return build({"tree": [*links, *run, *node, *files]}, tmp_path)


def test_foreign_specs_are_those_of_the_kind_at_other_paths(tmp_path):
    host = tree(
        tmp_path,
        ("/run/cdi/nvidia.yaml", spec()),
        ("/run/cdi/other.yaml", spec("other.com/nic")),
        ("/run/cdi/broken.yaml", "{"),
        ("/run/cdi/hidden.yml", spec()),
        ("/etc/cdi/old.yaml", spec(names=("0", "all"))),
    )
    found = [(f.path, f.devices, f.rank) for f in read_foreign(host, PATH, KIND, LOAD)]
    assert found == [("/etc/cdi/old.yaml", ("0", "all"), 0)]


def test_a_directory_by_its_other_name_is_the_same(tmp_path):
    host = tree(tmp_path, ("/run/cdi/nvidia.yaml", spec()), ("/run/cdi/twin.json", '{"devices": 1}'))
    assert read_foreign(host, "/run/cdi/nvidia.yaml", KIND, LOAD) == ()


def test_a_file_that_engines_refuse_says_why(tmp_path):
    host = tree(tmp_path, ("/run/cdi/nvidia.yaml", spec() + "extra: 1\n"))
    found = read_spec(host, PATH, LOAD)
    assert (found.document["kind"], found.error) == (KIND, "it has the unknown key extra")


MAJORS = {
    "/dev/nvidia0": 195,
    "/dev/nvidiactl": 195,
    "/dev/nvidia-modeset": 195,
    "/dev/nvidia-uvm-tools": 511,
    "/dev/nvidia-caps/nvidia-cap3": 237,
    "/dev/nvidia-caps-imex-channels/channel0": None,
    "/dev/dri/card0": None,
}


@pytest.mark.parametrize(("path", "major"), MAJORS.items(), ids=MAJORS)
def test_majors_of_the_kernel(tmp_path, path, major):
    host = tree(tmp_path, ("/proc/devices", DEVICES))
    assert read_kernel_majors(host, [path]).get(path) == major


def test_spec_and_node_of_before_the_reload_are_stale(tmp_path):
    host = tree(tmp_path, ("/run/cdi/nvidia.yaml", spec()), ("/proc/devices", DEVICES))
    document = read_spec(host, PATH, LOAD).document
    (stale,) = stale_because(document, read_spec_facts(host, document))
    assert (stale.reason, stale.wanted) == ("device_major", "/dev/nvidia-uvm of major 511 (/proc/devices)")
