"""gridjit: a launch-config-aware JIT compiler for GPU kernels in Python, with a specialization cache.

Names are loaded on first use, so that a process pays only for what it uses.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

_SYSTEM = sys.platform  # by a name of its own: type checkers on other systems are to see what follows
if _SYSTEM != "linux":
    raise ImportError(f"gridjit runs on Linux, and this is {_SYSTEM}: on Windows, use WSL 2; macOS has no support yet")

if TYPE_CHECKING:
    from gridjit import cuda, griddepcontrol, launchconfig, static
    from gridjit.cache.errors import CacheWarning
    from gridjit.compiler.targets.ptx.nvrtc import LinkedCodeWarning
    from gridjit.compiler.targets.ptx.nvvm import NvvmError
    from gridjit.compiler.values.artifact import Artifact
    from gridjit.compiler.values.errors import (
        ArgumentError,
        CheckError,
        ClusterError,
        CompileDisabledError,
        CompileError,
        ConfigError,
        ConfigTypeError,
        ConfigWarning,
        CopyNeededError,
        DeviceError,
        GridjitError,
        HazardError,
        LaunchError,
        LaunchNeededError,
        LayoutError,
        LayoutIndexError,
        LayoutOverflowError,
        LimitError,
        LinkedSourceError,
        LinkError,
        OutsideKernelError,
        RaceError,
        ResidencyError,
        ShapeError,
        UninitializedError,
        UnsupportedError,
    )
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.installing import InstallWarning, install, uninstall
    from gridjit.runtime.args.direction import In, InOut, Out
    from gridjit.runtime.arrays.buffer import Buffer
    from gridjit.runtime.arrays.strided_view import StridedMemoryView
    from gridjit.runtime.device_function import DeviceFunction
    from gridjit.runtime.devices.errors import DriverError, KernelError, LostDeviceError
    from gridjit.runtime.environment.models import UnknownAttributeError
    from gridjit.runtime.environment.warnings import PerformanceWarning
    from gridjit.runtime.graph import Graph, graph
    from gridjit.runtime.jit import jit
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.memory.device_array import DeviceArray
    from gridjit.runtime.memory.layout import StridedLayout
    from gridjit.runtime.numba_names.for_one_signature import AlreadySpecializedError
    from gridjit.runtime.process.chosen import settings
    from gridjit.runtime.process.current import (
        create_event,
        create_stream,
        current_stream,
        default_stream,
        external_stream,
    )
    from gridjit.runtime.queues.streams import Event, Stream
    from gridjit.runtime.specializations.table import Specialization, SpecializationWarning

__version__ = "0.1.0"

_HOME = {
    "ArgumentError": "gridjit.compiler.values.errors",
    "CheckError": "gridjit.compiler.values.errors",
    "ClusterError": "gridjit.compiler.values.errors",
    "CompileDisabledError": "gridjit.compiler.values.errors",
    "CompileError": "gridjit.compiler.values.errors",
    "ConfigError": "gridjit.compiler.values.errors",
    "ConfigTypeError": "gridjit.compiler.values.errors",
    "ConfigWarning": "gridjit.compiler.values.errors",
    "CopyNeededError": "gridjit.compiler.values.errors",
    "DeviceError": "gridjit.compiler.values.errors",
    "GridjitError": "gridjit.compiler.values.errors",
    "HazardError": "gridjit.compiler.values.errors",
    "LaunchError": "gridjit.compiler.values.errors",
    "LaunchNeededError": "gridjit.compiler.values.errors",
    "LayoutError": "gridjit.compiler.values.errors",
    "LayoutIndexError": "gridjit.compiler.values.errors",
    "LayoutOverflowError": "gridjit.compiler.values.errors",
    "LimitError": "gridjit.compiler.values.errors",
    "LinkError": "gridjit.compiler.values.errors",
    "LinkedSourceError": "gridjit.compiler.values.errors",
    "OutsideKernelError": "gridjit.compiler.values.errors",
    "RaceError": "gridjit.compiler.values.errors",
    "ResidencyError": "gridjit.compiler.values.errors",
    "ShapeError": "gridjit.compiler.values.errors",
    "UninitializedError": "gridjit.compiler.values.errors",
    "UnsupportedError": "gridjit.compiler.values.errors",
    "AlreadySpecializedError": "gridjit.runtime.numba_names.for_one_signature",
    "CacheWarning": "gridjit.cache.errors",
    "DriverError": "gridjit.runtime.devices.errors",
    "KernelError": "gridjit.runtime.devices.errors",
    "LinkedCodeWarning": "gridjit.compiler.targets.ptx.nvrtc",
    "LostDeviceError": "gridjit.runtime.devices.errors",
    "NvvmError": "gridjit.compiler.targets.ptx.nvvm",
    "UnknownAttributeError": "gridjit.runtime.environment.models",
    "Artifact": "gridjit.compiler.values.artifact",
    "Buffer": "gridjit.runtime.arrays.buffer",
    "ConfiguredKernel": "gridjit.runtime.launch.configured",
    "DeviceFunction": "gridjit.runtime.device_function",
    "Graph": "gridjit.runtime.graph",
    "Kernel": "gridjit.runtime.kernel",
    "LaunchConfig": "gridjit.compiler.values.launch_config",
    "PerformanceWarning": "gridjit.runtime.environment.warnings",
    "Specialization": "gridjit.runtime.specializations.table",
    "SpecializationWarning": "gridjit.runtime.specializations.table",
    "DeviceArray": "gridjit.runtime.memory.device_array",
    "Event": "gridjit.runtime.queues.streams",
    "In": "gridjit.runtime.args.direction",
    "InOut": "gridjit.runtime.args.direction",
    "InstallWarning": "gridjit.installing",
    "Out": "gridjit.runtime.args.direction",
    "Stream": "gridjit.runtime.queues.streams",
    "StridedLayout": "gridjit.runtime.memory.layout",
    "StridedMemoryView": "gridjit.runtime.arrays.strided_view",
    "create_event": "gridjit.runtime.process.current",
    "create_stream": "gridjit.runtime.process.current",
    "current_stream": "gridjit.runtime.process.current",
    "default_stream": "gridjit.runtime.process.current",
    "external_stream": "gridjit.runtime.process.current",
    "graph": "gridjit.runtime.graph",
    "install": "gridjit.installing",
    "jit": "gridjit.runtime.jit",
    "settings": "gridjit.runtime.process.chosen",
    "uninstall": "gridjit.installing",
}
_MODULES = {name: f"gridjit.{name}" for name in ("cuda", "griddepcontrol", "launchconfig", "static")}

__all__ = [
    "AlreadySpecializedError",
    "ArgumentError",
    "Artifact",
    "Buffer",
    "CacheWarning",
    "CheckError",
    "ClusterError",
    "CompileDisabledError",
    "CompileError",
    "ConfigError",
    "ConfigTypeError",
    "ConfigWarning",
    "ConfiguredKernel",
    "CopyNeededError",
    "DeviceArray",
    "DeviceError",
    "DeviceFunction",
    "DriverError",
    "Event",
    "Graph",
    "GridjitError",
    "HazardError",
    "In",
    "InOut",
    "InstallWarning",
    "Kernel",
    "KernelError",
    "LaunchConfig",
    "LaunchError",
    "LaunchNeededError",
    "LayoutError",
    "LayoutIndexError",
    "LayoutOverflowError",
    "LimitError",
    "LinkError",
    "LinkedCodeWarning",
    "LinkedSourceError",
    "LostDeviceError",
    "NvvmError",
    "Out",
    "OutsideKernelError",
    "PerformanceWarning",
    "RaceError",
    "ResidencyError",
    "ShapeError",
    "Specialization",
    "SpecializationWarning",
    "Stream",
    "StridedLayout",
    "StridedMemoryView",
    "UninitializedError",
    "UnknownAttributeError",
    "UnsupportedError",
    "create_event",
    "create_stream",
    "cuda",
    "current_stream",
    "default_stream",
    "external_stream",
    "graph",
    "griddepcontrol",
    "install",
    "jit",
    "launchconfig",
    "settings",
    "static",
    "uninstall",
]


class _BeforeNumbaCuda:
    """A finder that gives numba-cuda's modules their needs as they are imported: NumPy's names, a GPU to launch."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        if name.startswith("numba.cuda.np") and "gridjit.gone_names" not in sys.modules:
            from gridjit.gone_names import give_gone_names

            give_gone_names()
        if name == "numba.cuda.dispatcher" and "gridjit.runtime.installed.forgotten" not in sys.modules:
            from gridjit.runtime.installed.forgotten import watching

            sys.meta_path.insert(sys.meta_path.index(cls) + 1, found := watching())
            return found.find_spec(name, path, target)
        return None


sys.meta_path.insert(0, _BeforeNumbaCuda)

# Type checkers read the imports above: what is not among them does not exist.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(_MODULES[name])
        if name not in _HOME:
            # With name and obj, Python says which name was meant.
            said = f"module 'gridjit' has no attribute {name!r}{_elsewhere(name)}"
            raise AttributeError(said, name=name, obj=sys.modules[__name__])
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


# What gridjit.launchconfig has, which is often looked for here.
_OF_LAUNCHCONFIG = ("capture_compile_config", "current_launch_config", "ensure_current_launch_config")


def _elsewhere(name: str) -> str:
    """Return where a name is that another module of gridjit's has; "" for all else. It imports none: who asks may."""
    if name in _OF_LAUNCHCONFIG:
        return f": it is gridjit.launchconfig.{name}"
    known = getattr(sys.modules.get("gridjit.cuda"), "__all__", ())
    return f": it is gridjit.cuda.{name}" if name in known else ""
