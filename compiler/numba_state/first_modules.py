"""first_modules: numba's modules from before gridjit's first compile, which every compiling process has.

Other modules are in some processes only: compiles import some, and contexts are made without others.
"""

from __future__ import annotations

import sys

# How the names of numba's and llvmlite's modules begin.
FRONT_END = ("numba.", "llvmlite.")
# The modules of floats of 16 and 8 bits, as numba-cuda's contexts name them, in the order in which they install them.
NARROW_FLOATS = ("fp16", "bf16", "fp8")
# How the names of all modules begin that are imported with the words of decision 35, and hardly without.
WORDS = (
    *("numba.cuda.libdevicedecl", "numba.cuda.vector_types"),
    *("numba.cuda.np.polynomial", "numba.cuda.np.arraymath", "numba.cuda.np.linalg"),
)
# The same for all that contexts are made without.
LEFT_OUT = (*(f"numba.cuda.{name}" for name in NARROW_FLOATS), "numba.cuda._internal", "numba.types", *WORDS)


def is_first(module: str) -> bool:
    """Return whether a module was there before any compile."""
    return module in _first


def note_first_modules() -> bool:
    """Note which of numba's modules are there, unless a compile began before; return whether none did."""
    if _first:
        return False
    names = [name for name in [*sys.modules] if isinstance(name, str) and name.startswith(FRONT_END)]
    _first.update([name for name in names if not name.startswith(LEFT_OUT)])
    # A program may have changed the modules of words that it imported. The floats import the vector types.
    imported = (name for name in WORDS if name != "numba.cuda.vector_types" and name in sys.modules)
    _first.update(name for name in imported if name not in _imported_here)
    return True


def note_what_is_not_imported() -> None:
    """Note which modules of words no program imported until now; some are about to be imported for contexts."""
    _imported_here.update(name for name in WORDS if name not in sys.modules)


_first: set[str] = set()
# The modules of words that no program imported first.
_imported_here: set[str] = set()
