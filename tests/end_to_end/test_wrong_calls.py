"""What is wrong before anything compiles: decorators, options, launches and names, told in the users' own frames."""

from __future__ import annotations

import copy
import functools
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import float32

import gridjit
from gridjit import ConfigError, cuda


def fill(out: Any) -> None:
    out[0] = 1


async def later(out: Any) -> None:
    out[0] = 1


class Methods:
    def fill(self, out: Any) -> None:
        out[0] = 1


DECORATED: dict[str, tuple[Any, str]] = {
    "a class": (Methods, "the type Methods: decorate its functions"),
    "a bound method": (Methods().fill, "the method Methods.fill: decorate the function in its class"),
    "a class method": (classmethod(fill), "write @staticmethod above @jit"),
    "a property": (property(fill), "write @staticmethod above @jit"),
    "a static method": (staticmethod(fill), "write @staticmethod above @jit"),
    "a partial": (functools.partial(fill), "decorate the function in it, its func"),
    "a cached function": (functools.lru_cache(fill), "decorate the function in it, its __wrapped__"),
    "a type of numba": (float32[:], "give types of arguments as a tuple"),
    "an asynchronous function": (later, "later is asynchronous"),
    "a built-in": (len, "the builtin_function_or_method len: write one in Python"),
}


@pytest.mark.parametrize("case", DECORATED)
def test_what_cannot_be_a_kernel_is_refused_with_what_to_decorate_instead(case: str) -> None:
    given, said = DECORATED[case]
    with pytest.raises(ConfigError, match=said) as caught:
        gridjit.jit(given)
    assert " at 0x" not in str(caught.value)


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "near an option": ({"fast_math": True}, "did you mean fastmath"),
    "near an option of how it is kept": ({"max_specialization": 3}, "did you mean max_specializations"),
    "numba's for the CPU": ({"nopython": True}, "leave it out: kernels are always compiled so"),
    "unknown": ({"gpu": True}, "the options are .*cache.*fastmath.*target"),
    "a text for a switch": ({"cache": "no"}, "cache='no'.: give True or False"),
    "a list among fields": ({"specialize": [["blockdim"]]}, r"specialize=\[\['blockdim'\]\]: fields are"),
    "one extension": ({"extensions": 5}, "extensions=5.: give a list"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_a_wrong_option_is_told_with_what_was_meant(case: str) -> None:
    options, said = OPTIONS[case]
    with pytest.raises(ConfigError, match=said):
        gridjit.jit(**options)(fill)


kernel = gridjit.jit(fill)
function = gridjit.jit(device=True)(fill)

LAUNCHES: dict[str, tuple[Callable[[], Any], str]] = {
    "a block of no threads": (lambda: kernel[1, 0], "blockdim.x is 0"),
    "a grid of texts": (lambda: kernel["1", "1"], "griddim must be a sequence of integers"),  # type: ignore[index]
    "one number": (lambda: kernel[1], "give .griddim, blockdim"),  # type: ignore[index]
    "configured": (lambda: kernel.configure(1, 5000), "blockdim.x is 5000"),
    "grid and block swapped": (
        lambda: kernel[256, 100_000],
        r"fill: blockdim.x is 100000; .*: fill\[100000, 256\], if",
    ),
    "swapped, in two dimensions": (
        lambda: kernel[(16, 16), (40, 300)],
        r"fill: blockdim .* 12000 threads; .*: fill\[\(40, 300, 1\), \(16, 16, 1\)\], if these were swapped",
    ),
    "one block for all": (
        lambda: kernel[1, 5000],
        r"fill: blockdim.x is 5000; .* launch more .*, as in fill\[20, 256\]",
    ),
    "tasks in a text": (lambda: kernel.forall("5"), "forall.ntasks='5'.: give a whole number"),  # type: ignore[arg-type]
    "no tasks": (lambda: kernel.forall(None), "forall.ntasks=None.: give a whole number"),  # type: ignore[arg-type]
    "an array of tasks": (lambda: kernel.forall(np.ones(9)), "forall.ntasks="),  # type: ignore[arg-type]
    "a block below none": (lambda: kernel.forall(5, tpb=-1), "tpb=-1.: give threads of a block"),
    "a device function": (lambda: function[1, 1], "fill is a device function, which kernels call"),  # type: ignore[index]
}


@pytest.mark.parametrize("case", LAUNCHES)
def test_a_wrong_launch_shows_the_users_line_and_what_is_wrong_with_it(case: str) -> None:
    launch, said = LAUNCHES[case]
    with pytest.raises(ConfigError, match=said) as caught:
        launch()
    shown = "".join(traceback.format_exception(caught.value))
    assert "During handling" not in shown
    assert [frame.f_code.co_filename for frame, _ in traceback.walk_tb(caught.value.__traceback__)][:2] == [
        __file__
    ] * 2


def test_a_wrong_index_is_told_as_well_once_machine_code_looks_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridjit.runtime.launch.indexing import index_natively
    from gridjit.runtime.process.session import session

    index_natively(session().store(True))
    with pytest.raises(ConfigError) as caught:
        kernel[1, 0]
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


def test_a_kernel_is_compiled_by_the_keyword_of_numba_cuda() -> None:
    assert kernel.compile(sig="void(float32[::1])").kernel.endswith("fill")


GONE = ("add_overload", "call", "launch", "compile_device", "dump", "inspect_cfg", "targetdescr", "inspect_ptx")


@pytest.mark.parametrize("name", GONE)
def test_a_name_of_numba_cuda_that_kernels_lack_is_told_with_what_to_use(name: str) -> None:
    with pytest.raises(AttributeError, match=f"kernels have no attribute '{name}': \\w"):
        getattr(kernel, name)
    assert not hasattr(kernel, name)
    assert name not in dir(kernel)


@pytest.mark.parametrize("name", ["inspect_llvm", "get_regs_per_thread", "forall", "compile", "overloads"])
def test_a_device_function_says_who_answers_what_kernels_are_asked(name: str) -> None:
    with pytest.raises(AttributeError, match=f"device functions have no attribute '{name}': they are "):
        getattr(function, name)


@pytest.mark.parametrize("move", [copy.deepcopy, lambda stats: pickle.loads(pickle.dumps(stats))])
def test_statistics_are_sent_home_by_workers(move: Callable[[Any], Any]) -> None:
    mine = gridjit.jit(fill)
    mine[1, 1](np.zeros(1, np.float32))
    moved = move(mine.stats)
    assert repr(moved) == repr(mine.stats)
    assert moved.compiles + moved.disk_hits == 1
    moved.count("compiles")
    assert moved.compiles == mine.stats.compiles + 1


def added(a: float, b: float) -> float:
    return a + b


@pytest.mark.parametrize("made", [added, lambda a, b: a + b])
def test_a_reduction_arrives_where_it_is_sent(made: Callable[[Any, Any], Any]) -> None:
    sent = pickle.loads(pickle.dumps(cuda.reduce(made)))
    assert sent(np.arange(10.0)) == 45


@pytest.mark.parametrize(("module", "wrong", "meant"), [(gridjit, "jitt", "jit"), (cuda, "to_devise", "to_device")])
def test_a_misspelled_name_of_a_module_lets_python_say_which_was_meant(module: Any, wrong: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=repr(wrong)) as caught:
        getattr(module, wrong)
    assert (caught.value.name, caught.value.obj) == (wrong, module)
    assert meant in dir(module)
