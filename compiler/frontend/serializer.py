"""numba's serializer: functions as bytes, by their code and what they refer to, and back."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda


def dumps(value: Any) -> bytes:
    """Return value as bytes; raises PicklingError or TypeError if it means nothing elsewhere, as a device array."""
    numba_cuda()
    from numba.cuda import serialize

    data: bytes = serialize.dumps(value)
    return data


def loads(data: bytes) -> Any:
    """Return the value that bytes hold. They must be trusted: they may run any code."""
    numba_cuda()
    from numba.cuda import serialize

    return serialize.loads(data)
