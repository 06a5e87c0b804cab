# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads why apt, dpkg or DKMS refused. Private to this collection.

Sources: the rows of _catalog/package_errors; libnvidia-container#194, nvidia-docker#1631, video2x#1029,
aws-deep-learning-ami-ubuntu-dcv-desktop#18, ansible-role-nvidia-driver#33, gpu-driver-container#451.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..._catalog.package_errors import APT_ERRORS, NAME, UNMET
from ..._catalog.package_origins import CUDA_REPOSITORY, LIBC_RELEASES, UBUNTU, origin_of
from ..._catalog.repository_keys import key_of
from .ansible_result import ansible_result
from .plain import short_lines

Found = dict[str, Any]

PATTERNS = tuple((row, re.compile(row.pattern, re.MULTILINE)) for row in APT_ERRORS)

# " package : Depends: name (>= version) but ...", the relation and the words behind it in any language.
DEPENDENCY = (
    r"(?P<relation>[^:\n]{2,25}): (?P<name>[a-z0-9][a-z0-9.+-]+(?::\w+)?)"
    r"(?: \((?P<operator>[<>=]+) (?P<version>[^)\s]+)\))?(?P<rest>.*)$"
)
FIRST = re.compile(rf"^ *(?P<package>{NAME}) ?: {DEPENDENCY}")
FURTHER = re.compile(rf"^ {{3,}}{DEPENDENCY}")
HEADING = re.compile(UNMET)
VERSION = re.compile(r"(?<![\w.(])(\d[\w.+:~-]*)")
# Above the packages that provide a virtual one: its name has a dash or a digit, which no word of a translation has.
VIRTUAL = re.compile(
    r"^(?:.*?\s)?(?P<virtual>[a-z0-9]+[-.+0-9][a-z0-9.+-]*)(?:\s.*)?[:：]\s*\n(?P<real>(?: +[a-z0-9]\S* \d\S*.*\n?)+)",
    re.MULTILINE,
)
# "After this operation, 1,433 MB of additional space will be used.": the last amount without speed, in any language.
AMOUNT = re.compile(r"^(?!E:|.*B/s)[^\n:]*?(?P<needed>\d[\d.,]*\s[kMG]B)[^\n]*$", re.MULTILINE)
PLACE = re.compile(r"(?:^|[\s'\"(«\u2018\u201c])(?P<path>/[\w.+/:~-]*[\w/])")
CONFIGURE = re.compile(rf"^dpkg: .*?({NAME}) (?:\(--configure\)|の.*\(--configure\))", re.MULTILINE)
MAKE_LOG = re.compile(r"(?P<log>/var/lib/dkms/(?P<module>[^/\s]+/[^/\s]+)/build/make\.log)")
# The command that failed, as apt modules of Ansible and shells quote it.
INSTALL = re.compile(r"apt-get.*?\binstall\b(?P<words>[^\n]*?)(?=' failed:|\bfailed:| \(rc|$)")
DEB_RELEASE = re.compile(r"[+~]deb(?P<release>\d+)")
# Of these a distribution has one version, so that a newer one can only be of another distribution.
BASE = re.compile(r"(libc6|libstdc\+\+6|libgcc-s1|libssl\d.*)(:\w+)?$")
# Options of apt-get whose value is a word of its own.
WITH_VALUE = re.compile(r"\s(?:-[toac]|--(?:target-release|option|host-architecture))\s+\S+")
URL = re.compile(r"[a-z+]+://[^\s'\"]+")
REASON_BLOCK = ("held_broken_packages", "unmet_dependencies")


def read_apt_errors(text: str, source: str = "") -> Found:
    """What apt-get said when it failed, on either stream, or the result of ansible.builtin.apt.

    ``error``: the name of the error that explains most, None for a text without one; ``errors``: all, each with its
    fields; those of the first are repeated beside it. ``retry``: waiting is enough. ``rc``: of the result or the
    command, None: not told. ``wanted``: packages that the failed command or ``source`` asked for. ``reason_is_in``: the
    part of the result that holds apt's reason where its message has only the last line.

    Fields: lock_held ``lock``, ``pid``, ``holder``. key_missing ``key``, ``url``, ``repository`` (whose key it is,
    None: not known) and ``retired``. signed_by_conflict ``source``, ``suite``, ``keyring``, ``other_side`` (a file, or
    empty). version_not_found ``package``, ``version``, ``also`` (further packages), ``virtual`` and ``real``.
    no_space ``path`` (what had no room) and ``needed`` (by all packages, in apt's words), None where not told.
    dkms_build_failed ``module``, ``kernel``, ``log``. ``unconfigured``: packages that dpkg left, the cause first.
    unmet_dependencies see read_unmet().
    """
    result = ansible_result(text)
    parts = [str(result[part]) for part in ("msg", "stdout", "stderr") if result.get(part)] if result else [text]
    said = short_lines("\n".join(parts))
    unmet = read_unmet(said)
    errors = _errors(said, unmet)
    first = errors[0] if errors else {"error": None}
    reason = "stdout" if result and first["error"] in REASON_BLOCK else None
    return {
        **({"rc": result.get("rc")} if result else {}),
        "wanted": _wanted(f"{source}\n{said}"),
        "reason_is_in": reason,
        "retry": any(e.get("retry") for e in errors[:1]),
        "unconfigured": list(dict.fromkeys(CONFIGURE.findall(said))),
        **unmet,
        **first,
        "errors": errors,
    }


def _errors(said: str, unmet: Found) -> list[Found]:
    """In the order in which they explain; of one kind the first counts, with the others' packages."""
    found: list[Found] = []
    if unmet["unmet"]:
        found.append({"error": "unmet_dependencies", "retry": False, **unmet})
    for row, pattern in PATTERNS:
        matches = list(pattern.finditer(said))
        if matches and row.error not in [e["error"] for e in found]:
            fields = _fields(matches[0])
            error = {"error": row.error, "retry": row.retry, "text": matches[0].group(0).strip(), **fields}
            found.append({**error, **_details(row.error, fields, said, matches)})
    ranked = [e for e in found if e["error"] == "dkms_build_failed"]
    return ranked + [e for e in found if e not in ranked]


def _fields(found: re.Match[str]) -> dict[str, str]:
    """Named groups without the language behind their names: package_de is package."""
    return {re.sub(r"_[a-z]{2}$", "", name): value for name, value in found.groupdict().items() if value is not None}


def _details(error: str, fields: dict[str, str], said: str, matches: Sequence[re.Match[str]]) -> Found:
    if error == "lock_held":
        return {"pid": int(fields["pid"]) if "pid" in fields else None, "holder": fields.get("holder")}
    if error in ("key_missing", "key_expired"):
        key = key_of(fields.get("key", ""))
        before = URL.findall(said[: matches[0].start()])
        return {
            "url": fields.get("url") or (before[-1] if before else None),
            "repository": key.repository if key else None,
            "retired": key.retired if key else None,
        }
    if error == "signed_by_conflict":
        sides = [fields["keyring"].strip(), fields["other"].strip()]
        return {"keyring": sides[0] or sides[1], "other_side": sides[1] if sides[0] else ""}
    if error == "version_not_found":
        packages = list(dict.fromkeys(_fields(m)["package"] for m in matches))
        return {"also": packages[1:], **_virtual(said)}
    if error == "no_space":
        return _no_space(said, matches)
    if error == "dkms_build_failed":
        log = MAKE_LOG.search(said)
        return {"module": log["module"] if log else None, "log": log["log"] if log else None}
    return {}


def _no_space(said: str, matches: Sequence[re.Match[str]]) -> Found:
    """Where there was no room, as far as it is told, and how much all packages together need."""
    places = [m["path"] for found in matches for m in PLACE.finditer(found.group(0))]
    amounts = [m["needed"] for m in AMOUNT.finditer(said)]
    return {"path": places[-1] if places else None, "needed": amounts[-1] if amounts else None}


def _virtual(said: str) -> Found:
    """A name that other packages provide has no version of its own."""
    found = VIRTUAL.search(said)
    return {
        "virtual": found["virtual"] if found else None,
        "real": found["real"].split()[0] if found and found["real"] else None,
    }


def _wanted(text: str) -> list[str]:
    found = INSTALL.search(text)
    words = re.findall(r"[^\s'\"]+", WITH_VALUE.sub(" ", found["words"])) if found else []
    return [w for w in words if re.match(r"[a-z0-9][\w.+:=~-]+$", w)]


def read_unmet(said: str) -> Found:
    """The block behind ``The following packages have unmet dependencies:``.

    ``unmet``: rows of ``package``, ``relation`` (in apt's words), ``name``, ``operator`` and ``version`` (None: any),
    ``have`` (the version that would be there, None for none). ``cause``: ``repository of another distribution`` with
    ``libc_needed``, ``libc_have`` and ``host`` (debian11), or ``mixed sources`` with ``ubuntu_version``,
    ``cuda_version`` and ``blocking_package``; None where neither shows.
    """
    rows = _unmet_rows(said)
    return {"unmet": rows, "cause": None, **(_foreign(rows) or _mixed(rows))}


def _unmet_rows(said: str) -> list[Found]:
    """Behind apt's heading; in a text without it only lines that name a version, as other lines have colons too."""
    heading = HEADING.search(said)
    rows: list[Found] = []
    for line in said[heading.end() if heading else 0 :].splitlines():
        first, further = FIRST.match(line), FURTHER.match(line)
        found = first or (further if rows else None)
        if found is None or not (heading or rows or found["operator"]):
            continue
        package = first["package"] if first else rows[-1]["package"]
        have = VERSION.search(found["rest"])
        fields = {name: found[name] for name in ("relation", "name", "operator", "version")}
        rows.append({"package": package, **fields, "have": have.group(1) if have else None})
    return rows


def _foreign(rows: Sequence[Found]) -> Found:
    base = [r for r in rows if BASE.match(r["name"]) and r["version"] and r["have"] and r["operator"].startswith(">")]
    libc = next((r for r in base if r["name"].startswith("libc6")), base[0] if base else None)
    if libc is None:
        return {}
    have = libc["have"].split("-")[0]
    release = DEB_RELEASE.search(libc["have"])
    host = f"debian{release['release']}" if release else LIBC_RELEASES.get(have) if "ubuntu" in libc["have"] else None
    return {
        "cause": "repository of another distribution",
        "libc_needed": libc["version"].split("-")[0],
        "libc_have": have,
        "host": host,
    }


def _mixed(rows: Sequence[Found]) -> Found:
    """Versions of two packagers in one block: the same names come from both."""
    versions = [v for r in rows for v in (r["version"], r["have"]) if v]
    by_origin: dict[str, str] = {}
    for version in versions:
        by_origin.setdefault(origin_of(version) or "", version)
    if not {UBUNTU, CUDA_REPOSITORY} <= set(by_origin):
        return {}
    blocking = next((r["name"] for r in rows if r["have"]), None)
    return {
        "cause": "mixed sources",
        "ubuntu_version": by_origin[UBUNTU],
        "cuda_version": by_origin[CUDA_REPOSITORY],
        "blocking_package": blocking,
    }
