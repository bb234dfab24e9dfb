"""Options: everything a kernel's author can say about how it is compiled. A frozen value, checked when made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from gridjit.base.messages import warn
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ConfigError, ConfigWarning, shown, switch

# The value of `codegen` that leaves the host target's optimizations out.
PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """numba.cuda.jit's options that alter the code, under its names.

    debug: check for errors in the kernel (bounds, exceptions) and keep debug information.
    opt: optimize. lineinfo: map code to source lines.
    fastmath: allow inexact arithmetic; some of LLVM's flags allow less on the host, and all of it on a GPU.
    max_registers: registers a thread may use. launch_bounds: (threads[, blocks per multiprocessor[, cluster]]).
    lto: link-time optimization. device: a function for kernels to call, not a kernel.
    inline: "never" or "always", at numba's level, or a cost model: one of numba's functions (expr, caller, callee) that
        returns whether to inline a call. forceinline: at LLVM's level.
    link: files to link: paths, or numba-cuda's objects of code in memory (cuda.CUSource...).
    shared_memory_carveout: percent of the L1 cache to use as shared memory, or -1.
    specialize: launch fields folded into the code ("blockdim", "griddim", "sharedmem"), or "auto": the block, on a GPU,
        if half of the loops go away by it.
    tiered: code computes the same with and without folded fields, so that code without them can serve meanwhile.
    checks: the checks of debug kernels on the host; from a setting, not from jit.
    codegen: the maker of PTX: "nvvm", or "llvm" where it can; for the host, "plain" leaves optimizations out; from
        settings.
    """

    debug: bool = False
    opt: bool = True
    fastmath: bool | tuple[str, ...] = False
    lineinfo: bool = False
    max_registers: int | None = None
    launch_bounds: tuple[int, ...] | None = None
    lto: bool = False
    device: bool = False
    inline: str | Callable[..., Any] = "never"
    forceinline: bool = False
    link: tuple[Any, ...] = ()
    shared_memory_carveout: int | None = None
    specialize: tuple[str, ...] = ()
    tiered: bool = False
    checks: tuple[str, ...] = ()
    codegen: str = "llvm"

    def __post_init__(self) -> None:
        if self.inline not in ("never", "always") and not callable(self.inline):
            raise ConfigError(f"inline={shown(self.inline)}: one of 'never', 'always', or a function that decides")
        if unknown := [one for one in self.folds if one not in ("blockdim", "griddim", "sharedmem")]:
            raise ConfigError(f"specialize={unknown}: fields are 'blockdim', 'griddim', 'sharedmem', or 'auto' alone")
        if self.tiered and self.fastmath:
            raise ConfigError(
                "jit(tiered=True, fastmath=True): with fastmath, results depend on what is folded into the code, so no "
                "other code can serve meanwhile; give one of the two"
            )
        _check_number("max_registers", self.max_registers, 1, 255)
        _check_number("shared_memory_carveout", self.shared_memory_carveout, -1, 100)
        for bound in self.launch_bounds or ():
            _check_number("launch_bounds", bound, 1, 2**31 - 1)
        if self.launch_bounds is not None and not 1 <= len(self.launch_bounds) <= 3:
            raise ConfigError(
                f"Got {len(self.launch_bounds)} launch bounds: launch_bounds={self.launch_bounds}; "
                "give threads, blocks per SM, blocks per cluster"
            )
        if self.device and (mine := sorted(set(self.changed()) & _FOR_KERNELS)):
            raise ConfigError(f"jit(device=True, {mine[0]}=...): {mine[0]} is an option of kernels, not of functions")

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The options' part of a key: one labelled field each."""
        texts = {f.name: _text(getattr(self, f.name)) for f in fields(self)}
        # A linked file is in the key by its bytes; a library's temporary files have other names in each process.
        texts["link"] = str(len(self.link))
        return tuple((f"option.{name}", text) for name, text in texts.items())

    @property
    def chooses(self) -> bool:
        """Whether the compile finds out which fields of the launch it folds into the code."""
        return self.specialize == _AUTO

    @property
    def folds(self) -> tuple[str, ...]:
        """The fields of the launch that may be folded into the code."""
        return ("blockdim",) if self.chooses else self.specialize

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


_SWITCHES = ("debug", "opt", "lineinfo", "lto", "device", "forceinline", "tiered")
_SEVERAL = ("link", "specialize")
_AUTO = ("auto",)
# LLVM's, which numba accepts.
_FLAGS = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")
# Options that numba-cuda accepts as long as they are empty.
_EMPTY = ("argtypes", "restype", "bind", "boundscheck")

# Options of a kernel's linking and launches, which mean nothing for a function that kernels call.
_FOR_KERNELS = frozenset(
    ("max_registers", "launch_bounds", "lto", "link", "shared_memory_carveout", "specialize", "tiered")
)


# Options that say how a kernel is kept and launched, and change none of its code.
_OF_JIT = ("background", "cache", "extensions", "hold_gil", "launches", "max_specializations", "target")
# Of numba's compiler for the CPU, whose users write them here, and of programs written for numba before 0.51.
_OF_NUMBA = {
    "argtypes": "the signature comes first, as in jit('void(float32[:], int32)')",
    "restype": "the signature has the result's type, as in jit('float32(float32)', device=True)",
    "bind": "code is loaded at the first launch",
    "boundscheck": "debug=True checks indices",
    "forceobj": "kernels have no Python objects",
    "nogil": "launches let go of the GIL unless hold_gil=True",
    "nopython": "kernels are always compiled so",
    "parallel": "a kernel is parallel by its grid and block",
    "error_model": "debug=True raises what a kernel raises",
}


def _meant(name: str, known: Sequence[str]) -> str:
    """Return advice on an option that does not exist."""
    if name in _OF_NUMBA:
        return f"leave it out: {_OF_NUMBA[name]}"
    import difflib  # only for this message

    folded = {one.replace("_", ""): one for one in known}
    near = difflib.get_close_matches(name.lower().replace("_", ""), list(folded), n=1, cutoff=0.75)
    return f"did you mean {folded[near[0]]}?" if near else f"the options are {', '.join(known)}"


def options_of(given: Mapping[str, Any], *, debug: bool = False, opt: bool = True) -> Options:
    """Return the options for jit's keyword arguments; raises ConfigError for an option that does not exist.

    debug, opt: the options of these names, if they are not given. Contradictions are a ConfigWarning.
    """
    known = {f.name for f in fields(Options)} - {"checks", "codegen"}
    given = {name: value for name, value in given.items() if name not in _EMPTY or value}
    if unknown := sorted(set(given) - known):
        raise ConfigError(f"jit({unknown[0]}=...): no such option; {_meant(unknown[0], sorted({*known, *_OF_JIT}))}")
    values = {name: value for name, value in given.items() if value is not None and (value or name not in _SEVERAL)}
    values.update({name: switch(name, values[name]) for name in _SWITCHES if name in values})
    _warn_of_contradictions(values)
    values = {"debug": debug, "opt": opt, **values}
    for name in (*_SEVERAL, "launch_bounds"):
        if name in values:
            values[name] = tuple(values[name]) if _is_several(values[name]) else (values[name],)
    if not values.get("max_registers", 1):
        del values["max_registers"]  # no limit, as for numba-cuda
    if "fastmath" in values:
        values["fastmath"] = _fastmath(values["fastmath"])
    if isinstance(carveout := values.get("shared_memory_carveout"), str):
        values["shared_memory_carveout"] = _carveout(carveout)
    if not isinstance(inline := values.get("inline", "never"), str) and not callable(inline):
        values["inline"] = "always" if switch("inline", inline) else "never"
    return Options(**values)


def _warn_of_contradictions(given: Mapping[str, Any]) -> None:
    if not given.get("debug"):
        return
    for name, words in (
        ("opt", "optimized debug code is not supported by CUDA, so a GPU's code is not optimized; give opt=False"),
        ("lineinfo", "debug and lineinfo are mutually exclusive, so only line information is kept"),
    ):
        if given.get(name):
            warn(ConfigWarning(f"jit(debug=True, {name}={given[name]!r}): {words}"))


def _fastmath(value: Any) -> bool | tuple[str, ...]:
    """Return the flags that are given in any way that numba takes: a set, a dict with switches, its own object."""
    value = flags if isinstance(flags := getattr(value, "flags", None), set) else value
    if not isinstance(value, str | Iterable) or not value:
        return switch("fastmath", value)
    names = [value] if isinstance(value, str) else [*value]
    if unknown := [name for name in names if name not in _FLAGS]:
        raise ConfigError(
            f"fastmath={shown(value)}: {unknown[0]!r} is not a flag; give True, False or {', '.join(_FLAGS)}"
        )
    chosen = {name for name in names if not isinstance(value, Mapping) or value[name]}
    return "fast" in chosen or tuple(sorted(chosen)) or False


def _text(value: Any) -> str:
    """Return an option's value for a key. For code in memory that is its kind; its bytes are a field of their own."""
    if isinstance(value, tuple):
        return "(" + "".join(f"{_text(item)}, " for item in value) + ")"
    return repr(value) if isinstance(value, str | int | None) else type(value).__qualname__


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _carveout(name: str) -> int:
    percents = {"default": -1, "maxl1": 0, "maxshared": 100}
    if name.lower() not in percents:
        raise ConfigError(
            f"shared_memory_carveout={shown(name)}: Invalid carveout value; "
            f"give a percentage, or one of {', '.join(percents)}"
        )
    return percents[name.lower()]


def _check_number(name: str, value: object, least: int, most: int) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most):
        raise ConfigError(f"{name}={shown(value)} must be between {least} and {most}, and a whole number")
