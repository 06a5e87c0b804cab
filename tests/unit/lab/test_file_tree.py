# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as written on a host: not the directories that merely lead to what is no change."""

from __future__ import annotations

from pathlib import Path

from lab.file_tree import written


def layer(folder: Path, name: str, files: dict[str, str], modes: dict[str, int] | None = None) -> Path:
    root = folder / name
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, mode in (modes or {}).items():
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path).chmod(mode)
    return root


def test_directory_as_below_is_no_change_and_its_files_are(tmp_path: Path) -> None:
    below = layer(tmp_path, "below", {"etc/a": "1"}, {"root": 0o700, "etc": 0o755})
    upper = layer(tmp_path, "upper", {"etc/b": "2", "root/.ansible/tmp/x": "3"}, {"root": 0o700, "etc": 0o755})
    assert list(written(upper, [below])) == ["/etc/b"]


def test_directory_that_is_new_or_of_another_mode_is_a_change(tmp_path: Path) -> None:
    below = layer(tmp_path, "below", {}, {"etc": 0o755})
    upper = layer(tmp_path, "upper", {}, {"etc": 0o700, "srv/new": 0o755})
    assert sorted(written(upper, [below])) == ["/etc", "/srv", "/srv/new"]


def test_the_topmost_layer_below_decides(tmp_path: Path) -> None:
    low, high = layer(tmp_path, "low", {}, {"etc": 0o700}), layer(tmp_path, "high", {}, {"etc": 0o755})
    upper = layer(tmp_path, "upper", {}, {"etc": 0o755})
    assert written(upper, [high, low]) == {}
    assert list(written(upper, [low, high])) == ["/etc"]
