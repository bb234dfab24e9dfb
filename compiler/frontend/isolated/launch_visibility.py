"""Makes a compile's ConfigView the answer of numba.cuda.launchconfig, in this thread and for its duration.

numba-cuda keeps that answer in thread-local storage, which only its C dispatcher sets, around a call of a dispatcher's
`_compile_for_args`. So the compile runs inside such a call, on a dispatcher made for nothing else. The module that
gives the answer is told to ask the view first. So the question is recorded, and in a compile for no launch the answer
is None. This also holds for functions that a library imported from numba.cuda.launchconfig earlier.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.view.config import ConfigView, visible_config, while_current

Result = TypeVar("Result")

# The C dispatcher's settings: fold_args, argument names, defaults, can_fallback, has_stararg, exact_match_required.
_NOTHING_TO_MATCH = (False, (), (), False, False, False)

# Words of the errors where code asks for a launch and there is none; numba-cuda's own is a plain RuntimeError.
_NO_LAUNCH = ("No launch config set for this thread", "needs a launch configuration")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def needs_launch(view: ConfigView, error: Exception) -> bool:
    """Return whether a compile failed because it needs a launch and is not for one."""
    return any(words in said_by(error) for words in _NO_LAUNCH) and view.ahead_of_launch


def said_by(error: object) -> str:
    """Return an error's text, or its class if the text cannot be had: a program's own errors run its code.

    The text is plain: numba colors its errors for a terminal where colorama is installed.
    """
    try:
        return _COLORS.sub("", str(error))
    except Exception as error:
        let_through(error)
        return type(error).__name__


def hide_from_backend() -> None:
    """Hide the launch at the end of each function's compile, until that is undone.

    numba-cuda asks there about a mark that does not change the code.
    """
    from numba.cuda.compiler import CUDABackend

    def run_pass(self: Any, state: Any) -> Any:
        return while_current(None, original, self, state)

    original = replace(CUDABackend, "run_pass", run_pass)


def while_visible(view: ConfigView, call: Callable[..., Result], *given: Any) -> Result:
    """Return call(*given), with view current in gridjit.launchconfig and in numba.cuda.launchconfig."""
    numba_cuda()
    from numba.cuda.cext import _dispatcher
    from numba.cuda.typeconv.rules import default_type_manager

    class Around(_dispatcher.Dispatcher):  # type: ignore[misc]  # numba is untyped
        def _compile_for_args(self) -> Result:
            return call(*given)

    _ask_the_view()
    around = Around.__new__(Around)
    _dispatcher.Dispatcher.__init__(around, default_type_manager.get_pointer(), 0, *_NOTHING_TO_MATCH)
    return while_current(view, around._cuda_call, __numba_cuda_launch_config__=view)  # type: ignore[no-any-return]


@functools.cache
def _ask_the_view() -> None:
    """Have numba-cuda's C module tell this thread's view that it was asked; once in a process, for all threads.

    Its answers remain its own, except that the configuration of a compile for no launch becomes None.
    """
    from numba.cuda.cext import _dispatcher

    original = _dispatcher.get_current_launch_config

    def get_current_launch_config() -> Any:
        found = original()
        # Within our compile numba-cuda may launch a kernel of its own, whose compile sees its own launch.
        if found is not None and not isinstance(found, ConfigView):
            return found
        return visible_config()

    _dispatcher.get_current_launch_config = get_current_launch_config
