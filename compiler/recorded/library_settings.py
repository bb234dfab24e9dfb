"""LibrarySetting: a plain value of an installed module or class that programs may set, and its text as it is now.

A plain value is a bool, a number, a text, None, an enum's member, or a tuple of plain values. A package can declare
further inputs of its code through a function `__gridjit_settings__()` of its top-level module.
"""

from __future__ import annotations

import ast
import enum
import functools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.key.values import Visit, value_text
from gridjit.compiler.recorded.library_code import NOT_LOADED, users_text
from gridjit.compiler.source.files import read_regular
from gridjit.compiler.source.libraries import file_of, home_of, is_library, is_librarys
from gridjit.compiler.source.objects import OpaqueValue, of_kind, type_name
from gridjit.compiler.source.scalars import scalar_text

# How the function that declares a package's settings is written among them.
DECLARED = "__gridjit_settings__()"
_CODE = frozenset((FunctionType, ModuleType, property, staticmethod, classmethod))  # most values of a namespace
# A setting is named by its module and its path inside it: ("mylib.config", "TILE"), ("mylib.plan", "Plan.DEPTH").
LibrarySetting = tuple[str, str]


def setting_now(module: str, path: str) -> str | None:
    """Return the text of a setting now: "not loaded" without its module, None if it is not a plain value."""
    try:
        return _text_now(module, path)
    except OpaqueValue:
        return None


def unseen_now(module: str, path: str) -> str:
    """Return why a setting cannot be told: a declaration fails, or it is the user's code. "" if it can be."""
    try:
        _text_now(module, path)
    except OpaqueValue as error:
        return str(error)
    return ""


def setting_text(value: object) -> str | None:
    """Return the text of a plain value, or None for other values."""
    if type(value) in _CODE:
        return None
    if (text := scalar_text(value)) is not None:
        return text
    if of_kind(value, enum.Enum):
        inner = setting_text(value._value_)
        return f"{type(value).__module__}.{type(value).__qualname__}.{value._name_} = {inner}"
    if (text := _text_of_type(value)) is not None:
        return text
    if type(value) is tuple:
        texts = [setting_text(item) for item in value]
        return None if None in texts else f"({', '.join(text for text in texts if text)},)"
    return None


def _text_of_type(value: object) -> str | None:
    """Return the text of a library's class, a NumPy dtype or scalar, or a numba type: settings, too. Else None."""
    if of_kind(value, type):
        return f"class {type_name(value)}" if is_librarys(value) else None
    if type(value).__module__.partition(".")[0] in ("numpy", "numba"):
        try:
            return value_text(value, Visit()) if _is_type_or_number(value) else None
        except OpaqueValue:
            return None
    return None


def _is_type_or_number(value: object) -> bool:
    kinds = {(cls.__module__, cls.__name__) for cls in type(value).__mro__}
    return bool(kinds & {("numpy", "generic"), ("numpy", "dtype"), ("numba.core.types.abstract", "Type")})


def _text_now(module: str, path: str) -> str | None:
    if module not in sys.modules:
        return NOT_LOADED
    if path == DECLARED:
        return _declared_text(module)
    found: object = sys.modules[module]
    for name in path.split("."):
        namespace = getattr(found, "__dict__", {})
        if name not in namespace:
            return "undefined"
        found = namespace[name]
    return users_text(f"{module}.{path}", found) if is_users(found) else setting_text(found)


def is_users(value: object) -> bool:
    """Return whether value is the user's own code, which a program put where installed code runs it."""
    if of_kind(value, FunctionType) or of_kind(value, type):
        return not is_library(home_of(value)) and owner_of(value) is None
    return False


def declaration_of(module: str) -> object:
    """Return a package's function `__gridjit_settings__`; None if it has none."""
    return getattr(sys.modules.get(module), "__dict__", {}).get(DECLARED[:-2])


def _declared_text(module: str) -> str:
    declaration = declaration_of(module)
    if not callable(declaration):
        return "undefined"
    try:
        text = _plain_text(declaration())
    except Exception as error:
        # If the package's function raises, the launch goes on without the disk cache and explain() says why.
        let_through(error)
        raise OpaqueValue(f"{module}.{DECLARED} raised {type(error).__name__}: {error}") from error
    if text is None:
        raise OpaqueValue(f"{module}.{DECLARED} returned what is not a text, or a mapping of plain values")
    return text


def _plain_text(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return setting_text(value)
    texts = {str(name): setting_text(item) for name, item in value.items()}
    return None if None in texts.values() else repr(sorted(texts.items()))


def is_written_out(module: str, path: str) -> bool:
    """Return whether a loaded module's source gives a name of it, or of a class in it, a constant, only once."""
    return path in constants_of(module)


def constants_of(module: str) -> Mapping[str, object]:
    """Return the constants that a loaded module's source gives names, each only once."""
    file = file_of(sys.modules.get(module))
    return _constants_of(file) if isinstance(file, str) else {}


@functools.lru_cache(maxsize=256)
def _constants_of(file: str) -> Mapping[str, object]:
    try:
        tree = ast.parse(read_regular(file))
        given = {name: value for name, value in _given(tree.body, "") if value is not None and _is_constant(value)}
        constants = {name: ast.literal_eval(value) for name, value in given.items()}
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    stored = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {name: value for name, value in constants.items() if stored[name.rpartition(".")[2]] == 1}


def _given(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that the statements of a module or class give values, with these."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield prefix + statement.target.id, statement.value
        elif isinstance(statement, ast.ClassDef):
            yield from _given(statement.body, f"{prefix}{statement.name}.")


def _is_constant(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and _is_constant(value.operand)
    if isinstance(value, ast.Tuple):
        return all(map(_is_constant, value.elts))
    return isinstance(value, ast.Constant)
