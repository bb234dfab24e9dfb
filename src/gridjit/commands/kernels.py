"""How kernels, launches and targets are named on the command line, and what the names mean."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from gridjit.compiler.errors import ConfigError, GridjitError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.runtime.kernel import Kernel

_TARGET = re.compile(r"host|sm_\d{2,3}[af]?")
_FIELDS = {"grid": "griddim", "block": "blockdim", "griddim": "griddim", "blockdim": "blockdim"}


def find_kernels(name: str) -> dict[str, Kernel]:
    """Return the kernels that "module" or "module:kernel" names, by "module:kernel"; raises GridjitError if none."""
    module_name, _, path = name.partition(":")
    module = import_module(module_name)
    if path:
        return {name: _attribute(module, path, name)}
    found = {f"{module_name}:{name}": kernel for name, kernel in _kernels_of(module)}
    if not found:
        raise GridjitError(f"{module_name} does not define any kernels at its top level")
    return found


def find_kernel(name: str) -> Kernel:
    """Return the kernel that "module:kernel" names; raises GridjitError if there is none."""
    if ":" not in name:
        raise ConfigError(f"{name}: give module:kernel, such as stats.rows:scale")
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
        raise GridjitError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error


def parse_config(text: str) -> LaunchConfig:
    """Return the launch that "grid=4,block=16x16,sharedmem=1024" describes; raises ConfigError."""
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        label = _FIELDS.get(name, name)
        if label in fields:
            raise ConfigError(f"--config {text}: {name} is given twice")
        fields[label] = _field(text, label, value)
    if missing := {"griddim", "blockdim"} - set(fields):
        raise ConfigError(f"--config {text}: {' and '.join(sorted(missing))} missing; write grid=4,block=128")
    return LaunchConfig.of(**fields)


def parse_targets(text: str | None) -> list[str | None]:
    """Return the targets of "sm_80,host"; [None], this machine's own, for nothing. Raises ConfigError."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if not _TARGET.fullmatch(name):
            raise ConfigError(f"--target {name}: give 'host' or an architecture such as 'sm_90'")
    return list(dict.fromkeys(names)) or [None]


def _field(text: str, label: str, value: str) -> Any:
    try:
        match label:
            case "griddim" | "blockdim" | "cluster":
                return tuple(int(dim) for dim in value.split("x"))
            case "sharedmem":
                return int(value)
            case "cooperative":
                return {"0": False, "1": True}[value]
    except (ValueError, KeyError):
        raise ConfigError(f"--config {text}: {value!r} is not a value for {label}") from None
    raise ConfigError(f"--config {text}: fields are grid, block, sharedmem, cluster, cooperative; not {label!r}")


def _attribute(module: Any, path: str, name: str) -> Kernel:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    if not isinstance(value, Kernel):
        known = ", ".join(sorted(name for name, _ in _kernels_of(module))) or "none"
        raise GridjitError(f"{name} is not a kernel; kernels of {module.__name__}: {known}")
    return value


def _kernels_of(module: Any) -> Iterator[tuple[str, Kernel]]:
    """Yield the kernels that a module defines, without those it only imports."""
    for name, value in vars(module).items():
        if isinstance(value, Kernel) and value.py_func.__module__ == module.__name__:
            yield name, value
