"""RunningWalk: a walk over code that runs while kernels are compiled, which may do anything that Python can.

Installed code is a leaf: its distribution stands for it. A step of the user's own code that cannot be followed is
reported with its line, and kernels compiled with it stay in this process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from enum import Enum
from functools import _lru_cache_wrapper
from types import CodeType, FunctionType, ModuleType
from weakref import WeakSet

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.installed import Distribution, owner_of
from gridjit.compiler.key.process_settings import process_settings
from gridjit.compiler.key.walk import Walk, goes_by_another_name, is_put_there, module_attribute, registered
from gridjit.compiler.source.code import CodePlan, Reference, names_in_text, plan_of
from gridjit.compiler.source.dynamic import (
    TAKES_NAMES,
    Import,
    annotation_codes,
    dynamic_plan,
    is_there,
    line_of,
    package_of,
)
from gridjit.compiler.source.libraries import (
    home_of,
    is_library,
    is_library_module,
    is_librarys,
    is_module,
    name_of_module,
    namespace_of,
)
from gridjit.compiler.source.objects import MISSING, OpaqueValue, closure_of, of_kind, type_name
from gridjit.compiler.source.order import has_secret_order, ordered_names
from gridjit.compiler.source.put_on_libraries import (
    code_in_class,
    code_in_module,
    end_of,
    history_of,
    may_hold,
    put_on,
)
from gridjit.compiler.source.unfollowed import (
    leads_anywhere,
    refused_methods,
    refused_of,
    states_of,
    taken_by,
    unfollowed,
)

# Compilers' own packages: a program's changes of them count for every kernel, or are in the key of kept callees.
_COMPILERS = frozenset({"numba", "numba_cuda", "llvmlite", "gridjit", "cuda"})
# Its results depend on what its function read then, which may have changed.
_known_memos: WeakSet[_lru_cache_wrapper[object]] = WeakSet()


class RunningWalk(Walk):
    """One visit of all that a value reaches and that runs while kernels are compiled."""

    def __init__(self) -> None:
        super().__init__()
        self._ran: list[tuple[str, CodeType, CodePlan]] = []
        # Modules and classes that the code holds as values: any part of it may take any attribute that it names.
        self._handed_on: dict[int, object] = {}
        self._asked: dict[int, set[str]] = {}
        # By identity: lists, dictionaries, arrays and the like, numbered as they were met.
        self._met: dict[int, int] = {}
        # By label: where the names in the annotations of functions and classes are looked up.
        self._scopes: dict[str, dict[str, object]] = {}
        # Names of sets whose order differs by process; "" for sets inside another value.
        self._unordered: list[str] = []
        # Classes and modules of Python's own and of NumPy that the code comes to.
        self._libraries: dict[int, type | ModuleType] = {}
        self._looked_at: set[int] = set()
        # The walk's place: a function's code, the name that it follows, and the value of that name itself.
        self._code: CodeType | None = None
        self._name = ""
        self._named_value: object = None

    def _owner(self, found: FunctionType | type) -> Distribution | None:
        """Return the distribution that stands for a function or a class; None if it is followed."""
        return owner_of(found)

    def _leaf(self, found: FunctionType | type, owner: Distribution) -> str:
        self.reached.append(found)
        given = (self(one) for one in _users_code_in(found))
        return " of ".join((super()._leaf(found, owner), *given))

    def again(self, value: object) -> str:
        """Return words for a value that is the same object as an earlier one: code may compare or change them."""
        if id(value) in self._met:
            return f" again {self._met[id(value)]}"
        self._met[id(value)] = len(self._met)
        self._alive.append(value)
        return ""

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        text = super().installed(value)
        if text is not None:
            self.reached.append(type(value))
        return text

    def note(self, value: object) -> None:
        """Count the attributes that code takes of a module or a library's class; raises OpaqueValue if uncertain.

        This is called wherever a value's text is made, also in containers, defaults and partials.
        """
        self._come_to(value)
        if of_kind(value, ModuleType):
            if not is_library_module(value):
                # Its user may be another function, which this one gives it to.
                self._holders.append((f"module {self.module(value)}", vars(value), ()))
            if value is not self._named_value:
                self._handed_on[id(value)] = value
            return
        if type(value) in (set, frozenset):
            if has_secret_order(value):
                self._unordered.append(self._name)
            return
        if isinstance(value, _lru_cache_wrapper) and not _is_known_memo(value):
            raise OpaqueValue("has results that were worked out before any kernel was compiled")
        self._taken_attributes |= taken_by(value)
        # _used reports a value that the code names itself.
        what = self._computes_names(value) or (None if value is self._named_value else unfollowed(value, ()))
        if what is not None:
            raise OpaqueValue(f"leads to {what}{self._place()}, which can be something else in another process")
        if value is not self._named_value:
            self._hand_on(value)

    def _hand_on(self, value: object) -> None:
        """Note that the code holds a library's value: any part of it may take any attribute that it names."""
        if (of_kind(value, type) and refused_methods(value)) or may_hold(value):
            self._handed_on[id(value)] = value

    def _computes_names(self, value: object) -> str | None:
        name = getattr(value, "__name__", None)
        if name not in TAKES_NAMES or not is_library(str(getattr(value, "__module__", None))):
            return None
        return None if value is self._named_value and name == self._name else f"{name} under another name"

    def _place(self) -> str:
        if self._code is None:
            return ""
        return f" at {os.path.basename(self._code.co_filename)}:{line_of(self._code, self._name)}"

    def _text(self, kind: str, name: str, owner: str, value: object) -> str:
        direct = kind in ("global", "closure variable")
        self._named_value, self._name = (value if direct else None), name
        return super()._text(kind, name, owner, value)

    def _value(self, part: str, name: str, kind: str, owner: str, value: object) -> str:
        if type(value) is str:
            # str.format may be called on a global.
            self._taken_attributes.update(names_in_text(value))
        if name == "__annotations__" and owner in self._scopes and isinstance(value, dict):
            for code in annotation_codes(value.values()):
                self(FunctionType(code, self._scopes[owner]))
        return super()._value(part, name, kind, owner, value)

    def _class(self, cls: type) -> None:
        self._code = None
        if is_module(module := sys.modules.get(cls.__module__)):
            self._scopes[f"class {self._labels[id(cls)]}"] = namespace_of(module)
        super()._class(cls)

    def _enum(self, cls: type[Enum], label: str) -> None:
        super()._enum(cls, label)
        # Code may go through the members.
        self._add(f"order of class {label}", ", ".join((*cls.__members__, *cls._member_names_)))

    def _function(self, function: FunctionType, role: str) -> None:
        self._code = function.__code__
        self._scopes[self._labels[id(function)]] = function.__globals__
        super()._function(function, role)
        label, code = self._labels[id(function)], function.__code__
        dynamic, plan = dynamic_plan(code), plan_of(code)
        self._ran.append((label, code, plan))
        for what, line in dynamic.computed:
            self._cannot_follow(label, what, code, line)
        for name in leads_anywhere(plan.attributes):
            self._cannot_follow(label, name, code, line_of(code, name))
        for found in dynamic.imports:
            self._import(function, label, plan, found)

    def _used(self, function: FunctionType, label: str, plan: CodePlan, reference: Reference, value: object) -> None:
        names = (*reference.attributes, reference.name)
        self._taken_attributes |= taken_by(value, reference.attributes)
        # The result of a method __hash__ finds objects again; code that could read the number is refused by itself.
        what = None if value is hash and function.__name__ == "__hash__" else unfollowed(value, reference.attributes)
        if what is not None:
            self._cannot_follow(label, what, function.__code__, line_of(function.__code__, names[0]))
        for name in states_of(value) & {*plan.attributes}:
            self._cannot_follow(
                label, f"{name} of {reference.name}", function.__code__, line_of(function.__code__, name)
            )
        self._come_to(value)
        found, left = end_of(value, reference.attributes)
        self._come_to(found)
        if not left:
            self._hand_on(found)
        elif may_hold(found):
            self._take_of(found, left[0], label, function.__code__)
        super()._used(function, label, plan, reference, value)

    def _take_of(self, value: object, name: str, label: str, code: CodeType) -> None:
        """Count an attribute that a program put on a library's class, function or kernel."""
        if (what := history_of(value, name)) is not None:
            self._cannot_follow(label, what, code, line_of(code, name))
        for one, item in put_on(value, name, is_put_there).items():
            self._value(f"{one} put on {_named(value)}", one, "attribute", _named(value), item)

    def _attributes(
        self,
        module: ModuleType,
        chain: tuple[str, ...],
        label: str,
        plan: CodePlan,
        entered: frozenset[int] = frozenset(),
    ) -> None:
        if not chain:
            self._handed_on[id(module)] = module
        super()._attributes(module, chain, label, plan, entered)

    def _read_holders(self) -> None:
        """Also add the attributes that any part of the code may take of modules and classes that it holds as values."""
        super()._read_holders()
        self._read_libraries()
        self._note_orders()
        done = 0
        while done < len(self._handed_on):
            value = [*self._handed_on.values()][done]
            done += 1
            asked = self._asked.setdefault(id(value), set())
            if len(asked) < len(self._taken_attributes):
                for name in sorted(self._taken_attributes - asked):
                    asked.add(name)
                    self._may_take(value, name)

    def _come_to(self, value: object) -> None:
        """Note a class or a module of Python's own or of NumPy, for a function the module that it is in."""
        if of_kind(value, FunctionType):
            value = sys.modules.get(home_of(value))
        if (of_kind(value, ModuleType) and is_library_module(value)) or (of_kind(value, type) and is_librarys(value)):
            home = name_of_module(value) if isinstance(value, ModuleType) else value.__module__
            if home.partition(".")[0] not in _COMPILERS:
                self._libraries.setdefault(id(value), value)

    def _read_libraries(self) -> None:
        """Add a program's values and registrations in the libraries' classes and modules that the code comes to."""
        for value in [one for key, one in self._libraries.items() if key not in self._looked_at]:
            self._looked_at.add(id(value))
            self._code = None
            name = name_of_module(value) if isinstance(value, ModuleType) else type_name(value)
            held = code_in_module(value) if isinstance(value, ModuleType) else code_in_class(value)
            for what, item in held:
                self._value(f"{what}, in {name}", what, "what a program may set,", name, item)
            if isinstance(value, type) and "_abc_impl" in vars(value):
                given = frozenset(one for one in registered(value) if not is_librarys(one) and owner_of(one) is None)
                if given:
                    self._value(f"registered with class {name}", "", "what is registered with class", name, given)

    def end(self) -> None:
        """Add settings of the process or thread that code reads without naming them."""
        if not self._ran:
            return
        names = {name for _, _, plan in self._ran for name in (*plan.attributes, *(r.name for r in plan.references))}
        try:
            found = [*process_settings(names)]
        except Exception as error:  # a program may have put anything in a library's place
            let_through(error)
            self.opaque[f"the settings of the process cannot be read ({type(error).__name__}: {error})"] = None
            return
        for words, value in found:
            self._value(f"process: {words}", "", f"{words} in", "this process", value)
        self._run_pending()

    def _note_orders(self) -> None:
        """Refuse code that uses the order of a set, if that differs by process."""
        for label, code, _ in self._ran:
            named = ordered_names(code)
            for name in named & {*self._unordered, ""}:
                self._cannot_follow(label, f"the order of the set {name}".rstrip(), code, line_of(code, name))

    def _may_take(self, value: object, name: str) -> None:
        """Count an attribute that some part of the code takes of something, and may take of value."""
        if not isinstance(value, ModuleType) and may_hold(value):
            label, code = next(
                ((label, code) for label, code, plan in self._ran if name in plan.attributes), ("", None)
            )
            if code is not None:
                self._take_of(value, name, label, code)
        if not isinstance(value, ModuleType | type):
            return
        if isinstance(value, type):
            refused = f"{value.__module__}.{value.__name__}.{name}" if name in refused_methods(value) else None
        else:
            refused = refused_of(value, name) if name in vars(value) or name == "__dict__" else None
        if refused is not None:
            label, code = next((label, code) for label, code, plan in self._ran if name in plan.attributes)
            self._cannot_follow(label, refused, code, line_of(code, name))
        elif of_kind(value, ModuleType) and name != "__wrapped__":
            self._code = None
            library = is_library_module(value)
            # A module may compute its attributes.
            made = not library and name not in vars(value) and (type(value) is not ModuleType or _makes(value))
            found = module_attribute(value, name) if made else vars(value).get(name, MISSING)
            put = library and (is_put_there(found) or of_kind(found, ModuleType) or goes_by_another_name(found, name))
            if found is not MISSING and (made or put):
                owner = self.module(value)
                self._value(f"attribute {name} of module {owner}", name, "attribute", owner, found)

    def _import(self, function: FunctionType, label: str, plan: CodePlan, found: Import) -> None:
        package = package_of(function.__globals__).split(".")
        parents = package[: len(package) - found.level + 1] if found.level else []
        name = ".".join((*parents, *([found.module] if found.module else [])))
        # `import a.b` binds a, the outermost package.
        for module in dict.fromkeys((name, name if found.names else name.partition(".")[0])):
            self._named_module(module, found.names, function, label, plan)
        loaded = sys.modules.get(name)
        for inner in found.names if of_kind(loaded, ModuleType) else ():
            if f"{name}.{inner}" in sys.modules or inner not in vars(loaded):
                self._named_module(f"{name}.{inner}", (), function, label, plan)

    def _named_module(
        self, name: str, names: tuple[str, ...], function: FunctionType, label: str, plan: CodePlan
    ) -> None:
        """Count a module that code imports while it runs: the attributes it takes; whether it exists, if not loaded."""
        loaded = sys.modules.get(name)
        if loaded is None:
            self._add(f"module {name} that {label} imports", "there" if is_there(name) else "not there")
        elif not of_kind(loaded, ModuleType):
            self.opaque[f"{label} imports {name}, which is not a module"] = None
        else:
            self.imported.append(name)
            if (known := self.module(loaded)) != name:
                self._add(f"module {name} that {label} imports", known)
            self._imported(loaded, names, function, label, plan)

    def _imported(
        self, module: ModuleType, names: tuple[str, ...], function: FunctionType, label: str, plan: CodePlan
    ) -> None:
        chains: list[tuple[str, ...]] = [(name,) for name in names] or [()]
        for chain in chains:
            reference = Reference(name=name_of_module(module).rpartition(".")[2], attributes=chain)
            self._used(function, label, plan, reference, module)
            value = vars(module).get(chain[0]) if chain else None
            if value is not None:
                self._value(f"{chain[0]} that {label} imports", chain[0], "global", label, value)
                self._used(function, label, plan, Reference(name=chain[0]), value)
        if not is_library_module(module):
            # Its user may be another function, which this one gives it to.
            self._holders.append((f"module {self.module(module)}", vars(module), ()))
            self.reached += [module] if owner_of(module) is not None else []

    def _cannot_follow(self, label: str, what: str, code: CodeType, line: int) -> None:
        where = f"{os.path.basename(code.co_filename)}:{line}"
        self.opaque[f"{label} uses {what} at {where}, which can be something else in another process"] = None


def _named(value: object) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _is_known_memo(memo: _lru_cache_wrapper[object]) -> bool:
    """Return whether a functools.lru_cache had no results yet when it was first looked at."""
    if memo.cache_info().currsize == 0:
        _known_memos.add(memo)
    return memo in _known_memos


def _makes(module: ModuleType) -> bool:
    return "__getattr__" in vars(module)


def _users_code_in(found: FunctionType | type) -> Iterator[FunctionType | type]:
    """Yield the user's own functions and classes that an installed function holds in its closure."""
    for value in closure_of(found).values() if isinstance(found, FunctionType) else ():
        if (of_kind(value, FunctionType) or of_kind(value, type)) and not is_librarys(value):
            yield from [value] if owner_of(value) is None else []
