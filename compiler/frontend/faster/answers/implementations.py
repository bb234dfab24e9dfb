"""implementations: what has no implementation is not looked for again, as long as none was registered since.

Whenever it reads an array's fields, numba-cuda first looks for an implementation that makes an array of it, which only
arrays of other kinds have: it tries all that there are, makes an error with a text, refreshes both contexts, tries all
once more and raises another error. Here contexts are refreshed as often; if that brings nothing, the error is raised.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# What was not found: the implementations that there were, how many, and numba-cuda's words. By the identity of these,
# and by the types of the arguments and of the result.
_absent: dict[tuple[int, Any, Any], tuple[Any, int, str]] = {}
_MOST = 1024


def _install(replace: Replace) -> None:
    from numba.cuda.core.base import BaseContext, OverloadSelector

    def get_function(context: Any, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if not _firstcall or type(fn) is not str or type(found := context._defns[fn]) is not OverloadSelector:
            return original(context, fn, sig, _firstcall)
        key = id(found), (asked := sig.as_function()).args, asked.return_type
        if (known := _absent.get(key)) is not None and known[0] is found:
            context.refresh()
            if context._defns[fn] is found and len(found.versions) == known[1]:
                raise NotImplementedError(known[2])
        try:
            return original(context, fn, sig)
        except NotImplementedError as error:
            if type(error) is NotImplementedError and context._defns[fn] is found:
                if len(_absent) >= _MOST:
                    _absent.clear()
                _absent[key] = found, len(found.versions), str(error)
            raise

    original = replace(BaseContext, "get_function", get_function)


PIECE = Piece(
    name="implementations",
    written_for={
        "numba.cuda.core.base:BaseContext.get_function": ("35 lines, e582f65bd47be7bb",),
        "numba.cuda.core.base:OverloadSelector.append": ("7 lines, ae97f075819073fe",),
        "numba.cuda.core.base:OverloadSelector.find": ("6 lines, 233157d21c605ee3",),
        "numba.cuda.core.base:OverloadSelector._find": ("6 lines, a8066003d6ff1659",),
        "numba.cuda.core.base:OverloadSelector._select_compatible": ("9 lines, 394bda3339ef5edf",),
        "numba.cuda.core.base:OverloadSelector._match_arglist": ("19 lines, c3b6f1fb30f750dd",),
        "numba.cuda.core.base:OverloadSelector._match": ("14 lines, 55ee46135f007609",),
    },
    install=_install,
)
