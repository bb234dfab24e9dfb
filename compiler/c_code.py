"""Machine code that is written in C: the LLVM IR beside it, which `make native` made of it.

Numbers that only a process knows, as its interpreter's offsets and its machine's constants, are constants that C
declares and does not define. They are put into the text here, and LLVM sees them as if C had known them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def ir_text(module: str, name: str, constants: Mapping[str, int]) -> str:
    """Return the text of c/<name>.ll beside a module, where these constants have values."""
    text = _beside(module, os.path.join("c", f"{name}.ll"))
    for constant, value in constants.items():
        declared = f"@{constant} = external constant i64\n"
        text = text.replace(declared, f"@{constant} = internal constant i64 {int(value)}\n")
    return text


def _beside(module: str, name: str) -> str:
    """Return the text of a file beside a module, from a folder or an archive."""
    owner = sys.modules[module]
    data: bytes = owner.__loader__.get_data(os.path.join(os.path.dirname(owner.__file__ or ""), name))  # type: ignore[union-attr]
    return data.decode()
