"""Libraries: modules that the toolchain's versions cover, so that a fingerprint does not look into their code."""

from __future__ import annotations

import builtins
import os
import re
import sys
from functools import cache
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, TypeGuard

from gridjit.base.interrupts import let_through
from gridjit.compiler.source.objects import of_kind

# Every one of these has its version in gridjit.compiler.key.toolchain. "cuda" as a whole is missing: it is a namespace
# that others put packages into.
LIBRARIES = ("numba", "numba_cuda", "numpy", "llvmlite", "gridjit", "cuda.bindings", "cuda.core", "cuda.pathfinder")
_PREFIXES = tuple(f"{name}." for name in LIBRARIES)
_NUMBAS = ("numba.", "numba_cuda.")
# numba-cuda's tests come in its package, but are programs: no version stands for the values of their functions.
_PROGRAMS = ("numba.cuda.tests.",)
_STDLIB_FOLDER = os.path.dirname(os.__file__)
_HEAP_TYPE = 1 << 9
# Python's own second names of builtins.
_ALIASES = frozenset({"EnvironmentError", "IOError"})
_CODE_OF_CLASSES = (FunctionType, staticmethod, classmethod, property)


def is_library(module: object) -> bool:
    """Return whether the toolchain's versions stand for the code of the module of that name.

    module: a name, or the object that a class has in place of its module's name.
    """
    if not isinstance(module, str):
        module = _in_c(module)
    if module in LIBRARIES or module.startswith(_PREFIXES):
        return not module.startswith(_PROGRAMS)
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return False
    return _is_stdlib(top, top in sys.modules, file_of(sys.modules.get(top)))


def is_numbas(module: str) -> bool:
    """Return whether the module of that name is a part of numba or numba-cuda, which their tests are not."""
    return module.startswith(_NUMBAS) and not module.startswith(_PROGRAMS)


def is_library_module(module: ModuleType) -> bool:
    """Return whether module is a library's own; programs can give theirs a library's name."""
    name = name_of_module(module)
    return is_library(name) and is_namespace_of(name, module.__dict__)


def name_of_module(module: ModuleType) -> str:
    """Return a module's name; "" if it is missing, or not a text."""
    name = namespace_of(module).get("__name__")
    return name if isinstance(name, str) else ""


def is_module(value: object) -> TypeGuard[ModuleType]:
    """Return whether an object on sys.modules is a module; another object may end the program when asked."""
    return issubclass(type(value), ModuleType)


def namespace_of(module: ModuleType) -> dict[str, Any]:
    """Return a module's namespace, without asking its class: a lazy module's class would load it now."""
    return ModuleType.__getattribute__(module, "__dict__")  # type: ignore[no-any-return]


def file_of(module: object) -> str | None:
    """Return the file that something on sys.modules says it is of; None if it does not, or cannot be asked."""
    if is_module(module):
        file = namespace_of(module).get("__file__")
    else:
        try:
            file = getattr(module, "__file__", None)
        except Exception as error:  # of the program's own code
            let_through(error)
            return None
    return file if isinstance(file, str) else None


def is_namespace_of(module: str, namespace: object) -> bool:
    """Return whether namespace is a loaded module's of that name; programs can give their own any name."""
    return getattr(sys.modules.get(module), "__dict__", None) is namespace


def in_loaded(module: str, path: str) -> Any:
    """Return the value of a dotted name in a module; None if the module is not loaded, or only halfway."""
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def home_of(found: FunctionType | type) -> str:
    """Return the module that a class is of, or a function runs in: functools.wraps gives it another __module__."""
    name = found.__globals__.get("__name__") if isinstance(found, FunctionType) else found.__module__
    return name if isinstance(name, str) else _in_c(name)


def _in_c(given: object) -> str:
    """Return the module of a class of C code that has a descriptor in place of its module's name; "" for others.

    Cython's functions have such a class before version 3.2. Their own __module__ is an attribute of that name.
    """
    if not isinstance(given, MemberDescriptorType):
        return ""
    # It tells the name under which C code made the class.
    named = re.search(r" of '([\w.]+)\.[^.']+' objects>$", repr(given))
    return named[1] if named else ""


def is_librarys(value: FunctionType | type) -> bool:
    """Return whether a function or class is a library's own; programs can give theirs a library's module."""
    if isinstance(value, FunctionType):
        name = home_of(value)
        return is_library(name) and is_namespace_of(name, value.__globals__)
    module = home_of(value)
    if module != "builtins" and not is_library(module):
        return False
    # A class made in a namespace without a name claims to be of builtins, and one made by a library's function claims
    # to be of that library. Only classes of Python code get their module that way.
    if not value.__flags__ & _HEAP_TYPE or _is_found(value):
        return True
    if not (methods := methods_of(value)):
        return not _has_code(value)
    is_local = "<locals>" in value.__qualname__ or module.partition(".")[0] not in sys.stdlib_module_names
    return is_local and all(map(is_librarys, methods))


def methods_of(cls: type) -> list[FunctionType]:
    """Return the Python functions that a class has for methods, static and class methods too."""
    found = (getattr(item, "__func__", item) for item in vars(cls).values())
    return [one for one in found if isinstance(one, FunctionType)]


def _is_found(value: type) -> bool:
    found: object = sys.modules.get(home_of(value))
    for name in value.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is value


def _has_code(value: type) -> bool:
    # A class in C keeps its methods in descriptors, and has no dictionary of its instances.
    return any(isinstance(item, _CODE_OF_CLASSES) or name == "__dict__" for name, item in vars(value).items())


def is_own_builtin(name: str, value: object) -> bool:
    """Return whether value is Python's own builtin of that name, or an alias of it."""
    if not _is_builtin(value):
        return False
    own = getattr(value, "__name__", name)
    return own == name or getattr(builtins, own, None) is not value or name in _ALIASES


def _is_builtin(value: object) -> bool:
    if issubclass(type(value), (BuiltinFunctionType, type)):
        named = getattr(value, "__module__", None) == "builtins"
        return named and (not of_kind(value, type) or is_librarys(value))
    return value is NotImplemented or value is Ellipsis


@cache
def _is_stdlib(top: str, loaded: bool, file: str | None) -> bool:
    # A user's own code.py or queue.py has the name of a standard module, but lies elsewhere.
    if file is None:
        return loaded
    folder, inside, rest = file.partition(_STDLIB_FOLDER + os.sep)
    return not folder and bool(inside) and not {"site-packages", "dist-packages"} & set(rest.split(os.sep))
