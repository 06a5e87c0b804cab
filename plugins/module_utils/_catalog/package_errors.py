# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt, dpkg, DKMS and dnf say when they fail, also in other languages. Private to this collection.

A new message is one row. Named groups become fields of the error; rows stand in the order in which they explain best.
Patterns hold to what no translation changes, as paths, names and URLs. Where words are needed, they are those of apt's
translations into German, French, Spanish, Italian, Portuguese, Polish, Russian, Japanese, Korean and Chinese.
"""

from __future__ import annotations

from dataclasses import dataclass

APT = "apt 2.6 and 3.0 (apt-pkg, po)"
DPKG = "dpkg 1.21 (po)"
DKMS = "github.com/dkms-project/dkms 3.4.3"
DNF = "dnf 4.20, libsolv"

# apt 3 writes a word where earlier releases write E:
E = r"^[ \t]*(?:E|Error|Fehler|Erreur|Errore|Erro|Błąd|Ошибка|エラー|오류|错误)\s?[:：] ?"
# Also the curly ones, single and double.
QUOTE = r"[\"'«»„\u2018\u2019\u201c\u201d]"
NAME = r"[a-z0-9][a-z0-9.+-]+(?::\w+)?"
URL = r"[a-z+]+://[^\s'\"»\u201d]+"


def _any(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


NOT_FOUND = _any(
    rf"Unable to locate package (?P<package>{NAME})",
    rf"Paket (?P<package_de>{NAME}) kann nicht gefunden werden",
    rf"Impossible de trouver le paquet (?P<package_fr>{NAME})",
    rf"No se ha podido localizar el paquete (?P<package_es>{NAME})",
    rf"Impossibile trovare il pacchetto (?P<package_it>{NAME})",
    rf"Impossível encontrar o pacote (?P<package_pt>{NAME})",
    rf"Nie udało się odnaleźć pakietu (?P<package_pl>{NAME})",
    rf"Невозможно найти пакет (?P<package_ru>{NAME})",
    rf"パッケージ (?P<package_ja>{NAME}) が見つかりません",
    rf"(?P<package_ko>{NAME}) 패키지를 찾을 수 없습니다",
    rf"无法定位软件包 (?P<package_zh>{NAME})",
)
HELD = _any(
    "Unable to correct problems, you have held broken packages",
    "Probleme können nicht korrigiert werden, Sie haben zurückgehaltene defekte Pakete",
    "Impossible de corriger les problèmes, des paquets défectueux sont en mode",
    "No se pudieron corregir los problemas, usted ha retenido paquetes rotos",
    "Impossibile correggere i problemi, ci sono pacchetti danneggiati bloccati",
    "Impossível corrigir problemas, você manteve",
    "Nie udało się naprawić problemów, zatrzymano uszkodzone pakiety",
    "Невозможно исправить ошибки: у вас зафиксированы сломанные пакеты",
    "問題を解決することができません。壊れた変更禁止パッケージ",
    "문제를 바로잡을 수 없습니다. 망가진 고정 패키지",
    "无法修正错误，因为您要求某些软件包保持现状",
)
# Above the block of packages whose dependencies are not met.
UNMET = _any(
    "The following packages have unmet dependencies",
    "Unsatisfied dependencies",
    "Die folgenden Pakete haben unerfüllte Abhängigkeiten",
    "Les paquets suivants contiennent des dépendances non satisfaites",
    "Los siguientes paquetes tienen dependencias incumplidas",
    "I seguenti pacchetti hanno dipendenze non soddisfatte",
    "Os pacotes a seguir têm dependências desencontradas",
    "Następujące pakiety mają niespełnione zależności",
    "Следующие пакеты имеют неудовлетворённые зависимости",
    "以下のパッケージには満たせない依存関係があります",
    "다음 패키지의 의존성이 맞지 않습니다",
    "下列软件包有未满足的依赖关系",
)
NO_CANDIDATE = _any(
    "has no installation candidate",
    "existiert kein Installationskandidat",
    "n'a pas de version susceptible d'être installée",
    "no tiene un candidato para la instalación",
    "non ha candidati da installare",
    "nie ma kandydata do instalacji",
    "не найден кандидат на установку",
    "にはインストール候補がありません",
    "패키지는 설치할 수 있는 후보가 없습니다",
    "没有可安装候选",
)
NOT_SIGNED = _any(
    "is not signed",
    "ist nicht signiert",
    "n'est pas signé",
    "no está firmado",
    "non è firmato",
    "не подписан",
    "は署名されていません",
    "没有数字签名",
)
UNRESOLVED_HOST = _any(
    "Temporary failure resolving",
    "Could not resolve",
    "Temporärer Fehlschlag beim Auflösen",
    "Erreur temporaire de résolution",
    "Fallo temporal al resolver",
    "temporaneamente non riuscita",
    "Falha temporária resolvendo",
    "Tymczasowy błąd przy tłumaczeniu",
    "Временная ошибка при разрешении",
    "が一時的に解決できません",
    "임시로 실패했습니다",
    "暂时不能解析域名",
    "Could not connect to",
    "Unable to connect to",
    "Connection timed out",
    "Network is unreachable",
)
NO_SPACE = _any(
    "You don't have enough free space",
    "No space left on device",
    "Sie haben nicht genug Platz",
    "Pas assez d'espace disponible",
    "No tiene suficiente espacio libre",
    "Spazio libero in .* insufficiente",
    "Você não possui espaço suficiente",
    "Недостаточно свободного места",
    "充分な空きスペースがありません",
    "没有足够的可用空间",
)


@dataclass(frozen=True)
class PackageError:
    """``error``: its name. ``retry``: the same command can succeed later without any change."""

    error: str
    pattern: str
    source: str
    as_of: str
    retry: bool = False


APT_ERRORS = (
    PackageError(
        "dkms_build_failed",
        r"^Error!\s+(?:Bad return status for module build on kernel:"
        r"|Your kernel headers for kernel|The kernel headers for kernel) (?P<kernel>\S+).*",
        DKMS,
        "2026-08-31",
    ),
    PackageError(
        "not_permitted",
        rf"{E}.*?(?P<lock>/var/\S*?lock[\w-]*)\b.*\(13: .*",
        APT,
        "2026-11-30",
    ),
    PackageError(
        "lock_held",
        rf"(?:{E}|^.*[:：] ?)[^\n]*?(?P<lock>/var/\S*?lock[\w-]*)\b[^\n]*? (?P<pid>\d+) ?[(（](?P<holder>[^)）]+)[)）]",
        "apt 2.6 (apt-pkg/contrib/fileutl.cc)",
        "2026-11-30",
        retry=True,
    ),
    PackageError(
        "lock_held",
        rf"{E}.*?(?P<lock>/var/(?:lib|cache)/\S*?lock[\w-]*)\b.*",
        "apt 1.x (apt-pkg/contrib/fileutl.cc)",
        "2026-11-30",
        retry=True,
    ),
    PackageError(
        "signed_by_conflict",
        r"^(?=.*\bSigned-By\b).*?(?P<source>[a-z+]+:/\S+) (?P<suite>[^\s:]+)[: ].*?"
        r"(?P<keyring>/\S*|) ?!= ?(?P<other>.*)$",
        "github.com/NVIDIA/libnvidia-container#194",
        "2026-11-30",
    ),
    PackageError(
        "key_missing",
        rf"^.*?(?:(?P<url>{URL})\s.*?)?\bNO_PUBKEY (?P<key>[0-9A-F]{{8,40}})",
        "github.com/NVIDIA/nvidia-docker#1631",
        "2026-11-30",
    ),
    PackageError("key_missing", r"^.*\bMissing key (?P<key>[0-9A-F]{16,40})\b.*", "apt 3.0 with sqv", "2026-11-30"),
    PackageError(
        "key_expired",
        rf"^.*?(?:(?P<url>{URL})\s.*?)?\b(?:EXPKEYSIG|KEYEXPIRED|REVKEYSIG) (?P<key>[0-9A-F]{{8,40}})",
        APT,
        "2026-11-30",
    ),
    PackageError(
        "version_not_found",
        rf"{E}(?=.*?{QUOTE}\s?(?P<version>\d[^\s'\"»\u2019\u201c\u201d]*)\s?{QUOTE})"
        rf"(?=.*?(?:{QUOTE}(?P<package>[a-z][a-z0-9.+:-]+){QUOTE}|«\s(?P<package_fr>[a-z][a-z0-9.+:-]+)\s»"
        r"|(?P<package_ko>[a-z][a-z0-9.+:-]+) 패키지의)).*",
        "github.com/NVIDIA/gpu-driver-container#451",
        "2026-11-30",
    ),
    PackageError("package_not_found", f"{E}{NOT_FOUND}.*", APT, "2026-11-30"),
    PackageError("no_candidate", rf"{E}.*?(?P<package>[a-z0-9]+[-.+0-9]{NAME}).*?{NO_CANDIDATE}.*", APT, "2026-11-30"),
    PackageError("dpkg_interrupted", rf"{E}.*\bdpkg --configure -a\b.*", APT, "2026-11-30"),
    PackageError("no_space", f"^.*{NO_SPACE}.*", APT, "2026-11-30"),
    PackageError("clock_wrong", rf"^.*?(?P<url>{URL})\S* (?:is not valid yet|is expired).*", APT, "2026-11-30"),
    PackageError(
        "no_release_file", rf"{E}.*?(?P<url>{URL}) .*Release{QUOTE}.* Release(?: file|-Datei)?\b.*", APT, "2026-11-30"
    ),
    PackageError("file_missing", rf"^.*?(?P<url>{URL})\s.*\b404\s+(?:Not Found|File not found).*", APT, "2026-11-30"),
    PackageError("network", f"^.*{UNRESOLVED_HOST}.*", APT, "2026-11-30", retry=True),
    PackageError("hash_mismatch", r"^.*(?:Hash Sum mismatch|Hash-Summe stimmt nicht).*", APT, "2026-11-30", retry=True),
    PackageError("repository_not_signed", rf"{E}.*?(?P<url>{URL}).*{NOT_SIGNED}.*", APT, "2026-11-30"),
    PackageError(
        "file_conflict",
        r"^.*(?:trying to overwrite|Versuch,|tentative de remplacement de) (?:shared )?"
        rf"{QUOTE}\s?(?P<path>/[^\"'»\u2019\u201d]+?)\s?{QUOTE}.* (?P<other_package>{NAME}) \S*\d\S*(?: .*)?$",
        DPKG,
        "2026-11-30",
    ),
    PackageError("dpkg_failed", r"^.*subprocess returned error exit status (?P<status>\d+).*", DPKG, "2026-11-30"),
    PackageError("dpkg_failed", r"^dpkg: .*\(--(?:configure|unpack)\).*", DPKG, "2026-11-30"),
    PackageError("dpkg_failed", rf"{E}.*/usr/bin/dpkg\b.*\(\d+\).*", APT, "2026-11-30"),
    PackageError("held_broken_packages", f"{E}{HELD}.*", APT, "2026-11-30"),
    PackageError(
        "unmet_dependencies",
        rf"{E}(?:Unable to satisfy dependencies|.*\bapt --fix-broken install\b|.*pkgProblemResolver::Resolve).*",
        APT,
        "2026-11-30",
    ),
)

DNF_ERRORS = (
    PackageError(
        "no_space",
        r"^.*At least (?P<needed>\d+ ?\w+) more space needed on the (?P<path>/\S*) filesystem.*",
        DNF,
        "2026-11-30",
    ),
    PackageError(
        "no_space",
        r"^.*installing package \S+ needs (?P<needed>\d+ ?\w+)(?: more space)? on the (?P<path>/\S*) filesystem.*",
        "rpm(8)",
        "2026-11-30",
    ),
    PackageError("no_space", r"^.*\bNo space left on device\b.*", DNF, "2026-11-30"),
    PackageError("no_modules", r"^(?:Error: )?No matching Modules to list", DNF, "2026-11-30"),
    PackageError(
        "lock_held",
        r"^(?:Waiting for process with pid (?P<pid>\d+) to finish|Another app is currently holding the yum lock.*)",
        DNF,
        "2026-11-30",
        retry=True,
    ),
    PackageError(
        "key_missing",
        r"^.*(?:Public key for (?P<package>\S+) is not installed"
        r"|The GPG keys listed for the \"(?P<repo>[^\"]+)\" repository are already installed but they are not"
        r" correct).*",
        DNF,
        "2026-11-30",
    ),
    PackageError("signature_wrong", r"^Error: GPG check FAILED.*", DNF, "2026-11-30"),
    PackageError(
        "repository_unreadable",
        r"^.*?(?:Failed to download metadata for repo '(?P<repo>[^']+)'|Cannot download repodata/repomd\.xml).*",
        DNF,
        "2026-11-30",
        retry=True,
    ),
    PackageError(
        "stream_conflict",
        r"^.*(?:It is not possible to switch enabled streams of a module|The operation would result"
        r" in switching of module '(?P<module>[^']+)' stream '(?P<stream>[^']+)' to stream"
        r" '(?P<other_stream>[^']+)').*",
        DNF,
        "2026-11-30",
    ),
    PackageError(
        "package_not_found",
        r"^(?:Error: Unable to find a match: |No match for argument: |Error: No package )(?P<package>[\w.+*-]+).*",
        DNF,
        "2026-11-30",
    ),
)
