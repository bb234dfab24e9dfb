"""Object code of the native functions: made by LLVM once for a machine, kept in a store, placed in memory.

The code refers to nothing outside itself, so placing it is a copy: a warm process needs no LLVM for it.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from collections.abc import Mapping

from gridjit.cache.key import Key
from gridjit.cache.store import Store
from gridjit.compiler.c_code import ir_text
from gridjit.compiler.key.toolchain import overtaken, version_of
from gridjit.compiler.process.locks import giving_back
from gridjit.compiler.values.elf import RELOCATIONS, SHORT_RELOCATIONS, named_sections
from gridjit.compiler.values.target import Target

_SCHEMA = 3
_CPU = "generic"


def object_code(name: str, numbers: Mapping[str, int], store: Store) -> bytes:
    """Return the object file of the code in c/<name>.c with the values of constants, from store if it is there."""
    text = ir_text(__name__, name, numbers)
    key = Key.of(
        (
            ("kind", f"native {name} function"),
            ("schema", _SCHEMA),
            ("text", text),
            ("cpu", f"{platform.machine()} {_CPU}"),
            ("llvmlite", version_of("llvmlite")),
        )
    ).digest
    if (found := store.get(key)) is not None:
        return found
    made = giving_back(lambda: compile_text(text))
    if "llvmlite" not in overtaken("host", lines=False, headers=False):
        store.put(key, made, suffix=".o")
    return made


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
