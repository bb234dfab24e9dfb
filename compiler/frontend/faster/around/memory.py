"""memory: whether variables have to be in memory for debuggers is asked of the flags' own table.

numba-cuda asks whenever it reads, stores or ends a variable, through two properties that go through the flags' options.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.flags import CUDAFlags
    from numba.cuda.lowering import Lower

    default = CUDAFlags.options["debuginfo"].default

    def is_in_memory(lower: Any) -> Any:
        flags = lower.flags
        if type(flags) is CUDAFlags and not (found := flags._values.get("debuginfo", default)):
            return found
        return original.fget(lower)

    original = replace(Lower, "_disable_sroa_like_opt", property(is_in_memory))


PIECE = Piece(
    name="memory",
    written_for={
        "numba.cuda.lowering:Lower._disable_sroa_like_opt": ("10 lines, 3606c362621fb82d",),
        "numba.cuda.core.targetconfig:_MetaTargetConfig.__init__": ("32 lines, 8a38ed1bc01787c9",),
    },
    install=_install,
)
