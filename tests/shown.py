"""shown: the files whose frames a traceback shows."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import CodeType


def files_of(error: BaseException) -> list[str]:
    """Return the files of an error's frames."""
    return [code.co_filename for code in _codes_of(error)]


def users_files(error: BaseException) -> set[str]:
    """Return the files of an error's frames, all of which should be the user's.

    Before Python 3.11, the frame of who trims a traceback and raises the error again stays in it: it is left out.
    """
    stays = sys.version_info < (3, 11)
    return {code.co_filename for code in _codes_of(error) if not (stays and "trim" in code.co_names)}


def _codes_of(error: BaseException) -> Iterator[CodeType]:
    return (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
