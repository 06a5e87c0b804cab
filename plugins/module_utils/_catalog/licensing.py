# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the vGPU licence client nvidia-gridd logs. Private to this collection.

A new message is one row in MESSAGES.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2026-11-30"
GUIDE = "docs.nvidia.com, Virtual GPU Client Licensing User Guide"
NVIDIA_DOCKER = "github.com/NVIDIA/nvidia-docker/issues/1787"
AZURE = "public notes on Azure's GRID images"


@dataclass(frozen=True)
class LicenseMessage:
    """``pattern`` is searched in a message, letter case ignored; its named groups are told.

    ``license``: what follows for the licence, None for nothing. ``cause``: why there is none, in a few words.
    """

    event: str
    pattern: str
    license: str | None
    cause: str | None
    fault: bool
    meaning: str
    source: str
    as_of: str


# The first row that is found counts.
MESSAGES = (
    LicenseMessage(
        "license_acquired",
        r"License (?:acquired|renewed) successfully\.?(?: \(Info: (?:(?P<server>[^,;)]{1,120})[,;] )?"
        r"(?P<product>[^;)]{1,120})(?:; Expiry: (?P<expiry>[^)]{1,60}))?\))?",
        "acquired",
        None,
        False,
        "the GPU runs with its licence",
        GUIDE,
        AS_OF,
    ),
    LicenseMessage(
        "trusted_store_failed",
        r"Failed to update local trusted store(?: - (?P<reason>.{1,120}))?",
        None,
        "trusted store",
        True,
        "the file in which the client keeps what it knows of the server cannot be written, or has grown too large: "
        "remove /var/lib/nvidia/GridLicensing and restart the service",
        NVIDIA_DOCKER,
        AS_OF,
    ),
    LicenseMessage(
        "registration_failed",
        r"Failed to register client(?: \((?P<code>[0-9]{1,6})\))?",
        None,
        "client not registered",
        True,
        "the server did not take the client",
        NVIDIA_DOCKER,
        AS_OF,
    ),
    LicenseMessage(
        "license_refused",
        r"Failed to acquire(?:/renew)? license(?: from (?:license server )?(?P<server>[^\s,(]{1,120}))?"
        r"(?:.{0,40}(?:Error|Info): (?P<reason>.{1,200}))?",
        "not acquired",
        None,
        True,
        "the server was asked and gave none",
        NVIDIA_DOCKER,
        AS_OF,
    ),
    LicenseMessage(
        "not_configured",
        r"Configuration parameter \( ?(?P<parameters>[\w ]{1,120}?) ?\) not set",
        None,
        "not configured",
        False,
        "normal where the cloud brings the licence (Azure); else set it in /etc/nvidia/gridd.conf",
        AZURE,
        AS_OF,
    ),
    LicenseMessage(
        "token_missing",
        r"(?:Invalid|No valid|Failed to (?:read|open|find)).{0,60}(?:client configuration )?token",
        "not acquired",
        "client configuration token",
        True,
        "put the token of the licence server into /etc/nvidia/ClientConfigToken",
        GUIDE,
        AS_OF,
    ),
    LicenseMessage(
        "license_expired",
        r"License .{0,60}(?:has )?expired|GRID license expired",
        "not acquired",
        "expired",
        True,
        "the GPU is slowed down until the client reaches the server again",
        GUIDE,
        AS_OF,
    ),
    LicenseMessage(
        "license_released",
        r"(?:License released|Released license)",
        "not acquired",
        None,
        False,
        "the client was stopped",
        GUIDE,
        AS_OF,
    ),
    LicenseMessage(
        "unlicensed",
        r"(?:vGPU|GRID|GPU) .{0,60}unlicensed|Valid (?:vGPU|GRID) license not found",
        "not acquired",
        None,
        True,
        "the GPU is, or will be, slowed down",
        GUIDE,
        AS_OF,
    ),
    LicenseMessage(
        "service_started", r"(?:Started \([0-9]+\)|Service started)", None, None, False, "the client runs", GUIDE, AS_OF
    ),
)
