"""What is asked of a kernel is answered for every specialization: by signature, by launch, and by target."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import UnsupportedError, cuda, static
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.numba_names.overload import held_attributes
from gridjit.runtime.numba_names.specialized_signature import by_key
from gridjit.runtime.process.session import Session
from tests.runtime.making import make_specialization

VECTOR = "void(float32[::1])"


def spread(x):
    tile = cuda.shared.array(static.blockDim.x, cuda.float32)
    tile[cuda.threadIdx.x] = x[0]
    cuda.syncthreads()
    x[cuda.grid(1)] = tile[0]


def plain(x):
    x[0] = 1


@pytest.fixture(scope="module")
def kernel() -> Any:
    """A kernel with code for blocks of 32 and of 64; the tests of this module only look at it."""
    made = gridjit.jit(target="host")(spread)
    for block in (32, 64):
        made[1, block](np.zeros(block, np.float32))
    return made


def texts(found: Any) -> dict[str, Any]:
    return {str(key): value for key, value in found.items()}


def test_each_launch_that_has_code_of_its_own_has_numbers_of_its_own(kernel: Any) -> None:
    assert texts(kernel.get_shared_mem_per_block()) == {
        "(float32[1d C])": 256,
        "(float32[1d C]) for host, depends on blockdim.x = 32": 128,
    }


def test_all_specializations_are_overloads_and_share_one_signature(kernel: Any) -> None:
    assert [found.specialization for found in kernel.overloads.values()] == [*reversed(kernel.specializations)]
    assert kernel.signatures == [kernel.specializations[0].signature]


def test_each_specialization_has_its_own_code(kernel: Any) -> None:
    first, second = kernel.inspect_asm().values()
    assert first != second
    assert len(kernel.inspect_llvm()) == len(kernel.get_metadata()) == 2


def test_the_types_of_each_specialization_are_written(kernel: Any, capsys: pytest.CaptureFixture[str]) -> None:
    kernel.inspect_types()
    assert capsys.readouterr().out.count("array(float32, 1d, C)") >= 2
    kernel.inspect_types(config=(1, 32))
    assert capsys.readouterr().out.count("=" * 80) == 1


@pytest.mark.parametrize(("config", "size"), [((1, 32), 128), (gridjit.LaunchConfig.of(9, 64), 256)])
def test_a_launch_says_which_of_them_is_asked_for(kernel: Any, config: Any, size: int) -> None:
    assert list(kernel.get_shared_mem_per_block(config=config).values()) == [size]
    assert kernel.get_shared_mem_per_block(VECTOR, config=config) == size
    assert kernel.get_overload(VECTOR, config=config).shared_mem_per_block == size


def test_a_key_or_a_specialization_says_which_of_them_is_asked_for(kernel: Any) -> None:
    sizes = {key: kernel.get_shared_mem_per_block(key) for key in kernel.overloads}
    assert sizes == dict(kernel.get_shared_mem_per_block())
    assert [kernel.get_shared_mem_per_block(found) for found in kernel.specializations] == [128, 256]
    for key, found in kernel.overloads.items():
        assert kernel.get_overload(key).specialization is kernel.overloads[key].specialization is found.specialization


def test_what_is_not_compiled_is_refused_with_what_is(kernel: Any) -> None:
    with pytest.raises(ConfigError, match=r"for \(float32\[1d C\]\) for sm_90; it is for: .* blockdim.x = 32; "):
        kernel.inspect_asm(VECTOR, target="sm_90")
    with pytest.raises(ConfigError, match=r"and a launch of \(1, 96\)"):
        kernel.get_overload(VECTOR, config=(1, 96))
    with pytest.raises(TypeError, match="grid"):
        kernel.get_regs_per_thread(VECTOR, grid=1)
    assert kernel.inspect_asm(config=(1, 96)) == {}


def test_code_that_is_alike_but_for_what_cannot_be_compared_is_all_there() -> None:
    all_of_them = [make_specialization(Fact(field="argument 0 in full", value=None)) for _ in range(3)]
    keyed = by_key(all_of_them, None)
    assert set(keyed.values()) == set(all_of_them)
    assert [str(key).rpartition(", ")[2] for key in keyed][2] == "number 2"


def test_code_compiled_ahead_of_a_launch_gives_way_to_what_was_compiled_in_one() -> None:
    size = Fact(field="blockdim.x", value=32)
    ahead, other, launched = (
        make_specialization(size, Fact(field="launch", value=False)),
        make_specialization(size, Fact(field="launch", value=False), arch="sm_80"),
        make_specialization(size, Fact(field="launch", value=True)),
    )
    for order in ([ahead, other, launched], [launched, other, ahead]):
        assert set(by_key(order, ahead.target).values()) == {other, launched}
    assert list(by_key([ahead], None).values()) == [ahead]


def test_a_key_of_a_specialization_compiles_what_its_signature_does(kernel: Any) -> None:
    again = gridjit.jit(target="host")(plain)
    again.compile(VECTOR)
    (_, key) = kernel.overloads
    assert type(key) is not Signature
    again.compile(key)
    assert len(again.specializations) == 1


@pytest.fixture(scope="module")
def both() -> Any:
    """A kernel of the host's, and of two GPUs'; the tests only look at it."""
    made = gridjit.jit(target="host")(plain)
    made[1, 1](np.zeros(1, np.float32))
    for target in ("sm_90", "sm_80"):
        made.compile(VECTOR, target=target)
    return made


@pytest.mark.cuda_toolkit
def test_code_for_another_target_does_not_replace_the_hosts(both: Any) -> None:
    assert str(both.overloads[VECTOR].target) == "host"
    assert ".visible .entry" not in both.inspect_asm(VECTOR)
    assert list(texts(both.overloads)) == [
        "(float32[1d C])",
        "(float32[1d C]) for sm_90, depends on nothing",
        "(float32[1d C]) for sm_80, depends on nothing",
    ]


@pytest.mark.cuda_toolkit
def test_a_target_says_which_of_them_is_asked_for(both: Any) -> None:
    assert ".target sm_90" in both.inspect_asm(VECTOR, target="sm_90")
    assert ".target sm_80" in both.inspect_asm(VECTOR, target="sm_80")
    assert len(both.inspect_asm(target="cuda")) == 2
    assert "define" in both.inspect_llvm(VECTOR, target="sm_80")


@pytest.mark.cuda_toolkit
def test_what_only_gpus_have_is_shown_of_those(both: Any) -> None:
    assert len(both.inspect_lto_ptx()) == 2
    assert ".target sm_80" in both.inspect_lto_ptx(VECTOR)
    for key in list(both.overloads)[1:]:
        assert f".target {both.get_overload(key).target}" in both.inspect_lto_ptx(key)
    with pytest.raises(UnsupportedError, match="host has no PTX"):
        both.inspect_lto_ptx(target="host")


@pytest.mark.cuda_toolkit
def test_the_numbers_of_a_gpus_code_need_no_driver(both: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a device was asked for")

    monkeypatch.setattr(Session, "device", refuse)
    numbers = [
        get(VECTOR, target="sm_90")
        for get in (
            both.get_regs_per_thread,
            both.get_shared_mem_per_block,
            both.get_local_mem_per_thread,
            both.get_const_mem_size,
            both.get_max_threads_per_block,
        )
    ]
    assert numbers[0] > 0 and numbers[1:] == [0, 0, 0, 1024]


TABLE = np.arange(16.0)


def uses_all(x, n):
    tile, own = cuda.shared.array(64, cuda.float32), cuda.local.array(50, cuda.float64)
    table = cuda.const.array_like(TABLE)
    for k in range(n):
        own[(k * 7) % 50] = table[k % 16] + x[k]
    tile[cuda.threadIdx.x] = own[n % 50]
    cuda.syncthreads()
    x[cuda.grid(1)] = tile[n % 64]


@pytest.mark.cuda_toolkit
def test_all_memory_that_a_gpus_code_uses_is_counted_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    made = gridjit.jit(target="host")(uses_all)
    made.compile("void(float32[::1], int64)", target="sm_90")
    monkeypatch.setattr(Session, "device", _no_device)
    ((shared,), (local,), (constant,)) = (
        get().values()
        for get in (made.get_shared_mem_per_block, made.get_local_mem_per_thread, made.get_const_mem_size)
    )
    assert (shared, constant) == (64 * 4, 16 * 8)
    assert local >= 50 * 8


@pytest.mark.cuda_toolkit
def test_a_kernel_is_asked_about_code_for_gpus_where_its_own_device_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = gridjit.jit(target="cuda")(plain)
    for target in ("sm_80", "sm_90"):
        made.compile(VECTOR, target=target)
    monkeypatch.setattr(Session, "device", _no_device)
    assert list(texts(made.get_max_threads_per_block())) == [
        "(float32[1d C])",
        "(float32[1d C]) for sm_80, depends on nothing",
    ]


@pytest.mark.cuda_toolkit
def test_launch_bounds_and_registers_limit_the_threads_of_a_block() -> None:
    bounded = gridjit.jit(target="host", launch_bounds=96)(plain)
    artifact = bounded.compile(VECTOR, target="sm_90")
    uses = held_attributes(artifact)
    assert uses is not None and uses.max_threads == 96


def _no_device(*_: Any) -> Any:
    raise gridjit.DeviceError("there is none")


# "Maximizing Occupancy" in the CUDA programming guide, and the occupancy calculator's table for 64 K registers.
@pytest.mark.parametrize(
    ("registers", "arch", "threads"),
    [
        *((1, "sm_90", 1024), (64, "sm_90", 1024), (65, "sm_90", 896), (72, "sm_80", 896), (73, "sm_90", 768)),
        *((128, "sm_90", 512), (168, "sm_90", 384), (255, "sm_90", 256), (255, "sm_53", 128)),
    ],
)
def test_the_threads_of_a_block_are_as_many_as_its_registers_allow(registers: int, arch: str, threads: int) -> None:
    uses = held_attributes(make_specialization(arch=arch, registers=registers).artifact)
    assert uses is not None
    assert uses.max_threads == threads


ASKED = ("inspect_asm", "inspect_llvm", "inspect_sass", "inspect_lto_ptx", "get_metadata", "get_regs_per_thread")


@pytest.mark.parametrize("name", [*ASKED, "inspect_types"])
@pytest.mark.parametrize("target", ["nope", "sm_", "", 3])
def test_a_target_that_is_none_is_an_error_and_not_an_empty_answer(kernel: Any, name: str, target: Any) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"target={target!r}: give 'host', 'cuda' or an architecture")):
        getattr(kernel, name)(target=target)


def test_signatures_are_shown_as_people_write_them(kernel: Any) -> None:
    assert repr(kernel.signatures) == "[(float32[1d C])]"
    assert [repr(key) for key in kernel.overloads] == [str(key) for key in kernel.overloads]
