"""starting: how Python processes begin with gridjit's names, before the code of their programs."""

from __future__ import annotations

import os
from collections.abc import Mapping

# The module whose begin() a process calls, and what `gridjit run` says of itself to all processes of its program.
START, TOLD = "_GRIDJIT_START", "_GRIDJIT_RUN"
_PATH = "PYTHONPATH"


def variables(module: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a Python process and its child processes call a module's begin(environ)."""
    paths = (os.path.dirname(os.path.abspath(__file__)), environ.get(_PATH))
    return {START: module, _PATH: os.pathsep.join(filter(None, paths))}
