# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files among the CDI specs that are none."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_shape import shape_error

GOOD = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "containerEdits": {"hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook"}], "env": ["A=1"]},
    "devices": [
        {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}], "mounts": None}},
        {"name": "all"},
    ],
}
# what is laid over the good one -> the error
BAD = {
    "no devices": ({"devices": None}, "it has no list of devices"),
    "kind": ({"kind": 5}, "kind is no text"),
    "version": ({"cdiVersion": [1]}, "cdiVersion is no text"),
    "device": ({"devices": [{"name": "a"}, None]}, "devices[1] has no name"),
    "name": ({"devices": [{"name": 5}]}, "devices[0] has no name"),
    "edits": ({"containerEdits": []}, "containerEdits is no table"),
    "edits of a device": (
        {"devices": [{"name": "a", "containerEdits": 5}]},
        "devices[0].containerEdits is no table",
    ),
    "nodes": (
        {"devices": [{"name": "a", "containerEdits": {"deviceNodes": [5]}}]},
        "devices[0].containerEdits.deviceNodes has a row without path",
    ),
    "mounts": ({"containerEdits": {"mounts": {"a": 1}}}, "containerEdits.mounts is no list"),
    "mount": (
        {"containerEdits": {"mounts": [{"containerPath": "/a"}]}},
        "containerEdits.mounts has a row without hostPath",
    ),
    "hook": ({"containerEdits": {"hooks": [{}]}}, "containerEdits.hooks has a row without path"),
}


def test_spec_has_no_error():
    assert shape_error(GOOD) == ""


@pytest.mark.parametrize(("change", "error"), BAD.values(), ids=BAD)
def test_first_place_of_another_shape_is_named(change, error):
    assert shape_error({**GOOD, **change}) == error


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_document_that_is_no_table(document):
    assert shape_error(document) == "it is no table"
