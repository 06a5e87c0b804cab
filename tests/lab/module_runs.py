# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the module runs that reach a host, on the host itself.

Ansible starts every remote module through the interpreter of the inventory, whether a task or an action plugin asked
for it. So an interpreter that writes one line before it becomes the real one counts all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .host import Host

INTERPRETER = "/usr/local/lib/lab/python3"
COUNT = "/var/lib/lab/module-runs"
SCRIPT = f"""#!/bin/sh
echo "$(date +%s.%N)" >> {COUNT}
exec /usr/bin/python3 "$@"
"""


def install(root: Path) -> None:
    """Puts the counting interpreter into a host's root; the inventory names it as ansible_python_interpreter."""
    program = root / INTERPRETER.lstrip("/")
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    (root / COUNT.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    reset(root)


def reset(root: Path) -> None:
    """Starts counting from nothing."""
    (root / COUNT.lstrip("/")).write_text("")


def count(host: Host) -> int:
    """How many remote modules ran on the host since the last reset."""
    return len((host.root / COUNT.lstrip("/")).read_text().splitlines())
