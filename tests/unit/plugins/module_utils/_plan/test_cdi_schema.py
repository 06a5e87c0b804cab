# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What engines refuse in a CDI spec."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_schema import schema_error

NODE = {"path": "/dev/nvidia0", "major": 195, "fileMode": 438, "permissions": "rwm", "gid": 44}
MOUNT = {"hostPath": "/usr/bin/nvidia-smi", "containerPath": "/usr/bin/nvidia-smi", "options": ["ro"]}
HOOK = {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook", "args": ["a"], "env": ["A=1"]}
DEVICE = {"name": "gpu0", "containerEdits": {"deviceNodes": [NODE]}}
GOOD = {
    "cdiVersion": "0.7.0",
    "kind": "nvidia.com/gpu",
    "devices": [DEVICE, {"name": "all", "annotations": {"a": "b"}, "containerEdits": {"additionalGids": [44]}}],
    "containerEdits": {"env": ["A="], "mounts": [MOUNT], "hooks": [HOOK]},
}


def common(**edits):
    return {"containerEdits": edits}


# what is laid over the good one -> the beginning of the error
BAD = {
    "unknown key": ({"extra": 1}, "it has the unknown key extra"),
    "kind without class": ({"kind": "nvidia.com"}, "kind 'nvidia.com' is not of the form"),
    "kind with an odd letter": ({"kind": "nvidia.com/g u"}, "kind 'nvidia.com/g u' is not of the form"),
    "version unknown": ({"cdiVersion": "2.0.0"}, "cdiVersion '2.0.0' is unknown"),
    "version no text": ({"cdiVersion": 0.7}, "cdiVersion 0.7 is unknown"),
    "version too low": ({"cdiVersion": "0.3.0"}, "cdiVersion is 0.3.0, but the content needs 0.7.0"),
    "no device": ({"devices": []}, "it has no devices"),
    "device twice": ({"devices": [DEVICE, DEVICE]}, "devices[1] has the name gpu0, as another device"),
    "device name": ({"devices": [{**DEVICE, "name": "-a"}]}, "devices[0] has the name '-a'"),
    "device without edits": ({"devices": [{"name": "a", "containerEdits": {}}]}, "devices[0] has no containerEdits"),
    "key of a device": ({"devices": [{**DEVICE, "uuid": "a"}]}, "devices[0] has the unknown key uuid"),
    "annotation": ({"annotations": {"a": 1}}, "annotations has an entry that is no text"),
    "key of edits": (common(devices=[]), "containerEdits has the unknown key devices"),
    "env without name": (common(env=["=1"]), "containerEdits.env has an entry that is not of the form"),
    "node without path": (common(deviceNodes=[{"major": 1}]), "containerEdits.deviceNodes[0] lacks path"),
    "relative node": (
        common(deviceNodes=[{"path": "dev/x"}]),
        "containerEdits.deviceNodes[0].path is no absolute path",
    ),
    "permissions": (common(deviceNodes=[{**NODE, "permissions": "rx"}]), "containerEdits.deviceNodes[0].permissions"),
    "node type": (common(deviceNodes=[{**NODE, "type": "z"}]), "containerEdits.deviceNodes[0].type is none of"),
    "major of text": (
        common(deviceNodes=[{**NODE, "major": "195"}]),
        "containerEdits.deviceNodes[0].major is no",
    ),
    "mount without target": (common(mounts=[{"hostPath": "/a"}]), "containerEdits.mounts[0] lacks containerPath"),
    "mount options": (common(mounts=[{**MOUNT, "options": "ro"}]), "containerEdits.mounts[0].options is no list"),
    "hook name": (common(hooks=[{**HOOK, "hookName": "later"}]), "containerEdits.hooks[0].hookName is none of"),
    "relative hook": (common(hooks=[{**HOOK, "path": "x"}]), "containerEdits.hooks[0].path is no absolute path"),
    "timeout": (common(hooks=[{**HOOK, "timeout": True}]), "containerEdits.hooks[0].timeout is no whole number"),
    "group": (common(additionalGids=[-1]), "containerEdits.additionalGids has an entry that is no group id"),
    "network device": (common(netDevices=[{"name": ""}]), "containerEdits.netDevices[0] lacks hostInterfaceName"),
    "cache": (common(intelRdt={"enableMonitoring": "yes"}), "containerEdits.intelRdt.enableMonitoring is neither"),
}


def test_good_spec_has_no_error():
    assert schema_error(GOOD) == ""
    assert schema_error({**GOOD, "containerEdits": None}) == ""


@pytest.mark.parametrize(("change", "error"), BAD.values(), ids=BAD)
def test_first_error_is_named(change, error):
    assert schema_error({**GOOD, **change}).startswith(error)


@pytest.mark.parametrize("document", [None, [], "text", 5, {}, {"devices": 5}, {"devices": [None]}])
def test_anything_else_is_an_error_and_never_raises(document):
    assert schema_error(document)
