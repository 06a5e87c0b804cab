# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs programs where no Ansible module is at hand. Private to this collection."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence

from .._observe.command import LOCALE, not_started


def run(args: Sequence[str]) -> tuple[int, str, str]:
    """Runs ``args`` without a shell, in the C locale and without standard input; see Run."""
    return asyncio.run(_run(args))


async def _run(args: Sequence[str]) -> tuple[int, str, str]:
    environment = {**os.environ, **LOCALE}
    try:
        process = await asyncio.create_subprocess_exec(*args, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment)
    except OSError as error:
        return not_started(args, error)
    out, err = await process.communicate()
    return await process.wait(), out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
