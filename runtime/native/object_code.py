"""Object code of the native functions: made by LLVM once for a machine, kept in a store, placed in memory.

The code refers to nothing outside itself, so placing it is a copy: a warm process needs no LLVM for it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import platform
import sys
from collections.abc import Callable

from gridjit.cache.key import Key
from gridjit.cache.store import Store
from gridjit.compiler.key.toolchain import overtaken, version_of
from gridjit.compiler.process.locks import giving_back
from gridjit.compiler.source.files import read_regular
from gridjit.compiler.values.elf import RELOCATIONS, SHORT_RELOCATIONS, named_sections
from gridjit.compiler.values.target import Target

_SCHEMA = 2
_CPU = "generic"


def object_code(name: str, inputs: object, text: Callable[[], str], store: Store) -> bytes:
    """Return the object file of LLVM IR, from store if it is there.

    text: returns the IR. inputs: values that the IR is made from and that show all of it in their repr; the rest is
    in this folder's files.
    """
    key = Key.of(
        (
            ("kind", f"native {name} function"),
            ("schema", _SCHEMA),
            ("sources", _sources() or text()),
            ("inputs", repr(inputs)),
            ("cpu", f"{platform.machine()} {_CPU}"),
            ("llvmlite", version_of("llvmlite")),
        )
    ).digest
    if (found := store.get(key)) is not None:
        return found
    made = giving_back(lambda: compile_text(text()))
    if "llvmlite" not in overtaken("host", lines=False, headers=False):
        store.put(key, made, suffix=".o")
    return made


@functools.cache
def _sources() -> bytes:
    """Return what the modules that write IR say, so that a process that finds its code need not run them; b"" if they
    cannot be read."""
    try:
        return b"".join(map(read_regular, sorted(_files(os.path.dirname(__file__)))))
    except OSError:
        return b""


def _files(folder: str) -> list[str]:
    # By hand: pathlib takes three times as long, in each process that launches on a GPU.
    files, folders = [], [folder]
    for inside in folders:
        with os.scandir(inside) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    files.append(entry.path)
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return files


def compile_text(text: str) -> bytes:
    """Return the object file that LLVM makes of IR text, for any CPU of this machine's kind."""
    # A process that finds its code in the cache needs no LLVM.
    from gridjit.compiler.targets.host.llvm import modules as llvm

    target = Target(kind="host", arch="x86-64" if platform.machine() == "x86_64" else "", features="")
    module = llvm.parse(llvm.header(target) + text)
    module.verify()
    llvm.optimize(module, target, 2, vectorize=False, unroll=False)
    return llvm.emit(module, target)


def code_of(image: bytes) -> bytes | None:
    """Return the machine code of an object file whose code stands alone and starts with its function, else None."""
    try:
        sections = named_sections(image)
    except ValueError:
        return None
    found = [(index, data) for index, (name, _, data) in enumerate(sections) if name == ".text"]
    if len(found) != 1:
        return None
    index, code = found[0]
    needs_linking = any(
        header.type in (RELOCATIONS, SHORT_RELOCATIONS) and header.info == index for _, header, _ in sections
    )
    return None if needs_linking or not code else code


def put_in_memory(code: bytes) -> int | None:
    """Return the address of code, executable and for ever; None where the system does not allow that."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    size = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return None
    ctypes.memmove(address, code, len(code))
    if libc.mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        return None
    return int(address)
