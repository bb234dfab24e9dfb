"""plain_signature: a signature's text read without numba, so that declared kernels are found without a compiler.

It reads numbers and arrays of them, of which nearly all texts consist; the other texts are for
compiler/frontend/bindings/signatures.py.
"""

from __future__ import annotations

import re

from gridjit.compiler.values.signature import SCALAR_CODES, ArgType, ArrayType, ScalarType, Signature

# numba's names; "bool" is Python's there.
_DTYPES = {"boolean" if name == "bool" else name: name for name in SCALAR_CODES}
_ARGUMENT = r"\s*(\w+)\s*(?:\[([\s:,1]*:[\s:,1]*)\])?\s*"
_WHOLE = rf"\s*void\s*\(({_ARGUMENT}(?:,{_ARGUMENT})*)\)\s*"


def plain_signature(text: str) -> Signature | None:
    """Return the signature that a text like "void(float32[:, ::1], int64)" stands for; None if numba has to read it."""
    whole = re.fullmatch(_WHOLE, text)
    if whole is None:
        return None
    arguments = [_argument(*found) for found in re.findall(rf"{_ARGUMENT}(?:,|$)", whole[1])]
    known = tuple(argument for argument in arguments if argument is not None)
    return Signature(arguments=known) if len(known) == len(arguments) else None


def _argument(name: str, axes: str) -> ArgType | None:
    if name not in _DTYPES:
        return None
    if not axes:
        return ScalarType(dtype=_DTYPES[name])
    steps = ["".join(step.split()) for step in axes.split(",")]
    if set(steps) - {":", "::1"} or steps.count("::1") > 1 or "::1" in steps[1:-1]:
        return None
    layout = "A" if "::1" not in steps else "C" if steps[-1] == "::1" else "F"
    return ArrayType(dtype=_DTYPES[name], ndim=len(steps), layout=layout)
