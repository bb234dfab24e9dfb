"""gone_names: NumPy 2.5 as numba-cuda takes it: with names that are gone, for numba-cuda alone, and without a warning.

numba-cuda cannot be imported whole beside NumPy 2.5 otherwise, whoever imports it: gridjit, or an extension.
"""

from __future__ import annotations

import sys
from typing import Any

# Each with the name of the function that has taken its place.
_GONE = {"row_stack": "vstack"}
# The modules of numba-cuda that use NumPy.
_USERS = "numba.cuda.np"


_done: list[bool] = []


class _BeforeTheirImport:
    """A finder that finds nothing: it sees numba-cuda's modules come."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith(_USERS) and not _done:
            _done.append(True)
            _give_names()


def give_gone_names() -> None:
    """Have NumPy answer numba-cuda's modules for what is gone; for everybody else NumPy stays as it is."""
    if _BeforeTheirImport not in sys.meta_path:
        sys.meta_path.insert(0, _BeforeTheirImport)  # type: ignore[arg-type]


def _give_names() -> None:
    import warnings

    import numpy as np

    original = vars(np).get("__getattr__")
    if original is None or all(map(vars(np).__contains__, _GONE)):
        return
    # It makes a timedelta without a unit while it is imported.
    warnings.filterwarnings("ignore", "The 'generic' unit", DeprecationWarning, _USERS.replace(".", r"\."))

    def __getattr__(name: str) -> Any:
        if name in _GONE and str(sys._getframe(1).f_globals.get("__name__")).startswith(_USERS):
            return getattr(np, _GONE[name])
        return original(name)

    np.__getattr__ = __getattr__
