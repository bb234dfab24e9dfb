"""Print the findings of numba-cuda's contexts as JSON: `found.py HOW few-types|types|tables`.

HOW is one of at-once, completed, words, in-steps and without.

at-once: contexts as numba-cuda makes them. without: as gridjit does. completed: those, with the floats of 16 and 8 bits
after all. words: those with libdevice's functions and vector types. in-steps: with the words first, then all. types:
what the operators and functions that these floats have return for other arguments. few-types: what some of them return.
tables: all templates and implementations, in the order in which they are tried where that matters.
"""

from __future__ import annotations

import enum
import itertools
import json
import math
import operator
import re
import sys
import weakref
from typing import Any

import numpy as np

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.vocabulary import values_of_halves
from gridjit.compiler.frontend.isolated import isolation
from gridjit.compiler.frontend.narrow import contexts

NAMES = ["add", "sub", "mul", "truediv", "iadd", "isub", "imul", "itruediv", "eq", "ne", "lt", "le", "gt", "ge"]
FUNCTIONS = ["fabs", "log2", "trunc", "ceil", "floor", "sqrt", "log", "log10", "cos", "sin", "tanh", "exp"]


def main() -> None:
    """Make contexts, and print."""
    how, what = sys.argv[1:]
    numba_cuda()
    if how == "at-once":
        contexts.make_contexts()
        values_of_halves()
    else:
        for step in (how,) if how != "in-steps" else ("words", "completed"):
            isolation.import_all(words=step == "words", narrow_floats=step == "completed")
    assert ("numba.cuda.fp16" in sys.modules) == (how not in ("without", "words"))
    for name in ("libdevicedecl", "vector_types"):
        assert (f"numba.cuda.{name}" in sys.modules) == (how != "without")
    print(json.dumps(tables(how) if what == "tables" else types(NAMES[:: 4 if what == "few-types" else 1])))


def types(names: list[str]) -> dict[str, str]:
    """Return the signature that is found for each function and each pair of arguments, or the kind of error."""
    from numba.cuda import types as numbas
    from numba.cuda.descriptor import cuda_target
    from numba.cuda.np import numpy_support

    class Whole(enum.IntEnum):
        A = 1

    given = [
        numbas.boolean,
        *(getattr(numbas, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 64)),
        *(numbas.float32, numbas.float64, numbas.complex64, numbas.literal(3), numbas.literal(True)),
        *(numbas.NPTimedelta("s"), numbas.Array(numbas.int8, 1, "C"), numbas.UniTuple(numbas.int64, 2)),
        *(numbas.IntEnumMember(Whole, numbas.int64), numbas.Optional(numbas.int8)),
        numpy_support.from_dtype(np.dtype([("a", "f4")])),
    ]
    typing = cuda_target.typing_context

    def found(function: Any, *arguments: Any) -> str:
        try:
            return str(typing.resolve_function_type(typing._lookup_global(function), arguments, {}))
        except Exception as error:
            return type(error).__name__

    unary = [abs, operator.neg, operator.pos, *(getattr(math, name) for name in FUNCTIONS)]
    answers = {f"{function.__name__} {one}": found(function, one) for function in unary for one in given}
    for function in (getattr(operator, name) for name in names):
        pairs = itertools.product(given, repeat=2)
        answers |= {f"{function.__name__} {one} {other}": found(function, one, other) for one, other in pairs}
    return answers


def tables(how: str) -> dict[str, Any]:
    """Return the tables of both contexts.

    Of the implementations that fit, numba chooses the most specific, and the last of those for the same types.
    """
    from numba.cuda.descriptor import cuda_target

    typing, target = cuda_target.typing_context, cuda_target.target_context
    if how not in ("without", "words"):  # contexts that are asked outside of a compile complete themselves
        target.refresh()
    return {
        "globals": {
            told(key() if isinstance(key, weakref.ref) else key): list(map(template, getattr(found, "templates", ())))
            for key, found in typing._globals.items()
        },
        **{
            name: sorted([told(key), *(template(type(one)) for one in found)] for key, found in table.items())
            for name, table in (("functions", typing._functions), ("attributes", typing._attributes))
        },
        **{
            name: sorted([told(key), sorted(last(found))] for key, found in rows)
            for name, rows in (
                ("implementations", target._defns.items()),
                ("getattrs", target._getattrs.items()),
                ("casts", [(None, target._casts)]),
            )
        },
    }


def last(found: Any) -> list[list[str]]:
    """Return the types of each implementation, with the last implementation for them."""
    return [[told(types), made] for types, made in {types: told(made) for types, made in found.versions}.items()]


def told(what: object) -> str:
    """Return a text of a function, a class or a type that is the same in another process."""
    if isinstance(what, tuple):
        return f"({', '.join(map(told, what))})"
    name = getattr(what, "__qualname__", None) or repr(what)
    return re.sub(r" at 0x\w+", "", f"{type(what).__name__} {getattr(what, '__module__', '')}.{name}")


def template(found: Any) -> str:
    """Return a text of a template: its bases', and the function that it offers."""
    return f"{', '.join(map(told, found.__mro__[:3]))} {told(getattr(found, '_overload_func', None))}"


if __name__ == "__main__":
    main()
