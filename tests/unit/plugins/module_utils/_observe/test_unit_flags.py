# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a daemon."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.files import HostRoot
from ansible_collections.gpu.fleet.plugins.module_utils._observe.unit_flags import read_flags

UNIT = "/lib/systemd/system/docker.service"
OVERRIDE = "/etc/systemd/system/docker.service.d/10-runtime.conf"
PLAIN = "[Service]\nExecStart=/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock\n"

# files -> options
UNITS = {
    "no unit": ({}, {}),
    "as packaged": ({UNIT: PLAIN}, {"H": ("fd://",), "containerd": ("/run/containerd/containerd.sock",)}),
    "drop-in takes it back": (
        {UNIT: PLAIN, OVERRIDE: "[Service]\nExecStart=\nExecStart=/usr/bin/dockerd --add-runtime nvidia=/x\n"},
        {"add-runtime": ("nvidia=/x",)},
    ),
    "twice, and a switch": (
        {UNIT: "[Service]\nExecStart=/usr/bin/dockerd --debug \\\n  --add-runtime=a=/a --add-runtime=b=/b\n"},
        {"debug": ("true",), "add-runtime": ("a=/a", "b=/b")},
    ),
    "variable of a file": (
        {
            UNIT: "[Service]\nEnvironmentFile=-/etc/default/docker\nExecStart=/usr/bin/dockerd $DOCKER_OPTS\n",
            "/etc/default/docker": "# DOCKER_OPTS='--debug'\nDOCKER_OPTS='--default-runtime=nvidia'\n",
        },
        {"default-runtime": ("nvidia",)},
    ),
    "an own unit goes before the package's": (
        {UNIT: PLAIN, "/etc/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/dockerd --debug\n"},
        {"debug": ("true",)},
    ),
    "a quote that is not closed": ({UNIT: "[Service]\nExecStart=/usr/bin/dockerd --label='x\n"}, {"label": ("'x",)}),
}


@pytest.mark.parametrize(("files", "options"), UNITS.values(), ids=UNITS)
def test_options(tmp_path, files, options):
    for path, text in files.items():
        (tmp_path / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path.lstrip("/")).write_text(text)
    assert read_flags(HostRoot(str(tmp_path)), "docker.service") == options
