"""What code may use that is another thing in another process, and in no source: files, clocks, the environment."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from gridjit.compiler.source_opaque import of_kind

_BUILTINS = ("eval", "exec", "compile", "globals", "locals", "vars", "dir", "open", "input", "id", "hash", "breakpoint")
_PURE_PATHS = "basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive splitext sep"
# Modules of which only the named attributes are the same in every process.
_ONLY: Mapping[str, frozenset[str]] = {
    name: frozenset(allowed.split())
    for name, allowed in {
        "os": "path fspath sep altsep linesep name pathsep curdir pardir extsep devnull PathLike error",
        "posixpath": _PURE_PATHS,
        "ntpath": _PURE_PATHS,
        "sys": "maxsize version_info version byteorder float_info int_info hexversion implementation intern exc_info"
        " stdout stderr maxunicode platform",
        "time": "sleep",
        "threading": "Lock RLock Condition Semaphore BoundedSemaphore",
        "_thread": "allocate_lock",
        **dict.fromkeys(("io", "_io"), "StringIO BytesIO"),
        "posix": "fspath",
        "uuid": "UUID uuid3 uuid5",
        **dict.fromkeys(
            (
                *("random", "secrets", "socket", "subprocess", "tempfile", "glob", "gc", "platform", "getpass"),
                *("select", "multiprocessing", "shutil", "fileinput", "linecache", "sqlite3", "signal", "resource"),
                *("pwd", "grp", "asyncio", "tracemalloc", "sysconfig", "site", "locale", "_random"),
                *("http", "urllib", "ssl", "shelve", "dbm", "mmap", "contextvars", "pkgutil", "numpy.random"),
            ),
            "",
        ),
    }.items()
}
# Modules and classes of which the named attributes are not.
_NOT: Mapping[str, frozenset[str]] = {
    name: frozenset(refused.split())
    for name, refused in {
        "inspect": "stack currentframe trace getframeinfo getouterframes getinnerframes getsource getsourcelines"
        " getsourcefile getfile getmembers",
        "datetime.datetime": "now today utcnow",
        "datetime.date": "today",
        "numpy": "load loadtxt fromfile genfromtxt memmap random",
        "pathlib.Path": "cwd home",
        "importlib": "reload metadata resources",
        "builtins": " ".join(_BUILTINS),
    }.items()
}
# Methods of paths and files: whatever they are asked of, they look at the disk.
_READS = frozenset({"read_text", "read_bytes", "iterdir", "rglob"})


def unfollowed(value: object, attributes: Iterable[str], all_attributes: Iterable[str]) -> str | None:
    """Return the name of what code takes that cannot be followed, None if it can be.

    value: what the code names; attributes: what it takes of that in one go; all_attributes: of anything.
    """
    if of_kind(value, ModuleType):
        chain = tuple(attributes)
        names = (chain[0],) if chain else tuple(all_attributes)
        found = next((name for name in names if name in vars(value) and _is_refused(value.__name__, name)), None)
        if found is not None:
            return f"{value.__name__}.{found}"
        inner = vars(value).get(chain[0]) if chain else None
        return None if inner is None else unfollowed(inner, chain[1:], all_attributes)
    return next(_names_of(value, tuple(attributes)), None)


def reads_files(attributes: Iterable[str]) -> str | None:
    """Return the first of these attributes that only reading a file or a folder can mean, or None."""
    return next((name for name in attributes if name in _READS), None)


def _names_of(value: object, attributes: tuple[str, ...]) -> Iterator[str]:
    if any(value is getattr(builtins, name) for name in _BUILTINS):
        yield f"{getattr(value, '__name__', '')}()"
    elif issubclass(type(value), (BuiltinFunctionType, FunctionType, MethodType, type)):
        owner = getattr(value, "__self__", None)
        home = (
            type(owner).__module__
            if owner is not None and not isinstance(owner, ModuleType)
            else getattr(value, "__module__", None)
        )
        name = str(getattr(value, "__name__", ""))
        if isinstance(home, str) and _is_refused(home, name):
            yield f"{home}.{name}"
        yield from (f"{home}.{name}.{one}" for one in attributes[:1] if one in _NOT.get(f"{home}.{name}", ()))
    elif type(value).__module__ == "os" and type(value).__name__ == "_Environ":
        yield "os.environ"


def _is_refused(module: str, name: str) -> bool:
    if module.startswith("_") and module not in _ONLY:
        module = module[1:]
    if module not in _ONLY and (top := module.partition(".")[0]) in _ONLY and not _ONLY[top]:
        module = top
    return (module in _ONLY and name not in _ONLY[module]) or name in _NOT.get(module, ())
