"""Python's own start, in interpreters of a run for a named processor (tests/processors.py): they make code for it, too.

Nothing is imported here that a plain start does not import.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

_NAME = "gridjit.compiler.targets.host.llvm.libllvm"


class _Finder:
    """Finds the module that asks LLVM for this computer's processor, and puts other answers there."""

    def find_spec(self, name: str, *_: object) -> Any:
        if name != _NAME:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec: Any = find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            name, features = os.environ["TESTS_PROCESSOR"], os.environ["TESTS_PROCESSOR_FEATURES"]
            module.__dict__.update(cpu_name=lambda: name, cpu_features=lambda: features)

        spec.loader.exec_module = exec_module
        return spec


if "TESTS_PROCESSOR_FEATURES" in os.environ:
    sys.meta_path.insert(0, _Finder())
