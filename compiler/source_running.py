"""RunningWalk: a walk over code that runs while kernels are compiled, which may do all that Python can.

Installed code is a leaf of it: its distribution stands for it. What the user's own code does that nobody can follow
is told with its line, and keeps what is compiled with it in this process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from gridjit.compiler.installed import owner_of
from gridjit.compiler.source_code import CodePlan, Reference, plan_of
from gridjit.compiler.source_dynamic import Import, dynamic_plan, line_of
from gridjit.compiler.source_library import is_library_module
from gridjit.compiler.source_opaque import of_kind
from gridjit.compiler.source_unfollowed import reads_files, unfollowed
from gridjit.compiler.source_value import is_librarys, module_name
from gridjit.compiler.source_walk import Walk


class RunningWalk(Walk):
    """One visit of all that a value reaches which runs while kernels are compiled."""

    def __call__(self, found: FunctionType | type) -> str:
        """Note a function or class found in a value; returns the label it goes by, of installed code with whose."""
        if id(found) in self._labels or (owner := owner_of(found)) is None:
            return super().__call__(found)
        self._alive.append(found)
        self.reached.append(found)
        home = module_name(found) if isinstance(found, FunctionType) else found.__module__
        given = (self(one) for one in _users_code_in(found))
        return " of ".join((f"{home}.{found.__qualname__} of {owner.identity}", *given))

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        text = super().installed(value)
        if text is not None:
            self.reached.append(type(value))
        return text

    def note_module(self, module: ModuleType) -> None:
        """Count what the code takes of a module that came to it as a value."""
        self._holders.append((f"module {module.__name__}", vars(module)))

    def _function(self, function: FunctionType, role: str) -> None:
        super()._function(function, role)
        label, code = self._labels[id(function)], function.__code__
        dynamic, plan = dynamic_plan(code), plan_of(code)
        for what, line in dynamic.computed:
            self._cannot_follow(label, what, code, line)
        if (name := reads_files(plan.attributes)) is not None:
            self._cannot_follow(label, name, code, line_of(code, name))
        for found in dynamic.imports:
            self._import(function, label, plan, found)
        if {"import_module", "__import__"} & {*plan.attributes, *code.co_names}:
            for module in _named_modules(code):
                self._imported(module, (), function, label, plan)

    def _used(self, function: FunctionType, label: str, plan: CodePlan, reference: Reference, value: object) -> None:
        if (what := unfollowed(value, reference.attributes, plan.attributes)) is not None:
            name = (*reference.attributes, reference.name)[0]
            self._cannot_follow(label, what, function.__code__, line_of(function.__code__, name))
        super()._used(function, label, plan, reference, value)

    def _import(self, function: FunctionType, label: str, plan: CodePlan, found: Import) -> None:
        package = str(function.__globals__.get("__package__") or "").split(".")
        parents = package[: len(package) - found.level + 1] if found.level else []
        name = ".".join((*parents, found.module)) if found.module else ".".join(parents)
        # `import a.b` gives the name a to the outermost, whatever is taken of it.
        for module in dict.fromkeys((name, name if found.names else name.partition(".")[0])):
            if (loaded := sys.modules.get(module)) is not None:
                self._imported(loaded, found.names, function, label, plan)
        for inner in found.names:
            if (submodule := sys.modules.get(f"{name}.{inner}")) is not None:
                self._imported(submodule, (), function, label, plan)

    def _imported(
        self, module: ModuleType, names: tuple[str, ...], function: FunctionType, label: str, plan: CodePlan
    ) -> None:
        chains: list[tuple[str, ...]] = [(name,) for name in names] or [()]
        for chain in chains:
            reference = Reference(name=module.__name__.rpartition(".")[2], attributes=chain)
            self._used(function, label, plan, reference, module)
            value = vars(module).get(chain[0]) if chain else None
            if value is not None and (what := unfollowed(value, (), plan.attributes)) is not None:
                self._cannot_follow(label, what, function.__code__, line_of(function.__code__, chain[0]))
        if not is_library_module(module):
            # Its user may be another function, which this one gives it to.
            self.note_module(module)
            self.reached += [module] if owner_of(module) is not None else []

    def _cannot_follow(self, label: str, what: str, code: CodeType, line: int) -> None:
        where = f"{os.path.basename(code.co_filename)}:{line}"
        self.opaque[f"{label} uses {what} at {where}, which can be something else in another process"] = None


def _named_modules(code: CodeType) -> Iterator[ModuleType]:
    for constant in code.co_consts:
        if isinstance(constant, str) and isinstance(module := sys.modules.get(constant), ModuleType):
            yield module
        elif isinstance(constant, CodeType):
            yield from _named_modules(constant)


def _users_code_in(found: FunctionType | type) -> Iterator[FunctionType | type]:
    """Yield the user's own functions and classes that an installed function holds in its closure."""
    for cell in getattr(found, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if (of_kind(value, FunctionType) or of_kind(value, type)) and not is_librarys(value):
            yield from [value] if owner_of(value) is None else []
