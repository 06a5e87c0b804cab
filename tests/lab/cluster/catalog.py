# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that the collection's own catalog gives to the images of its operands."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

CATALOG = Path(__file__).resolve().parents[3] / "plugins/module_utils/_catalog/images.py"


@cache
def operand_images() -> dict[str, str]:
    """Operand -> image name with tag, as the collection's manifests ask for it."""
    module = _load()
    return {name: module.image_reference(name) for name in module.IMAGES}


def _load() -> ModuleType:
    """The file by its path: the lab runs without the collection being installed."""
    spec = importlib.util.spec_from_file_location("lab_cluster_catalog_images", CATALOG)
    if spec is None or spec.loader is None:
        raise ImportError(f"{CATALOG} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module
