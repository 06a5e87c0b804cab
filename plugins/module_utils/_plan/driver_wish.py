# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user wants of the driver, checked. Private to this collection."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._catalog import branches
from .component_wish import ComponentWish, component_wish
from .modules import ORDER, in_order
from .versions import branch_number
from .wrong_option import WrongOption

AUTO, CUDA_REPO, DISTRO, PREINSTALLED = "auto", "cuda_repo", "distro", "preinstalled"
SOURCES = (AUTO, CUDA_REPO, DISTRO, PREINSTALLED)
LATER_SOURCES = ("runfile", "container")
PRECOMPILED = (AUTO, "true", "false")
VERSION = re.compile(r"^\d{3,}(?:\.\d+){1,2}(?:-\S+)?$")
FINGERPRINT = re.compile(r"^[0-9A-Fa-f]{40}$")


@dataclass(frozen=True)
class DriverWish:
    """The module's options after the border: ``branch`` a number, ``version`` '' for the newest of the branch.

    ``any_branch``: neither branch nor version was given, ``branch`` is our choice; ``any_source`` the same of
    the source. ``precompiled``: auto, true, false.
    """

    state: str
    branch: int
    version: str
    flavour: str
    package_set: str
    hold: bool
    persistenced: bool
    kernel_headers: bool
    load: bool
    modules: tuple[str, ...]
    repository_url: str
    repository_key_url: str
    repository_key_fingerprint: str
    source: str = AUTO
    precompiled: str = AUTO
    any_branch: bool = False
    any_source: bool = False
    parts: ComponentWish = ComponentWish()

    @property
    def prefix(self) -> str:
        """What the version of the driver's packages has to begin with: the exact version, else the branch."""
        return self.version or str(self.branch)


def driver_wish(params: Mapping[str, Any]) -> DriverWish:
    """The wish in a module's parameters. Raises WrongOption."""
    _check_source(params["source"])
    branch, version = (params["branch"] or "").strip(), (params["version"] or "").strip()
    return DriverWish(
        state=params["state"],
        branch=_branch(branch, version),
        version=version,
        flavour=params["flavour"],
        package_set=params["package_set"],
        hold=params["hold"],
        persistenced=params["persistenced"],
        kernel_headers=params["kernel_headers"],
        load=params["load"],
        modules=_modules(params["modules"]),
        repository_url=read_url("repository_url", params["repository_url"]),
        repository_key_url=read_url("repository_key_url", params["repository_key_url"]),
        repository_key_fingerprint=read_fingerprint(params["repository_key_fingerprint"]),
        source=params["source"],
        precompiled=_precompiled(params["precompiled"]),
        any_branch=not branch and not version,
        parts=component_wish(params),
    )


def _check_source(source: str) -> None:
    if source in SOURCES:
        return
    if source in LATER_SOURCES:
        raise WrongOption(
            f"source is {source!r}, which this release does not support yet; wanted one of {', '.join(SOURCES)}"
        )
    raise WrongOption(f"source is {source!r}, wanted one of {', '.join(SOURCES)}")


def _precompiled(value: str) -> str:
    """auto, true or false; YAML and surveys make booleans of the last two, in several spellings."""
    text = str(value).strip().lower()
    named = {"": AUTO, "yes": "true", "no": "false", "on": "true", "off": "false", "1": "true", "0": "false"}
    text = named.get(text, text)
    if text not in PRECOMPILED:
        raise WrongOption(f"precompiled is {value!r}, wanted one of {', '.join(PRECOMPILED)}")
    return text


def _branch(branch: str, version: str) -> int:
    """The branch that is asked for: given, else that of the version, else the production branch."""
    if version and not VERSION.match(version):
        raise WrongOption(f"version is {version!r}, wanted a driver version such as 595.71.05, or empty for the newest")
    of_version = branch_number(version) if version else None
    if not branch:
        number = of_version or branches.DEFAULT_BRANCH
    elif branch.isdigit():
        number = int(branch)
    else:
        raise WrongOption(f"branch is {branch!r}, wanted a driver branch: one of {branches.known_branches()}")
    if of_version not in (None, number):
        raise WrongOption(f"version is {version!r}, which is not of branch {branch!r}; leave one of the two empty")
    if branches.branch_of(number) is None:
        raise WrongOption(f"branch is {number}, wanted a branch that this release knows: {branches.known_branches()}")
    return number


def _modules(names: list[str]) -> tuple[str, ...]:
    modules = in_order(names)
    unknown = [n for n in modules if n not in ORDER]
    if unknown:
        raise WrongOption(f"modules has {unknown[0]!r}, wanted modules of the driver: {', '.join(ORDER)}")
    return modules


def read_url(option: str, value: str | None) -> str:
    """An address without a slash at its end, '' for none. Raises WrongOption."""
    text = (value or "").strip().rstrip("/")
    if text and not text.startswith(("http://", "https://", "file:/")):
        raise WrongOption(f"{option} is {text!r}, wanted an address that begins with https://, http:// or file:/")
    # apt takes one slash as well as three, dnf does not.
    return f"file:///{text[5:].lstrip('/')}" if text.startswith("file:/") else text


def read_fingerprint(value: str | None) -> str:
    """40 upper-case digits, '' for none. Raises WrongOption."""
    text = "".join((value or "").split())
    if text and not FINGERPRINT.match(text):
        raise WrongOption(
            f"repository_key_fingerprint is {value!r}, wanted the 40 hexadecimal digits of the whole fingerprint"
        )
    return text.upper()
