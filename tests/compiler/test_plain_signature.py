"""Signatures that are read without numba are what numba reads."""

from __future__ import annotations

import pytest

from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.values.signature import SCALAR_CODES, plain_signature

ITEMS = ["boolean" if name == "bool" else name for name in SCALAR_CODES]


@pytest.mark.parametrize(
    "text",
    [
        *(f"void({item}, {item}[:], {item}[::1])" for item in ITEMS),
        "void( float32 [ : ] ,int64 )",
        "void(float32[:, ::1])",
        "void (float32[::1, :], float32[: : 1 ,:, :])",
        "void(float32[:,:,:],\n boolean)",
    ],
)
def test_a_plain_text_is_read_as_numba_reads_it(text: str) -> None:
    assert plain_signature(text) == parse_signature(text)


@pytest.mark.parametrize(
    "text",
    [
        "void()",
        "float32(int32)",
        "(float32,)",
        "void(bool)",
        "void(float32[])",
        "void(float32[1])",
        "void(float32[::1, ::1])",
        "void(float32[:, ::1, :])",
        "void(float32[::1][::1])",
        "void(float32[::1],)",
        "void(nothing)",
        "void(float32) or void(int32)",
    ],
)
def test_all_else_is_for_numba_to_read_or_to_refuse(text: str) -> None:
    assert plain_signature(text) is None
