"""watching: calls a function with a module as soon as it is imported, whoever imports it."""

from __future__ import annotations

import contextlib
import importlib.abc
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec
from types import ModuleType

Then = Callable[[ModuleType], None]


class Watching(importlib.abc.MetaPathFinder):
    """Finds modules by other finders; calls the function of `then` for a module's name once the module is imported.

    then: None for a module that is not watched for. around: a context for the import of such a module.
    """

    def __init__(
        self,
        then: Callable[[str], Then | None],
        around: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._then = then
        self._around = around

    def begin(self) -> None:
        """Watch from now on; more than once does no harm."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Stop watching."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return another finder's spec, followed by the watcher's function."""
        then = self._then(name)
        if then is None:
            return None
        # Only the finders behind it: otherwise, two that watch for one module would ask each other without end.
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else ():
            if (spec := finder.find_spec(name, path, target)) is not None:
                spec.loader = _Followed(spec.loader, then, self._around)
                return spec
        return None


class _Followed(importlib.abc.Loader):
    """Loads as another loader does, then calls a function with the module."""

    def __init__(
        self, loader: importlib.abc.Loader | None, then: Then, around: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._loader = loader
        self._then = then
        self._around = around

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the other loader's module."""
        return None if self._loader is None else self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then call the function."""
        if self._loader is not None:
            with self._around():
                self._loader.exec_module(module)
        self._then(module)
