"""lowered: a kernel through the front end, ready for the host's code generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArgType, ArrayType, ScalarType, Signature
from gridjit.compiler.values.target import Lowered
from gridjit.compiler.view.config import ConfigView


def argument(text: str) -> ArgType:
    """Return "float32[2]" as an array of two dimensions, "float32[2]A" as one of any strides, "int64" as a number."""
    dtype, bracket, rest = text.partition("[")
    ndim, _, layout = rest.partition("]")
    return ArrayType(dtype=dtype, ndim=int(ndim), layout=layout or "C") if bracket else ScalarType(dtype=dtype)


@pytest.fixture
def lowered() -> Callable[..., Lowered]:
    """Return lowered(function, *types, **options)."""

    def of(function: Callable[..., Any], *types: str, **options: Any) -> Lowered:
        signature = Signature(arguments=tuple(argument(text) for text in types))
        return lower(function, signature, Options(**options), host_target(), (), ConfigView(None))[0]

    return of
