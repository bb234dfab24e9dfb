"""Inputs of code that differ between processes and are not in any source: files, clocks, the environment.

Of libraries (Python's own, NumPy, numba), only names that are listed here as the same everywhere may be used. The rest
cannot be listed.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

from gridjit.compiler.source.libraries import is_library, name_of_module
from gridjit.compiler.source.objects import of_kind

_BUILTINS = ("eval", "exec", "compile", "globals", "locals", "vars", "dir", "open", "input", "id", "hash", "breakpoint")
_PURE_PATHS = "basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive splitext sep"
# Modules that may be used, with all modules in them.
_PURE = frozenset(
    (
        *("abc", "array", "ast", "base64", "binascii", "bisect", "builtins", "cmath", "collections"),
        *("collections_abc", "colorsys", "contextlib", "copy", "copyreg", "dataclasses", "datetime", "decimal"),
        *("difflib", "enum", "errno", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac", "html"),
        *("inspect", "itertools", "json", "keyword", "logging", "math", "numbers", "opcode", "operator", "pprint"),
        *("queue", "re", "reprlib", "sha1", "sha2", "sha256", "sha512", "sre", "stat", "statistics", "string"),
        *("struct", "textwrap", "token", "types", "typing", "unicodedata", "warnings", "weakref", "weakrefset", "zlib"),
        *("gridjit", "llvmlite", "numba", "numba_cuda"),
        *("numpy", "numpy._core", "numpy._globals", "numpy._typing", "numpy.core", "numpy.dtypes", "numpy.exceptions"),
        *("numpy.fft", "numpy.lib", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.strings", "numpy.typing"),
    )
)
# Modules in these packages that may not be used.
_IMPURE = frozenset(
    f"numpy.lib.{name}"
    for name in (
        "format",
        "_format_impl",
        "npyio",
        "_npyio_impl",
        "_datasource",
        "_iotools",
        "introspect",
        "_utils_impl",
    )
)
# Modules in which only the named attributes are the same in every process.
_ONLY: Mapping[str, frozenset[str]] = {
    name: frozenset(allowed.split())
    for name, allowed in {
        "os": "path fspath sep altsep linesep name pathsep curdir pardir extsep devnull PathLike error",
        "posix": "fspath",
        "sys": "maxsize version_info version byteorder float_info int_info hexversion implementation intern"
        " exc_info stdout stderr maxunicode platform",
        "time": "sleep",
        "threading": "Lock RLock Condition Semaphore BoundedSemaphore",
        "thread": "allocate_lock lock RLock",
        "io": "StringIO BytesIO",
        "uuid": "UUID uuid3 uuid5 NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500",
        "importlib": "import_module",
        "codecs": "encode decode",
        "traceback": "print_exc print_exception print_stack",
        "pathlib": "PurePath PurePosixPath PureWindowsPath",
        "genericpath": "commonprefix",
        "posixpath": _PURE_PATHS,
        "ntpath": _PURE_PATHS,
    }.items()
}
# Modules and classes in which the named attributes are not.
_NOT: Mapping[str, frozenset[str]] = {
    name: frozenset(refused.split())
    for name, refused in {
        "inspect": "stack currentframe trace getframeinfo getouterframes getinnerframes getsource getsourcelines"
        " getsourcefile getfile getmembers getmembers_static getmodule getabsfile findsource getcomments"
        " getclosurevars getattr_static getlineno classify_class_attrs",
        "datetime.datetime": "now today utcnow fromtimestamp astimezone timestamp",
        "datetime.date": "today fromtimestamp",
        "decimal": "getcontext localcontext setcontext Context DefaultContext",
        "logging": "getLevelName getLevelNamesMapping getHandlerByName getHandlerNames root lastResort",
        "warnings": "filters onceregistry defaultaction",
        "weakref": "getweakrefcount getweakrefs",
        "abc": "get_cache_token _get_dump",
        "string": "Formatter",
        "json": "load dump",
        "hashlib": "file_digest",
        "ast": "main",
        "numba": "get_num_threads get_thread_id set_num_threads threading_layer get_parallel_chunksize",
        **dict.fromkeys(
            ("numba.cuda", "numba.cuda.api", "numba.cuda.cudadrv.devices"),
            "current_context get_context get_current_device gpus list_devices detect is_available",
        ),
        "llvmlite.binding": "get_host_cpu_name get_host_cpu_features get_default_triple get_process_triple"
        " load_library_permanently address_of_symbol",
        "numpy": "load loadtxt fromfile genfromtxt memmap random save savez savetxt geterr geterrcall getbufsize"
        " get_printoptions array2string array_repr array_str show_config show_runtime datetime64 f2py testing"
        " ctypeslib distutils DataSource",
        "builtins": " ".join(_BUILTINS),
    }.items()
}
# Files may be written to, but their contents differ by process.
_STREAMS = frozenset({"write", "writelines", "flush"})
# Methods of paths and files, which look at the disk; an object's class is not asked.
_READS = frozenset({"read_text", "read_bytes", "iterdir", "rglob"})
# Attributes that lead from an object to all around it, or say where and in what order something was made, or lies.
_LEADS_ANYWHERE = frozenset(
    (
        *("__globals__", "__subclasses__", "__self__", "__getattribute__", "co_filename", "co_firstlineno"),
        *("ctypes", "__array_interface__", "__array_struct__"),
        *("f_back", "f_builtins", "f_globals", "f_locals", "f_lineno", "tb_frame", "tb_lineno", "gi_frame", "cr_frame"),
    )
)
# Python's own attributes of functions, classes, code and objects: the ones in their texts, and the rest.
_TOLD_NAMES = (
    "__abstractmethods__ __annotations__ __base__ __bases__ __call__ __class__ __closure__ __code__ __defaults__"
    " __delattr__ __dict__ __doc__ __eq__ __format__ __func__ __ge__ __get__ __gt__ __init__ __init_subclass__"
    " __instancecheck__ __kwdefaults__ __le__ __lt__ __module__ __mro__ __name__ __ne__ __new__ __or__ __prepare__"
    " __qualname__ __replace__ __repr__ __ror__ __setattr__ __str__ __subclasscheck__ __subclasshook__"
    " co_argcount co_cellvars co_freevars co_kwonlyargcount co_name co_names co_nlocals co_posonlyargcount co_varnames"
    " mro replace"
)
_UNTOLD = {name for kind in (object, FunctionType, MethodType, type, CodeType) for name in dir(kind)} - {
    *_TOLD_NAMES.split()
}
# Names that show the state of a logger or a lock, on which nothing depends unless code asks.
_STATES = {
    "logging": frozenset({"level", "getEffectiveLevel", "isEnabledFor", "hasHandlers", "handlers", "filters"}),
    "thread": frozenset({"locked", "_is_owned", "_is_locked"}),
}
# Attributes that lead from an array to memory around its items.
_OF_AN_ARRAY = frozenset({"base", "data"})
# Attributes that libraries' functions take of their arguments, so that the calling code does not name them.
_READ_BY: Mapping[str, frozenset[str]] = {
    "inspect": frozenset({"__doc__", "__annotations__", "__signature__", "__text_signature__"}),
    "typing.get_type_hints": frozenset({"__annotations__"}),
    **{
        f"dataclasses.{name}": frozenset({"__dataclass_fields__"})
        for name in ("fields", "asdict", "astuple", "replace", "is_dataclass")
    },
}


def taken_by(value: object, attributes: Iterable[str] = ()) -> frozenset[str]:
    """Return the attributes that a library's function, to which value and attributes lead, takes of its arguments."""
    for name in attributes:
        if not of_kind(value, ModuleType):
            break
        value = vars(value).get(name)
    if not issubclass(type(value), (FunctionType, type)):
        return frozenset()
    home, name = str(getattr(value, "__module__", "")), getattr(value, "__name__", "")
    return _READ_BY.get(home) or _READ_BY.get(f"{home}.{name}", frozenset())


def unfollowed(value: object, attributes: Iterable[str]) -> str | None:
    """Return the name of an attribute that code takes and that cannot be followed, or None if all can be.

    value: the object that the code names; attributes: the chain of attributes that it takes of the object.
    """
    chain = tuple(attributes)
    if not of_kind(value, ModuleType):
        return next(_names_of(value, chain), None)
    if not chain:
        return None
    if (refused := refused_of(value, chain[0])) is not None:
        return refused
    if name_of_module(value) == "sys" and chain[0] in ("stdout", "stderr") and {*chain[1:2]} - _STREAMS:
        return ".".join(("sys", *chain[:2]))
    inner = vars(value).get(chain[0])
    return None if inner is None else unfollowed(inner, chain[1:])


def refused_of(module: ModuleType, name: str) -> str | None:
    """Return why an attribute of a module cannot be followed, or None if it can be."""
    found = vars(module).get(name)
    if name == "__dict__":
        return f"{name_of_module(module)}.{name}"
    if not _is_refused(name_of_module(module), name) or (of_kind(found, type) and issubclass(found, BaseException)):
        return None
    return f"{name_of_module(module)}.{name}"


def refused_methods(value: type) -> frozenset[str]:
    """Return the attributes of a library's class that cannot be followed."""
    return _NOT.get(f"{value.__module__}.{value.__name__}", frozenset())


def states_of(value: object) -> frozenset[str]:
    """Return the attributes that show the state of a logger or a lock, of their modules, or of an array's memory."""
    if any((cls.__module__, cls.__name__) == ("numpy", "ndarray") for cls in type(value).__mro__):
        return _OF_AN_ARRAY
    module = name_of_module(value) if of_kind(value, ModuleType) else type(value).__module__
    return _STATES.get({"threading": "thread", "_thread": "thread"}.get(module, module), frozenset())


def leads_anywhere(attributes: Iterable[str]) -> Iterator[str]:
    """Yield the attributes that can only mean reading a file, or that lead to objects that cannot be followed."""
    return (name for name in attributes if name in _READS or name in _LEADS_ANYWHERE or name in _UNTOLD)


def _names_of(value: object, attributes: tuple[str, ...]) -> Iterator[str]:
    if any(value is getattr(builtins, name) for name in _BUILTINS):
        yield f"{getattr(value, '__name__', '')}()"
    elif of_kind(value, type):
        home, name = _public(value.__module__), value.__qualname__.partition(".")[0]
        if _is_refused(home, name) and not issubclass(value, BaseException):
            yield f"{home}.{name}"
        yield from (f"{home}.{name}.{one}" for one in attributes[:1] if one in refused_methods(value))
    elif issubclass(type(value), (BuiltinFunctionType, FunctionType, MethodType)):
        owner, called = getattr(value, "__self__", None), str(getattr(value, "__name__", ""))
        if owner is not None and not isinstance(owner, ModuleType):
            cls = owner if of_kind(owner, type) else type(owner)
            home = _public(cls.__module__)
            yield from [f"{home}.{cls.__name__}.{called}"] if called in refused_methods(cls) else ()
            if _is_refused(home, cls.__qualname__.partition(".")[0]):
                yield f"{home}.{called}"
        elif _is_refused(home := _public(getattr(value, "__module__", None)), called):
            yield f"{home}.{called}"
    elif type(value).__module__ == "os" and type(value).__name__ == "_Environ":
        yield "os.environ"


def _public(module: object) -> str:
    """Return the package that is documented to hold an inner module's names: pathlib for pathlib._local."""
    package, dot, _ = (name := str(module)).partition("._")
    return package if dot and package in _ONLY else name


def _is_refused(module: str, name: str) -> bool:
    """Return whether an attribute of a library's module cannot be followed; other modules' always can be."""
    if not is_library(module) or (name.startswith("__") and name.endswith("__") and name != "__import__"):
        return False
    # Code in C is in a module with an underscore before its public name.
    listed = module.removeprefix("_")
    if name in _NOT.get(listed, ()):
        return True
    if listed in _ONLY:
        return name not in _ONLY[listed]
    if listed in _IMPURE:
        return True
    names = listed.split(".")
    return ".".join(names[: 2 if names[0] == "numpy" else 1]) not in _PURE
