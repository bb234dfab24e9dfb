#!/usr/bin/env python3
"""Cut a release, and build the files of one.

    python scripts/release.py cut 0.2.0       # sets the version, and gives it the changelog's unreleased entries
    python scripts/release.py build           # at the tag v0.2.0: checked wheel and sdist, SBOM, checksums, in dist/
    python scripts/release.py build --key KEY # signs the checksums with an SSH key
    python scripts/release.py build --untagged

`build` takes the files of the commit, never the working tree's, and replaces dist/. It needs git and the package index;
nothing else in the project needs git. Exit status 1 if something is missing or a check fails.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "release"
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"
# Who signs, and for which purpose: a signature of another purpose by the same key is not a signature of a release.
SIGNER, PURPOSE = "release@gridjit", "gridjit-release"
TOOLS = ("build>=1.2", "cyclonedx-bom>=7,<8")
VERSIONED = {
    "pyproject.toml": r'^version = "(.+)"$',
    "src/gridjit/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "packaging/conda/meta.yaml": r'^  version: "(.+)"$',
}
# Run where an extra brings CUDA.
COMPILES = """
import gridjit
from gridjit import cuda

@gridjit.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2

signature = "void(float32[::1])"
double.compile(signature, config=(8, 128), target="sm_90")
assert double.get_regs_per_thread(signature, target="sm_90") > 0
"""


def main() -> None:
    """Run the command of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cut").add_argument("version")
    building = commands.add_parser("build")
    building.add_argument("--key", type=Path, help="the file of a private SSH key")
    building.add_argument("--untagged", action="store_true", help="build HEAD, which need not have the version's tag")
    given = parser.parse_args()
    if given.command == "cut":
        cut(ROOT, given.version, datetime.datetime.now(datetime.timezone.utc).date())
    else:
        release(given.key, given.untagged)


def cut(root: Path, version: str, day: datetime.date) -> None:
    """Set the version of a checkout, and give it the changelog's unreleased entries."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise SystemExit(f"{version} is not a version like 0.2.0 or 0.2.0rc1")
    changelog = root / "CHANGELOG.md"
    text = with_release(changelog.read_text(), version, day)
    for name, pattern in VERSIONED.items():
        before = (root / name).read_text()
        start, end = _version_in(name, before, pattern).span(1)
        (root / name).write_text(before[:start] + version + before[end:])
    changelog.write_text(text)
    print(f"{version} of {day}: commit this as 'Release {version}', then git tag -s v{version}")


def with_release(changelog: str, version: str, day: datetime.date) -> str:
    """Return the changelog whose unreleased entries are the version's; the prose above them is dropped.

    Raises SystemExit if no entry is there, or the version has been released.
    """
    if f"\n## [{version}]" in changelog:
        raise SystemExit(f"CHANGELOG.md has a release {version} already")
    head, found, rest = changelog.partition("\n## [Unreleased]\n")
    body, heading, released = rest.partition("\n## [")
    entries = body[body.find("\n### ") :].strip()
    if not found or not re.search(r"^- ", entries, re.M):
        raise SystemExit("CHANGELOG.md has no entry under '## [Unreleased]': there is nothing to release")
    return f"{head}{found}\n## [{version}] - {day}\n\n{entries}\n{heading}{released}"


def version_of(root: Path) -> str:
    """Return the version of a checkout; raises SystemExit if its files have several."""
    found = {name: _version_in(name, (root / name).read_text(), VERSIONED[name])[1] for name in VERSIONED}
    if len(set(found.values())) > 1:
        raise SystemExit(f"these files differ in the version: {found}")
    return found["pyproject.toml"]


def _version_in(name: str, text: str, pattern: str) -> re.Match[str]:
    found = re.search(pattern, text, re.M)
    if found is None:
        raise SystemExit(f"{name} has no line {pattern}")
    return found


def check_tag(root: Path, sources: Path, version: str) -> None:
    """Raise SystemExit unless HEAD has the version's tag, and the changelog of its files has the entries."""
    command = ["git", "tag", "--points-at", "HEAD"]
    tags = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if f"v{version}" not in tags:
        raise SystemExit(f"HEAD has no tag v{version}, but {', '.join(tags) or 'none'}: git tag -s v{version}")
    if f"\n## [{version}] - " not in (sources / "CHANGELOG.md").read_text():
        raise SystemExit(f"CHANGELOG.md has no release {version}: python scripts/release.py cut {version}")


def release(key: Path | None, untagged: bool) -> None:
    """Build, check, describe and sign the files of HEAD's release, in dist/."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    sources = exported(ROOT, FOLDER / "sources")
    version = version_of(sources)
    if not untagged:
        check_tag(ROOT, sources, version)
    shutil.rmtree(DIST, ignore_errors=True)
    tools = made("tools", TOOLS)
    run([sys.executable, sources / "scripts" / "man-pages.py", sources / "packaging" / "man"])
    run([tools, "-m", "build", "--outdir", DIST, sources], SOURCE_DATE_EPOCH=_time(ROOT))
    (wheel,) = DIST.glob("*.whl")
    results = {"no CUDA": checked("plain", str(wheel))}
    results |= {extra: checked_extra(extra, wheel) for extra in ("cu12", "cu13")}
    bill(tools, sources, FOLDER / "plain", DIST / f"gridjit-{version}.cdx.json")
    write_sums(DIST)
    results["signature"] = (
        sign(DIST, key, ROOT / "packaging" / "allowed-signers") if key else "none: no --key was given"
    )
    print(*(f"{name:12}{result}" for name, result in results.items()), f"{DIST} is {version}", sep="\n")


def exported(root: Path, folder: Path) -> Path:
    """Return a folder with the files of HEAD."""
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=root, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder


def _time(root: Path) -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def made(name: str, requirements: Sequence[str]) -> Path:
    """Return the interpreter of a fresh environment with the requirements, and without pip."""
    folder = FOLDER / name
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    python = folder / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *requirements])
    return python


def checked(name: str, requirement: str, program: str = "") -> str:
    """Return the word for an environment in which a wheel ran the demo and a program; else raises SystemExit."""
    python, away = made(name, [requirement]), FOLDER / f"{name}-away"
    away.mkdir()
    (away / "program.py").write_text(program)
    commands: list[list[str | Path]] = [[python.parent / "gridjit", "demo"], [python, away / "program.py"]]
    for command in commands:
        run(command, cwd=away, GRIDJIT_CACHE_DIR=str(away / "cache"), GRIDJIT_TARGET="host")
    return "works"


def checked_extra(extra: str, wheel: Path) -> str:
    """Return the word for the environment of an extra, also where the index lacks its wheels."""
    wanted = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", f"{wheel}[{extra}]"]
    asked = subprocess.run(wanted, stderr=subprocess.PIPE, text=True, check=False)
    if asked.returncode:
        return f"not checked: {(asked.stderr.strip().splitlines() or ['pip failed'])[-1]}"
    return checked(extra, f"{wheel}[{extra}]", COMPILES)


def bill(tools: Path, sources: Path, environment: Path, file: Path) -> None:
    """Write the SBOM of an environment in which the wheel of the sources is installed (CycloneDX, JSON)."""
    options = ("--mc-type", "library", "--output-reproducible")
    read = ("--pyproject", sources / "pyproject.toml", environment / "bin" / "python")
    run([tools, "-m", "cyclonedx_py", "environment", *options, "--output-file", file, *read])


def write_sums(folder: Path) -> None:
    """Write the checksums of a folder's files, as `sha256sum --check` reads them."""
    files = sorted(file for file in folder.iterdir() if not file.name.startswith(SUMS))
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / SUMS).write_text("".join(lines))


def sign(folder: Path, key: Path, allowed: Path) -> str:
    """Sign the checksums; returns the word for it, and raises SystemExit unless users can check the signature."""
    (folder / f"{SUMS}.sig").unlink(missing_ok=True)
    run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", PURPOSE, folder / SUMS])
    command: list[str | Path] = ["ssh-keygen", "-q", "-Y", "verify", "-f", allowed, "-I", SIGNER, "-n", PURPOSE]
    done = subprocess.run([*command, "-s", folder / f"{SUMS}.sig"], input=(folder / SUMS).read_bytes(), check=False)
    if done.returncode:
        (folder / f"{SUMS}.sig").unlink()
        raise SystemExit(f"{allowed} does not name the key {key}: add its public line for {SIGNER}")
    return "made, and checked as users do"


def run(command: Sequence[str | Path], *, cwd: Path = ROOT, **variables: str) -> None:
    """Run a command, with no settings of Python or gridjit but the variables; raises SystemExit if it fails."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "GRIDJIT", "NUMBA"))}
    done = subprocess.run(command, cwd=cwd, env=kept | variables, check=False)
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
