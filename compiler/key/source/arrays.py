"""Texts of NumPy's values, made without importing NumPy: whoever made one has it. Others raise OpaqueValue."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from gridjit.compiler.key.source.code import digest_fields
from gridjit.compiler.key.source.opaque import OpaqueValue, unseen


def numpy_scalar_text(value: Any) -> str:
    """Return the text of a NumPy scalar: its type, and its bytes beside what people read."""
    if value.dtype.hasobject:
        raise unseen(value)
    return f"numpy {value.dtype!r} {value} 0x{value.tobytes().hex()}"


# Digests of arrays that nobody can write to, by identity.
_frozen_arrays: dict[int, tuple[weakref.ref[Any], tuple[object, ...], str]] = {}


def array_text(value: Any) -> str:
    """Return the text of an array: element type, shape, layout, access and a digest of its content as it is now."""
    if value.dtype.hasobject or type(value).__name__ not in ("ndarray", "memmap", "recarray"):
        raise unseen(value)
    flags = value.flags
    order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    both = order == "C" and flags.f_contiguous
    access = "" if flags.writeable else " readonly"
    layout = f"{'CF' if both else order}{'' if flags.aligned else ' unaligned'}{access}"
    # Strides of extents of one are anything, and a kernel may read them; others follow from the layout, or are made to.
    free = order != "A" and min(value.shape, default=2) < 2
    strides = f" strides {value.strides}" if free else ""
    return f"{type(value).__name__} {value.dtype!r} {value.shape} {layout}{strides} {_array_digest(value)}"


def _array_digest(value: Any) -> str:
    known = _frozen_arrays.get(id(value))
    shape = (value.shape, value.strides, value.dtype.str)
    if known is not None and known[0]() is value and known[1] == shape and _is_frozen(value):
        return known[2]
    digest = content_digest(value)
    if _is_frozen(value):
        identity = id(value)
        _frozen_arrays[identity] = (weakref.ref(value, lambda _: _frozen_arrays.pop(identity, None)), shape, digest)
    return digest


def content_digest(value: Any) -> str:
    """Return the digest of an array's bytes as they are now."""
    numpy: Any = sys.modules["numpy"]
    # In the order of memory where that copies nothing; the layout is part of the text beside the digest.
    flat = value.view(numpy.ndarray).ravel("F" if value.flags.fnc else "C")
    return digest_fields([memoryview(flat.view("u1")) if flat.nbytes else b""])


def _is_frozen(value: Any) -> bool:
    # Only bytes never change. Whatever else is read-only today was written through an older view, or will be.
    while (base := getattr(value, "base", None)) is not None:
        value = base
    return type(value) is bytes


def ufunc_text(value: Any) -> str:
    """Return the name of one of NumPy's own universal functions."""
    numpy: Any = sys.modules["numpy"]
    name = value.__name__
    if getattr(numpy, name, None) is not value:
        raise OpaqueValue(f"is the ufunc {name!r} from outside NumPy, whose code gridjit cannot see")
    return f"ufunc {name}"
