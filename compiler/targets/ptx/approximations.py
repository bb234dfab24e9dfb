"""approximations: tiered code has the GPU compute them, whose results differ in the last bit from the assembler's.

The assembler computes ex2.approx and its like itself where it knows the argument, and more exactly than the GPU. So
arguments pass through an operation with a zero that it does not know: a variable that programs could write to.
"""

from __future__ import annotations

import re

from gridjit.base.regexes import regex

_ZERO = "gridjit_zero"
_DECLARED = f".weak .const .align 8 .b64 {_ZERO};"
_HEADER = regex(r"^\.address_size \d+$", re.MULTILINE)
# The last argument is the divisor of a division, which multiplies by an approximation of its reciprocal.
_APPROXIMATION = regex(
    r"((?:@!?%\w+\s+)?\b[a-z]\w*\.(?:approx|full)[\w.]*\.b?f(16|32|64)(x2)?\s[^;\n]*,\s*)([^\s,;]+)\s*;",
    needs=(".approx", ".full"),
)


def left_to_the_gpu(ptx: bytes) -> bytes:
    """Return the PTX with approximations that the assembler cannot compute."""
    text = ptx.decode()
    changed = _APPROXIMATION.sub(_hidden, text)
    return ptx if changed == text else _HEADER.sub(rf"\g<0>\n{_DECLARED}", changed, count=1).encode()


def _hidden(found: re.Match[str]) -> str:
    head, bits, pair, argument = found.groups()
    kind, own = f"b{int(bits) * (2 if pair else 1)}", "%gridjit"
    hiding = f".reg .{kind} {own}; ld.const.{kind} {own}, [{_ZERO}]; xor.{kind} {own}, {argument}, {own};"
    return f"{{ {hiding} {head}{own}; }}"
