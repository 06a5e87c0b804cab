# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`./dev clean`: removes what this checkout and dead labs left; with --all everything below the cache."""

from __future__ import annotations

import argparse
import os

from lab import labs

from . import cache, collection, machine, progress


def run(options: argparse.Namespace) -> int:
    if os.geteuid() == 0:
        for name in labs.sweep():
            progress.say(f"removed what lab {name} had left")
    if options.all:
        _require_no_lab()
        machine.remove(cache.root())
        print(f"removed {cache.root()}")
    machine.remove(collection.LOCAL_CACHE)
    print(f"removed {collection.LOCAL_CACHE}")
    return 0


def _require_no_lab() -> None:
    ids = [folder.name for folder in labs.running()]
    if ids:
        raise machine.Unfit(f"Labs {', '.join(ids)} run from the cache: stop them by `./dev lab down --lab ID` first")
