"""Object code of the native functions: made by LLVM once for a machine, kept in a store, placed in memory.

The code refers to nothing outside itself, so placing it is a copy: a warm process needs no LLVM for it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridjit.cache.key import Key
from gridjit.cache.store import Store
from gridjit.compiler.frontend.locks import giving_back
from gridjit.compiler.key.toolchain import version_of

_SCHEMA = 2
_RELOCATIONS = (4, 9)  # SHT_RELA, SHT_REL
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
    store.put(key, made, suffix=".o")
    return made


@functools.cache
def _sources() -> bytes:
    """Return what the modules that write IR say, so that a process that finds its code need not run them; b"" if they
    cannot be read."""
    folder = Path(__file__).parent
    try:
        return b"".join(path.read_bytes() for path in sorted(folder.glob("**/*.py")))
    except OSError:
        return b""


def compile_text(text: str) -> bytes:
    """Return the object file that LLVM makes of IR text, for any CPU of this machine's kind."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu="" if platform.machine() != "x86_64" else "x86-64", opt=3, reloc="pic", codemodel="small"
    )
    module: Any = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def code_of(image: bytes) -> bytes | None:
    """Return the machine code of an object file whose code stands alone and starts with its function, else None."""
    try:
        sections = _sections(image)
    except (struct.error, ValueError, IndexError):
        return None
    found = [(index, data) for index, (name, _, data, _) in enumerate(sections) if name == b".text"]
    if len(found) != 1:
        return None
    index, code = found[0]
    needs_linking = any(kind in _RELOCATIONS and target == index for _, kind, _, target in sections)
    return None if needs_linking or not code else code


def place(code: bytes) -> int | None:
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


def _sections(image: bytes) -> list[tuple[bytes, int, bytes, int]]:
    """Return (name, type, bytes, info) of every section of a 64-bit little-endian ELF file."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no ELF file")
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, start + index * size) for index in range(count)]
    strings = image[headers[names][4] : headers[names][4] + headers[names][5]]
    return [
        (strings[h[0] : strings.index(b"\0", h[0])], h[1], image[h[4] : h[4] + h[5]] if h[1] != 8 else b"", h[7])
        for h in headers
    ]
