# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running engine says through the CRI."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpu.fleet.plugins.module_utils._observe.cri import (
    CriStatus,
    endpoint_of,
    parse_info,
    read_cri,
    read_docker,
    wait_for_handlers,
)

INFO = {
    "status": {"conditions": [{"type": "RuntimeReady", "status": True}, {"type": "NetworkReady", "status": False}]},
    "runtimeHandlers": [{"name": ""}, {"name": "nvidia"}],
    "config": {"containerd": {"runtimes": {"runc": {}, "nvidia": {}}}},
}


def test_handlers_and_readiness():
    assert parse_info(json.dumps(INFO)) == CriStatus(True, ("nvidia", "runc"))
    assert parse_info("{}") == CriStatus(False)


@pytest.mark.parametrize("text", ["", "[]", "null", "FATA[0000] connect: no such file", '{"status": [1], "config": 7'])
def test_what_is_no_answer_is_an_error(text):
    status = parse_info(text)
    assert not status.ready
    assert status.error


def test_an_answer_of_another_shape_is_none():
    assert parse_info('{"status": [1], "config": 7, "runtimeHandlers": "x"}') == CriStatus(False)


def test_waiting_ends_with_the_last_answer():
    answers = [(1, "", "connection refused"), (0, json.dumps(INFO), "")]
    assert wait_for_handlers(lambda: read_cri(lambda args: answers.pop(0), "unix:///x"), ["nvidia"], seconds=5).ready
    refused = read_cri(lambda args: (1, "", "connection refused\n"), "unix:///x")
    assert wait_for_handlers(lambda: refused, ["nvidia"], seconds=0).error == "connection refused"


ENDPOINTS = {
    ("containerd", ""): "unix:///run/containerd/containerd.sock",
    ("containerd", "rke2"): "unix:///run/k3s/containerd/containerd.sock",
    ("containerd", "k0s"): "unix:///run/k0s/containerd.sock",
    ("docker", ""): None,
}


@pytest.mark.parametrize(("runtime", "distribution"), ENDPOINTS)
def test_endpoint(runtime, distribution):
    assert endpoint_of(runtime, distribution) == ENDPOINTS[runtime, distribution]


DOCKER = {
    "running": ((0, '{"Runtimes": {"runc": {}, "nvidia": {}}}', ""), CriStatus(True, ("nvidia", "runc"))),
    "not running": ((0, '{"ServerErrors": ["Cannot connect"]}', ""), CriStatus(False, (), "Cannot connect")),
    "refused": ((1, "", "permission denied\n"), CriStatus(False, (), "permission denied")),
}


@pytest.mark.parametrize(("answer", "status"), DOCKER.values(), ids=DOCKER)
def test_docker(answer, status):
    assert read_docker(lambda args: answer) == status
