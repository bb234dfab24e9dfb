"""c_parser: numba imports cffi without cffi's C parser, which is imported only when it parses something.

numba-cuda's contexts load numba's support of cffi, whether a kernel uses it or not. Most of the time to import cffi
goes into pycparser, whose lexer compiles regular expressions: a twentieth of a small kernel's first compile.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_PARSER = "pycparser"


class _Later(ModuleType):
    """Stands for pycparser in the one module that was imported meanwhile; whatever is asked of it is pycparser's."""

    def __getattr__(self, name: str) -> Any:
        _take_away(self)
        return getattr(importlib.import_module(_PARSER), name)


@contextlib.contextmanager
def parser_of_c_left_for_later() -> Iterator[None]:
    """Meanwhile, have cffi imported without pycparser, unless the process has either, or pycparser is missing."""
    if {_PARSER, "cffi.cparser"} & sys.modules.keys() or find_spec(_PARSER) is None:
        yield
        return
    later = sys.modules[_PARSER] = _Later(_PARSER)
    try:
        yield
    finally:
        _take_away(later)


def _take_away(later: ModuleType) -> None:
    if sys.modules.get(_PARSER) is later:
        del sys.modules[_PARSER]
