"""What fastmath allows arithmetic on the host: all that NVVM is allowed, or what the flags that are given name."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.nvvm.retarget import retarget

TEXT = "define void @f(double %a) {\n  %b = fdiv double %a, %a\n  %c = fadd double %a, %b\n  ret void\n}\n"


@pytest.mark.parametrize(
    ("fastmath", "divided", "added"),
    [
        (False, "fdiv", "fadd contract"),
        (True, "fdiv reassoc nsz arcp contract afn", "fadd reassoc nsz arcp contract afn"),
        (("arcp",), "fdiv arcp contract", "fadd arcp contract"),
        (("contract",), "fdiv contract", "fadd contract"),
        (("nnan", "reassoc"), "fdiv reassoc contract", "fadd reassoc contract"),
    ],
)
def test_arithmetic_is_allowed_what_the_flags_name(fastmath: bool | tuple[str, ...], divided: str, added: str) -> None:
    made = retarget(TEXT, kernel="f", fastmath=fastmath).text
    assert f"%b = {divided} double" in made
    assert f"%c = {added} double" in made
