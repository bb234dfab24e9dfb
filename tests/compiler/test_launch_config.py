"""LaunchConfig: dimensions are normalized, checked against CUDA's limits, and refused with the limit named."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ConfigError, LaunchConfig
from gridjit.compiler.values.launch_config import declared_launches


@pytest.mark.parametrize(
    ("given", "normal"),
    [(4, (4, 1, 1)), ((4,), (4, 1, 1)), ([4, 2], (4, 2, 1)), ((4, 2, 3), (4, 2, 3)), (np.int64(4), (4, 1, 1))],
)
def test_dimensions_are_three_tuples_however_they_are_given(given: object, normal: tuple[int, int, int]) -> None:
    config = LaunchConfig.of(given, given)  # type: ignore[arg-type]
    assert (config.griddim, config.blockdim) == (normal, normal)


def test_equal_shapes_are_equal_and_hash_alike() -> None:
    assert LaunchConfig.of(8, (32,)) == LaunchConfig.of((8, 1), 32)
    assert hash(LaunchConfig.of(8, 32)) == hash(LaunchConfig.of((8,), (32, 1, 1)))


@pytest.mark.parametrize(
    ("grid", "block", "sharedmem", "words"),
    [
        (0, 32, 0, r"griddim\.x is 0; it must be from 1 to 2147483647"),
        ((1, 65536), 32, 0, r"griddim\.y is 65536"),
        (1, 1025, 0, r"blockdim\.x is 1025; it must be from 1 to 1024"),
        (1, (32, 64), 0, r"blockdim \(32, 64, 1\) has 2048 threads; a block holds at most 1024"),
        (1, (1, 1, 65), 0, r"blockdim\.z is 65"),
        ((1, 2, 3, 4), 32, 0, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
        (1.5, 32, 0, r"griddim must be a sequence of integers, got \[1.5\]"),
        ("12", 32, 0, r"griddim must be a sequence of integers, got \['12'\]"),
        (1, 32, -1, "sharedmem is -1"),
        (1, 32, "x", "give a number of bytes"),
    ],
)
def test_what_cuda_cannot_launch_is_refused_with_the_limit(
    grid: object, block: object, sharedmem: object, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        LaunchConfig.of(grid, block, sharedmem)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"blockdim": (99999, 1, 1)}, r"blockdim\.x is 99999; it must be from 1 to 1024"),
        ({"blockdim": (32, 64, 1)}, "has 2048 threads"),
        ({"griddim": (2**31, 1, 1)}, r"griddim\.x is 2147483648; it must be from 1 to 2147483647"),
        ({"griddim": 8}, r"griddim is 8; give three integers, \(x, y, z\), or use LaunchConfig.of"),
        ({"blockdim": (32,)}, r"blockdim is \(32,\); give three integers"),
        ({"blockdim": (32, 1, 1.0)}, "give three integers"),
        ({"cluster": (1, 1, 70000)}, r"cluster\.z is 70000"),
        ({"sharedmem": -1}, "sharedmem is -1"),
        ({"sharedmem": 2**31}, "sharedmem is 2147483648 bytes; a launch takes at most 2147483647"),
        ({"sharedmem": "x"}, "give a number of bytes"),
    ],
)
def test_a_configuration_that_no_launch_can_have_is_refused_however_it_is_made(changed: Any, words: str) -> None:
    fields = {"griddim": (1, 1, 1), "blockdim": (1, 1, 1), **changed}
    with pytest.raises(ConfigError, match=words):
        LaunchConfig(**fields)
    with pytest.raises(ConfigError, match=words):
        dataclasses.replace(LaunchConfig.of(1, 1), **changed)


def test_shared_memory_beyond_what_a_launch_can_say_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigError, match="sharedmem is 1099511627776 bytes"):
        LaunchConfig.of(1, 1, 2**40)


@pytest.mark.parametrize(("grid", "sharedmem"), [(2.0, 0), (2, 1.5)])
def test_what_is_not_a_whole_number_is_of_the_wrong_type_too(grid: Any, sharedmem: Any) -> None:
    with pytest.raises(TypeError):
        LaunchConfig.of(grid, 32, sharedmem)


def test_text_is_what_people_write() -> None:
    assert str(LaunchConfig.of((8, 4), 128, 64)) == "grid 8x4, block 128, 64 bytes shared"
    assert str(LaunchConfig.of((1, 1, 4), (1, 2))) == "grid 1x1x4, block 1x2"


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("cluster", 2, "cluster 2"),
        ("cooperative", True, "cooperative"),
        ("programmatic", True, "programmatic"),
        ("sharedmem", 9, "9 bytes shared"),
    ],
)
def test_the_text_names_each_field_that_is_not_at_its_default(field: str, value: Any, shown: str) -> None:
    plain = LaunchConfig.of(8, 128)
    changed = LaunchConfig.of(8, 128, **{field: value})
    assert str(changed) == f"{plain}, {shown}"
    assert f"{field}={getattr(changed, field)!r}" in repr(changed)


def test_launches_are_declared_as_configurations_tuples_or_fields_and_each_counts_once() -> None:
    given = [LaunchConfig.of(8, 64), (8, 64), {"grid": 8, "block": [64]}, ((2, 3), 32, 16), {"griddim": 1, "block": 1}]
    declared = declared_launches("here", given)
    assert declared == (LaunchConfig.of(8, 64), LaunchConfig.of((2, 3), 32, 16), LaunchConfig.of(1, 1))
    whole = {"grid": 8, "block": 64, "sharedmem": 16, "cluster": 2, "cooperative": True, "preferred_cluster": 4}
    (config,) = declared_launches("here", [whole])
    assert (config.cluster, config.cooperative, config.preferred_cluster) == ((2, 1, 1), True, (4, 1, 1))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, r"here: None: give a list of launches, such as \[\{'grid': 8, 'block': 64\}\]"),
        ({"grid": 8, "block": 64}, "here: .*: give a list of launches"),
        ("8x64", "here: '8x64': give a list of launches"),
        ((8, 64), r"here, launch 1: 8: give grid and block, as in \{'grid': 8, 'block': 64\} or \(8, 64\)"),
        ([(8, 64), None], "here, launch 2: None: give grid and block"),
        ([(8, 64, 0, 0)], "here, launch 1: .*: give grid and block"),
        ([{"grid": 8}], "here, launch 1: .*: give grid and block.*; the fields are grid, block, sharedmem, cluster"),
        ([{"grid": 8, "block": 64, "stream": 0}], "here, launch 1: .*the fields are grid, block, sharedmem"),
        ([{"grid": 8, "griddim": 8, "block": 64}], "here, launch 1: .*the fields are grid"),
        ([(8, 64), (8, 2000)], r"here, launch 2: blockdim\.x is 2000; it must be from 1 to 1024"),
        ([(8.0, 64)], "here, launch 1: griddim must be a sequence of integers"),
    ],
)
def test_a_declaration_that_is_not_a_launch_names_its_place_and_number(given: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        declared_launches("here", given)


def test_a_kernel_keeps_its_declared_launches() -> None:
    def scale(x):
        x[0] = 1

    assert gridjit.jit(launches=[(8, 64)])(scale).launches == (LaunchConfig.of(8, 64),)
    assert gridjit.jit(scale).launches == ()
    with pytest.raises(ConfigError, match=r"jit\(launches\), launch 1: blockdim\.x is 0"):
        gridjit.jit(launches=[(8, 0)])
