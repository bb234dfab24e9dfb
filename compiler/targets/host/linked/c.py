"""c: a C file made into an object by the system's compiler, if there is one."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gridjit.compiler.errors import LinkError
from gridjit.compiler.target import LinkedFile
from gridjit.values import dataclass

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-O3", "-fPIC", "-fno-stack-protector", "-fno-asynchronous-unwind-tables")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledC:
    """A C file's object, and the file with the reason for which it must not be stored: headers, which no key has."""

    object: LinkedFile
    source: LinkedFile


def compiled_c(file: LinkedFile) -> CompiledC:
    """Return what a C file is compiled to; raises LinkError with the compiler's words, or where there is none."""
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
