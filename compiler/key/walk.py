"""Walk: one visit of everything that a function or a value reaches; it makes the parts of a fingerprint."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum, Flag
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, TypeGuard

from gridjit.base.digests import utf8
from gridjit.base.interrupts import let_through
from gridjit.compiler.key.values import InstalledText, InstalledTexts, Visit, value_text
from gridjit.compiler.source.code import CodePlan, Reference, digest_fields, lines_digest, plan_of
from gridjit.compiler.source.libraries import (
    home_of,
    is_library_module,
    is_librarys,
    is_module,
    is_own_builtin,
    name_of_module,
    namespace_of,
)
from gridjit.compiler.source.objects import (
    MISSING,
    OpaqueValue,
    cell_value,
    defaults_of,
    function_of,
    of_kind,
    type_name,
)
from gridjit.compiler.source.scalars import scalar_text

if TYPE_CHECKING:
    from gridjit.compiler.key.installed import Distribution

# A longer text is shown as its beginning and a digest.
_LONGEST = 160


def registered_alike() -> Mapping[int, str]:
    """Return by identity which registrations each function or class has, if others of its name have any."""
    if "numba.cuda" not in sys.modules:
        return {}
    from gridjit.compiler.key.registrations import places_of_alike  # a process that finds its kernels does not need it

    return places_of_alike()


class Walk(Visit):
    """One visit of all that a function reaches, in an order that depends on the code alone."""

    def __init__(self, *, lines: bool = False, objects: InstalledTexts | None = None) -> None:
        self.parts: dict[str, str] = {}
        self.opaque: dict[str, None] = {}
        self.modules: set[str] = set()
        self.reached: list[object] = []
        # Loaded modules that code running while compiling imports inside functions.
        self.imported: list[str] = []
        # Functions that run while kernels are compiled, with words that describe them.
        self.runs: list[tuple[str, object]] = []
        # By the id of an installed function or class: the digest of the values it was made with.
        self._made: dict[int, str] = {}
        self._lines = lines
        self._labels: dict[int, str] = {}
        # By identity: the namespaces of functions and modules.
        self._spaces: dict[int, str] = {}
        # By identity: the registry places of functions and classes that share a name; None before the first look.
        self._places: Mapping[int, str] | None = None
        self._taken: set[str] = set()
        # (id of a namespace or of a cell, name) -> the value that was found there, and its text.
        self.taken: dict[tuple[int, str], tuple[object, str]] = {}
        # By identity: objects of installed classes, each with its text.
        self.objects: dict[int, InstalledText] = {**(objects or {})}
        # Functions and classes in the order in which they were found, each as often as it was.
        self._visits: list[FunctionType | type] = []
        self._pending: deque[FunctionType | type] = deque()
        # Names that any code here takes as attributes, and the objects whose attributes count if code takes them.
        self._taken_attributes: set[str] = set()
        # With each, all that it holds, in whose order code may go through it.
        self._holders: list[tuple[str, Mapping[str, object], Iterable[str]]] = []
        self._functions: list[tuple[str, FunctionType]] = []
        self._read: set[tuple[str, str]] = set()
        # Keeps everything visited alive, so that ids stay unique during the walk.
        self._alive: list[object] = []

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """The Python functions that were visited."""
        return tuple(found for found in self._alive if isinstance(found, FunctionType))

    def run(self, root: FunctionType) -> None:
        """Visit a function and all that it reaches."""
        self._label(root)
        self._function(root, "")
        self._run_pending()

    def add(self, name: str, value: object) -> None:
        """Visit a value and all that it reaches; name: words that describe it."""
        self._value(name, "", "", name, value)
        self._run_pending()

    def end(self) -> None:
        """Add further parts, once all values were visited."""

    def __call__(self, found: FunctionType | type) -> str:
        """Note a function or class found in a value; return its label, for installed code with its distribution."""
        self._visits.append(found)
        label = self._labels.get(id(found))
        if label is None:
            if (owner := self._owner(found)) is not None:
                return self._leaf(found, owner)
            label = self._label(found)
            self._pending.append(found)
        return label

    def _owner(self, found: FunctionType | type) -> Distribution | None:
        """Return the distribution that stands for a class; None if it is followed, as functions are."""
        if isinstance(found, FunctionType):
            return None
        from gridjit.compiler.key.installed import owner_of  # few kernels refer to classes

        owner = owner_of(found)
        return None if owner is None or owner.overtaken else owner

    def _leaf(self, found: FunctionType | type, owner: Distribution) -> str:
        self._alive.append(found)
        return f"{home_of(found)}.{found.__qualname__}{self._made_with(found)} of {owner.identity}"

    def _made_with(self, found: FunctionType | type) -> str:
        """Return the digest of the values that a function or class was made with; "" if it was not made by a call."""
        from gridjit.compiler.key.made_with import held_by, is_made

        if is_made(found) and id(found) not in self._made:
            self._made[id(found)] = "itself"  # where it holds itself
            texts = [f"{name}={self._held_text(value)}" for name, value in held_by(found)]
            texts += self._registered_texts(found)
            self._made[id(found)] = f" made with {digest_fields(map(utf8, texts))}" if texts else ""
        return self._made.get(id(found), "")

    def _registered_texts(self, found: FunctionType | type) -> list[str]:
        """Return the texts of the registrations for a class that a call made: only the class's own text holds them."""
        if isinstance(found, FunctionType) or "numba.cuda" not in sys.modules:
            return []
        from gridjit.compiler.key.instances import registered_texts
        from gridjit.compiler.key.made_with import is_made

        return registered_texts(found, self) if is_made(found) else []

    def _held_text(self, value: object) -> str:
        from gridjit.compiler.key.made_with import is_a_librarys_object, settled_text

        try:
            text = settled_text(value)
            return value_text(value, self) if text is None else text
        except OpaqueValue:
            if is_a_librarys_object(value):
                return f"a {type_name(type(value))}"
            raise

    def running(self, what: str, value: object) -> str:
        """Note code that runs while kernels are compiled; another walk follows it."""
        self.runs.append((f"{what} {len(self.runs)}", value))
        return what

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        if (known := self.objects.get(id(value))) is not None:
            for found in known.led_to:
                self(found)
            return known.text
        from gridjit.compiler.key.instances import instance_text  # few kernels refer to such

        count = len(self._visits)
        if (text := instance_text(value, self)) is not None:
            led_to = tuple(self._visits[count:])
            self.objects[id(value)] = InstalledText(value=value, text=text, led_to=led_to)
        return text

    def _run_pending(self) -> None:
        while True:
            while self._pending:
                found = self._pending.popleft()
                if isinstance(found, FunctionType):
                    self._function(found, "callee ")
                else:
                    self._class(found)
            self._read_holders()
            if not self._pending:
                return

    def module(self, found: ModuleType) -> str:
        """Return a module's name, with a number if another module or namespace of that name was met before."""
        return self._space(vars(found), name_of_module(found))

    def _space(self, scope: Mapping[str, object], name: str) -> str:
        if id(scope) not in self._spaces:
            module = sys.modules.get(name)
            home = namespace_of(module) if is_module(module) else scope  # an object in sys.modules may raise when asked
            if home is not scope and _is_copy(scope, home):
                return self._space(home, name)
            self._spaces[id(scope)] = _numbered(_module_label(name), self._spaces.values())
            self._alive.append(scope)
        return self._spaces[id(scope)]

    def _label(self, found: FunctionType | type) -> str:
        name, module, of = found.__qualname__, _module_label(found.__module__), ""
        if isinstance(found, FunctionType) and (space := self._space(found.__globals__, home_of(found))) != module:
            of += f" in {space}"
        if found.__name__ != name and found.__name__ != name.rpartition(".")[2]:
            of += f" named {found.__name__}"
        if self._places is None:
            self._places = registered_alike()
        if id(found) in self._places:
            of += f" registered {self._places[id(found)]}"
        label = _numbered(f"{_dotted(module, name)}{of}", self._taken)
        self._taken.add(label)
        self._labels[id(found)] = label
        self._alive.append(found)
        return label

    def _function(self, function: FunctionType, role: str) -> None:
        label, code = self._labels[id(function)], function.__code__
        self.modules.add(home_of(function))
        plan = plan_of(code)
        self._add(f"{role}{label} code", plan.digest)
        for kind in plan.strange:
            self.opaque[f"a constant of {label} is a {kind} object, which gridjit cannot see"] = None
        if self._lines:
            self._add(f"{role}{label} lines", lines_digest(code))
        if function.__defaults__ or function.__kwdefaults__:
            self._defaults(function, label)
        if code.co_freevars:
            self._closure(function, label, plan)
        for reference in plan.references:
            if not reference.free:
                self._global(function, label, plan, reference)
        if function.__dict__:
            self._holders.append((label, function.__dict__, function.__dict__))
            if "__wrapped__" in function.__dict__:
                self._value(
                    f"wrapped by {label}", "", "the function wrapped by", label, function.__dict__["__wrapped__"]
                )
        self._taken_attributes.update(plan.attributes)
        self._functions.append((label, function))

    def _defaults(self, function: FunctionType, label: str) -> None:
        for name, value in defaults_of(function).items():
            self._value(f"default {name} of {label}", name, "default", label, value)

    def _closure(self, function: FunctionType, label: str, plan: CodePlan) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = cell_value(cell)
            if _is_only_written(value, (r for r in plan.references if r.free and r.name == name), plan):
                continue
            text = self._value(f"closure {name} of {label}", name, "closure variable", label, value)
            self.taken[id(cell), ""] = (value, text)
            for reference in plan.references:
                if reference.free and reference.name == name:
                    self._used(function, label, plan, reference, value)

    def _global(self, function: FunctionType, label: str, plan: CodePlan, reference: Reference) -> None:
        name = reference.name
        scope = function.__globals__
        value = scope.get(name, MISSING)
        if value is MISSING:
            value = getattr(function, "__builtins__", {}).get(name, MISSING)
            if is_own_builtin(name, value):
                self._used(function, label, plan, reference, value)
                return
        if (id(scope), name) not in self.taken:
            if _is_only_written(value, (r for r in plan.references if not r.free and r.name == name), plan):
                return
            self._named(scope, self._space(scope, home_of(function)), name, label, value)
        self._used(function, label, plan, reference, value)

    def _used(self, function: FunctionType, label: str, plan: CodePlan, reference: Reference, value: object) -> None:
        """Follow the attributes that code takes of a module that it names."""
        if of_kind(value, ModuleType):
            self._attributes(value, reference.attributes, label, plan)

    def _attributes(
        self,
        module: ModuleType,
        chain: tuple[str, ...],
        label: str,
        plan: CodePlan,
        entered: frozenset[int] = frozenset(),
    ) -> None:
        """Follow `module.a.b` as far as modules go; in a library, only to values that are not the library's own.

        If code uses a module without an attribute (`m = helpers`, `getattr(helpers, "clip")`), every name that it
        might take is followed. entered: ids of the modules that this was done for on the way here.
        """
        library = is_library_module(module)
        if not library:
            self.modules.add(name_of_module(module))
        if chain:
            # A library's module may import others when asked for an attribute that it does not hold.
            value = vars(module).get(chain[0], MISSING) if library else module_attribute(module, chain[0])
            if not library or is_put_there(value) or goes_by_another_name(value, chain[0]):
                self._named(vars(module), self.module(module), chain[0], label, value)
            if of_kind(value, ModuleType):
                self._attributes(value, chain[1:], label, plan, entered)
        elif id(module) not in entered:
            names = vars(module).keys() & plan.attributes if library else plan.attributes
            for name in sorted(names) if library else names:
                if library or module_attribute(module, name) is not MISSING:
                    self._attributes(module, (name,), label, plan, entered | {id(module)})

    def _named(self, scope: Mapping[str, object], space: str, name: str, label: str, value: object) -> None:
        key = (id(scope), name)
        if key not in self.taken:
            text = self._value(f"global {_dotted(space, name)}", name, "global", label, value)
            self.taken[key] = (value, text)

    def _class(self, cls: type) -> None:
        label = self._labels[id(cls)]
        self.modules.add(cls.__module__)
        if not is_librarys(type(cls)):
            self._value(f"class of class {label}", "", "the class of class", label, type(cls))
        try:
            for number, text in enumerate(self._registered_texts(cls)):
                self._add(f"registered {number} for class {label}", text)
        except OpaqueValue as error:
            self.opaque[f"what is registered for class {label} {error}"] = None
        if issubclass(cls, Enum):
            self._enum(cls, label)
            return
        if "_abc_impl" in vars(cls):
            self._value(f"registered with class {label}", "", "what is registered with class", label, registered(cls))
        bases = tuple(base for base in cls.__bases__ if base is not Enum)
        self._value(f"bases of class {label}", "", "the bases of class", label, bases)
        rest: dict[str, object] = {}
        for name, value in sorted(vars(cls).items()):
            if name in _ONLY_IF_NAMED:
                rest[name] = value
            elif name not in _CLASS_NOISE:
                if name == "__new__" and _is_of_named_tuple(value):
                    value = value.__func__.__defaults__
                self._value(f"attribute {name} of class {label}", name, "attribute", f"class {label}", value)
        self._holders.append((f"class {label}", rest, vars(cls)))

    def _enum(self, cls: type[Enum], label: str) -> None:
        members: dict[str, object] = {name: member._value_ for name, member in cls.__members__.items()}
        self._value(f"members of class {label}", "", "the members of class", label, dict(sorted(members.items())))
        for base in cls.__bases__:
            if not is_librarys(base):
                self._value(f"base {base.__qualname__} of class {label}", "", "a base of class", label, base)
        for name, data in _data_of(cls).items():
            self._add(f"data of {name} of class {label}", data)
        self._value(f"other values of class {label}", "", "other values of class", label, _other_values_of(cls))
        for name, value in sorted(vars(cls).items()):
            if _is_users_code(value) or _counts_in_enum(cls, name):
                self._value(f"attribute {name} of class {label}", name, "attribute", f"class {label}", value)
        for name, member in cls.__members__.items():
            state = {key: value for key, value in vars(member).items() if key not in _MEMBER_NOISE}
            self._holders.append((f"{label}.{name}", state, state))

    def _read_holders(self) -> None:
        """Add the attributes of functions, classes and members that the code takes of anything."""
        if self._taken_attributes & _SPECIAL:
            self._holders += [
                (label, {n: getattr(function, n) for n in _SPECIAL}, ()) for label, function in self._functions
            ]
            self._functions.clear()
        whole = "__dict__" in self._taken_attributes
        for label, holder, order in tuple(self._holders):
            # Whoever takes a module's own __dict__ deals with it.
            every = whole and not label.startswith("module ")
            if every and order and (label, "") not in self._read:
                self._read.add((label, ""))
                self._add(f"order of {label}", ", ".join(order))
            for name in sorted(holder if every else holder.keys() & self._taken_attributes):
                if name != "__wrapped__" and (label, name) not in self._read:
                    self._read.add((label, name))
                    self._value(f"attribute {name} of {label}", name, "attribute", label, holder[name])

    def _value(self, part: str, name: str, kind: str, owner: str, value: object) -> str:
        text = scalar_text(value)
        if text is None:
            text = self._text(kind, name, owner, value)
        self._add(part, text)
        return text

    def _text(self, kind: str, name: str, owner: str, value: object) -> str:
        if value is MISSING:
            return "undefined"
        try:
            return value_text(value, self)
        except OpaqueValue as error:
            reason = str(error)
        except RecursionError:
            reason = f"is a {type(value).__qualname__} that holds itself or is nested too deeply"
        except Exception as error:
            # Looking at a value runs code of its class. If that raises, the disk cache is lost, never the launch.
            let_through(error)
            reason = f"is a {type(value).__qualname__} that cannot be inspected ({type(error).__name__}: {error})"
        what = f"{kind} {name!r} of {owner}" if name else f"{kind} {owner}".lstrip()
        self.opaque[f"{what} {reason}"] = None
        return f"opaque {type_name(type(value))}"

    def _add(self, label: str, text: str) -> None:
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}... {digest_fields([utf8(text)])}"
        self.parts[_numbered(label, self.parts)] = text


_CLASS_NOISE = frozenset({"_abc_impl", "__annotate__", "__annotate_func__", "__dict__", "__weakref__"})
# Attributes of a class that no operation of Python's reads unless code names them, as it reads the other special ones.
_ONLY_IF_NAMED = frozenset(
    (
        *("__annotations__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__static_attributes__"),
        *("__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__", "__type_params__"),
        *("__protocol_attrs__", "__non_callable_proto_members__"),
    )
)
_MEMBER_NOISE = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
_PLAIN: dict[type, Callable[..., object]] = {int: int.__int__, float: float.__float__, str: str.__str__}
_SPECIAL = frozenset({"__doc__", "__annotations__"})

_CONTAINERS = (list, dict, set, bytearray, deque)
# These return None, whatever the container holds.
_WRITES = frozenset({"append", "appendleft", "extend", "extendleft", "add", "update", "insert", "clear", "discard"})


def _is_only_written(value: object, uses: Iterable[Reference], plan: CodePlan) -> bool:
    """Return whether value is a container that the code adds to and never reads, such as a log."""
    if type(value) not in _CONTAINERS or "__self__" in plan.attributes:
        return False
    attributes = [use.attributes[:1] for use in uses]
    return bool(attributes) and all(first and first[0] in _WRITES for first in attributes)


def registered(cls: type) -> frozenset[type]:
    """Return the classes that were registered as subclasses of an abstract class, or of subclasses of it."""
    from _abc import _get_dump  # type: ignore[import-not-found]  # the registry itself is hidden

    found: list[type | None] = [reference() for base in _below(cls) for reference in _get_dump(base)[0]]
    return frozenset(one for one in found if one is not None)


def _below(cls: type) -> Iterator[type]:
    yield cls
    below: list[type] = type.__subclasses__(cls)
    for one in below:
        if "_abc_impl" in vars(one):
            yield from _below(one)


def _is_of_named_tuple(value: object) -> TypeGuard[staticmethod[..., object]]:
    """Return whether collections.namedtuple made a `__new__` from the names of fields."""
    made = value.__func__ if isinstance(value, staticmethod) else None
    return isinstance(made, FunctionType) and home_of(made).startswith("namedtuple_")


def _data_of(cls: type[Enum]) -> dict[str, str]:
    """Return the numbers and texts that members of an enum are, by name, if a member's value is another."""
    plain = next((read for base, read in _PLAIN.items() if issubclass(cls, base)), None)
    texts = {} if plain is None else {name: scalar_text(plain(one)) or "" for name, one in cls.__members__.items()}
    return {name: text for name, text in texts.items() if text != scalar_text(cls.__members__[name]._value_)}


def _other_values_of(cls: type[Enum]) -> dict[object, str]:
    """Return by which values, other than its own, each member is found; flags make members when they are asked."""
    found = {} if issubclass(cls, Flag) else cls._value2member_map_
    return {value: member.name for value, member in found.items() if member._value_ is not value}


def _counts_in_enum(cls: type[Enum], name: str) -> bool:
    """Return whether an attribute is none of the members and tables that the module enum keeps in a class."""
    if name in cls.__members__ or name in _CLASS_NOISE or name in _ONLY_IF_NAMED:
        return False
    return not (name.startswith("_") and name.endswith("_")) or name.startswith("__") or name == "_boundary_"


def _is_users_code(value: object) -> bool:
    """Return whether value is a function or a method that is not a library's."""
    inner = getattr(value, "__func__", value) if issubclass(type(value), (staticmethod, classmethod)) else value
    return of_kind(inner, property) or (of_kind(inner, FunctionType) and not is_librarys(inner))


def is_put_there(value: object) -> bool:
    """Return whether a library's module holds a plain value, or code that a program put there."""
    if scalar_text(value) is not None:
        return True
    found = value if issubclass(type(value), type) else function_of(value)
    return isinstance(found, FunctionType | type) and not is_librarys(found)


def goes_by_another_name(value: object, name: str) -> bool:
    """Return whether a library holds a value of another name under a name: an alias, or a program's value."""
    if issubclass(type(value), (FunctionType, BuiltinFunctionType, type)) or type(value).__name__ == "ufunc":
        return getattr(value, "__name__", name) != name
    return callable(value) and not is_librarys(type(value))


def _module_label(module: str | None) -> str:
    # A child process that multiprocessing started runs the same script under another name.
    return "__main__" if module == "__mp_main__" else module or ""


def _is_copy(scope: Mapping[str, object], home: Mapping[str, object]) -> bool:
    """Return whether a module's namespace holds the same values, as where pickle makes a function anew."""
    return all(home.get(name) is value for name, value in scope.items() if not name.startswith("__"))


def _dotted(space: str, name: str) -> str:
    return f"{space}.{name}" if space else name


def _numbered(name: str, taken: Collection[str]) -> str:
    label, count = name, 1
    while label in taken:
        count += 1
        label = f"{name} ({count})"
    return label


def module_attribute(module: ModuleType, name: str) -> object:
    try:
        return getattr(module, name)
    except Exception as error:
        # The compiler will report an error of the module's own __getattr__; it does not concern the key.
        let_through(error)
        return MISSING
