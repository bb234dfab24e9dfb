"""Pre-launch callbacks and hooks: whose they are, when they run, and that they come back from the disk."""

from __future__ import annotations

import functools
import gc
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.programs import python_path, run_python

pytestmark = pytest.mark.usefixtures("target")
hooked: list[tuple[Any, Any]] = []


def hook(kernel: Any, config: Any) -> None:
    hooked.append((kernel, config))


def increment(x):
    if cuda.grid(1) == 0:
        x[0] += 1


def test_a_callback_runs_before_each_launch_through_its_object_with_kernel_and_config() -> None:
    kernel = gridjit.jit(increment)
    configured = kernel[2, 1]
    x = np.zeros(1)
    seen: list[Any] = []
    configured.pre_launch_callbacks.append(lambda k, c: seen.append((k, c, x[0])))
    for _ in range(2):
        configured(x)
    assert [(k, c) for k, c, _ in seen] == [(kernel, configured)] * 2
    assert [value for *_, value in seen] == [0.0, x[0] / 2]
    assert (configured.griddim, configured.blockdim, configured.sharedmem) == ((2, 1, 1), (1, 1, 1), 0)


def test_two_equal_indexings_share_the_code_and_not_the_callbacks() -> None:
    kernel = gridjit.jit(increment)
    one, two = kernel[1, 32], kernel[(1,), (32,)]
    calls: list[int] = []
    one.pre_launch_callbacks.append(lambda k, c: calls.append(1))
    x = np.zeros(1)
    two(x)
    kernel[1, 32](x)
    assert calls == []
    one(x)
    assert calls == [1]
    assert kernel.stats.compiles == 1


def test_callbacks_survive_any_number_of_other_configurations_and_kernels() -> None:
    configured, calls = gridjit.jit(increment)[1, 32], []
    configured.pre_launch_callbacks.append(lambda k, c: calls.append(c))
    others = [gridjit.jit(increment) for _ in range(2)]
    for block in range(1, 301):
        for other in others:
            other[1, block]
    x = np.zeros(1)
    for launches in (1, 2):
        configured(x)
        assert (calls, x[0]) == ([configured] * launches, launches)


def test_a_configured_kernel_with_callbacks_keeps_no_kernel_and_no_stream_once_it_is_gone() -> None:
    kernel, stream = gridjit.jit(increment), gridjit.create_stream()
    configured = kernel[1, 32, stream]
    configured.pre_launch_callbacks.append(lambda k, c: None)
    configured(np.zeros(1))
    gone: list[Callable[[], object]] = [weakref.ref(kernel), weakref.ref(stream)]
    del kernel, stream, configured
    gc.collect()
    assert [found() for found in gone] == [None, None]


def test_an_exception_in_a_callback_reaches_the_caller_and_nothing_is_launched() -> None:
    configured = gridjit.jit(increment)[1, 1]
    configured.pre_launch_callbacks.append(lambda k, c: 1 / 0)
    x = np.zeros(1)
    with pytest.raises(ZeroDivisionError):
        configured(x)
    assert x[0] == 0


@pytest.fixture
def registering_rewrite(foreign_rewrites: None) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config

    @register_rewrite("after-inference")
    class RegistersHook(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            callbacks = current_launch_config().pre_launch_callbacks
            if hook not in callbacks:
                callbacks.append(hook)
            return False


def test_a_hook_registered_while_compiling_runs_from_the_first_launch_and_again_from_disk(
    registering_rewrite: None, restart: Callable[[], None]
) -> None:
    for compiles in (1, 0):
        restart()
        hooked.clear()
        kernel = gridjit.jit(increment)
        configured = kernel[1, 1]
        for launches in (1, 2):
            configured(np.zeros(1))
            assert hooked == [(kernel, configured)] * launches
        assert kernel.stats.compiles == compiles


def test_a_hook_that_cannot_be_imported_keeps_the_artifact_in_memory_and_explain_says_so(
    foreign_rewrites: None, restart: Callable[[], None]
) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config

    calls: list[int] = []

    @register_rewrite("after-inference")
    class RegistersLambda(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            if not current_launch_config().pre_launch_callbacks:
                current_launch_config().pre_launch_callbacks.append(lambda k, c: calls.append(1))
            return False

    for _ in range(2):
        restart()
        kernel = gridjit.jit(increment)
        kernel[1, 1](np.zeros(1))
        assert kernel.stats.compiles == 1
        assert "cannot be imported by name" in kernel.explain()
    assert calls == [1, 1]


def uses_cuda_names(x):
    x[cuda.threadIdx.x] = cuda.blockDim.x


def test_the_vocabulary_is_numba_cudas_own() -> None:
    x = np.zeros(8)
    cuda.jit(uses_cuda_names)[1, 8](x)
    assert set(x) == {8}


def test_a_hooks_arguments_come_back_from_disk(foreign_rewrites: None, restart: Callable[[], None]) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config

    @register_rewrite("after-inference")
    class RegistersHookWithSize(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            callbacks = current_launch_config().pre_launch_callbacks
            if not callbacks:
                callbacks.append(functools.partial(sized_hook, 4096))
            return False

    for compiles in (1, 0):
        restart()
        sizes.clear()
        kernel = gridjit.jit(increment)
        kernel[1, 1](np.zeros(1))
        assert sizes == [4096]
        assert kernel.stats.compiles == compiles


sizes: list[int] = []


def sized_hook(size: int, kernel: Any, config: Any) -> None:
    sizes.append(size)


FROZEN = """
import gc, sys
import numpy as np
import gridjit
import hook_library

if sys.argv[1] == "frozen":
    gc.freeze()
kernel = gridjit.jit(hook_library.increment)
hook_library.OPTIONS[:] = [int(sys.argv[2])]
kernel[1, 1](np.zeros(1))
print(hook_library.SEEN, kernel.stats.compiles, "'options' is held by something else too" in kernel.explain())
"""
HOOK_LIBRARY = """
from numba.cuda.core.rewrites import Rewrite, register_rewrite
from numba.cuda.launchconfig import current_launch_config

OPTIONS = []
SEEN = []


def made(options):
    return lambda kernel, config: see(options)


def see(options):
    SEEN.extend(options)


@register_rewrite("after-inference")
class RegistersHook(Rewrite):
    def match(self, func_ir, block, typemap, calltypes):
        callbacks = current_launch_config().pre_launch_callbacks
        if not callbacks:
            callbacks.append(made(OPTIONS))
        return False


def increment(x):
    x[0] += 1
"""


def test_a_server_that_froze_what_it_imported_stores_no_hook_with_a_copy_of_its_modules_list(tmp_path: Path) -> None:
    (tmp_path / "hook_library.py").write_text(HOOK_LIBRARY)
    (tmp_path / "server.py").write_text(FROZEN)
    for how, number in (("frozen", 1), ("frozen", 2), ("seen", 3)):
        environ = os.environ | {"PYTHONPATH": python_path(tmp_path)}
        done = run_python(tmp_path / "server.py", how, number, env=environ, cwd=tmp_path)
        assert done.stdout == f"[{number}] 1 True\n", done.stdout + done.stderr


# -- hooks and extensions ---------------------------------------------------------------------------------------------


class Passes:
    """An extension that passes its own number in place of any, and notes what it does."""

    def __init__(self) -> None:
        self.number = 0
        self.done: list[str] = []

    def prepare_args(self, ty: Any, val: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
        if not isinstance(val, int):
            return ty, val
        self.done.append("prepared")
        retr.append(lambda: self.done.append("retrieved"))
        return ty, self.number


def writes(out, n):
    if cuda.grid(1) == 0:
        out[0] = n


def test_what_a_hook_does_to_an_extension_is_seen_by_what_it_packs_for_this_very_launch() -> None:
    extension = Passes()
    kernel = gridjit.jit(extensions=[extension])(writes)
    for grid in (5, 6, 7):
        out = np.zeros(1)
        configured = kernel[grid, 1]
        configured.pre_launch_callbacks.append(lambda k, config: setattr(extension, "number", config.griddim[0]))
        configured(out, 1)
        assert out[0] == grid
        assert extension.done == ["prepared", "retrieved"]
        extension.done.clear()


def test_extensions_prepare_once_a_launch_also_where_a_hook_brings_one() -> None:
    first, second = Passes(), Passes()
    second.number = 3
    kernel = gridjit.jit(extensions=[first])(writes)
    configured, out = kernel[1, 1], np.zeros(1)
    configured.pre_launch_callbacks.append(
        lambda kernel, config: second in kernel.extensions or kernel.extensions.insert(0, second)
    )
    for launches in (1, 2):
        configured(out, 1)
        assert out[0] == 3
        assert first.done == second.done == ["prepared", "retrieved"] * launches


def test_an_extension_counts_from_the_next_launch_on_and_until_it_is_taken_away() -> None:
    extension, out = Passes(), np.zeros(1)
    kernel = gridjit.jit(writes)
    configured = kernel[1, 1]

    def written() -> set[float]:
        found = set()
        for _ in range(3):  # the machine code takes over
            configured(out, 1)
            found.add(float(out[0]))
            kernel[1, 1](out, 1)
            found.add(float(out[0]))
        return found

    assert written() == {1}
    extension.number = 5
    kernel.extensions.append(extension)
    assert written() == {5}
    kernel.extensions.remove(extension)
    assert written() == {1}
    kernel.extensions = [extension]
    assert written() == {5}
    assert kernel.stats.compiles == 1


def test_what_an_extension_prepares_that_the_code_cannot_take_is_an_error_that_names_both() -> None:
    class Wrong:
        def prepare_args(self, ty: Any, val: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            return ty, (1, 2) if isinstance(val, int) else val

    with pytest.raises(
        gridjit.ArgumentError, match=r"'n' of writes: the kernel takes int64, and an extension prepared"
    ):
        gridjit.jit(extensions=[Wrong()])(writes)[1, 1](np.zeros(1), 1)


# -- what hooks find --------------------------------------------------------------------------------------------------


def test_the_configuration_has_the_arguments_that_were_given_during_the_launch_only() -> None:
    configured, seen = gridjit.jit(increment)[1, 1], []
    x, y = np.zeros(1), np.zeros(1)

    def nests(kernel: Any, config: Any) -> None:
        seen.append(config.args[0])
        if len(seen) == 1:
            config(y)
            seen.append(config.args[0])

    configured.pre_launch_callbacks.append(nests)
    configured(x)
    assert [found is wanted for found, wanted in zip(seen, (x, y, x), strict=True)] == [True] * 3
    assert configured.args is None
    assert configured._is_kernel_launch_config_sensitive() is False


def test_a_hook_of_the_code_that_takes_itself_away_runs_once_and_the_others_go_on(rewrite: Any) -> None:
    calls: list[str] = []

    def once(kernel: Any, config: Any) -> None:
        calls.append("once")
        config.pre_launch_callbacks.remove(once)

    kernel = gridjit.jit(increment)
    rewrite(lambda config: config.pre_launch_callbacks.extend([once, lambda kernel, config: calls.append("code")]))
    configured = kernel[1, 1]
    configured.pre_launch_callbacks.append(lambda kernel, config: calls.append("own"))
    configured(np.zeros(1))
    configured(np.zeros(1))
    kernel[1, 1](np.zeros(1))
    assert calls == ["once", "code", "own", "code", "own", "code"]
    assert len(configured.pre_launch_callbacks) == 1


def test_hooks_may_be_added_and_replaced_while_hooks_run() -> None:
    configured, calls = gridjit.jit(increment)[1, 1], []

    def last(kernel: Any, config: Any) -> None:
        calls.append("last")

    def dropped(kernel: Any, config: Any) -> None:
        calls.append("dropped")

    def first(kernel: Any, config: Any) -> None:
        calls.append("first")
        config.pre_launch_callbacks = [one for one in config.pre_launch_callbacks if one not in (first, dropped)]
        config.pre_launch_callbacks.append(last)

    configured.pre_launch_callbacks = [first, dropped]
    configured(np.zeros(1))
    configured(np.zeros(1))
    assert calls == ["first", "last", "last"]
    assert list(configured.pre_launch_callbacks) == [last]


def test_what_a_hooks_kernel_does_not_have_is_an_error_that_names_the_kernel() -> None:
    kernel = gridjit.jit(increment)
    configured, found = kernel[1, 1], []
    configured.pre_launch_callbacks.append(lambda kernel, config: found.append(kernel))
    configured(np.zeros(1))
    assert "increment" in str(found[0].type_annotation)
    with pytest.raises(AttributeError, match=r"<gridjit kernel .*increment>, about to be launched, has no attribute"):
        _ = found[0].call_helper
