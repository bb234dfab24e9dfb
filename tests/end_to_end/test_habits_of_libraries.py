"""What a library that is built on numba-cuda sees of gridjit: its marks, its questions, its hooks and its objects."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import LaunchConfig, cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

pytestmark = pytest.mark.usefixtures("target")


def increment(x):
    if cuda.grid(1) == 0:
        x[0] += 1


def writes_shared_size(x):
    x[0] = gridjit.static.sharedmem


def takes_object(x, thing):
    x[0] = 7


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Return what imports a module of a given text, which processes to come could import as well."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(text: str) -> Any:
        sys.modules.pop("coop_library", None)
        (tmp_path / "coop_library.py").write_text(textwrap.dedent(text))
        return __import__("coop_library")

    yield load
    sys.modules.pop("coop_library", None)


# -- marks -----------------------------------------------------------------------------------------------------------


@pytest.mark.some(1)
@pytest.mark.parametrize("how", ["configuration", "kernel"])
def test_a_library_that_marks_every_kernel_costs_those_that_read_nothing_one_compile_which_is_stored(
    rewrite: Any, restart: Callable[[], None], how: str
) -> None:
    if how == "configuration":
        rewrite(lambda config: config.mark_kernel_as_launch_config_sensitive())
    else:
        rewrite(lambda config: config.dispatcher.mark_launch_config_sensitive())
    x = np.zeros(1)
    for compiles in (1, 0):
        restart()
        kernel = gridjit.jit(increment)
        for grid in range(1, 401):
            kernel[grid, 32](x)
        kernel[3, 64, 0, 128](x)
        assert kernel.stats.compiles == compiles
        (found,) = kernel.specializations
        assert not found.launch_config_sensitive
        assert found.metadata["launch_config_sensitive"]
        assert all(one.launch_config_sensitive for one in kernel.overloads.values())
        assert kernel[1, 32].is_kernel_launch_config_sensitive()


def test_a_mark_with_names_means_those(rewrite: Any) -> None:
    rewrite(lambda config: config.mark_kernel_as_launch_config_sensitive("blockdim"))
    kernel = gridjit.jit(increment)
    for grid in (1, 2):
        for block in (32, 64):
            kernel[grid, block](np.zeros(1))
    assert kernel.stats.compiles == 2


# -- the kernel ------------------------------------------------------------------------------------------------------


def test_a_compile_sees_its_kernel_and_not_how_it_is_launched(rewrite: Any) -> None:
    seen: list[Any] = []
    kernel = gridjit.jit(increment)

    def act(config: Any) -> None:
        shown = config.dispatcher
        assert shown == kernel and kernel == shown and hash(shown) == hash(kernel) and isinstance(shown, gridjit.Kernel)
        assert shown.func_code is increment.__code__ and shown.py_func is increment and repr(shown) == repr(kernel)
        assert shown[3, 7].griddim == (3, 1, 1)
        shown.seen_by_library = True  # type: ignore[attr-defined]
        for refused in (vars, lambda shown: shown._ready, lambda shown: shown._hot):
            with pytest.raises((AttributeError, TypeError)):
                refused(shown)
        assert not hasattr(shown.mark_launch_config_sensitive, "__self__")
        seen.append(shown)

    rewrite(act)
    kernel[5, 32](np.zeros(1))
    kernel[5, 32](np.zeros(1, np.float32))
    assert all(shown is seen[0] for shown in seen)
    assert seen and kernel.seen_by_library  # type: ignore[attr-defined]
    assert not any(found.launch_config_sensitive for found in kernel.specializations)


def test_code_that_looked_at_what_else_of_its_kernel_is_compiled_is_not_stored(rewrite: Any) -> None:
    rewrite(lambda config: config.dispatcher.specializations)
    kernel = gridjit.jit(increment)
    kernel[1, 32](np.zeros(1))
    assert "the compilation read specializations of its kernel" in kernel.explain()


def documented(x):
    """Say something."""
    x[0] += 1


OF_THE_PROGRAM: dict[str, Callable[[Any], Any]] = {
    "TILE": lambda config: config.__dict__["dispatcher"].TILE,
    "py_func": lambda config: operator.attrgetter("dispatcher.py_func")(config),
    "__wrapped__": lambda config: vars(config)["dispatcher"].__wrapped__,
    "__doc__": lambda config: inspect.getattr_static(config, "dispatcher").__doc__,
    "extensions": lambda config: next(iter(vars(config).values())).extensions,
}


@pytest.mark.parametrize("name", OF_THE_PROGRAM)
def test_code_that_looked_at_what_a_program_hung_on_its_kernel_is_not_stored(rewrite: Any, name: str) -> None:
    seen: list[object] = []
    rewrite(lambda config: seen.append(OF_THE_PROGRAM[name](config)))
    kernel = gridjit.jit(documented)
    kernel.TILE = 3  # type: ignore[attr-defined]
    kernel[1, 32](np.zeros(1))
    assert seen == [getattr(kernel, name)]
    assert f"the compilation read {name} of its kernel" in kernel.explain()


# -- questions -------------------------------------------------------------------------------------------------------


def question() -> None:
    """Answered by whether there is a launch."""


def answers(x):
    x[0] = question()


@pytest.mark.some(1)
@pytest.mark.parametrize("way", ["early", "late", "core"])
def test_code_compiled_ahead_of_a_launch_that_asked_for_one_does_not_stand_in_for_one(way: str) -> None:
    numba_cuda()
    import numba.cuda.launchconfig as late
    from numba.cuda.cext import _dispatcher
    from numba.cuda.extending import overload
    from numba.cuda.launchconfig import current_launch_config as early

    ask = {
        "early": early,
        "late": lambda: late.current_launch_config(),
        "core": lambda: _dispatcher.get_current_launch_config(),
    }[way]

    def question() -> None:
        pass

    @overload(question, target="cuda")
    def answer() -> Any:
        return (lambda: 1) if ask() is None else (lambda: 2)

    def kernel(x):
        x[0] = question()

    made = gridjit.jit(kernel)
    made.compile("void(float64[::1])")
    assert [fact.field for found in made.specializations for fact in found.footprint.facts] == ["launch"]
    x = np.zeros(1)
    for grid in (1, 2):
        made[grid, 1](x)
        assert x[0] == 2
    made.compile("void(float64[::1])")
    assert made.stats.compiles == 2


def test_a_kernel_of_which_nobody_asks_is_compiled_ahead_of_all_its_launches(foreign_rewrites: None) -> None:
    numba_cuda()
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    @register_rewrite("after-inference")
    class AsksNothing(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            return False

    kernel = gridjit.jit(increment)
    kernel.compile("void(float64[::1])")
    kernel[1, 1](np.zeros(1))
    assert kernel.stats.compiles == 1


def test_an_open_capture_says_nothing_before_the_compile_has_ended(rewrite: Any) -> None:
    kernel = gridjit.jit(increment)
    seen: list[Any] = []
    with gridjit.launchconfig.capture_compile_config(kernel) as capture:
        rewrite(lambda config: seen.append(copy.copy(capture)))
        kernel[5, 32](np.zeros(1))
    assert seen and all(found == {"config": None} for found in seen)
    assert capture["config"] == LaunchConfig.of(5, 32)


@pytest.mark.some(1)
@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda config: config.config], ids=["copy", "deep", "own"])
def test_a_copy_that_is_read_after_the_compile_is_of_each_launch(rewrite: Any, take: Callable[[Any], Any]) -> None:
    taken: list[Any] = []
    rewrite(lambda config: taken.append(take(config)))
    kernel = gridjit.jit(increment)
    for block in (32, 64, 32):
        kernel[1, block](np.zeros(1))
    assert [found.blockdim[0] for found in taken] == [32, 64]


@pytest.mark.some(1)
@pytest.mark.parametrize("way", ["closure", "default", "partial", "method"])
def test_a_hook_that_reads_the_configuration_it_was_made_for_runs_for_launches_of_that_one(
    rewrite: Any, way: str
) -> None:
    blocks: list[tuple[int, int]] = []

    def act(given: Any) -> None:
        def note(seen: Any, kernel: Any, config: Any) -> None:
            blocks.append((seen.blockdim[0], config.blockdim[0]))

        if not given.pre_launch_callbacks:
            hooks = {
                "closure": lambda kernel, config: note(given, kernel, config),
                "default": lambda kernel, config, seen=given: note(seen, kernel, config),
                "partial": functools.partial(note, given),
                "method": types.MethodType(note, given),
            }
            given.pre_launch_callbacks.append(hooks[way])

    rewrite(act)
    kernel = gridjit.jit(increment)
    for block in (32, 64, 32):
        kernel[1, block](np.zeros(1))
    assert blocks == [(32, 32), (64, 64), (32, 32)]


HELD: list[Any] = []
# What a hook may hold the configuration in, and how it gets it out.
HOLDERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "an object's attribute": (lambda given: types.SimpleNamespace(config=given), lambda held: held.config),
    "a dictionary": (lambda given: {"config": given}, lambda held: held["config"]),
    "objects in lists": (
        lambda given: [[[[types.SimpleNamespace(nodes=(given,))]]]],
        lambda held: held[0][0][0][0].nodes[0],
    ),
    "a method of it": (lambda given: [given.is_kernel_launch_config_sensitive], lambda held: held[0].__self__),
    "a global": (lambda given: HELD.append(given), lambda _: HELD[-1]),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("way", HOLDERS)
def test_a_hook_that_has_the_configuration_somewhere_sees_what_each_launch_has(rewrite: Any, way: str) -> None:
    put, take = HOLDERS[way]
    seen: list[tuple[Any, ...]] = []

    def act(given: Any) -> None:
        held = put(given)

        def hook(kernel: Any, config: Any) -> None:
            found = take(held)
            dims = (found.griddim, found.blockdim, found.sharedmem)
            assert (config.griddim, config.blockdim, config.sharedmem) == dims
            assert copy.copy(found) == found.config == LaunchConfig.of(*dims[:2], sharedmem=dims[2])
            seen.append((found.griddim[0], found.blockdim[0], found.sharedmem))

        if not given.pre_launch_callbacks:
            given.pre_launch_callbacks.append(hook)

    rewrite(act)
    kernel = gridjit.jit(increment)
    launches = [(1, 32, 0), (2, 64, 16), (1, 32, 0)]
    for grid, block, shared in launches:
        kernel[grid, block, 0, shared](np.zeros(1))
    assert seen == launches and kernel.stats.compiles == 1
    HELD.clear()


@pytest.mark.parametrize("part", ["all", "one"])
def test_a_hook_that_has_the_arguments_somewhere_sees_those_of_each_launch(rewrite: Any, part: str) -> None:
    seen: list[Any] = []

    def act(given: Any) -> None:
        held = {"args": given.args} if part == "all" else {"arg": given.args[0]}

        def hook(kernel: Any, config: Any) -> None:
            array = held["args"][0] if part == "all" else held["arg"]
            seen.append((array.shape, array[0], len(array)))

        if not given.pre_launch_callbacks:
            given.pre_launch_callbacks.append(hook)

    rewrite(act)
    kernel = gridjit.jit(increment)
    for size in (3, 5, 3):
        kernel[1, 1](np.full(size, float(size)))
    assert seen == [((size,), float(size), size) for size in (3, 5, 3)] and kernel.stats.compiles == 1


def test_what_a_kept_configuration_says_between_launches_is_what_the_compile_was_for(rewrite: Any) -> None:
    kept: list[Any] = []
    rewrite(kept.append)
    kernel = gridjit.jit(increment)
    for block in (32, 64):
        kernel[1, block](np.zeros(1))
    assert {found.blockdim[0] for found in kept} == {32}


# -- shared memory ---------------------------------------------------------------------------------------------------


def raise_shared(size: int) -> Callable[[Any], None]:
    def act(config: Any) -> None:
        config.sharedmem = max(config.sharedmem, size)

    return act


@pytest.mark.some(1)
@pytest.mark.parametrize("when", ["before-inference", "after-inference"])
def test_the_static_size_of_shared_memory_is_what_the_launch_has(
    rewrite: Any, restart: Callable[[], None], when: str
) -> None:
    rewrite(raise_shared(4096), when)
    for _ in range(2):
        restart()
        kernel = gridjit.jit(writes_shared_size)
        for asked, has in ((0, 4096), (1024, 4096), (8192, 8192)):
            x = np.zeros(1)
            configured = kernel[1, 1, 0, asked]
            assert configured.sharedmem == asked
            configured(x)
            assert (x[0], configured.sharedmem) == (has, has)


def test_shared_memory_that_grows_whenever_it_is_told_is_an_error_that_says_so(rewrite: Any) -> None:
    def more(config: Any) -> None:
        config.sharedmem = config.sharedmem + 16

    rewrite(more)
    with pytest.raises(gridjit.CompileError, match="requires more shared memory each time"):
        gridjit.jit(writes_shared_size)[1, 1](np.zeros(1))


def test_hooks_are_registered_once_where_the_size_of_shared_memory_was_settled_again(rewrite: Any) -> None:
    calls: list[int] = []

    def act(config: Any) -> None:
        if not config.pre_launch_callbacks:
            config.pre_launch_callbacks.append(lambda kernel, config: calls.append(config.sharedmem))
        raise_shared(256)(config)

    rewrite(act)
    gridjit.jit(writes_shared_size)[1, 1](np.zeros(1))
    assert calls == [256]


# -- hooks -----------------------------------------------------------------------------------------------------------

NESTED = """
    calls = []

    def make(percent):
        def hook(kernel, config):
            calls.append((percent, kernel.name, config.blockdim[0]))
        return hook
"""


def test_a_hook_that_was_made_in_a_function_comes_back_from_disk(
    rewrite: Any, module: Callable[[str], Any], restart: Callable[[], None]
) -> None:
    found = {}

    def act(config: Any) -> None:
        if not config.pre_launch_callbacks:
            config.pre_launch_callbacks.append(found["library"].make(50))

    rewrite(act)
    for compiles in (1, 0):
        restart()
        found["library"] = module(NESTED)
        kernel = gridjit.jit(increment)
        for block in (32, 64):
            kernel[1, block](np.zeros(1))
        assert found["library"].calls == [(50, "increment", 32), (50, "increment", 64)]
        assert kernel.stats.compiles == compiles
    restart()
    found["library"] = module(NESTED.replace("percent, kernel", "2 * percent, kernel"))
    kernel = gridjit.jit(increment)
    kernel[1, 32](np.zeros(1))
    assert found["library"].calls == [(100, "increment", 32)]


LAMBDAS = """
    calls = []

    def make(percent, limit=float("inf")):
        return next(lambda kernel, config, low=-limit: calls.append((percent, low)) for _ in range(1))
"""


def test_a_lambda_comes_back_from_disk(rewrite: Any, module: Callable[[str], Any], restart: Callable[[], None]) -> None:
    found = {}
    rewrite(lambda config: config.pre_launch_callbacks.append(found["library"].make(50)))
    for compiles in (1, 0):
        restart()
        found["library"] = module(LAMBDAS)
        kernel = gridjit.jit(increment)
        kernel[1, 1](np.zeros(1))
        assert kernel.stats.compiles == compiles, kernel.explain()
        assert found["library"].calls == [(50, -np.inf)]


def raises_out_of_range(x):
    if x[0] > 1:
        raise ValueError(1e999)
    x[0] += 1


def test_code_that_could_not_be_read_back_is_not_stored_and_explain_says_why(restart: Callable[[], None]) -> None:
    for _ in range(2):
        restart()
        kernel = gridjit.jit(raises_out_of_range)
        kernel[1, 1](np.zeros(1))
        assert (kernel.stats.compiles, kernel.stats.disk_hits) == (1, 0)
        assert "not stored on disk: it could not be read back from a file" in kernel.explain()
        assert "no longer in the cache" not in kernel.explain()


def test_what_a_hook_is_called_with_is_the_kernel_and_the_code_that_is_launched(target: str) -> None:
    kernel = gridjit.jit(increment)
    configured = kernel[1, 32]
    shown: list[Any] = []
    configured.pre_launch_callbacks.append(lambda kernel, config: shown.append(kernel))
    for _ in range(2):
        configured(np.zeros(1))
    first, second = shown
    assert first is second and first == kernel and kernel == first and hash(first) == hash(kernel)
    assert first.name == kernel.name and first.py_func is kernel.py_func and first.stats is kernel.stats
    assert first.specialization is kernel.specializations[0]
    assert first.entry_name == kernel.specializations[0].artifact.entry
    assert first.objectmode is False and first.extensions is kernel.extensions
    assert [str(found) for found in first.argument_types] == ["array(float64, 1d, C)"]
    if target == "cuda":
        function = first._codelibrary.get_cufunc()
        assert function.handle and function.attrs.maxthreads >= 32
        assert function.device.id >= 0
        function.set_shared_memory_carveout(50)
    else:
        with pytest.raises(gridjit.ConfigError, match="compiled for the host"):
            first._codelibrary.get_cufunc()


def test_a_hook_can_launch_the_kernel_without_being_called_again() -> None:
    kernel = gridjit.jit(increment)
    configured, calls = kernel[1, 32], []

    def hook(shown: Any, config: Any) -> None:
        calls.append(1)
        shown.launch((y,), config.griddim, config.blockdim)

    configured.pre_launch_callbacks.append(hook)
    x, y = np.zeros(1), np.zeros(1)
    configured(x)
    assert (x[0], y[0], calls) == (1, 1, [1])


# -- objects ---------------------------------------------------------------------------------------------------------


def thing_type() -> tuple[type, Any]:
    """Return a class whose objects an extension passes as two doubles, and the extension that does."""
    numba_cuda()
    from numba.cuda import types
    from numba.cuda.datamodel import models
    from numba.cuda.extending import register_model, typeof_impl

    class ThingType(types.Type):
        def __init__(self) -> None:
            super().__init__(name="Thing")

    kind = ThingType()

    @register_model(ThingType)
    class ThingModel(models.StructModel):
        def __init__(self, manager: Any, fe_type: Any) -> None:
            super().__init__(manager, fe_type, [("low", types.float64), ("high", types.float64)])

    class Thing:
        low, high = 1.0, 2.0

    @typeof_impl.register(Thing)
    def typeof_thing(value: Any, context: Any) -> Any:
        return kind

    class Passes:
        def prepare_args(self, ty: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            if ty is kind:
                return types.UniTuple(types.float64, 2), (value.low, value.high)
            return ty, value

    return Thing, Passes()


def test_an_extension_that_a_hook_appends_packs_the_arguments_of_this_very_launch(rewrite: Any) -> None:
    thing, extension = thing_type()

    def hook(kernel: Any, config: Any) -> None:
        if extension not in kernel.extensions:
            kernel.extensions.append(extension)

    rewrite(lambda config: config.pre_launch_callbacks or config.pre_launch_callbacks.append(hook))
    kernel = gridjit.jit(takes_object)
    for _ in range(3):
        x = np.zeros(1)
        kernel[1, 1](x, thing())
        assert x[0] == 7
    assert kernel.extensions == [extension]
    assert kernel.stats.compiles == 1


def test_without_an_extension_such_an_argument_is_refused_after_the_hooks_have_run(rewrite: Any) -> None:
    thing, _ = thing_type()
    calls: list[int] = []
    rewrite(lambda config: config.pre_launch_callbacks.append(lambda kernel, config: calls.append(1)))
    with pytest.raises(gridjit.ArgumentError, match="only an extension of the kernel can pass"):
        gridjit.jit(takes_object)[1, 1](np.zeros(1), thing())
    assert calls


@pytest.mark.parametrize("given", ["before", "by a hook"])
def test_the_object_that_a_library_looks_for_is_in_the_arguments_and_its_code_serves_it_alone(
    rewrite: Any, given: str
) -> None:
    thing, extension = thing_type()
    seen: list[Any] = []

    def act(config: Any) -> None:
        seen.append(config.args[1])
        if given == "by a hook" and not config.pre_launch_callbacks:
            config.pre_launch_callbacks.append(
                lambda kernel, config: extension in kernel.extensions or kernel.extensions.append(extension)
            )

    rewrite(act)
    kernel = gridjit.jit(takes_object, extensions=[extension] if given == "before" else [])
    one, other = thing(), thing()
    for argument in (one, one, other, one):
        kernel[1, 1](np.zeros(1), argument)
    assert [found is wanted for found, wanted in zip(seen, (one, other), strict=True)] == [True, True]
    assert "not stored on disk: the compilation was handed argument 1 itself" in kernel.explain()
    assert "why: argument 1 itself is another object, or has changed" in kernel.explain()
