"""Signatures to numba's types and back."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.errors import ConfigError
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.signature import ArgType, ArrayType, ScalarType, Signature


def numba_arguments(signature: Signature) -> tuple[Any, ...]:
    """Return the numba types of a signature's arguments."""
    return tuple(_to_numba(argument) for argument in signature.arguments)


def parse_signature(signature: Any) -> Signature:
    """Return the Signature for whatever numba.cuda.jit takes as one.

    A string ("void(float32[::1], int64)"), a numba signature, a tuple of numba types, or a Signature.
    Raises ConfigError naming what is not understood.
    """
    if isinstance(signature, Signature):
        return signature
    numba_cuda()
    from numba.cuda import types
    from numba.cuda.core import sigutils

    try:
        arguments, result = sigutils.normalize_signature(signature)
    except Exception as error:  # numba raises many types here, NameError for an unknown type among them
        raise ConfigError(f"signature {signature!r} is not understood: {error}") from error
    if result not in (None, types.void):
        raise ConfigError(f"signature {signature!r}: a kernel returns nothing, not {result}")
    return Signature(arguments=tuple(_from_numba(argument) for argument in arguments))


def _to_numba(argument: ArgType) -> Any:
    numba_cuda()
    import numpy as np
    from numba.cuda import types
    from numba.cuda.np import numpy_support

    scalar = numpy_support.from_dtype(np.dtype(argument.dtype))
    if isinstance(argument, ScalarType):
        return scalar
    return types.Array(scalar, argument.ndim, argument.layout, readonly=argument.readonly, aligned=argument.aligned)


def _from_numba(argument: Any) -> ArgType:
    from numba.cuda import types
    from numba.cuda.np import numpy_support

    if isinstance(argument, types.Array):
        return ArrayType(
            dtype=numpy_support.as_dtype(argument.dtype).name,
            ndim=argument.ndim,
            layout=argument.layout,
            readonly=not argument.mutable,
            aligned=argument.aligned,
        )
    if isinstance(argument, types.Boolean | types.Integer | types.Float | types.Complex):
        return ScalarType(dtype=numpy_support.as_dtype(argument).name)
    raise ConfigError(f"argument type {argument} is not supported; use numbers and arrays of numbers")
