"""gone_names: NumPy 2.5 as numba-cuda takes it: with names that are gone, for numba-cuda alone, and without a warning.

numba-cuda cannot be imported whole beside NumPy 2.5 otherwise, whoever imports it: gridjit, or an extension.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

# Each with the name of the function that has taken its place.
_GONE = {"row_stack": "vstack"}
# The modules of numba-cuda that use NumPy.
_USERS = "numba.cuda.np"


def give_gone_names() -> None:
    """Make NumPy answer numba-cuda's modules for names that are gone; for all other modules NumPy stays as it is."""
    original = vars(np).get("__getattr__")
    if original is None or all(map(vars(np).__contains__, _GONE)):
        return
    # It makes a timedelta without a unit while it is imported.
    warnings.filterwarnings("ignore", "The 'generic' unit", DeprecationWarning, _USERS.replace(".", r"\."))

    def answer(name: str) -> Any:
        if name in _GONE and str(sys._getframe(1).f_globals.get("__name__")).startswith(_USERS):
            return getattr(np, _GONE[name])
        return original(name)

    vars(np)["__getattr__"] = answer
