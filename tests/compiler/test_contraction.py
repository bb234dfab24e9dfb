"""Contraction: a product is fused with what alone uses it, on both targets, and nothing else is."""

from __future__ import annotations

import re

import pytest

from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.exactness import inexact

HEAD = 'define double @f(double %"a", double %"b", double %"c.1") {\nentry:\n'
FUSED = "call double @llvm.fma.f64(double"


def body(*lines: str) -> str:
    """Return a module with a function of such lines."""
    return HEAD + "".join(f"  {line}\n" for line in lines) + '  ret double %"r"\n}\n'


PRODUCT = '%"p" = fmul double %"a", %"b"'


@pytest.mark.parametrize(
    ("line", "values", "minus"),
    [
        ('%"r" = fadd double %"p", %"c.1"', ['%"a"', '%"b"', '%"c.1"'], None),
        ('%"r" = fadd double %"c.1", %"p"', ['%"a"', '%"b"', '%"c.1"'], None),
        ('%"r" = fsub double %"p", %"c.1"', ['%"a"', '%"b"', '%"gridjit.minus.r"'], '%"c.1"'),
        ('%"r" = fsub double %"c.1", %"p"', ['%"gridjit.minus.r"', '%"b"', '%"c.1"'], '%"a"'),
        ('%"r" = fadd double %"p", 0x3ff0000000000000', ['%"a"', '%"b"', "0x3ff0000000000000"], None),
    ],
)
def test_a_product_is_fused_with_the_sum_or_difference_that_it_is_part_of(
    line: str, values: list[str], minus: str | None
) -> None:
    text = contracted(body(PRODUCT, line))
    assert f'%"r" = {FUSED} {", double ".join(values)})' in text
    assert (f'%"gridjit.minus.r" = fsub double -0.0, {minus}' in text) is (minus is not None)
    assert text.count("declare double @llvm.fma.f64(double, double, double)") == 1


@pytest.mark.parametrize(
    "lines",
    [
        (PRODUCT, '%"q" = fadd double %"p", %"c.1"', '%"r" = fadd double %"q", %"p"'),  # used twice
        (PRODUCT, '%"r" = fdiv double %"p", %"c.1"'),
        ('%"p" = fmul half %"a", %"b"', '%"r" = fadd half %"p", %"c.1"'),
        ('%"r" = fadd double %"a", %"b"',),
    ],
)
def test_what_is_not_such_a_product_stays_as_it_is(lines: tuple[str, ...]) -> None:
    assert contracted(body(*lines)) == body(*lines)


def test_names_of_other_functions_do_not_count() -> None:
    text = contracted(body(PRODUCT, '%"r" = fadd double %"p", %"c.1"') * 2)
    assert text.count(FUSED) == 2


def test_an_intrinsic_that_is_declared_is_not_declared_again() -> None:
    declared = 'declare double @"llvm.fma.f64"(double, double, double)\n'
    text = contracted(declared + body(PRODUCT, '%"r" = fadd double %"p", %"c.1"'))
    assert len(re.findall("^declare", text, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    "line",
    [
        '%"r" = fdiv arcp double %"a", %"b"',
        '%"r" = call fast double @f(double %"a")',
        '%"r" = call double @"__nv_fast_sinf"(double %"a")',
        '%"r" = call float asm "tanh.approx.f32 $0, $1;", "=f,f"(float %"a")',
        '%"r" = call double @llvm.pow.f64(double %"a", double %"b")',
        '%"r" = tail call contract double @g(double %"a")',
    ],
)
def test_operations_that_may_be_less_exact_are_found(line: str) -> None:
    assert inexact([body(PRODUCT), body(line)])


def test_exact_operations_are_not() -> None:
    exact = (PRODUCT, '%"r" = call double @"__nv_pow"(double %"p", double %"b")', "call void @llvm.lifetime.end()")
    assert inexact([body(*exact)]) == ""
