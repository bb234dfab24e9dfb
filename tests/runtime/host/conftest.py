"""run: compile a kernel for the host, load it and run it over a grid, with NumPy arrays and numbers as arguments."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.targets.host.generate import assembly, generate
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArgType, ArrayType, ScalarType, Signature
from gridjit.compiler.values.target import Lowered, ObjectCode, Target
from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.devices.host.launch import Status, launch
from gridjit.runtime.devices.host.load import HostFunction, load

Run = Callable[..., "Status | None"]


def type_of(value: Any) -> ArgType:
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return ArrayType(dtype=value.dtype.name, ndim=value.ndim, layout=layout)
    return ScalarType(dtype=np.asarray(value).dtype.name)


def pack(signature: Signature, values: tuple[Any, ...]) -> bytes:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            flat += [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
        elif isinstance(value, np.complexfloating):
            flat += [value.real, value.imag]
        else:
            flat.append(value)
    return struct.pack(signature.codes, *flat)


def lower_for(function: Callable[..., Any], values: tuple[Any, ...], options: Options) -> tuple[Lowered, Signature]:
    signature = Signature(arguments=tuple(type_of(value) for value in values))
    return lower(function, signature, options, host_target(), (), ConfigView(None))[0], signature


def code_for(function: Callable[..., Any], values: tuple[Any, ...], options: Options | None = None) -> ObjectCode:
    lowered, _ = lower_for(function, values, options or Options())
    return generate(lowered, host_target(), options or Options())


@pytest.fixture
def compiled() -> Callable[..., ObjectCode]:
    """Return a function that compiles a kernel for the types of example arguments."""
    return code_for


@pytest.fixture
def shown(wide: Target) -> Callable[..., str]:
    """Return a function that returns the assembly text of a kernel for the types of example arguments."""

    def of(function: Callable[..., Any], values: tuple[Any, ...]) -> str:
        return assembly(lower_for(function, values, Options())[0], wide, Options())

    return of


@pytest.fixture
def packed() -> Callable[..., bytes]:
    """Return a function that packs arguments as a launch does."""

    def of(*values: Any) -> bytes:
        return pack(Signature(arguments=tuple(type_of(value) for value in values)), values)

    return of


@pytest.fixture(scope="module")
def loaded() -> Callable[..., tuple[HostFunction, Signature, bool]]:
    """Return what compiles a function for the types of example arguments and loads it, once in a module of tests.

    The last of what it returns: whether blocks wait for each other.
    """
    known: dict[tuple[object, ...], tuple[HostFunction, Signature, bool]] = {}

    def of(
        function: Callable[..., Any], values: tuple[Any, ...], options: Options
    ) -> tuple[HostFunction, Signature, bool]:
        key = function, tuple(type_of(value) for value in values), options
        if key not in known:
            lowered, signature = lower_for(function, values, options)
            code = generate(lowered, host_target(), options)
            known[key] = load(code.image, code.entry), signature, "resident" in code.resources
        return known[key]

    return of


@pytest.fixture
def run(loaded: Callable[..., tuple[HostFunction, Signature, bool]]) -> Run:
    """Return run(function, griddim, blockdim, *arguments, sharedmem=0, threads=2, options=Options(), patience=0).

    run.resident(function, *arguments) returns whether its blocks wait for each other.
    """

    def go(
        function: Callable[..., Any],
        griddim: Any,
        blockdim: Any,
        *values: Any,
        sharedmem: int = 0,
        threads: int = 2,
        options: Options | None = None,
        patience: int = 0,
    ) -> Status | None:
        code, signature, resident = loaded(function, values, options or Options())
        config = LaunchConfig.of(griddim, blockdim, sharedmem)
        return launch(code, config, pack(signature, values), sharedmem, threads, resident=resident, patience=patience)

    go.resident = lambda function, *values: loaded(function, values, Options())[2]  # type: ignore[attr-defined]
    return go
