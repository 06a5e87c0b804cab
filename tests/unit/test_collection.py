# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to agree across files of the collection: modules and their groups, roles and their variables, links."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
DOCUMENTS = sorted(p for p in ROOT.rglob("*.md") if ".cache" not in p.parts)

# Pages that are published link by this to what is not.
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
ON_GITHUB = "https://github.com/gpu-fleet/gpu.fleet/blob/main/"

# A default that follows a variable of the whole fleet; the value after the bar is what documentation shows.
SHARED = re.compile(r"\{\{ gpu_fleet_\w+ \| default\((.*), true\) \}\}")
# What a role publishes for the roles and playbooks after it.
PUBLISHED = ("_result", "_cluster_result")


def load(path: str):
    return yaml.safe_load((ROOT / path).read_text())


def options_of(role: str):
    return load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]["main"]["options"]


def shown(default):
    """A default as documentation shows it."""
    shared = SHARED.fullmatch(default) if isinstance(default, str) else None
    return yaml.safe_load(shared.group(1)) if shared else default


def test_every_module_is_in_the_group_all_and_nothing_else():
    assert load("meta/runtime.yml")["action_groups"]["all"] == MODULES


def test_the_group_host_has_the_modules_with_a_host_root():
    fragment = "gpu.fleet._host_root"
    expected = [m for m in MODULES if fragment in (ROOT / f"plugins/modules/{m}.py").read_text()]
    assert load("meta/runtime.yml")["action_groups"]["host"] == expected


def test_the_changelog_names_every_module_and_role():
    told = re.findall(r"\w+", (ROOT / "changelogs/fragments/0.1.0.yml").read_text())
    assert [name for name in (*MODULES, *ROLES) if name not in told] == []


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_those_of_the_argument_spec(role):
    defaults = {name: shown(value) for name, value in load(f"roles/{role}/defaults/main.yml").items()}
    assert defaults == {name: option["default"] for name, option in options_of(role).items()}


@pytest.mark.parametrize("role", ROLES)
def test_used_variables_are_declared_and_declared_ones_are_used(role):
    folders = ("tasks", "templates", "vars")
    text = "\n".join(p.read_text() for folder in folders for p in (ROOT / "roles" / role / folder).glob("*"))
    used = set(re.findall(rf"(?<![\w.]){role}_\w+", text)) - {role + end for end in PUBLISHED}
    assert used == set(options_of(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_has_every_variable(role):
    text = (ROOT / "roles" / role / "README.md").read_text()
    assert [name for name in options_of(role) if f"`{name}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    text = document.read_text().replace(ON_GITHUB, f"{ROOT}/")
    links = re.findall(LINK, text)
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    """Names of the files in the collection as it is published."""
    folder = tmp_path_factory.mktemp("build")
    command = ["ansible-galaxy", "collection", "build", "--output-path", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        return {member.name for member in archive.getmembers() if member.isfile()}


def test_tarball_holds_the_collection_and_no_test_data(tarball):
    top = {name.partition("/")[0] for name in tarball}
    files = {"MANIFEST.json", "FILES.json", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"}
    assert top == {*files, "changelogs", "docs", "meta", "playbooks", "plugins", "roles"}
    strange = [n for n in tarball if re.search(r"(^|/)(tests?|molecule|fixtures|__pycache__)(/|$)|[.](pyc|gz|log)$", n)]
    assert strange == []


def test_links_between_published_pages_are_published(tarball):
    pages = {name: ROOT / name for name in tarball if name.endswith(".md")}
    assert {"README.md", "docs/architecture.md", "roles/driver/README.md"} <= set(pages)
    dead = [(name, link) for name, path in pages.items() for link in dead_links(path, tarball)]
    assert dead == []


def dead_links(page, published):
    """Relative links of a page that lead to nothing in the tarball."""
    links = re.findall(LINK, page.read_text())
    targets = {link: os.path.normpath(page.parent.relative_to(ROOT) / link) for link in links}
    return [link for link, target in targets.items() if not any(f"{n}/".startswith(f"{target}/") for n in published)]


def test_files_that_the_execution_environment_names_are_there():
    named = load("meta/execution-environment.yml")["dependencies"]
    assert {key: (ROOT / path).is_file() for key, path in named.items()} == {"python": True, "system": True}


def test_the_tarball_leaves_out_what_is_for_developers_only():
    ignored = set(load("galaxy.yml")["build_ignore"])
    shipped = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "galaxy.yml"}
    shipped |= {"changelogs", "docs", "extensions", "meta", "playbooks", "plugins", "roles"}
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert names - ignored - shipped == set()
