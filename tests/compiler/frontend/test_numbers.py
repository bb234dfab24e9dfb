"""Numbers in names: a kernel's code is the same whatever was compiled before it, and linked names are their own."""

from __future__ import annotations

import numpy as np
import pytest

from gridjit import cuda
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.frontend.isolated.names import numbered, without_numbers
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, Target
from gridjit.compiler.view.config import ConfigView


@cuda.jit(device=True)
def doubled(x):
    return x + x


def kernel(x):
    shared, more = cuda.shared.array(32, np.float64), cuda.shared.array(0, np.float32)
    i = cuda.threadIdx.x
    shared[i], more[i] = doubled(x[i]), doubled(np.float32(x[i]))
    cuda.syncthreads()
    print("text", more[i])
    x[i] = shared[31 - i]


def another(x):
    shared = cuda.shared.array(32, np.float64)
    shared[0] = doubled(x[0])
    x[0] = shared[1]


def lowered(function, target: Target, options: Options) -> Lowered:
    return lower(function, parse_signature("void(float64[::1])"), options, target, (), ConfigView(None))[0]


@pytest.mark.each_value_once
@pytest.mark.parametrize("target", [host_target(), Target(kind="ptx", arch="sm_90")], ids=["host", "sm_90"])
@pytest.mark.parametrize("options", [Options(), Options(lineinfo=True), Options(debug=True, opt=False)], ids=str)
def test_a_kernels_text_is_the_same_whatever_was_compiled_before_it(target: Target, options: Options) -> None:
    first = lowered(kernel, target, options)
    lowered(another, target, options)
    again = lowered(kernel, target, options)
    assert again.modules == first.modules
    assert again.entry == first.entry
    assert f'@"{first.entry}"(' in first.modules[0]


# A line of a module, and how it is compared with those of other processes.
_COMPARED = {
    '; ModuleID = "kernel$12"': '; ModuleID = "kernel"',
    'define i32 @"_ZN1fB4v107B1aEi"()': 'define i32 @"_ZN1fBB1aEi"()',
    '@"_cudapy_smem_7" = addrspace(3) global [4 x i8] undef': '@"_cudapy_smem_" = addrspace(3) global [4 x i8] undef',
    '@".bytes.-88" = constant [2 x i8] c"a$1"': '@".bytes." = constant [2 x i8] c"a"',
    '%"x$3" = load i32, i32* %"$30pred"': '%"x$3" = load i32, i32* %"$30pred"',
}


def test_texts_are_compared_without_the_numbers_of_their_names() -> None:
    assert without_numbers("\n".join(_COMPARED)) == "\n".join(_COMPARED.values())


# What a module defines, and how it is named in the end.
_RENAMED = {
    "_ZN1kB3v41B1aEi": "_ZN1kB2v1B1aEi",
    "_ZN1fB4v107B1aEi": "_ZN1fB2v2B1aEi",
    "_cudapy_smem_12": "_cudapy_smem_1",
    ".bytes.-88": ".bytes.2",
    "B9v41": "B9v41",  # a function of that very name
}


def module(names: list[str], *more: str) -> str:
    return "\n".join(['; ModuleID = "k$41"', *(f'@"{name}" = global i32 0' for name in names), *more])


def test_names_are_counted_from_one_and_those_that_tell_a_debugger_too() -> None:
    told = 'linkageName: "{}"'
    given = module(list(_RENAMED), told.format("_ZN1kB3v41B1aEi"))
    wanted = module(list(_RENAMED.values()), told.format("_ZN1kB2v1B1aEi")).replace("k$41", "k")
    assert numbered([given])[0] == (wanted,)


def test_linked_functions_keep_their_names_and_nothing_takes_them() -> None:
    linked, own = "_ZN1fB2v1B1aEi", "_ZN1kB3v41B1aEi"
    called = f'declare i32 @"{linked}"()'
    assert numbered([module([own], called)])[0][0].count(linked) == 1
    taken = module(["_ZN1fB3v41B1aEi"], called)
    assert numbered([taken]) == ((taken.replace("k$41", "k"),), {})


def test_modules_are_put_in_an_order_that_no_number_changes() -> None:
    names = ["_ZN1kB{}B1aEi", "_cudapy_smem_{}", ".bytes.{}"]
    one, another = (
        module([names[0].format(tag), names[1].format(count), names[2].format(count)]).replace("k$41", f"k${count}")
        for tag, count in (("2v9", 9), ("3v10", 10))
    )
    assert one != another
    assert without_numbers(one) == without_numbers(another)


def test_names_stay_where_a_text_ends_so_that_a_name_behind_it_could_be_overlooked() -> None:
    given = module(["_ZN1kB3v41B1aEi"], '@x = constant { [2 x i8], i32* } { [2 x i8] c"a@", i32* @"_ZN1kB3v41B1aEi" }')
    assert numbered([given]) == ((given.replace("k$41", "k"),), {})
