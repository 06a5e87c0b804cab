# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu-fleet-host cdi over a tree."""

from __future__ import annotations

import yaml

from ansible_collections.gpu.fleet.plugins.module_utils._host.cdi import run

WISH = "schema: 1\nspecs:\n  - path: /var/run/cdi/gds.yaml\n    mode: gds\n"


def put(root, path, text=""):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def verb(root, capsys):
    status = run(host_root=str(root), lock=str(root / "lock"))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_nothing_saved_is_nothing_to_do(tmp_path, capsys):
    status, out, _err = verb(tmp_path, capsys)
    assert (status, out.startswith("nothing to do")) == (0, True)


def test_a_failure_says_why(tmp_path, capsys):
    put(tmp_path, "var/lib/gpu-fleet/cdi/wish.yaml", WISH)
    status, _out, err = verb(tmp_path, capsys)
    assert status == 1
    assert "mode gds found no device" in err


def test_a_broken_file_says_what_to_do(tmp_path, capsys):
    put(tmp_path, "var/lib/gpu-fleet/cdi/wish.yaml", "schema: 2\n")
    status, _out, err = verb(tmp_path, capsys)
    assert status == 1
    assert "run role gpu.fleet.toolkit again" in err


def test_driver_that_is_not_there_is_told_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    put(
        tmp_path,
        "var/lib/gpu-fleet/cdi/wish.yaml",
        yaml.safe_dump({"schema": 1, "specs": [{"path": "/a.yaml", "mode": "nvml"}]}),
    )
    assert verb(tmp_path, capsys)[0] == 75
