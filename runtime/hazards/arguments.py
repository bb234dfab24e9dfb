"""arguments: a launch's arrays, their places in its parameters, and whether it may write them.

A kernel may write to each array that its code is not proven to leave unchanged. The proof is made once for each
specialization, from code that the front end generates again. Arguments of read-only types are not written.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.signature import ArgType, ArrayType, RecordType, TupleType
from gridjit.runtime.memory.device_array import DeviceArray

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.queues.streams import Timeline
    from gridjit.runtime.specializations.table import Specialization

_NUMBERS = frozenset((bool, int, float, complex))


class Passed(NamedTuple):
    """An array, or a record, among a launch's parameters, at some of its bytes.

    name: of the argument; of an item in a tuple, with its index. size: of a record, its own bytes; of an array, 0.
    writes: whether the kernel may write it.
    """

    name: str
    start: int
    end: int
    size: int
    writes: bool


def arrays_of(kernel: Kernel, ready: Ready) -> tuple[Passed, ...]:
    """Return a kernel's arrays and records, in tuples too."""
    names = kernel.parameter_names
    if not any(map(_has_memory, ready.declared)):
        return ()
    leaves = [leaf for name, declared in zip(names, ready.declared, strict=True) for leaf in _leaves(name, declared)]
    written = _written(kernel, ready, [path for path, part in leaves if isinstance(part, ArrayType | RecordType)])
    found: list[Passed] = []
    codes = "@"
    for path, part in leaves:
        if isinstance(part, ArrayType | RecordType):
            start = struct.calcsize(f"{codes}0P")
            found.append(_passed(_said(path), start, part, path in written))
        codes += part.codes
    return tuple(found)


class Quick(NamedTuple):
    """A launch with gridjit's arrays: for each, its number, its name, and whether it may be written.

    launcher: of the launch, by a weak reference: a launcher keeps its stream. found: the launched code.
    """

    launcher: weakref.ref[Launcher]
    found: Specialization
    timeline: Timeline
    arrays: tuple[tuple[int, str, bool], ...]


def kinds_in_place(args: tuple[Any, ...]) -> list[Any] | None:
    """Return a key of the arguments' kinds; None unless all are gridjit's arrays and numbers."""
    kinds: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is DeviceArray:
            kinds.append(id(arg._kind))  # such kinds live as long as the process
        elif kind in _NUMBERS:
            kinds.append(kind)
        else:
            return None
    return kinds


def arguments_of(kernel: Kernel, arrays: Sequence[Passed]) -> tuple[tuple[int, str, bool], ...]:
    """Return the arrays among the parameters of a kernel that takes none in a tuple."""
    numbers = {name: number for number, name in enumerate(kernel.parameter_names)}
    return tuple((numbers[one.name], one.name, one.writes) for one in arrays)


def _passed(name: str, start: int, part: ArrayType | RecordType, written: bool) -> Passed:
    end = start + struct.calcsize(f"@{part.codes}")
    if isinstance(part, RecordType):
        return Passed(name, start, end, part.size, written)
    return Passed(name, start, end, 0, written and not part.readonly)


def _leaves(path: str, declared: ArgType) -> Iterator[tuple[str, ArgType]]:
    """Yield an argument, or a tuple's items, with the front end's path to it: pair.0 and pair.1."""
    if isinstance(declared, TupleType):
        for number, item in enumerate(declared.items):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield path, declared


def _said(path: str) -> str:
    """Return the name in errors of a path's value: pair[0]."""
    name, *numbers = path.split(".")
    return name + "".join(f"[{number}]" for number in numbers)


def _has_memory(declared: ArgType) -> bool:
    return any(isinstance(part, ArrayType | RecordType) for _, part in _leaves("", declared))


def _written(kernel: Kernel, ready: Ready, paths: Sequence[str]) -> frozenset[str]:
    """Return the paths that the kernel may write; all of them where its code cannot be made again."""
    found = ready.found
    try:
        from gridjit.compiler.readable import written_arguments
        from gridjit.compiler.view.config import ConfigView

        form = kernel.form_of(found)
        view = ConfigView(found.config, None, form, found.artifact.effects.sharedmem)
        return written_arguments(form.job_for(found.signature, found.target), view, paths)
    except Exception as error:  # an error of this second compile is not an error of the launch
        let_through(error)
        return frozenset(paths)
