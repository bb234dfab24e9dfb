"""code: files linked into a kernel on the host, as LLVM IR to inline, objects to merge, and the names they define.

A file for a GPU is refused by its name. `compiler/key/linked_files` looks for one for the host beside it. A C file is
made into an object by the system's compiler, if there is one.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gridjit.base.values import dataclass, field
from gridjit.compiler.targets.host.ir.module import declarations, definitions
from gridjit.compiler.targets.host.linked.objects import defined_by, merged
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.elf import is_code
from gridjit.compiler.values.errors import LinkError, UnsupportedError
from gridjit.compiler.values.target import LinkedFile, Lowered

_HEAD, _FOREIGN = ("target ", "source_filename"), 'target triple = "nvptx'
# LLVM ends the process when it is to make machine code of one.
_OF_GPUS = ("llvm.nvvm.", "llvm.ptx.", "llvm.amdgcn.", "llvm.r600.")
# Sections in which nvcc puts device code into an object for the host.
_DEVICE_CODE = (b".nv_fatbin", b"__nv_relfatbin")
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O3", "-fPIC", "-fno-stack-protector", "-fno-asynchronous-unwind-tables")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedCode:
    """Code from files. texts: of LLVM IR modules; objects: object files and archives; names: what both define.

    consumed: the C files that include what no key has.
    """

    texts: tuple[str, ...] = ()
    objects: tuple[LinkedFile, ...] = field(default=(), repr=False)
    names: frozenset[str] = frozenset()
    consumed: tuple[LinkedFile, ...] = ()

    def merged(self, image: bytes, entry: str) -> bytes:
        """Return a kernel's object with these objects in it; raises LinkError if it cannot be loaded then."""
        if not self.objects:
            return image
        whole = merged(image, self.objects)
        if not is_code(whole, entry, linked=False):
            names = ", ".join(file.name for file in self.objects)
            raise LinkError(
                f"{names}: code with thread-local data or relocations that the host's loader does not know; compile it "
                "without them, or link C or LLVM IR"
            )
        return whole


def linked_code(lowered: Lowered) -> LinkedCode:
    """Return the code of the files that lowered is linked with; raises UnsupportedError naming one for a GPU."""
    files = lowered.linked
    for file in files:
        _check(file, lowered)
    texts = tuple(_text(file) for file in files if file.kind in ("ll", "bc"))
    made = tuple(compiled_c(file) for file in files if file.kind == "c")
    objects = (*(file for file in files if file.kind in ("o", "a")), *(one.object for one in made))
    names = frozenset(one.name for text in texts for one in definitions(text)).union(*map(defined_by, objects))
    unseen = tuple(one.source for one in made if one.source.unseen)
    return LinkedCode(texts=texts, objects=objects, names=names, consumed=unseen)


def _check(file: LinkedFile, lowered: Lowered) -> None:
    is_native = file.kind in ("o", "a") and not any(section in file.data for section in _DEVICE_CODE)
    if not is_native and file.kind not in ("ll", "bc", "c"):
        kernel = lowered.kernel or lowered.entry
        raise UnsupportedError(
            f"kernel {kernel} links device code ({file.name}), which the host cannot run; put C or LLVM IR with the "
            "same functions beside it, under the same name with .c, .ll or .bc"
        )
    if file.setup is not None or file.teardown is not None:
        raise UnsupportedError(
            f"{file.name} has callbacks for a CUDA module, which the host does not have; link it without them"
        )


def _text(file: LinkedFile) -> str:
    """Return a file's module as text without its head, so that it is for whatever processor the kernel is."""
    try:
        text = file.data.decode() if file.kind == "ll" else llvm.text_of(llvm.parse_bitcode(file.data))
    except (RuntimeError, UnicodeDecodeError) as error:
        raise LinkError(f"{file.name} is not LLVM IR: {error}") from error
    lines = text.splitlines(keepends=True)
    if foreign := next((line.split('"')[1] for line in lines if line.startswith(_FOREIGN)), ""):
        raise UnsupportedError(
            f"{file.name} is LLVM IR for {foreign}, which the host cannot run; compile its source for this processor"
        )
    if instruction := next((one.name for one in declarations(text) if one.name.startswith(_OF_GPUS)), ""):
        raise UnsupportedError(
            f"{file.name} is LLVM IR that calls {instruction}, an instruction of GPUs, which the host cannot run; "
            "leave it out"
        )
    return "".join(line for line in lines if not line.startswith(_HEAD))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledC:
    """A C file's object, and the file with the reason for which it must not be stored: headers, which no key has."""

    object: LinkedFile
    source: LinkedFile


def compiled_c(file: LinkedFile) -> CompiledC:
    """Return the object of a C file; raises LinkError with the compiler's words, or where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise LinkError(
            f"{file.name} is C, and this computer has no C compiler ({', '.join(_COMPILERS)}): install one, or link an "
            "object file or LLVM IR"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, made, headers = (os.path.join(folder, name) for name in ("linked.c", "linked.o", "linked.d"))
        Path(source).write_bytes(file.data)
        beside = ("-iquote", os.path.dirname(file.name)) if os.path.isabs(file.name) else ()
        command = [compiler, *_FLAGS, *beside, "-MMD", "-MF", headers, "-c", source, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise LinkError(f"{file.name} does not compile:\n{done.stderr.replace(source, file.name)}")
        own = Path(headers).read_text().replace("\\\n", " ").split()[2:]
        unseen = (f"{file.name} includes {', '.join(own)}, which the key does not have",) if own else ()
        data = Path(made).read_bytes()
    return CompiledC(
        object=LinkedFile(name=f"{file.name}.o", kind="o", data=data),
        source=dataclasses.replace(file, unseen=unseen),
    )
