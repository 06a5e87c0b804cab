# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and versions of CDI."""

from __future__ import annotations

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._plan.cdi_rules import (
    is_below,
    is_device_name,
    is_known_version,
    is_vendor_or_class,
    minimum_version,
    newest_readable,
)


@pytest.mark.parametrize("name", ["nvidia.com", "g", "accel_1", "a-b", "gpu.a100"])
def test_vendor_or_class(name):
    assert is_vendor_or_class(name)


@pytest.mark.parametrize("name", ["", "1gpu", "gpu-", "gpu/x", "gpu x", ".gpu", "gpü", "gpu:1"])
def test_no_vendor_or_class(name):
    assert not is_vendor_or_class(name)


@pytest.mark.parametrize("name", ["0", "0:1", "GPU-1", "all", "mig0:1"])
def test_device(name):
    assert is_device_name(name)


@pytest.mark.parametrize("name", ["", "-0", "0:", "a/b", "a b"])
def test_no_device(name):
    assert not is_device_name(name)


def spec(*, kind="nvidia.com/gpu", name="gpu0", common=None, **edits):
    return {"kind": kind, "devices": [{"name": name, "containerEdits": edits}], "containerEdits": common or {}}


VERSIONS = {
    "plain": (spec(env=["A=b"]), "0.3.0"),
    "type of a mount": (spec(mounts=[{"hostPath": "/a", "containerPath": "/a", "type": "bind"}]), "0.4.0"),
    "name that begins with a digit": (spec(name="0"), "0.5.0"),
    "path on the host": (spec(common={"deviceNodes": [{"path": "/dev/a", "hostPath": "/x/dev/a"}]}), "0.5.0"),
    "dot in the class": (spec(kind="nvidia.com/gpu.a100", name="0"), "0.6.0"),
    "annotation": ({**spec(), "annotations": {"a": "b"}}, "0.6.0"),
    "groups": (spec(additionalGids=[44]), "0.7.0"),
    "resource control": (spec(intelRdt={"closID": "x"}), "0.7.0"),
    "network": (spec(netDevices=[{"hostInterfaceName": "a", "name": "b"}]), "1.1.0"),
}


@pytest.mark.parametrize(("document", "version"), VERSIONS.values(), ids=VERSIONS)
def test_minimum_version(document, version):
    assert minimum_version(document) == version


def test_versions_are_known_and_ordered():
    assert is_known_version("v0.6.0")
    assert not is_known_version("0.9.0")
    assert is_below("0.7.0", "1.0.0")
    assert not is_below("1.0.0", "0.8.0")


READERS = {
    ("containerd", "1.6.20"): None,
    ("containerd", "1.7.2"): "0.5.0",
    ("containerd", "1.7.28"): "0.6.0",
    ("containerd", "2.2.0-rc.1"): "0.8.0",
    ("docker", "26.1.5+dfsg1"): "0.6.0",
    ("docker", "29.2.0"): "1.0.0",
    ("podman", "5.4.2"): None,
    ("docker", None): None,
}


@pytest.mark.parametrize(("engine", "version"), READERS)
def test_newest_version_that_an_engine_reads(engine, version):
    assert newest_readable(engine, version) == READERS[engine, version]
