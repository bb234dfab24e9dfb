"""The kernels whose compile is measured are printed as LLVM IR faster, as the very text that llvmlite makes of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from compile_times.cases import CASES, Case

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.frontend.faster import pieces, printing
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView

numba_cuda()

from llvmlite import ir  # noqa: E402  # numba comes first


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_kernel_whose_compile_is_measured_is_printed_as_llvmlite_prints_it(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.text:
        (tmp_path / f"{case.module}.py").write_text(case.text)
        monkeypatch.syspath_prepend(tmp_path)
    printed: list[tuple[str, str]] = []
    assert pieces.PIECES[-1] is printing.PIECE
    monkeypatch.setattr(pieces, "PIECES", (*pieces.PIECES[:-1], _Twice(printed)))
    kernel = getattr(importlib.import_module(case.module), case.kernels[0])
    lower(
        kernel.py_func,
        parse_signature(case.signature),
        Options(),
        Target(kind="ptx", arch="sm_80"),
        (),
        ConfigView(None),
    )
    assert len(printed) > 1
    assert [one for one, _ in printed] == [other for _, other in printed]


class _Twice:
    """Has each block printed by llvmlite and then by the piece, and notes both."""

    written_for = printing.PIECE.written_for

    def __init__(self, printed: list[tuple[str, str]]) -> None:
        self._printed = printed

    def install(self, put: Any) -> None:
        original = ir.Block.descr
        printing.PIECE.install(put)
        faster = ir.Block.descr

        def describe(block: Any, buffer: list[str]) -> None:
            expected: list[str] = []
            original(block, expected)
            for one in block.instructions:
                for kept in ("_StrCaching__cached_str", "_StringReferenceCaching__cached_refstr"):
                    vars(one).pop(kept, None)
            start = len(buffer)
            faster(block, buffer)
            self._printed.append(("".join(expected), "".join(buffer[start:])))

        put(ir.Block, "descr", describe)
