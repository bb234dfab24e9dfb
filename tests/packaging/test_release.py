"""A release: the changelog is cut, the version stands everywhere, the tag fits, and users can check the signature."""

from __future__ import annotations

import datetime
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
DAY = datetime.date(2027, 1, 31)
CHANGELOG = """# Changelog

## [Unreleased]

Not released.

### Added

- A kernel.

## [0.0.9] - 2026-01-01

### Added

- All.
"""


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """scripts/release.py."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(release: ModuleType, tmp_path: Path) -> Path:
    """A copy of the files in which a release is cut."""
    for name in ("CHANGELOG.md", *release.VERSIONED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_the_unreleased_entries_become_the_releases(release: ModuleType) -> None:
    text = release.with_release(CHANGELOG, "0.1.0", DAY)
    unreleased = "## [Unreleased]\n\n## [0.1.0] - 2027-01-31\n\n### Added\n\n- A kernel.\n\n## [0.0.9] - 2026-01-01\n"
    assert unreleased in text
    assert text.endswith(CHANGELOG.partition("## [0.0.9]")[2])


def test_the_changelog_of_the_project_can_be_cut(release: ModuleType) -> None:
    # Right after a release, the project has no entry of its own.
    before = (
        (ROOT / "CHANGELOG.md").read_text().replace("## [Unreleased]\n", "## [Unreleased]\n\n### Added\n\n- One.\n")
    )
    after = release.with_release(before, "99.0.0", DAY)
    assert re.findall(r"^- .*", after, re.M) == re.findall(r"^- .*", before, re.M)
    assert "## [Unreleased]\n\n## [99.0.0] - 2027-01-31\n\n### " in after


@pytest.mark.parametrize(
    "changelog",
    ["# Changelog\n", CHANGELOG.replace("- A kernel.\n", ""), CHANGELOG.replace("### Added\n\n- A kernel.\n", "")],
    ids=["no heading", "no entry", "no section"],
)
def test_a_release_without_an_entry_is_refused(release: ModuleType, changelog: str) -> None:
    with pytest.raises(SystemExit, match="nothing to release"):
        release.with_release(changelog, "0.1.0", DAY)


def test_a_version_is_released_once(release: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"has a release 0\.0\.9 already"):
        release.with_release(CHANGELOG, "0.0.9", DAY)


def test_a_cut_sets_the_version_in_every_file(release: ModuleType, checkout: Path) -> None:
    release.cut(checkout, "7.8.9rc1", DAY)
    assert release.version_of(checkout) == "7.8.9rc1"
    for name in release.VERSIONED:
        before, after = (ROOT / name).read_text(), (checkout / name).read_text()
        assert after.replace("7.8.9rc1", release.version_of(ROOT), 1) == before


@pytest.mark.parametrize("version", ["v0.2.0", "0.2", "0.2.0\n", "next"])
def test_a_cut_refuses_odd_versions_and_changes_nothing(release: ModuleType, checkout: Path, version: str) -> None:
    with pytest.raises(SystemExit, match="is not a version"):
        release.cut(checkout, version, DAY)
    assert (checkout / "CHANGELOG.md").read_text() == CHANGELOG
    assert release.version_of(checkout) == release.version_of(ROOT)


def test_files_that_differ_in_the_version_are_refused(release: ModuleType, checkout: Path) -> None:
    (checkout / "CITATION.cff").write_text("version: 0.0.1\n")
    with pytest.raises(SystemExit, match="differ in the version"):
        release.version_of(checkout)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_release_needs_the_tag_of_its_version_and_its_entries(release: ModuleType, checkout: Path) -> None:
    def git(*words: str) -> None:
        named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")
        subprocess.run(["git", *named, *words], cwd=checkout, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "v0.0.1")
    with pytest.raises(SystemExit, match=r"no tag v7\.8\.9, but v0\.0\.1"):
        release.check_tag(checkout, checkout, "7.8.9")
    git("tag", "v7.8.9")
    with pytest.raises(SystemExit, match=r"has no release 7\.8\.9"):
        release.check_tag(checkout, checkout, "7.8.9")
    release.cut(checkout, "7.8.9", DAY)
    release.check_tag(checkout, checkout, "7.8.9")
    (checkout / "junk").touch()
    files = release.exported(checkout, checkout / "out")
    assert {file.name for file in files.iterdir()} == {file.name for file in checkout.iterdir()} - {
        ".git",
        "junk",
        "out",
    }


@pytest.fixture
def files(release: ModuleType, tmp_path: Path) -> Path:
    """A folder with two files of a release and their checksums."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("gridjit-1.tar.gz", "gridjit-1-py3-none-any.whl"):
        (folder / name).write_bytes(name.encode())
    release.write_sums(folder)
    return folder


def test_sha256sum_checks_every_file(files: Path) -> None:
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=files, check=False).returncode == 0
    assert len((files / "SHA256SUMS").read_text().splitlines()) == 2
    (files / "gridjit-1.tar.gz").write_bytes(b"another")
    assert subprocess.run(check, cwd=files, check=False, capture_output=True).returncode == 1


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_the_documented_command_checks_a_signature(release: ModuleType, files: Path, tmp_path: Path) -> None:
    def new_key(name: str) -> Path:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
        return tmp_path / name

    key, allowed = new_key("key"), files / "allowed-signers"
    allowed.write_text(f'release@gridjit namespaces="gridjit-release" {key.with_suffix(".pub").read_text()}')
    assert "checked" in release.sign(files, key, allowed)
    (command,) = re.findall(r"^ssh-keygen -Y verify (?:.*\\\n)*.*", (ROOT / "docs" / "install.md").read_text(), re.M)

    def verified() -> bool:
        return subprocess.run(command, shell=True, cwd=files, check=False, capture_output=True).returncode == 0

    assert verified()
    with pytest.raises(SystemExit, match="does not name the key"):
        release.sign(files, new_key("other"), allowed)
    assert not (files / "SHA256SUMS.sig").exists()
    release.sign(files, key, allowed)
    with (files / "SHA256SUMS").open("a") as sums:
        sums.write("0\n")
    assert not verified()


def test_the_file_of_signers_holds_lines_for_releases_only() -> None:
    lines = (ROOT / "packaging" / "allowed-signers").read_text().splitlines()
    named = [line for line in lines if not line.startswith("#")]
    assert [line for line in named if not line.startswith('release@gridjit namespaces="gridjit-release" ')] == []


def test_the_conda_recipe_needs_what_the_project_needs(release: ModuleType) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "meta.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert recipe["package"] == {"name": "gridjit", "version": release.version_of(ROOT)}
    wanted = [Requirement(f"python{project['project']['requires-python']}")]
    wanted += map(Requirement, project["project"]["dependencies"])
    listed = [Requirement(text) for text in recipe["requirements"]["run"] if text != "__linux"]
    assert {one.name: one.specifier for one in listed} == {one.name: one.specifier for one in wanted}
    host = {one.name: one.specifier for one in map(Requirement, recipe["requirements"]["host"])}
    assert {"python": wanted[0].specifier, **_backend(project)}.items() <= host.items()
    assert recipe["about"]["license"] == project["project"]["license"]
    assert recipe["build"]["entry_points"] == [f"{k} = {v}" for k, v in project["project"]["scripts"].items()]


def _backend(project: dict[str, dict[str, list[str]]]) -> dict[str, object]:
    return {one.name: one.specifier for one in map(Requirement, project["build-system"]["requires"])}


@pytest.mark.slow
def test_the_bill_of_materials_names_gridjit_and_all_that_it_needs(
    release: ModuleType, base_distributions: set[str], tmp_path: Path
) -> None:
    pytest.importorskip("cyclonedx_py", reason="pip install cyclonedx-bom")
    release.bill(Path(sys.executable), ROOT, Path(sys.prefix), tmp_path / "sbom.json")
    made = json.loads((tmp_path / "sbom.json").read_text())
    assert (made["bomFormat"], made["metadata"]["component"]["name"]) == ("CycloneDX", "gridjit")
    named = {one["name"].lower().replace("_", "-") for one in (*made["components"], made["metadata"]["component"])}
    assert base_distributions - named == set()
