"""Sums of the values of a kernel are seen through whatever LLVM made of them, as far as they cannot wrap around."""

from __future__ import annotations

import re

import pytest

from gridjit.compiler.targets.host.analysis.affine import added, affine, computed_sum


def lines_of(text: str) -> dict[str, str]:
    return {line.split()[0]: line.strip() for line in text.strip().splitlines()}


LINES = lines_of(
    """
    %start32 = add nuw nsw i32 %t, 1
    %start = zext nneg i32 %start32 to i64
    %inverted = xor i64 %start, -1
    %far = add i64 %n, %inverted
    %copy = add i32 %t, 0
    %same = zext nneg i32 %copy to i64
    %plain = zext nneg i32 %t to i64
    %wraps32 = add i32 %t, 1
    %wraps = zext i32 %wraps32 to i64
    %signed32 = sub nsw i32 %m, 2
    %signed = sext i32 %signed32 to i64
    %wide = sext i32 %m to i64
    """
)


def test_what_is_subtracted_from_an_end_and_added_again_cancels_out() -> None:
    assert added("%far", "%start", LINES) == {"%n": 1, "1": -1}


def test_copies_and_widened_sums_that_do_not_wrap_are_their_parts() -> None:
    assert affine("%same", LINES) == affine("%plain", LINES) == {"zext %t": 1}
    assert affine("%signed", LINES) == {"sext %m": 1, "1": -2}


def test_a_sum_that_may_wrap_before_it_is_widened_is_a_value_of_its_own() -> None:
    assert affine("%wraps", LINES) == {"zext %wraps32": 1}


@pytest.mark.parametrize(
    ("total", "code"),
    [
        ({"%n": 1, "1": -1}, ("add i64 %n, -1",)),
        ({"%n": 1, "%k": -1}, ("sub i64 %n, %k",)),
        ({"sext %m": 1, "1": 3}, ("add i64 %wide, 3",)),
        ({"%n": 1}, ()),
    ],
)
def test_a_sum_is_written_as_few_instructions(total: dict[str, int], code: tuple[str, ...]) -> None:
    found = computed_sum(total, LINES, "sum")
    assert found is not None
    value, made = found
    assert tuple(re.sub(r"^\S+ = ", "", line) for line in made) == code
    assert value == (made[-1].split()[0] if made else "%n")


@pytest.mark.parametrize("total", [{"%n": 2}, {"zext %q": 1}])
def test_a_sum_of_what_has_no_name_is_not_written(total: dict[str, int]) -> None:
    assert computed_sum(total, LINES, "sum") is None
