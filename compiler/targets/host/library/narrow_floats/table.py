"""table: the definition of a function of halves, bfloat16s or floats of 8 bits, by the symbol numba-cuda calls it by.

Such a symbol is that of a C++ function. It takes a pointer to what it returns and pointers to its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from gridjit.compiler.targets.host.ir.calls import FunctionCall, calls, split_arguments
from gridjit.compiler.targets.host.ir.intrinsics import OURS, declaration
from gridjit.compiler.targets.host.library.narrow_floats.arithmetic import BODIES, OPERATORS, THREE, TWO
from gridjit.compiler.targets.host.library.narrow_floats.builder import (
    BFLOAT,
    HALF,
    LIBRARY,
    Format,
    IRBuilder,
    added,
    narrowed,
)
from gridjit.compiler.targets.host.library.narrow_floats.conversions import WORDS, from_number, to_number
from gridjit.compiler.targets.host.library.narrow_floats.fp8_functions import fp8_function
from gridjit.compiler.targets.host.library.narrow_floats.fp8_routines import ROUTINES
from gridjit.compiler.targets.host.library.narrow_floats.mangled_names import INTEGERS, CppFunction, read_name
from gridjit.compiler.targets.host.library.narrow_floats.pairs import pair_function

_KINDS = {"__half": HALF, "__nv_bfloat16": BFLOAT}
_PAIR = "__nv_bfloat162"
_OWN = {"half": HALF, "bfloat16": BFLOAT}
_WORDS = {**WORDS, "float": "f", "double": "d"}
_MODES = ("", "_rn", "_rz", "_ru", "_rd")
# Conversions by their names: the 16-bit type's word, the other type's, and how the result is rounded.
_INTO = {f"__{word}2{own}{mode}": (own, word, mode[1:]) for word in _WORDS for own in _OWN for mode in _MODES}
_FROM = {f"__{own}2{word}{mode}": (own, word, mode[1:]) for word in _WORDS for own in _OWN for mode in _MODES}
_INTEGERS = ("short", "ushort")
_BITS = {name for own in _OWN for bits in _INTEGERS for name in (f"__{own}_as_{bits}", f"__{bits}_as_{own}")}
_LOADS = {f"__ld{how}" for how in ("g", "cg", "ca", "cs", "lu", "cv")}
_STORES = {f"__st{how}" for how in ("wb", "cg", "cs", "wt")}


# The mode of a shuffle, and the lane at which a segment ends: its first lane for upward shuffles alone.
_SHUFFLES = {
    "__shfl_sync": (0, 31),
    "__shfl_up_sync": (1, 0),
    "__shfl_down_sync": (2, 31),
    "__shfl_xor_sync": (3, 31),
}
_NAME = f"{OURS}shfl.sync.i32"
_MATHS, _OUTER = "__nv_", ("__nv_", "llvm.")
_SIZES = {"__half": 16, "__nv_bfloat16": 16, "__half2": 32, "__nv_bfloat162": 32}

DECLARED = f"{declaration(_NAME)}\n"


def definitions(symbols: Iterable[str]) -> str:
    """Return LLVM IR text that defines the known ones of symbols, and declares the functions that they call."""
    texts = [text for symbol in sorted(symbols) if (text := definition(symbol)) is not None]
    if not texts:
        return ""
    library = _library(texts)
    called = {one.name: one for text in texts for one in calls(text) if one.name.startswith(_OUTER)}
    declared = sorted(_declared(one) for name, one in called.items() if f"@{name}(" not in library)
    return "\n".join([library, *declared, *texts])


def _library(texts: Iterable[str]) -> str:
    """Return what definitions call, besides LLVM's and the C library's functions."""
    called = "".join(texts)
    more = {"@gridjit.fp8.": ROUTINES, "@gridjit.nvvm.": DECLARED}
    return "".join([LIBRARY, *(text for name, text in more.items() if name in called)])


def maths_of(symbols: Iterable[str]) -> set[str]:
    """Return the `__nv_` functions that the definitions of symbols call."""
    texts = (text for symbol in symbols if (text := definition(symbol)) is not None)
    return {one.name for text in texts for one in calls(text) if one.name.startswith(_MATHS)}


def _declared(call: FunctionCall) -> str:
    types = ", ".join(argument.split()[0] for argument in split_arguments(call.arguments))
    return f"declare {call.type} @{call.name}({types})"


@cache
def definition(symbol: str) -> str | None:
    """Return LLVM IR text that defines what a symbol names, or None if it is not a function that is known here."""
    named = read_name(symbol)
    code = IRBuilder()
    if named is None:
        return None
    if shuffle(code, named):
        return _defined(symbol, code, "rabcd", "convergent ")
    if fp8_function(code, named):
        return _defined(symbol, code, "rabc" if named.kind == "function" and "_to_bf16raw" not in symbol else "ra")
    return _defined(symbol, code, "rabc") if _WRITERS[named.kind](code, named) else None


def _defined(symbol: str, code: IRBuilder, pointers: str, attributes: str = "") -> str:
    """Return a definition of a function of pointers; with as many as its callers give, it is inlined at once."""
    parameters, body = ", ".join(f"ptr %{letter}" for letter in pointers), "\n".join(code.lines)
    return f'define i32 @"{symbol}"({parameters}) alwaysinline {attributes}nounwind {{\n{body}\n  ret i32 0\n}}\n'


def _function(code: IRBuilder, named: CppFunction) -> bool:
    name = named.name
    if name in _INTO:
        own, word, mode = _INTO[name]
        code.store("i16", from_number(code, _OWN[own], _WORDS[word], "%a", mode or "rn"), "%r")
    elif name in _FROM:
        own, word, mode = _FROM[name]
        code.store(*to_number(code, _OWN[own], _WORDS[word], code.load("i16", "%a"), mode or "rz"), "%r")
    elif name in _BITS:
        code.store("i16", code.load("i16", "%a"), "%r")
    elif name in _LOADS:
        code.store(_size(named), code.load(_size(named), code.load("ptr", "%a")), "%r")
    elif name in _STORES:
        code.store(_size(named), code.load(_size(named), "%b"), code.load("ptr", "%a"))
    elif named.owner in _KINDS and name == "atomicAdd":
        bits = added(code, _KINDS[named.owner], code.load("ptr", "%a"), code.load("i16", "%b"))
        code.store("i16", bits, "%r")
    elif named.owner in _KINDS and name in BODIES:
        return _scalar(code, _KINDS[named.owner], name)
    else:
        return pair_function(code, BFLOAT, name) if "bfloat16" in named.types + name else False
    return True


def _size(named: CppFunction) -> str:
    return "i32" if named.owner == _PAIR else "i16"


def _scalar(code: IRBuilder, kind: Format, name: str) -> bool:
    count = 3 if name in THREE else 2 if name in TWO else 1
    bits = [code.load("i16", pointer) for pointer in ("%a", "%b", "%c")[:count]]
    code.store(*BODIES[name](code, kind, bits), "%r")
    return True


def _operator(code: IRBuilder, named: CppFunction) -> bool:
    name = OPERATORS[named.name]
    if named.owner in _KINDS:
        return _scalar(code, _KINDS[named.owner], name)
    if named.owner != _PAIR:
        return False
    if named.name in ("eq", "ne", "gt", "lt", "ge", "le"):
        return pair_function(code, BFLOAT, name.replace("__h", "__hb", 1) + "2")
    return pair_function(code, BFLOAT, name + "2")


def _constructor(code: IRBuilder, named: CppFunction) -> bool:
    """Write a constructor: %a is what is made, %b and %c what it is made of."""
    kind, types = _KINDS.get(named.owner), named.types
    if types == "v":
        return kind is not None or named.owner == _PAIR
    if named.owner == _PAIR:
        return _made_pair(code, types)
    if kind is None:
        return False
    if types in INTEGERS or types in ("f", "d"):
        code.store("i16", from_number(code, kind, types, "%b"), "%a")
    elif types.endswith("_raw"):
        code.store("i16", code.load("i16", "%b"), "%a")
    elif (other := _KINDS.get(types.lstrip("0123456789"))) is not None:
        _, value = to_number(code, other, "d", code.load("i16", "%b"))
        code.store("i16", narrowed(code, kind, value), "%a")
    else:
        return False
    return True


def _made_pair(code: IRBuilder, types: str) -> bool:
    """Write the constructor of a pair: of two, or of another pair."""
    if "__nv_bfloat16S" in types:
        for offset, pointer in ((0, "%b"), (2, "%c")):
            code.store("i16", code.load("i16", pointer), code.at("%a", offset))
    else:
        code.store("i32", code.load("i32", "%b"), "%a")
    return True


def _conversion(code: IRBuilder, named: CppFunction) -> bool:
    """Write a conversion of %a into %r."""
    kind, to = _KINDS.get(named.owner), named.types
    if to.endswith("_raw"):
        size = "i32" if named.owner == _PAIR else "i16"
        code.store(size, code.load(size, "%a"), "%r")
    elif kind is not None and (to in INTEGERS or to in ("f", "d", "b")):
        code.store(*to_number(code, kind, to, code.load("i16", "%a")), "%r")
    else:
        return False
    return True


_WRITERS: dict[str, Callable[[IRBuilder, CppFunction], bool]] = {
    "function": _function,
    "operator": _operator,
    "constructor": _constructor,
    "conversion": _conversion,
}


def shuffle(code: IRBuilder, named: CppFunction) -> bool:
    """Write a shuffle by pointers to its result, mask, value, lane and width; return whether the symbol is one."""
    size = _SIZES.get(named.owner)
    if named.name not in _SHUFFLES or size is None:
        return False
    mode, end = _SHUFFLES[named.name]
    mask, value, lane, width = (
        code.load(kind, pointer)
        for kind, pointer in zip(("i32", f"i{size}", "i32", "i32"), ("%a", "%b", "%c", "%d"), strict=True)
    )
    wide = value if size == 32 else code.put(f"zext i16 {value} to i32")
    rest = code.put(f"sub i32 32, {width}")
    clamp = code.put(f"or i32 {code.put(f'shl i32 {rest}, 8')}, {end}")
    operands = ", ".join(f"i32 {one}" for one in (mask, str(mode), wide, lane, clamp))
    pair = code.put(f"call {{ i32, i1 }} @{_NAME}({operands})")
    got = code.put(f"extractvalue {{ i32, i1 }} {pair}, 0")
    code.store(f"i{size}", got if size == 32 else code.put(f"trunc i32 {got} to i16"), "%r")
    return True
