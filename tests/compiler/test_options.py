"""Options: values that mean nothing are refused when the kernel is decorated, naming the option and what it takes."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ConfigError
from gridjit.compiler.values.errors import ConfigWarning
from gridjit.compiler.values.options import options_of


def kernel(x):
    x[0] = 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_registers": "many"}, "max_registers='many' must be between 1 and 255, and a whole number"),
        ({"max_registers": -1}, "max_registers=-1"),
        ({"launch_bounds": "x"}, "launch_bounds='x'"),
        ({"launch_bounds": (1, 2, 3, 4)}, "blocks per cluster"),
        ({"shared_memory_carveout": 2.5}, "shared_memory_carveout=2.5 must be between -1 and 100, and a whole number"),
        ({"shared_memory_carveout": "most"}, "one of default, maxl1, maxshared"),
        ({"fastmath": {"contracted"}}, "'contracted' is not a flag; give True, False or fast, nnan, .*reassoc"),
        ({"fastmath": {"fast": True, "quick": False}}, "'quick' is not a flag"),
        ({"fastmath": "yes"}, "fastmath='yes': 'yes' is not a flag"),
        ({"device": "no"}, "device='no': give True or False"),
        ({"debug": [False]}, r"debug=\[False\]: give True or False"),
        ({"boundscheck": True}, "leave it out: debug=True checks indices"),
        ({"argtypes": ["float32[:]"]}, "leave it out: the signature comes first, as in jit('void("),
        ({"restype": "float32"}, "leave it out: the signature has the result's type"),
        ({"specialize": "warp"}, "fields are 'blockdim', 'griddim', 'sharedmem'"),
        ({"inline": "sometimes"}, "one of 'never', 'always', or a function that decides"),
        ({"fastmaths": True}, "no such option; did you mean fastmath?"),
        ({"max_specialisations": 3}, "no such option; did you mean max_specializations?"),
        ({"gpus": 2}, "no such option; the options are background, cache, debug, device"),
        ({"tiered": True}, "name fields in specialize="),
        ({"tiered": "yes", "specialize": "blockdim"}, "tiered='yes': give True or False"),
        (
            {"tiered": True, "specialize": "blockdim", "fastmath": True},
            "results depend on what is folded into the code",
        ),
        ({"device": True, "tiered": True}, "tiered is an option of kernels"),
        ({"device": True, "specialize": "blockdim"}, "specialize is an option of kernels"),
        ({"target": "sm_90"}, "'host' or 'cuda'"),
    ],
)
def test_a_value_that_means_nothing_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        gridjit.jit(**options)(kernel)


@pytest.mark.parametrize("other", [functools.partial(kernel), print, object()])
def test_only_python_functions_can_be_kernels(other: Any) -> None:
    with pytest.raises(ConfigError, match="functions made with def or lambda"):
        gridjit.jit()(other)


SWITCHES = ("debug", "opt", "fastmath", "lineinfo", "lto", "device", "forceinline")


@pytest.mark.parametrize("on", [True, 1, 2, np.True_, np.int64(1), 1.0])
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_on_for_any_number_but_zero(name: str, on: Any) -> None:
    made: Any = gridjit.jit(**{name: on})(kernel)
    assert made.options == options_of({name: True})


@pytest.mark.parametrize("off", [False, 0, np.False_, np.int64(0), 0.0, "", (), [], {}, set()])
@pytest.mark.parametrize("name", [*SWITCHES, "link", "specialize", "max_registers", "boundscheck"])
def test_an_option_is_off_for_whatever_is_empty(name: str, off: Any) -> None:
    made: Any = gridjit.jit(**{name: off})(kernel)
    assert made.options == options_of({"opt": False} if name == "opt" else {})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"arcp"}, ("arcp",)),
        (frozenset({"nsz", "contract"}), ("contract", "nsz")),
        (["afn", "afn"], ("afn",)),
        ("reassoc", ("reassoc",)),
        ({"fast", "nnan"}, True),
        ({"arcp": True, "nnan": False}, ("arcp",)),
        ({"arcp": False}, False),
    ],
)
def test_fastmath_takes_flags_as_numba_does(given: Any, kept: object) -> None:
    assert gridjit.jit(fastmath=given)(kernel).options.fastmath == kept


def test_options_of_how_a_kernel_is_kept_take_any_switch() -> None:
    for off in (0, "", None, np.False_):
        gridjit.jit(cache=off, hold_gil=off, background=off, extensions=None)(kernel)  # type: ignore[call-overload]
    for on in (1, 2, np.True_):
        gridjit.jit(cache=on, hold_gil=on)(kernel)  # type: ignore[call-overload]


def test_options_are_kept_as_numba_names_them() -> None:
    made = gridjit.jit(launch_bounds=128, shared_memory_carveout="MaxShared", inline=True)(kernel)
    assert made.options.changed() == {"launch_bounds": (128,), "shared_memory_carveout": 100, "inline": "always"}


@pytest.mark.parametrize("other", ["opt", "lineinfo"])
def test_options_that_contradict_debug_are_warned_of_where_they_are_given(other: str) -> None:
    options: dict[str, Any] = {other: True}
    with pytest.warns(ConfigWarning, match=f"debug=True, {other}=True") as caught:
        gridjit.jit(debug=True, **options)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("options", [{"debug": True}, {"debug": True, "opt": False}, {"lineinfo": True}, {}])
def test_options_that_go_together_are_not_warned_of(options: dict[str, Any]) -> None:
    gridjit.jit(**options)(kernel)


def test_debug_and_opt_are_what_the_environment_says_unless_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CUDA_DEBUGINFO", "1")
    monkeypatch.setenv("NUMBA_OPT", "0")
    monkeypatch.setitem(sys.modules, "numba.core.config", None)
    assert gridjit.jit()(kernel).options.changed() == {"debug": True, "opt": False}
    assert gridjit.jit(debug=False, opt=True)(kernel).options.changed() == {}


def test_debug_is_what_is_assigned_to_numbas_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    config = importlib.import_module("numba.core.config")
    monkeypatch.setattr(config, "CUDA_DEBUGINFO_DEFAULT", 1)
    assert gridjit.jit()(kernel).options.changed() == {"debug": True}
