"""SourceFingerprint: what a kernel's source is - its code, the values it refers to and every function it can call.

It is made without importing anything, and it sees a changed global, closure cell, default or callee at once: only
digests of immutable code objects are remembered between calls. Library modules are leaves (see source_library).

An object of any other class can say what it is through a method `__gridjit_fingerprint__(self) -> str`: the text it
returns must change whenever code compiled against the object would.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import CellType, CodeType, FunctionType, ModuleType

from gridjit.compiler.errors import CompileError
from gridjit.compiler.source_code import CodePlan, Reference, digest_fields, plan_of
from gridjit.compiler.source_library import is_library
from gridjit.compiler.source_opaque import OpaqueValue
from gridjit.compiler.source_scalar import scalar_text
from gridjit.compiler.source_value import module_name, type_name, value_text
from gridjit.values import dataclass

# Longer texts are shown by their beginning and a digest.
_LONGEST = 160
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFingerprint:
    """What a function's source is, in labelled parts.

    parts: (label, text), such as ("default eps of stats.scale", "1e-05"); the function's own code first.
    opaque: a sentence for each thing that could not be fingerprinted.
    modules: names of the user modules that functions and globals were found in.
    """

    parts: tuple[tuple[str, str], ...]
    opaque: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def cacheable(self) -> bool:
        """Whether the parts cover everything, so that equal parts mean equal code."""
        return not self.opaque

    @property
    def digest(self) -> str:
        """One digest of all parts."""
        return digest_fields(text.encode("utf-8", "surrogatepass") for part in self.parts for text in part)


def fingerprint(function: Callable[..., object], *, lines: bool = False) -> SourceFingerprint:
    """Return the fingerprint of a function, or of anything that wraps one (`py_func`, `__wrapped__`).

    lines: count the file and the line numbers too, for compiles that put them into the code.
    Raises CompileError if there is no Python function in it.
    """
    walk = _Walk(lines)
    walk.run(require_function(function))
    first, *others = walk.parts.items()
    return SourceFingerprint(
        parts=(first, *sorted(others)), opaque=tuple(walk.opaque), modules=tuple(sorted(walk.modules))
    )


def fingerprint_values(values: Iterable[tuple[str, object]]) -> SourceFingerprint:
    """Return the fingerprint of values, each with words for what it is, and of every function and class they reach."""
    walk = _Walk(lines=False)
    for name, value in values:
        walk.add(name, value)
    return SourceFingerprint(
        parts=tuple(sorted(walk.parts.items())), opaque=tuple(walk.opaque), modules=tuple(sorted(walk.modules))
    )


def function_of(value: object) -> FunctionType | None:
    """Return the Python function that value is or stands for, or None."""
    for _ in range(100):
        if value is None or type(value) is FunctionType:
            return value
        value = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)
    return None


def require_function(value: object) -> FunctionType:
    """Return the Python function that value is or stands for; raises CompileError if there is none."""
    if (function := function_of(value)) is None:
        raise CompileError(f"{value!r} is no Python function and wraps none; decorate a function defined with def")
    return function


class _Walk:
    """One visit of all that a function reaches, in an order that depends on nothing but the code."""

    def __init__(self, lines: bool) -> None:
        self.parts: dict[str, str] = {}
        self.opaque: dict[str, None] = {}
        self.modules: set[str] = set()
        self._lines = lines
        self._labels: dict[int, str] = {}
        self._taken: set[str] = set()
        self._seen: set[tuple[int, str]] = set()
        self._pending: deque[FunctionType | type] = deque()
        # Keeps everything visited alive, so that no id is given out twice during the walk.
        self._alive: list[object] = []

    def run(self, root: FunctionType) -> None:
        self._label(root)
        self._function(root, "")
        self._run_pending()

    def add(self, name: str, value: object) -> None:
        self._value(name, "", "", name, value)
        self._run_pending()

    def _run_pending(self) -> None:
        while self._pending:
            found = self._pending.popleft()
            if isinstance(found, FunctionType):
                self._function(found, "callee ")
            else:
                self._class(found)

    def _visit(self, found: FunctionType | type) -> str:
        label = self._labels.get(id(found))
        if label is None:
            label = self._label(found)
            self._pending.append(found)
        return label

    def _label(self, found: FunctionType | type) -> str:
        name = f"{_module_label(found.__module__)}{found.__qualname__}"
        label, count = name, 1
        while label in self._taken:
            count += 1
            label = f"{name} ({count})"
        self._taken.add(label)
        self._labels[id(found)] = label
        self._alive.append(found)
        return label

    def _function(self, function: FunctionType, role: str) -> None:
        label = self._labels[id(function)]
        self.modules.add(module_name(function))
        plan = plan_of(function.__code__)
        self._add(f"{role}{label} code", plan.digest)
        for kind in plan.strange:
            self.opaque[f"a constant of {label} is a {kind} object, which gridjit cannot see"] = None
        if self._lines:
            self._add(f"{role}{label} lines", _lines_digest(function.__code__))
        self._defaults(function, label)
        self._closure(function, label, plan)
        for reference in plan.references:
            if not reference.free:
                self._global(function, label, plan, reference)
        if "__wrapped__" in function.__dict__:
            self._value(f"wrapped by {label}", "", "the function wrapped by", label, function.__dict__["__wrapped__"])

    def _defaults(self, function: FunctionType, label: str) -> None:
        defaults = function.__defaults__ or ()
        code = function.__code__
        positional = code.co_varnames[: code.co_argcount]
        named: dict[str, object] = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
        named.update(function.__kwdefaults__ or {})
        for name, value in named.items():
            self._value(f"default {name} of {label}", name, "default", label, value)

    def _closure(self, function: FunctionType, label: str, plan: CodePlan) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = _cell_value(cell)
            if _is_only_written(value, (r for r in plan.references if r.free and r.name == name)):
                continue
            self._value(f"closure {name} of {label}", name, "closure variable", label, value)
            if isinstance(value, ModuleType):
                for reference in plan.references:
                    if reference.free and reference.name == name:
                        self._attributes(value, reference.attributes, label, plan)

    def _global(self, function: FunctionType, label: str, plan: CodePlan, reference: Reference) -> None:
        name = reference.name
        scope = function.__globals__
        value = scope.get(name, _MISSING)
        if value is _MISSING:
            value = getattr(function, "__builtins__", {}).get(name, _MISSING)
            if _is_builtin(value):
                return
        if _is_only_written(value, (r for r in plan.references if not r.free and r.name == name)):
            return
        self._named(scope, module_name(function), name, label, value)
        if isinstance(value, ModuleType):
            self._attributes(value, reference.attributes, label, plan)

    def _attributes(
        self,
        module: ModuleType,
        chain: tuple[str, ...],
        label: str,
        plan: CodePlan,
        entered: frozenset[int] = frozenset(),
    ) -> None:
        """Follow `module.a.b` as far as user modules go.

        Of a module used without an attribute (`m = helpers`, `getattr(helpers, "clip")`) every name that the code
        might take is followed. entered: ids of the modules that this was done for on the way here.
        """
        if is_library(module.__name__):
            return
        self.modules.add(module.__name__)
        if chain:
            value = _module_attribute(module, chain[0])
            self._named(vars(module), module.__name__, chain[0], label, value)
            if isinstance(value, ModuleType):
                self._attributes(value, chain[1:], label, plan, entered)
        elif id(module) not in entered:
            for name in plan.attributes:
                if _module_attribute(module, name) is not _MISSING:
                    self._attributes(module, (name,), label, plan, entered | {id(module)})

    def _named(self, scope: Mapping[str, object], module: str, name: str, label: str, value: object) -> None:
        key = (id(scope), name)
        if key not in self._seen:
            self._seen.add(key)
            self._value(f"global {_module_label(module)}{name}", name, "global", label, value)

    def _class(self, cls: type) -> None:
        label = self._labels[id(cls)]
        self.modules.add(cls.__module__)
        if issubclass(cls, Enum):
            members: dict[str, object] = {name: member.value for name, member in cls.__members__.items()}
            self._value(f"members of class {label}", "", "the members of class", label, dict(sorted(members.items())))
            return
        self._value(f"bases of class {label}", "", "the bases of class", label, cls.__bases__)
        for name, value in sorted(vars(cls).items()):
            if name in _CLASS_NOISE or (name.startswith("__") and not _is_code(value)):
                continue
            self._value(f"attribute {name} of class {label}", name, "attribute", f"class {label}", value)

    def _value(self, part: str, name: str, kind: str, owner: str, value: object) -> None:
        text = scalar_text(value)
        if text is None:
            text = self._text(kind, name, owner, value)
        self._add(part, text)

    def _text(self, kind: str, name: str, owner: str, value: object) -> str:
        if value is _MISSING:
            return "undefined"
        try:
            return value_text(value, self._visit)
        except OpaqueValue as error:
            reason = str(error)
        except RecursionError:
            reason = f"is a {type(value).__qualname__} that holds itself or is nested too deeply"
        except Exception as error:
            # Looking at a value runs code of its class; what that raises costs the disk cache, never the launch.
            reason = f"is a {type(value).__qualname__} that cannot be looked at ({type(error).__name__}: {error})"
        what = f"{kind} {name!r} of {owner}" if name else f"{kind} {owner}".lstrip()
        self.opaque[f"{what} {reason}"] = None
        return f"opaque {type_name(type(value))}"

    def _add(self, label: str, text: str) -> None:
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}... {digest_fields([text.encode('utf-8', 'surrogatepass')])}"
        name, count = label, 1
        while label in self.parts:
            count += 1
            label = f"{name} ({count})"
        self.parts[label] = text


_CLASS_NOISE = frozenset({"_abc_impl", "__annotate__", "__annotate_func__"})


_CONTAINERS = (list, dict, set, bytearray, deque)
# They return None whatever the container holds.
_WRITES = frozenset({"append", "appendleft", "extend", "extendleft", "add", "update", "insert", "clear", "discard"})


def _is_only_written(value: object, uses: Iterable[Reference]) -> bool:
    """Return whether value is a container that the code adds to and never looks into, such as a log."""
    if not isinstance(value, _CONTAINERS) or type(value).__module__ not in ("builtins", "collections"):
        return False
    attributes = [use.attributes[:1] for use in uses]
    return bool(attributes) and all(first and first[0] in _WRITES for first in attributes)


def _is_code(value: object) -> bool:
    return isinstance(value, FunctionType | staticmethod | classmethod | property)


def _module_label(module: str) -> str:
    # A child process that multiprocessing started runs the same script under another name.
    return f"{'__main__' if module == '__mp_main__' else module}." if module else ""


def _lines_digest(code: CodeType) -> str:
    nested = [_lines_digest(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    table = repr([*code.co_lines()])
    return digest_fields(
        text.encode("utf-8", "surrogatepass") for text in (code.co_filename, str(code.co_firstlineno), table, *nested)
    )


def _cell_value(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        # The variable has not been given a value yet.
        return _MISSING


def _is_builtin(value: object) -> bool:
    return getattr(value, "__module__", None) == "builtins" or value is NotImplemented or value is Ellipsis


def _module_attribute(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except Exception:
        # What the module's own __getattr__ raises, the compiler will report; it is no concern of a key.
        return _MISSING
