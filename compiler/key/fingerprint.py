"""SourceFingerprint: a kernel's code, the values that it refers to and every function that it can call.

Making it imports nothing, and shows a changed global, closure cell, default or callee at once: only digests of
immutable code objects are remembered between calls. Library modules are leaves (see `libraries`).

An object of any other class can have a method `__gridjit_fingerprint__(self) -> str`: the text it returns must change
whenever code compiled against the object would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType

from gridjit.base.digests import utf8
from gridjit.base.values import dataclass, field
from gridjit.compiler.key.values import InstalledTexts
from gridjit.compiler.key.walk import Walk
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.objects import function_of
from gridjit.compiler.values.errors import CompileError


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFingerprint:
    """A function's source in labelled parts.

    parts: (label, text), such as ("default eps of stats.scale", "1e-05"); the function's own code first.
    opaque: a sentence for each thing that could not be fingerprinted.
    modules: names of the user modules that functions and globals were found in.
    reached: functions, classes and modules of installed distributions that code running while compiling uses. Their
    distributions stand for them in the parts.
    imported: names of loaded modules that code running while compiling imports inside its functions.
    taken: (id of a namespace or of a cell, name) -> the value that was found there, and its text in a part.
    objects: the objects of installed classes that were found, with their texts.
    functions: the Python functions that the parts cover.
    """

    parts: tuple[tuple[str, str], ...]
    opaque: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    reached: tuple[object, ...] = ()
    imported: tuple[str, ...] = ()
    taken: Mapping[tuple[int, str], tuple[object, str]] = field(default_factory=dict, compare=False, repr=False)
    objects: InstalledTexts = field(default_factory=dict, compare=False, repr=False)
    functions: tuple[FunctionType, ...] = field(default=(), compare=False, repr=False)

    @property
    def digest(self) -> str:
        """One digest of all parts."""
        return digest_fields(utf8(text) for part in self.parts for text in part)


def fingerprint(
    function: Callable[..., object], *, lines: bool = False, objects: InstalledTexts | None = None
) -> SourceFingerprint:
    """Return the fingerprint of a function, or of anything that wraps one (`py_func`, `__wrapped__`).

    lines: count the file and the line numbers too, for compiles that put them into the code.
    objects: objects of installed classes whose texts are known, as an earlier fingerprint has them.
    Raises CompileError if there is no Python function in it.
    """
    walk = Walk(lines=lines, objects=objects)
    walk.run(require_function(function))
    first, *others = walk.parts.items()
    runs = _running(walk)
    return SourceFingerprint(
        parts=(first, *sorted(others), *runs.parts),
        opaque=(*walk.opaque, *runs.opaque),
        modules=tuple(sorted(walk.modules)),
        taken=walk.taken,
        objects=walk.objects,
        functions=walk.functions,
    )


def fingerprint_values(values: Iterable[tuple[str, object]], *, running: bool = False) -> SourceFingerprint:
    """Return the fingerprint of values, each with words that describe it, and of the functions and classes they reach.

    running: the values run while kernels are compiled. Then installed code counts by its distribution, and a value
    that may differ in another process is reported, with its line.
    """
    walk = _running_walk() if running else Walk()
    for name, value in values:
        walk.add(name, value)
    walk.end()
    runs = _running(walk)
    return SourceFingerprint(
        parts=(*sorted(walk.parts.items()), *runs.parts),
        opaque=(*walk.opaque, *runs.opaque),
        modules=tuple(sorted(walk.modules)),
        reached=tuple(walk.reached),
        functions=walk.functions,
        imported=tuple(dict.fromkeys(walk.imported)),
    )


def _running(walk: Walk) -> SourceFingerprint:
    """Return the fingerprint of the code in a walk that runs while kernels are compiled."""
    return fingerprint_values(walk.runs, running=True) if walk.runs else _NOTHING


_NOTHING = SourceFingerprint(parts=())


def require_function(value: object) -> FunctionType:
    """Return the Python function that value is or stands for; raises CompileError if there is none."""
    if (function := function_of(value)) is None:
        raise CompileError(f"{value!r} is not a Python function and wraps none; decorate a function made with def")
    return function


def _running_walk() -> Walk:
    from gridjit.compiler.key.running import (
        RunningWalk,  # not needed if no extension registered anything
    )

    return RunningWalk()
