"""Inventory: the contents of a cache folder's entries, read from their payloads, and how people name them."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridjit.cache.disk import DiskStore
from gridjit.cache.folder import Distrusted, folder_at, open_folder
from gridjit.cache.history import History
from gridjit.cache.manifest import Manifest
from gridjit.cache.store import EntryInfo
from gridjit.commands.progress import steps
from gridjit.compiler.frontend.kept.stored_record import from_bytes as units_of
from gridjit.compiler.recorded.everybody import Answer
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.footprint import Fact
from gridjit.runtime.environment.misspelt import near_names
from gridjit.runtime.process.session import session

CODE, MANIFEST, HISTORY, LAUNCHER, DAMAGED, UNKNOWN = "code", "manifest", "history", "launcher", "damaged", "unknown"
FUNCTION, NEEDS_LAUNCH, EXTENSIONS = "function", "needs a launch", "extensions"
# Of a key, as people see it.
KEY_DIGITS = 12
_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntry:
    """One entry: its EntryInfo from the folder, its kind, its kernel's name ("" if none is known) and its content.

    The front end's result for a device function goes by the function's name. file: the kernel's, "" if unknown.
    label: the kernel's name, with its file if kernels of other files have it too.
    """

    info: EntryInfo
    kind: str
    kernel: str = ""
    file: str = ""
    label: str = ""
    content: Artifact | Manifest | History | None = None

    @property
    def artifact(self) -> Artifact | None:
        """The artifact in it, without its code, if it holds one."""
        return self.content if isinstance(self.content, Artifact) else None

    @property
    def job(self) -> str:
        """The key of the job that the artifact in it is of; "" for none."""
        return "" if self.artifact is None else str(self.artifact.metadata.get("job", ""))

    def as_dict(self) -> dict[str, Any]:
        """Return the item as plain JSON values."""
        plain = {**dataclasses.asdict(self.info), "kind": self.kind, "kernel": self.kernel, "file": self.file or None}
        if (artifact := self.artifact) is not None:
            plain |= {
                "signature": artifact.signature,
                "target": str(artifact.target),
                "facts": {fact.field: fact.value for fact in artifact.footprint.facts},
            }
        return plain


def plain_fact(fact: Fact) -> dict[str, Any]:
    """Return a fact as JSON values: the field that was read, its value, and where."""
    return {"field": fact.field, "value": fact.value, "where": fact.where or None}


def open_cache(folder: str | None = None, *, new: bool = False) -> DiskStore:
    """Return the store of a folder, by default the one in use; raises GridjitError if it is not to be trusted.

    A folder that is named must exist, unless it may be new; the one in use is made when it is needed.
    """
    store = session().open_disk(Path(folder_at(folder).path) if folder else None)
    try:
        os.close(open_folder(folder_at(store.folder, shared=session().settings.cache_allow_shared)))
    except FileNotFoundError:
        if folder and not new:
            raise GridjitError(f"--dir {folder}: there is no such folder") from None
    except Distrusted as error:
        raise GridjitError(
            f"cache folder {store.folder} is not used: {error}; GRIDJIT_CACHE_ALLOW_SHARED=1 uses it anyway, "
            "and runs what others put there"
        ) from None
    except OSError as error:
        raise GridjitError(f"cache folder {store.folder} cannot be read: {error.strerror or error}") from None
    return store


def read_items(store: DiskStore, given: argparse.Namespace | None = None) -> list[ListedEntry]:
    """Return every entry with its content, sorted by kernel, kind and age; given: whether to show progress."""
    items: list[ListedEntry] = []
    infos = list(store.entries())
    with steps(given or argparse.Namespace(quiet=True), "reading", len(infos)) as step:
        for info in infos:
            step(items[-1].kernel if items else "")
            items.append(_item(store, info))
    owners = dict(_owners(items))
    owned = [(item, *owners.get(_job_of(item), (item.kernel, item.file))) for item in items]
    labels = labels_of((kernel, file) for item, kernel, file in owned if item.kind != FUNCTION)
    named = [dataclasses.replace(item, kernel=k, file=file, label=labels.get((k, file), k)) for item, k, file in owned]
    return sorted(named, key=lambda item: (item.label, item.kind, item.info.stored, item.info.key))


def select(items: Iterable[ListedEntry], kernel: str | None, targets: Iterable[str] = ()) -> list[ListedEntry]:
    """Return the items of a kernel and of targets ("sm_90", "host"); of all of them where none is named.

    kernel: its full name, its end ("scale"), or a pattern ("stats.*").
    """
    wanted = set(targets)
    chosen = [item for item in items if kernel is None or is_named(item.kernel, kernel, item.file)]
    if not wanted:
        return chosen
    return about([item for item in chosen if item.artifact and str(item.artifact.target) in wanted], chosen)


def about(code: Iterable[ListedEntry], items: Iterable[ListedEntry]) -> list[ListedEntry]:
    """Return those of items that are code, or the manifest or history of one of its jobs."""
    known = list(code)
    keys, jobs = {item.info.key for item in known}, {item.job for item in known}
    return [item for item in items if item.info.key in keys or _is_about(item, jobs)]


def select_some(items: Iterable[ListedEntry], kernel: str | None, where: str) -> list[ListedEntry]:
    """Return the items of a kernel, or all; raises GridjitError with the names that may be meant if it has none."""
    known = list(items)
    chosen = select(known, kernel)
    if kernel is not None and not chosen:
        raise no_entry(kernel, (item.label for item in known), where, "`gridjit cache ls` lists what is there")
    return chosen


def no_entry(kernel: str, known: Iterable[str], where: str, otherwise: str) -> GridjitError:
    """Return the error for a kernel that is not where it is looked for; otherwise: the way on if no name is near."""
    names = sorted({name for name in known if name})
    by_end = {name.rpartition(".")[2]: name for name in names}
    near = list(dict.fromkeys([by_end.get(one, one) for one in near_names(kernel, [*names, *by_end])]))
    meant = f"did you mean {' or '.join(near)}?" if near else otherwise
    return GridjitError(f"{where} holds no entry of {kernel}; {meant}")


def is_named(kernel: str, name: str, file: str = "") -> bool:
    """Return whether a name means a kernel's full name: all of it, its end, or a pattern; or its file and name."""
    wanted, in_file = name.replace(":", "."), _in_file(kernel, file)
    return (
        kernel == wanted
        or kernel.endswith(f".{wanted}")
        or fnmatch.fnmatchcase(kernel, wanted)
        or (file != "" and f"/{in_file}".endswith(f"/{name.removeprefix('./')}"))
    )


def labels_of(kernels: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the name by which people tell each (kernel, file) from the others: "a/script.py:scale" where it needs one.

    It has as much of the file's path as it takes. A kernel that no other file has goes by its own name.
    """
    files: dict[str, set[str]] = {}
    for kernel, file in kernels:
        files.setdefault(kernel, set()).add(file)
    return {
        (kernel, file): kernel if len(others) == 1 else _in_file(kernel, _end_of(file, others))
        for kernel, others in files.items()
        for file in others
    }


def _in_file(kernel: str, file: str) -> str:
    """Return a kernel as the command line names those of scripts; its name if its file is not known."""
    module = "__main__" if kernel.startswith("__main__.") else os.path.basename(file).removesuffix(".py")
    return f"{file}:{kernel.rpartition(f'{module}.')[2]}" if file else kernel


def _end_of(file: str, others: Iterable[str]) -> str:
    """Return the shortest end of a path that no other has."""
    parts = file.split("/")
    ends = ("/".join(parts[-count:]) for count in range(1, len(parts)))
    return next((end for end in ends if sum(f"/{one}".endswith(f"/{end}") for one in others) == 1), file)


def find_item(store: DiskStore, prefix: str, given: argparse.Namespace) -> ListedEntry:
    """Return the entry whose key begins with prefix; raises GridjitError unless there is exactly one.

    given: whether to show progress.
    """
    found = [info for info in store.entries() if info.key.startswith(prefix.lower())]
    if not found:
        raise GridjitError(
            f"no entry in {store.folder} has a key that begins with {prefix!r}; `gridjit cache ls` lists the keys"
        )
    if len(found) > 1:
        keys = ", ".join(sorted(info.key[:16] for info in found)[:4])
        raise GridjitError(
            f"{len(found)} keys begin with {prefix!r} ({keys}{', ...' if len(found) > 4 else ''}): give more digits"
        )
    item = _item(store, found[0])
    return dataclasses.replace(item, kernel=item.kernel or _kernel_of(store, item, given))


def _kernel_of(store: DiskStore, item: ListedEntry, given: argparse.Namespace) -> str:
    """Return a manifest's kernel: of the newest of its artifacts that is there, else of any entry."""
    if item.kind != MANIFEST or not isinstance(item.content, Manifest):
        return ""
    for key in reversed(item.content.recent):
        if (artifact := Artifact.from_bytes(store.get(key) or b"")) is not None:
            return artifact.kernel
    return next((known.kernel for known in read_items(store, given) if known.info.key == item.info.key), "")


def _item(store: DiskStore, info: EntryInfo) -> ListedEntry:
    payload = store.get(info.key)
    if payload is None:
        return ListedEntry(info=info, kind=DAMAGED)
    if (artifact := Artifact.from_bytes(payload)) is not None:
        kind, content = NEEDS_LAUNCH if artifact.needs_launch else CODE, dataclasses.replace(artifact, image=b"")
        file = str(artifact.metadata.get("file", ""))
        return ListedEntry(info=info, kind=kind, kernel=artifact.kernel, file=file, content=content)
    if payload.startswith(_ELF):
        return ListedEntry(info=info, kind=LAUNCHER)
    if units := units_of(payload):
        named = units[0].descriptor
        return ListedEntry(info=info, kind=FUNCTION, kernel=f"{named.module}.{named.qualname}")
    if (history := History.from_bytes(payload)) is not None:
        return ListedEntry(info=info, kind=HISTORY, kernel=history.kernel, content=history)
    if Answer.from_bytes(payload) is not None:
        return ListedEntry(info=info, kind=EXTENSIONS)
    manifest = Manifest.from_bytes(payload)
    return ListedEntry(info=info, kind=MANIFEST if manifest.shapes else UNKNOWN, content=manifest)


def _owners(items: Iterable[ListedEntry]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (key, (kernel, file)) for every job that a history tells of, or an artifact is of."""
    for item in sorted(items, key=lambda item: item.job):
        if isinstance(item.content, History):
            yield from ((job.key, (item.kernel, job.field("file") or "")) for job in item.content.jobs)
        elif item.job:
            yield item.job, (item.kernel, item.file)


def _job_of(item: ListedEntry) -> str:
    """Return the key of the job that an entry without code is about."""
    return item.content.jobs[0].key if isinstance(item.content, History) and item.content.jobs else item.info.key


def _is_about(item: ListedEntry, jobs: set[str]) -> bool:
    """Return whether a manifest or a history is of one of these jobs."""
    if isinstance(item.content, History):
        return any(job.key in jobs for job in item.content.jobs)
    return item.kind == MANIFEST and item.info.key in jobs
