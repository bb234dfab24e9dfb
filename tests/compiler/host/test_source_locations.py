"""Names of device functions as people read them, from those that LLVM IR has."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.ir.source_locations import path_of


@pytest.mark.parametrize(
    ("mangled", "path"),
    [
        ("_ZN8__main__4waitB2v1B8cw51cXTLEx", ["__main__", "wait"]),
        (
            "_ZN7package6module5outer12_3clocals_3e10wait_addedEx",
            ["package", "module", "outer", "<locals>", "wait_added"],
        ),
        ("_ZN8__main__8_b_decayEx", ["__main__", "_b_decay"]),
        ("_ZN8__main__9_c3_a9tatEx", ["__main__", "état"]),
    ],
)
def test_names_are_read_as_python_writes_them(mangled: str, path: list[str]) -> None:
    assert path_of(mangled) == path
