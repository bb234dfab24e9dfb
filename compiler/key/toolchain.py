"""The toolchain: everything besides the source that turns a kernel into code, as labelled versions.

Read from the installed distributions' files, without importing any of them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from gridjit.base.digests import utf8
from gridjit.base.interrupts import let_through, tolerated
from gridjit.compiler.key.numba_settings import environment as environment
from gridjit.compiler.key.record import InstallRecord, read_record
from gridjit.compiler.key.site_folders import described_by, descriptions, first_look, normalized
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.files import file_digest, import_path, read_regular
from gridjit.compiler.source.libraries import file_of
from gridjit.compiler.values.errors import ConfigError

# Raise it whenever an artifact's meaning or layout changes, so that older entries are misses.
ARTIFACT_SCHEMA = 7

Fields = tuple[tuple[str, str], ...]

NOT_INSTALLED = "not installed"

# Label, and the distributions that can provide it: wheels for CUDA 12 and 13 have different names.
_COMMON: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gridjit", ("gridjit",)),
    ("numba-cuda", ("numba-cuda",)),
    ("numba", ("numba",)),
    ("llvmlite", ("llvmlite",)),
    ("numpy", ("numpy",)),
)
_PTX: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nvvm", ("nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12")),
    ("nvjitlink", ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12")),
    ("nvrtc", ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")),
    ("cuda-bindings", ("cuda-bindings",)),
    ("cuda-core", ("cuda-core",)),
)
# Packages with the headers of CUDA's runtime, and of CCCL; without one of each they are a toolkit's outside pip.
_HEADERS = (
    ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
    ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
)
_HEADER_NAMES = frozenset(name for names in _HEADERS for name in names)
_DISTRIBUTIONS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {"host": _COMMON, "ptx": _COMMON + _PTX}
_TARGETS = frozenset(_DISTRIBUTIONS)
_WANTED = frozenset((*(name for _, names in _COMMON + _PTX for name in names), *_HEADERS[0]))
# The modules of the distributions, by label.
_MODULES = {
    "numba-cuda": "numba_cuda",
    "numba": "numba",
    "llvmlite": "llvmlite",
    "numpy": "numpy",
    "cuda-bindings": "cuda.bindings",
    "cuda-core": "cuda.core",
}
_TOOLKIT_COMPONENTS = ("nvvm", "nvjitlink", "nvrtc")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@cache
def toolchain(kind: str) -> Fields:
    """Return the labelled versions of everything that makes code for target kind "host" or "ptx".

    Looked up once per process: loaded code does not change when an installation does.
    """
    if kind not in _DISTRIBUTIONS:
        raise ConfigError(f"target kind {kind!r}: one of {', '.join(_DISTRIBUTIONS)}")
    return _toolchain(kind, _installed(import_path()))


def _toolchain(kind: str, versions: Mapping[str, str]) -> Fields:
    components = component_versions(_DISTRIBUTIONS[kind], versions)
    toolkit = toolkit_text(os.environ) if any(components.get(n) == NOT_INSTALLED for n in _TOOLKIT_COMPONENTS) else ""
    return (
        ("artifact schema", str(ARTIFACT_SCHEMA)),
        ("python", _python_text()),
        *components.items(),
        ("gridjit sources", _own_sources(kind, len(sys.modules))),
        *((("cuda toolkit", toolkit),) if toolkit else ()),
    )


@cache
def debug_versions() -> Fields:
    """Return the versions that a GPU's kernel with debug information depends on besides: CUDA's runtime library's."""
    return _debug_versions(_installed(import_path()))


def _debug_versions(versions: Mapping[str, str]) -> Fields:
    (names, *_) = _HEADERS
    version = _component_version(names, versions)
    return (("cuda-runtime", toolkit_text(os.environ) if version == NOT_INSTALLED else version),)


@cache
def header_versions() -> Fields:
    """Return the versions of CUDA's headers, which linked CUDA C++ includes, looked up once per process.

    Each package with headers counts by its version and a digest of its record, which lists digests of its files: of a
    development build the version says little. To digest hundreds of headers at each start would cost more than to
    compile with them, so a header edited in place is not noticed. The compiler's own parts are in the toolchain.
    """
    found: dict[str, str] = {}
    for path in import_path():
        for name, text in _folder_headers(path or "."):
            found.setdefault(name, text)
    brought = tuple((f"headers of {name}", found[name]) for name in sorted(found))
    complete = all(any(name in found for name in names) for names in _HEADERS)
    return brought if complete else (*brought, ("headers of the cuda toolkit", toolkit_text(os.environ)))


def overtaken(kind: str, *, lines: bool, headers: bool) -> tuple[str, ...]:
    """Return the labels of the parts of the toolchain that this process may have loaded in another version.

    These are the parts whose installation differs from the first look, was made since the process began, or is loaded
    from a folder that has another version. lines, headers: whether debug information, CUDA's headers count.
    """
    versions = versions_in(map(descriptions, import_path()), _WANTED)
    known, now = {*toolchain(kind)}, {*_toolchain(kind, versions)}
    if lines and kind == "ptx":
        known, now = known.union(debug_versions()), now.union(_debug_versions(versions))
    if headers:
        known, now = known.union(header_versions()), now.union(header_versions.__wrapped__())
    late = (label for label, names in _DISTRIBUTIONS[kind] if _is_late(label, names, dict(toolchain(kind))[label]))
    return tuple(sorted({label for label, _ in known ^ now}.union(late)))


def _is_late(label: str, names: tuple[str, ...], known: str) -> bool:
    """Return whether a part was installed after this process began, or is loaded from where another version is."""
    from gridjit.compiler.key.installed import began, installed_at

    module = sys.modules.get(_MODULES.get(label, ""))
    for folder in (*_above(file_of(module)), *import_path()):
        for name, version, entry in _tools(descriptions(folder)):
            if name in names:
                changed = installed_at(os.path.join(folder, entry))
                return changed > began() or not {version, f"{name} {version}"} & {*known.split(", ")}
    return False


@lru_cache(maxsize=64)
def _tools(described: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return the names and versions of the toolchain's distributions among descriptions, and these."""
    found = ((described_by(entry), entry) for entry in described)
    return tuple((*named, entry) for named, entry in found if named is not None and named[1] and named[0] in _WANTED)


def _above(file: object) -> Iterator[str]:
    """Yield the folders that a file is in, the innermost first."""
    folder = os.path.dirname(file) if isinstance(file, str) else ""
    while folder.startswith("/") and folder != "/":
        yield folder
        folder = os.path.dirname(folder)


def version_of(distribution: str) -> str:
    """Return the version of one of the toolchain's distributions, or "not installed"."""
    return _component_version((distribution,), _installed(import_path()))


@lru_cache(maxsize=4)
def _installed(paths: tuple[str, ...]) -> Mapping[str, str]:
    return versions_in(first_look(paths).values(), _WANTED)


def versions_in(described: Iterable[Iterable[str]], wanted: Collection[str]) -> dict[str, str]:
    """Return the versions of the wanted distributions, by normalized name; the first folder that has one wins."""
    versions: dict[str, str] = {}
    for entry in (name for names in described for name in names):
        # The names of most are not taken apart.
        if normalized(entry.partition("-")[0]) in wanted and (found := described_by(entry)) is not None and found[1]:
            versions.setdefault(*found)
    return versions


def component_versions(wanted: Iterable[tuple[str, tuple[str, ...]]], versions: Mapping[str, str]) -> dict[str, str]:
    """Return the version of each wanted component, given as its label and the distributions that can provide it."""
    return {label: _component_version(names, versions) for label, names in wanted}


def toolkit_text(environ: Mapping[str, str], roots: Iterable[str] = ("/usr/local/cuda",)) -> str:
    """Return the identity of the CUDA toolkit outside pip, or "not installed"."""
    named = (environ.get(name, "") for name in ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"))
    found = [_toolkit_root_text(Path(root)) for root in dict.fromkeys((*named, *roots)) if root]
    return "; ".join(text for text in found if text) or NOT_INSTALLED


def _component_version(names: tuple[str, ...], versions: Mapping[str, str]) -> str:
    found = [name for name in names if name in versions]
    if len(found) > 1:
        return ", ".join(f"{name} {versions[name]}" for name in found)
    return versions[found[0]] if found else _metadata_version(names[0])


def _metadata_version(name: str) -> str:
    # importlib.metadata costs ten times as much as the rest, and only zip files on sys.path need it.
    if not any(os.path.isfile(path) for path in import_path()):
        return NOT_INSTALLED
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return NOT_INSTALLED


def _folder_headers(path: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each of NVIDIA's packages in a folder that brings headers, and its version with a digest."""
    for entry in descriptions(path):
        if not entry.startswith("nvidia"):
            continue
        name, version = described_by(entry) or ("", "")
        listed = _listed_headers(os.path.join(path, entry, "RECORD"))
        if version and (listed or name in _HEADER_NAMES):
            yield name, f"{version} {listed}".strip()


def _listed_headers(record: str) -> str:
    """Return a digest of the files in a package's record, less its metadata; "" if it lists no headers."""
    try:
        text = read_regular(record)
    except OSError as error:
        let_through(error)
        return ""
    # Sorted, the folder of the files comes first. Installers' differences are in the metadata.
    listed = text[: text.find(b".dist-info/")]
    return digest_fields([listed[: listed.rfind(b"\n")]]) if b"/include/" in listed else ""


def _python_text() -> str:
    version = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return f"{version}, bytecode {importlib.util.MAGIC_NUMBER.hex()}"


@lru_cache(maxsize=4)
def _own_sources(kind: str, imported: int) -> str:
    """Return own_sources, looked up again only where more was imported since: there are hundreds of files."""
    return own_sources(kind)


def own_sources(kind: str, folder: str = os.path.dirname(os.path.dirname(__file__))) -> str:
    """Return a digest of the compiler's own files as they are: of their contents, where an installer listed these.

    Installed or not, they may have been edited by hand; an installation of the same version may be another. A checkout
    counts by the files' times of writing. Files that only another kind of target has are left out: they are half of
    all, and a start looks at each.
    """
    site = os.path.dirname(os.path.dirname(folder))
    package = f"{folder[len(site) + 1 :]}/"
    try:
        stamps = sorted(
            _stamps(os.open(folder, _FOLDER), package, {f"{package}targets/{name}/" for name in _TARGETS - {kind}})
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        # Python imports from archives too.
        let_through(error)
        archive = next((str(path) for path in Path(folder).parents if path.is_file()), "")
        return digest_fields([utf8(file_digest(archive) or "")])
    except OSError as error:
        let_through(error)
        return os.urandom(16).hex()  # an unknown state is not found again
    if (record := _own_record(site)) is not None and any(name in record.rows for name, _, _ in stamps):
        names = (name for name, _, _ in stamps)
        return digest_fields(map(utf8, (*record.parts("gridjit/"), *names, *record.changed(site, stamps))))
    return digest_fields([utf8(repr(stamps))])


def _own_record(site: str) -> InstallRecord | None:
    found = (read_record(os.path.join(site, entry)) for entry in descriptions(site) if entry.startswith("gridjit-"))
    return next((record for record in found if record is not None), None)


def _stamps(folder: int, name: str, skipped: Collection[str]) -> list[tuple[str, int, int]]:
    """Return the name, time of writing and size of each source file below an open folder, which it closes.

    Files are asked for by their names in it: their whole paths would take the system twice as long. skipped: the names
    of folders that are left out.
    """
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py") and entry.is_file():
                    status = entry.stat()
                    found.append((name + entry.name, status.st_mtime_ns, status.st_size))
                elif entry.name != "__pycache__" and f"{name}{entry.name}/" not in skipped and entry.is_dir():
                    below = os.open(entry.name, _FOLDER, dir_fd=folder)
                    found += _stamps(below, f"{name}{entry.name}/", skipped)
    finally:
        with tolerated(OSError):
            os.close(folder)
    return found


def _toolkit_root_text(root: Path) -> str:
    """Return the toolkit's version file if it has one, else its place and the age of its compiler; "" for none."""
    if not root.is_dir():
        return ""
    if (digest := file_digest(str(root / "version.json"))) is not None:
        return f"{root} version.json {digest}"
    real = os.path.realpath(root)
    stamps = sorted(_toolkit_stamps(real))
    return f"{real} {digest_fields(map(utf8, stamps))}" if stamps else ""


def _toolkit_stamps(root: str) -> Iterator[str]:
    """Yield the file that each library of the toolkit's compiler is, and when it was written."""
    compilers = [entry for lib in _beginning(f"{root}/nvvm", "lib") for entry in _beginning(lib.path, "libnvvm.so")]
    linkers = [entry for lib in _beginning(root, "lib") for entry in _beginning(lib.path, "libnvJ", "libnvr")]
    for entry in (*compilers, *(linker for linker in linkers if ".so" in linker.name)):
        # Most are links to files beside them.
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        with suppress(OSError):  # a link to nothing
            yield f"{path} {entry.stat().st_mtime_ns}"


def _beginning(folder: str, *beginnings: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder whose names begin so; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name.startswith(beginnings)]
    except OSError as error:
        let_through(error)
        return []
