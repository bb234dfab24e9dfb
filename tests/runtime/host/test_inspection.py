"""What can be asked of a kernel that was compiled for the host, and what can not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import UnsupportedError


@pytest.fixture
def kernel() -> Any:
    """A kernel that was launched once."""

    @gridjit.jit(target="host")
    def fill(out, value):
        out[0] = value

    fill[1, 1](np.zeros(1), 2.0)
    return fill


def test_the_hosts_assembly_and_ir_are_shown(kernel: Any) -> None:
    (signature,) = kernel.signatures
    assert "fill" in kernel.inspect_llvm(signature)
    assert ".text" in kernel.inspect_asm(signature)


@pytest.mark.parametrize("ask", ["inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg"])
def test_what_only_gpus_have_is_refused_with_the_way_on(kernel: Any, ask: str) -> None:
    with pytest.raises(UnsupportedError, match=r"fill: code for host has no (PTX|SASS); .*target='sm_90'"):
        getattr(kernel, ask)()
