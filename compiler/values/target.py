"""Target: the processor of code, and the protocol that every code generator follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Protocol

from gridjit.base.values import dataclass, field
from gridjit.compiler.values.launch_config import Dim3
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The processor of code: kind "ptx" with an architecture ("sm_90"), or "host" with a CPU and its features."""

    kind: str
    arch: str
    features: str = ""

    def __str__(self) -> str:
        return self.arch if self.kind == "ptx" else self.kind

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The target's part of a key."""
        return (("target.kind", self.kind), ("target.arch", self.arch), ("target.features", self.features))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionEntry:
    """The exception of a kernel's return code: of builtins (or an importable one), with its arguments.

    place: of the raise, as `CodePlace` writes it.
    """

    module: str
    qualname: str
    arguments: tuple[Any, ...] = ()
    place: str = ""

    @property
    def where(self) -> str:
        """The place that raises it, as it is today, in numba's words: programs look for them."""
        from gridjit.compiler.source.code_place import CodePlace  # only people ask

        if (stored := CodePlace.read(self.place)) is None:
            return self.place
        place = stored.today
        line = f", line {place.line}" if place.line else ""
        return f"function {place.function.rpartition('.')[2]!r}, file {place.file.rpartition('/')[2]}{line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A header of the user's, by its path, and the bytes of it that are compiled."""

    path: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFile:
    """A file linked into the kernel: its name, its kind and its bytes.

    Kinds: ptx, cubin, ltoir, cu, o, a, fatbin; for the host ll, bc, c, o, a.

    setup, teardown: called with the module that the file is part of, before its first launch and before it is unloaded.
    nrt: whether it calls numba-cuda's runtime. toolkit: whether it includes nothing but the toolkit's headers.
    headers: of CUDA C++, the user's headers that it includes; absent: paths without a file; folders: searched for
    headers after the toolkit's. unseen: of a compiled file, why it must not be stored.
    """

    name: str
    kind: str
    data: bytes = field(repr=False)
    setup: Callable[..., Any] | None = None
    teardown: Callable[..., Any] | None = None
    nrt: bool = False
    toolkit: bool = False
    headers: tuple[Header, ...] = ()
    absent: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """The front end's result for a target: typed, lowered, not yet code.

    modules: LLVM IR texts in numba-cuda's NVVM dialect, the entry's module first.
    entry: name of the kernel function in the first module. For "ptx" it is a void kernel marked for NVVM; for
        "host" it is still `i32 entry(i8** .ret, flattened arguments...)`, its result an exception code (0: none).
    exceptions: code -> exception.
    linked: files to link; cooperative: grid-wide synchronization is used.
    source: (file, first line) of the kernel, for messages.
    reused: the device functions, with their argument types, that were compiled for another kernel.
    code: the kernel's bytecode, for the lines it comes from.
    cluster: the launch's, if the compile asked for it.
    signature: the types of the kernel's arguments, if they are known.
    shelf: keeps code made of the toolchain's own files for later compiles, if given (view.recording.Shelf).
    """

    modules: tuple[str, ...]
    entry: str
    exceptions: dict[int, ExceptionEntry]
    linked: tuple[LinkedFile, ...] = ()
    cooperative: bool = False
    kernel: str = ""
    source: tuple[str, int] = ("", 0)
    reused: tuple[str, ...] = ()
    code: CodeType | None = field(default=None, repr=False)
    cluster: Dim3 | None = None
    signature: Signature | None = None
    shelf: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectCode:
    """A target's result: an object or cubin, and facts about it.

    image: the bytes; suffix: their file suffix (".o", ".cubin"); entry: the symbol to launch.
    resources: plain numbers about it (static shared bytes, registers...), for launches and for people.
    assembly: text for people (PTX, or the host's assembly), if it was made on the way.
    consumed: the linked CUDA C++ files, with the headers that were compiled.
    inexact: why the code may compute something else once more fields are folded into it; empty if it does not (if
    looked at).
    places: the places in the source by the numbers that the code's checks report. writes: the parameters, by their
    numbers, to whose memory checked code writes; None if it may write any memory.
    own: the parameters whose arrays' items may each be one thread's own, and how these threads are told apart.
    waits: the places where threads wait in a loop for other threads' writes, by the number of the cut.
    generator: the generator of a GPU's assembly, and why it was chosen, in words.
    """

    image: bytes = field(repr=False)
    suffix: str
    entry: str
    resources: dict[str, int]
    assembly: str = field(default="", repr=False)
    consumed: tuple[LinkedFile, ...] = ()
    inexact: str = ""
    places: Mapping[int, Any] = field(default_factory=dict)
    writes: frozenset[int] | None = None
    waits: Mapping[int, str] = field(default_factory=dict)
    own: Mapping[int, Any] = field(default_factory=dict)
    generator: str = ""


class CodeGenerator(Protocol):
    """Makes code for one target kind. Everything it may look at is a parameter."""

    def generate(self, lowered: Lowered, target: Target, options: Options) -> ObjectCode:
        """Return the code of lowered; raises CompileError or UnsupportedError naming kernel, operation and line."""
