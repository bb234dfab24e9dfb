"""Settings of numba-cuda that alter a compile's code or messages, as labelled values, without the defaults.

They come from the environment, from a `.numba_config.yaml` in the working directory, and from assignments to
`numba.config`; the result is the same before numba is imported as after it. An unknown variable of numba's counts as
it stands: only variables that are listed here as changing no code do not.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from gridjit.base.values import dataclass
from gridjit.compiler.source.files import absolute, file_digest

CONFIG_FILE = ".numba_config.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of numba-cuda.

    variable: its environment variable; attribute: its name in numba.config, "" if assigning to that has no effect.
    parse: turns its text into numba's value; default: its value when not set.
    in_file: whether the configuration file can set it; some are read from the environment alone.
    """

    variable: str
    attribute: str
    parse: Callable[[Any], object]
    default: object
    in_file: bool = True


def _flag(text: str) -> bool:
    return text.lower() in {"1", "true"}


def _level(text: str) -> int:
    if text not in ("0", "1", "2", "3", "max"):
        raise ValueError(text)
    return 3 if text == "max" else int(text)


def _capability(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    if match is None:
        raise ValueError(text)
    return int(match[1]), int(match[2])


SETTINGS = (
    Setting(variable="NUMBA_OPT", attribute="OPT", parse=_level, default=3),
    Setting(variable="NUMBA_BOUNDSCHECK", attribute="BOUNDSCHECK", parse=int, default=None),
    Setting(variable="NUMBA_CUDA_DEBUGINFO", attribute="CUDA_DEBUGINFO_DEFAULT", parse=int, default=0),
    Setting(variable="NUMBA_DEBUG_NRT", attribute="DEBUG_NRT", parse=int, default=0),
    # Compiles warn: code compiled without it was not checked.
    Setting(variable="NUMBA_ALWAYS_WARN_UNINIT_VAR", attribute="ALWAYS_WARN_UNINIT_VAR", parse=int, default=0),
    # Puts prints into the generated code.
    Setting(variable="NUMBA_DEBUG_JIT", attribute="DEBUG_JIT", parse=int, default=0),
    Setting(variable="NUMBA_ENABLE_CUDASIM", attribute="ENABLE_CUDASIM", parse=int, default=0),
    Setting(variable="NUMBA_FORCE_CUDA_CC", attribute="FORCE_CUDA_CC", parse=_capability, default=None),
    # Where CUDA C++ files that are linked into a kernel find their headers.
    Setting(variable="NUMBA_CUDA_INCLUDE_PATH", attribute="", parse=str, default=None),
    Setting(
        variable="NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS",
        attribute="CUDA_NVRTC_EXTRA_SEARCH_PATHS",
        parse=str,
        default="",
        in_file=False,
    ),
    Setting(variable="NUMBA_CUDA_ENABLE_NRT", attribute="CUDA_ENABLE_NRT", parse=_flag, default=False, in_file=False),
    Setting(variable="NUMBA_CUDA_NRT_STATS", attribute="CUDA_NRT_STATS", parse=_flag, default=False, in_file=False),
)


# Dumps that numba prints while it compiles: the variables' names less "NUMBA_" -> the names in numba.config.
_DUMPS = {
    **{name: name for name in ("DEBUG", "DEBUG_FRONTEND", "DEBUG_TYPEINFER", "DUMP_BYTECODE", "DUMP_CFG", "DUMP_IR")},
    **{name: name for name in ("DUMP_SSA", "DUMP_LLVM", "DUMP_ASSEMBLY")},
    "DUMP_ANNOTATION": "ANNOTATE",
}


# Settings that a module of numba-cuda makes on import, where nobody has assigned them: their names in numba.config,
# and their names in that module. No variable sets them.
_MADE_IN = "numba.cuda.debuginfo"
_MADE = {
    "CUDA_DEBUG_POLY": "DEBUG_POLY_SUPPORTED",
    "CUDA_DEBUG_POLY_USE_TYPED_CONST": "DEBUG_POLY_USE_TYPED_CONST",
}
# Settings that do not affect the code that numba-cuda makes, by the names less "NUMBA_": of the look of messages and
# dumps, the driver and its memory, files of numba's own cache, and numba's compiler for CPUs.
_OF_NO_CODE = frozenset(
    (
        *("DEVELOPER_MODE", "FULL_TRACEBACKS", "SHOW_HELP", "COLOR_SCHEME", "HIGHLIGHT_DUMPS", "DUMP_HTML", "DIFF_IR"),
        *("DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "DISABLE_PERFORMANCE_WARNINGS", "CUDA_LOW_OCCUPANCY_WARNINGS"),
        *("CUDA_WARN_ON_IMPLICIT_COPY", "TRACE", "CHROME_TRACE", "LLVM_PASS_TIMINGS", "JIT_COVERAGE", "DUMP_FUNC_OPT"),
        *("DUMP_OPTIMIZED", "DEBUG_CACHE", "DEBUG_INLINE_CLOSURE", "DEBUG_ARRAY_OPT", "DEBUG_ARRAY_OPT_STATS"),
        *("DEBUG_PRINT_AFTER", "DEBUG_PRINT_BEFORE", "DEBUG_PRINT_WRAP", "CACHE_DIR", "CACHE_LOCATOR_CLASSES"),
        *("FUNCTION_CACHE_SIZE", "DISABLE_CUDA", "CUDA_DRIVER", "CUDA_LOG_LEVEL", "CUDA_LOG_API_ARGS", "CUDA_LOG_SIZE"),
        *("CUDA_VERBOSE_JIT_LOG", "CUDA_DEALLOCS_COUNT", "CUDA_DEALLOCS_RATIO", "CUDA_ARRAY_INTERFACE_SYNC"),
        *("CUDA_MEMORY_MANAGER", "CUDA_PER_THREAD_DEFAULT_STREAM", "CUDA_USE_NVIDIA_BINDING"),
        # A kernel's target holds its architecture.
        *("CUDA_DEFAULT_PTX_CC", "NUM_THREADS", "THREADING_LAYER", "THREADING_LAYER_PRIORITY", "CPU_NAME"),
        *("CPU_FEATURES", "ENABLE_AVX", "DISABLE_INTEL_SVML", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
        *(
            "PARALLEL_DIAGNOSTICS",
            "ENABLE_PROFILING",
            "ENABLE_SYS_MONITORING",
            "USE_LLVMLITE_MEMORY_MANAGER",
            "NRT_STATS",
        ),
    )
)
# How llvmlite writes pointers.
_LLVMLITE = "LLVMLITE_ENABLE_IR_LAYER_TYPED_POINTERS"


def affects_code(attribute: str) -> bool:
    """Return whether a name in numba.config may affect the code that numba-cuda makes."""
    return attribute.removeprefix("NUMBA_") not in _OF_NO_CODE and not attribute.endswith("NUM_THREADS")


def dumps(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Return the names in numba.config of the dumps to print while kernels are compiled."""
    configured = _config_file()
    return frozenset(attribute for name, attribute in _DUMPS.items() if _is_on(name, attribute, 0, environ, configured))


def is_on(name: str, attribute: str = "", *, default: int = 0, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether one of numba's switches is on now: its variable less "NUMBA_", its name in numba.config."""
    return _is_on(name, attribute or name, default, environ, _config_file())


def _is_on(name: str, attribute: str, default: int, environ: Mapping[str, str], configured: Mapping[str, Any]) -> bool:
    said = environ.get(f"NUMBA_{name}", configured.get(f"NUMBA_{name}", default))
    return getattr(sys.modules.get("numba.core.config"), attribute, said) not in (None, "", "0", 0)


def is_asked_for(name: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment itself turns one of numba's switches on, regardless of its default."""
    return environ.get(f"NUMBA_{name}", "0") not in ("", "0")


def environment(environ: Mapping[str, str] = os.environ) -> tuple[tuple[str, str], ...]:
    """Return (variable, value) of each setting that is not at its default, read again at each call."""
    configured = _config_file()
    config = sys.modules.get("numba.core.config")
    fields = []
    for setting in SETTINGS:
        declared = _declared(setting, environ, configured)
        # Attributes that numba-cuda adds to the configuration are missing until it is imported.
        assigned = getattr(config, setting.attribute, declared) if setting.attribute else declared
        if assigned != declared:
            fields.append((setting.variable, f"{declared!r}, numba.config says {assigned!r}"))
        elif declared != setting.default:
            fields.append((setting.variable, repr(declared)))
    return (*fields, *_assigned(config), *_unlisted(environ, configured))


def _assigned(config: Any) -> Iterator[tuple[str, str]]:
    """Yield numba-cuda's own settings that were assigned another value than numba-cuda makes."""
    found = [name for name in _MADE if hasattr(config, name)]
    if found and _MADE_IN not in sys.modules:
        # Somebody has assigned it ahead of numba-cuda; whether it makes the same, that has to be asked.
        from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

        numba_cuda()
    for name in found:
        if (value := getattr(config, name)) != getattr(sys.modules.get(_MADE_IN), _MADE[name], None):
            yield f"numba.config.{name}", repr(value)


def _unlisted(environ: Mapping[str, str], configured: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the unknown settings and their texts as they stand."""
    # os.environ decodes each name that it yields; below, all names are at hand.
    names: Iterable[Any] = getattr(environ, "_data", environ)
    prefix: Any = "NUMBA_" if names is environ else b"NUMBA_"
    found = [os.fsdecode(name) for name in names if name.startswith(prefix)]
    said = {*found, *configured} - _known_variables() if found or configured else set()
    yield from ((name, repr(environ.get(name, configured.get(name)))) for name in sorted(said))
    if (text := environ.get(_LLVMLITE)) is not None:
        yield _LLVMLITE, repr(text)


@cache
def _known_variables() -> frozenset[str]:
    settings = {setting.variable for setting in SETTINGS}
    return frozenset((*settings, *(f"NUMBA_{name}" for name in (*_DUMPS, *_OF_NO_CODE))))


def setting_now(variable: str, environ: Mapping[str, str] = os.environ) -> object:
    """Return the value of one of numba-cuda's settings at this moment."""
    setting = next(one for one in SETTINGS if one.variable == variable)
    declared = _declared(setting, environ, _config_file() if setting.in_file else {})
    return getattr(sys.modules.get("numba.core.config"), setting.attribute, declared)


def extra_include_directories(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the folders where linked CUDA C++ finds headers besides its own."""
    named = setting_now("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", environ)
    return tuple(absolute(folder) for folder in str(named or "").split(":") if folder)


def _declared(setting: Setting, environ: Mapping[str, str], configured: Mapping[str, Any]) -> object:
    text: Any = environ.get(setting.variable)
    if text is None and setting.in_file:
        text = configured.get(setting.variable)
    try:
        return setting.default if text is None else setting.parse(text)
    except (ValueError, TypeError):
        # numba warns about it and uses the default.
        return setting.default


def _config_file() -> Mapping[str, Any]:
    digest = file_digest(CONFIG_FILE)
    return {} if digest is None else _parsed_config(absolute(CONFIG_FILE), digest)


@lru_cache(maxsize=8)
def _parsed_config(path: str, digest: str) -> Mapping[str, Any]:
    if importlib.util.find_spec("yaml") is None:
        # Then numba does not read the file either.
        return {}
    yaml: Any = importlib.import_module("yaml")
    try:
        values = yaml.safe_load(Path(path).read_text())
    except (OSError, yaml.YAMLError):
        return {}
    return {f"NUMBA_{name.upper()}": value for name, value in values.items()} if isinstance(values, dict) else {}
