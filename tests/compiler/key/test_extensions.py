"""What extensions registered is part of every kernel's key: by its code, and by what that reaches."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.narrow.contexts import make_contexts
from gridjit.compiler.key import registrations, registry_entries
from gridjit.compiler.key.extensions import extensions, numbered

EXTENSION = """
import functools
import logging
from numba.cuda import types
from numba.cuda.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.cuda.core.rewrites import Rewrite, register_rewrite
from numba.cuda.cudadecl import register_global
from numba.cuda.extending import (
    core_models, make_attribute_wrapper, overload, overload_method, register_model, type_callable
)
from numba.cuda.typing.templates import AbstractTemplate, signature

TILE = 3
LOG = []
SETTINGS = {"unroll": 4}
logger = logging.getLogger("extension")

class Opaque:
    pass

def stub(x):
    raise NotImplementedError

class PointType(types.Type):
    pass

def helper():
    return TILE

class Base(Rewrite):
    def match(self, func_ir, block, typemap, calltypes):
        LOG.append(func_ir)
        logger.debug("matching")
        return False

def rewrite():
    @register_rewrite("after-inference")
    @register_rewrite("before-inference")
    class Bake(Base):
        def apply(self):
            return helper() + SETTINGS["unroll"]
    return Bake

def hidden_rewrite():
    secret = Opaque()
    @register_rewrite("before-inference")
    class Hidden(Base):
        def apply(self):
            return secret

def lowering():
    @lower_builtin(stub, types.float64)
    def lower_stub(context, builder, sig, args):
        return helper()

def cast():
    @lower_cast(types.float64, PointType)
    def float_to_point(context, builder, fromty, toty, val):
        return helper()

def getattr_():
    @lower_getattr(PointType, "x")
    def point_x(context, builder, typ, val):
        return helper()

def template():
    @register_global(stub)
    class StubTemplate(AbstractTemplate):
        def generic(self, args, kws):
            return helper()

def callable_():
    @type_callable(stub)
    def type_stub(context):
        return lambda x: helper()

def model():
    @register_model(PointType)
    class PointModel(core_models.OpaqueModel):
        size = TILE

def wrapper():
    make_attribute_wrapper(PointType, f"member{TILE}", "x")

def method():
    @overload_method(PointType, "norm", target="cuda")
    def point_norm(self):
        return lambda self: helper()

def library_overload():
    @overload(len, target="cuda")
    def extension_len(x):
        return lambda x: helper()

def partial():
    lower_builtin(stub, types.float64)(functools.partial(lambda tile, *_: helper(), TILE))

def bound():
    class Tiles:
        def lower(self, *_):
            return helper()
    lower_builtin(stub, types.float64)(Tiles().lower)

def nameless():
    space = {"helper": helper}
    exec("def made(context, builder, sig, args): return helper()", space)
    lower_builtin(stub, types.float64)(space["made"])

def made_class():
    def generic(self, args, kws):
        return helper()
    register_global(stub)(type("Made", (AbstractTemplate,), {"generic": generic}))

def own_overload():
    @overload(stub, target="cuda")
    def own(x):
        return lambda x: helper()

def cpu_overload():
    @overload(len, target="cpu")
    def own(x):
        return lambda x: helper()
"""


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign_rewrites: None) -> Iterator[ModuleType]:
    """A module "extension" to register with; what it registers is gone after the test."""
    (tmp_path / "extension.py").write_text(EXTENSION)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    numba_cuda()
    extension = importlib.import_module("extension")
    lists = [entries for registry in registries() for entries in vars(registry).values() if type(entries) is list]
    before = [list(entries) for entries in lists]
    handlers = sys.modules["numba.cuda.models"].cuda_data_manager._handlers
    models = dict(handlers)
    yield extension
    for entries, old in zip(lists, before, strict=True):
        entries[:] = old
    handlers.clear()
    handlers.update(models)
    sys.modules.pop("extension")


def registries() -> list[Any]:
    names = ("cudadecl.registry", "cudaimpl.registry", "core.imputils.builtin_registry")
    found = [
        getattr(importlib.import_module(f"numba.cuda.{n.rpartition('.')[0]}"), n.rpartition(".")[2]) for n in names
    ]
    return [*found, sys.modules["numba.cuda.typing.templates"].builtin_registry]


def labels() -> list[str]:
    return [label for label, _ in extensions().fields]


def test_a_process_without_numba_cuda_has_none_and_none_is_looked_for() -> None:
    program = """
        import sys
        from gridjit.compiler.key.extensions import extensions
        assert extensions().fields == () and "numba" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_numba_cuda_alone_has_none(extension: ModuleType) -> None:
    assert not [label for label in labels() if "extension." in label]


@pytest.mark.parametrize(
    ("register", "label"),
    [
        ("lowering", "extension lowering implementation extension.lowering.<locals>.lower_stub"),
        ("cast", "extension lowering cast extension.cast.<locals>.float_to_point"),
        ("getattr_", "extension lowering attribute extension.getattr_.<locals>.point_x"),
        ("template", "extension typing global extension.template.<locals>.StubTemplate"),
        ("callable_", "extension typing implementation extension.callable_.<locals>.type_stub"),
        ("model", "extension data model extension.model.<locals>.PointModel"),
        ("wrapper", "extension typing attribute extension.PointType"),
        ("method", "extension overload extension.method.<locals>.point_norm"),
        ("library_overload", "extension overload extension.library_overload.<locals>.extension_len"),
        ("partial", "extension lowering implementation extension.partial.<locals>.<lambda>"),
        ("bound", "extension lowering implementation extension.bound.<locals>.Tiles.lower"),
        ("nameless", "extension lowering implementation None.made"),
        ("made_class", "extension typing global extension.made_class.<locals>.generic"),
    ],
)
def test_what_is_registered_counts_by_name_and_by_what_it_reaches(
    extension: ModuleType, monkeypatch: pytest.MonkeyPatch, register: str, label: str
) -> None:
    getattr(extension, register)()
    assert label in labels()
    if register in ("model", "wrapper"):
        return
    before = extensions()
    assert extensions() == before
    monkeypatch.setattr(extension, "TILE", 4)
    assert extensions().fields != before.fields


@pytest.mark.parametrize("register", ["model", "wrapper"])
def test_what_is_made_from_a_value_counts_by_it(extension: ModuleType, register: str) -> None:
    getattr(extension, register)()
    before = extensions()
    extension.TILE = 4  # type: ignore[attr-defined]
    getattr(extension, register)()
    assert extensions().fields != before.fields


@pytest.mark.parametrize("register", ["own_overload", "cpu_overload"])
def test_an_overload_that_only_its_callers_meet_does_not_count_for_all(extension: ModuleType, register: str) -> None:
    before = extensions()
    getattr(extension, register)()
    assert extensions() == before


def test_a_rewrite_counts_once_for_each_kind_and_again_when_registered_again(extension: ModuleType) -> None:
    extension.rewrite(), extension.rewrite()
    name = "extension.rewrite.<locals>.Bake"
    assert [label for label in labels() if label.startswith("rewrite")] == [
        f"rewrite {name} after-inference",
        f"rewrite {name} after-inference (2)",
        f"rewrite {name} before-inference",
        f"rewrite {name} before-inference (2)",
    ]


@pytest.mark.parametrize("change", ["TILE", "SETTINGS", "helper", "Base"])
def test_a_rewrite_counts_by_its_globals_callees_and_bases(extension: ModuleType, change: str) -> None:
    extension.rewrite()
    before = extensions()
    match change:
        case "TILE":
            extension.TILE = 4  # type: ignore[attr-defined]
        case "SETTINGS":
            extension.SETTINGS["unroll"] = 8
        case "helper":
            extension.helper = lambda: 5  # type: ignore[attr-defined]
        case "Base":
            extension.Base.match = lambda self, func_ir, block, typemap, calltypes: True
    assert extensions().fields != before.fields
    assert not before.private


def test_a_list_that_a_rewrite_only_adds_to_does_not_count(extension: ModuleType) -> None:
    extension.rewrite()
    before = extensions()
    extension.LOG.append(object())
    assert extensions() == before


def test_a_rewrite_that_holds_what_cannot_be_seen_makes_every_kernel_private(extension: ModuleType) -> None:
    extension.hidden_rewrite()
    (reason,) = extensions().private
    assert "closure variable 'secret' of extension.hidden_rewrite.<locals>.Hidden.apply is an Opaque object" in reason


def test_labels_that_are_given_twice_are_numbered() -> None:
    assert numbered([("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")]) == (
        ("a", "1"),
        ("a (2)", "2"),
        ("b", "3"),
        ("a (3)", "4"),
    )


def test_what_is_quickly_seen_to_be_numbas_has_nothing_of_an_extensions_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    make_contexts()
    lists = registrations.lists_of_registries()
    seen = [registry_entries.registered_in(kind, entries) for entries, kind in lists]
    implementations = [one[0] for entries, kind in lists if kind.startswith("lowering") for one in entries]
    assert len(registry_entries._unclear(implementations)) < len(implementations) / 10
    for name in ("_unclear", "_unclear_templates"):
        monkeypatch.setattr(registry_entries, name, lambda found: {*range(len(found))})
    assert [*map(repr, seen)] == [repr(registry_entries.registered_in(kind, entries)) for entries, kind in lists]


def test_a_template_that_claims_to_be_numbas_is_an_extensions_if_a_method_of_it_is() -> None:
    from numba.cuda.typing.templates import AbstractTemplate

    names = {"key": "ours", "generic": lambda self, args, kws: None, "__module__": AbstractTemplate.__module__}
    template: Any = type("Claiming", (AbstractTemplate,), names)
    (found,) = registry_entries.registered_in("typing implementation", [template])
    assert found.sources == (template.generic,)
