# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``nvidia-smi -q -x``, also where it breaks off. Private to this collection."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from .nvidia_smi_failure import with_failure
from .nvidia_smi_gpu import gpu_row
from .tree import Branch
from .values import count, version

DTD = re.compile(r"nvsmi_device_(v[0-9]{1,3})\.dtd")
DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")


def parse_xml(text: str) -> tuple[Branch, str | None]:
    """The tree as far as it goes, and why it goes no further (None: it is whole).

    A GPU that is lost meanwhile leaves a sentence in the middle of the document.
    """
    root = Branch("")
    if "<!ENTITY" in text:
        return root, "it declares entities, which nvidia-smi does not"
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    try:
        # The encoding that the declaration names was the file's; this is a text already.
        parser.feed(DECLARATION.sub("", text).encode("utf-8", "replace"))
        _grow(root, parser)
        parser.close()
    except ElementTree.ParseError as problem:
        return root, str(problem)
    return root, None


def _grow(root: Branch, parser: Any) -> None:
    """Raises ElementTree.ParseError after the last element that could be read."""
    above = [root]
    for event, element in parser.read_events():
        if event == "start":
            branch = Branch(str(element.tag), element.get("id"))
            above[-1].children.append(branch)
            above.append(branch)
        else:
            branch = above.pop()
            branch.text = branch.text or (element.text or "").strip()


def read_smi_xml(text: str) -> dict[str, Any]:
    """Versions, and a row for each GPU.

    ``dtd``: v10 to v13, None where the document names none; ``driver``, ``cuda``: versions; ``attached``: GPUs that the
    driver has. ``valid``: the document is whole; else ``error`` says why, and what came before is told.
    ``gpus``: rows as gpu_row gives them. ``failure``: as in with_failure.
    """
    root, error = parse_xml(text[max(text.find("<"), 0) :])
    log = root.at("nvidia_smi_log") or Branch("")
    dtd = DTD.search(text[:2000])
    result = {
        "valid": error is None,
        "error": error,
        "dtd": dtd.group(1) if dtd else None,
        "driver": version(log.value("kmd_version")) or version(log.value("driver_version")),
        "cuda": version(log.value("cuda_umd_version")) or version(log.value("cuda_version")),
        "attached": count(log.value("attached_gpus")),
        "gpus": [gpu_row(gpu, address=gpu.text, xml=True) for gpu in log.every("gpu")],
    }
    return with_failure(text, result)
