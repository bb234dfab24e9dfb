"""The kernels of modules and of scripts that the command line names."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from gridjit.commands.scripts import is_script, line_of, script
from gridjit.commands.values import parts_of
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.runtime.environment.misspelt import near_names
from gridjit.runtime.environment.settings import ProcessSettings, settings, use_settings
from gridjit.runtime.kernel import Kernel


def find_kernels(name: str) -> dict[str, Kernel]:
    """Return the kernels that "module" or "module:kernel" names, by "module:kernel"; raises GridjitError if none.

    The module may be a script, "script.py".
    """
    module_name, path = parts_of(name)
    use_settings(settings(), owner=ProcessSettings.owner or "command")
    module = script(module_name) if is_script(module_name) else import_module(module_name)
    if path:
        return {name: _attribute(module, path, name)}
    found = {f"{module_name}:{name}": kernel for name, kernel in _kernels_of(module)}
    if not found:
        raise GridjitError(f"{module_name} does not define any kernels at its top level")
    return found


def find_kernel(name: str) -> Kernel:
    """Return the kernel that "module:kernel" names; raises GridjitError if there is none."""
    if not all(parts_of(name)):
        raise ConfigError(f"{name}: give module:kernel or script.py:kernel, such as stats.rows:scale")
    (kernel,) = find_kernels(name).values()
    return kernel


def import_module(name: str) -> Any:
    """Import a module as `python -m` would find it, the current folder first; raises GridjitError."""
    with contextlib.suppress(FileNotFoundError):  # the current folder may be gone
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except Exception as error:  # a user's module may raise anything
        said = f"module {name} cannot be imported: {type(error).__name__}: {error}{line_of(error)}"
        raise GridjitError(said) from error


def _attribute(module: Any, path: str, name: str) -> Kernel:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, Kernel):
        known = sorted(kernel for kernel, _ in _kernels_of(module))
        near = near_names(path, known)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        where = name.partition(":")[0]
        raise GridjitError(f"{name} is not a kernel; {meant}kernels of {where}: {', '.join(known) or 'none'}")
    return value


def _kernels_of(module: Any) -> Iterator[tuple[str, Kernel]]:
    """Yield the kernels that a module defines, without imported kernels."""
    for name, value in vars(module).items():
        if isinstance(value, Kernel) and value.py_func.__module__ == module.__name__:
            yield name, value
