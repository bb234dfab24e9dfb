"""Extensions across processes: an artifact is found again exactly where they would do the same to the kernel."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.programs import run_new_python, run_python
from tests.toolkit import missing_library

PROGRAM = """
    import importlib, json, sys
    import numpy as np
    from gridjit import cuda

    from api import stub

    for name in sys.argv[1:]:
        importlib.import_module(name)

    @cuda.jit
    def kernel(out):
        out[0] = stub(out[0])

    out = np.zeros(1)
    kernel[1, 1](out)
    print(json.dumps({"value": out[0], "compiles": kernel.stats.compiles, "story": kernel.explain()}))
"""
API = """
    def stub(x):
        raise NotImplementedError
"""
OVERLOAD = """
    from numba.cuda.extending import overload
    from api import stub

    def register(added):
        @overload(stub, target="cuda")
        def implement(x):
            return lambda x: x + added

    register(VALUE)
"""
LOWERING = """
    from numba.cuda import types
    from numba.cuda.cudadecl import register_global
    from numba.cuda.cudaimpl import lower
    from numba.cuda.typing.templates import AbstractTemplate, signature
    from api import stub

    @register_global(stub)
    class StubTemplate(AbstractTemplate):
        def generic(self, args, kws):
            return signature(types.float64, types.float64)

    @lower(stub, types.float64)
    def lower_stub(context, builder, sig, args):
        return builder.fadd(args[0], context.get_constant(types.float64, VALUE))
"""
TYPE_OF_VALUE = """
    import api
    from numba.cuda import types
    from numba.cuda.extending import overload, typeof_impl

    class Tag:
        pass

    @typeof_impl.register(Tag)
    def typeof_tag(value, context):
        return types.Omitted(VALUE)

    @overload(api.stub, target="cuda")
    def implement(x):
        value = typeof_tag(None, None).value
        return lambda x: x + value
"""
REWRITE = """
    import api, api_tuning
    from numba.cuda.core import ir
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.extending import overload

    @overload(api.stub, target="cuda")
    def implement(x):
        return lambda x: x + 4242

    @register_rewrite("before-inference")
    class Bake(Rewrite):
        def match(self, func_ir, block, typemap, calltypes):
            self.block = block
            found = block.find_insts(ir.Assign)
            self.hits = [s for s in found if isinstance(s.value, (ir.Const, ir.FreeVar)) and s.value.value == 4242]
            return bool(self.hits)

        def apply(self):
            new = self.block.copy()
            new.clear()
            for s in self.block.body:
                new.append(ir.Assign(ir.Const(api_tuning.VALUE, s.loc), s.target, s.loc) if s in self.hits else s)
            return new
"""


def run(folder: Path, *modules: str, **texts: str) -> dict[str, Any]:
    """Run the program with modules imported, after writing files of the given texts."""
    return report_of(run_python, folder, modules, texts)


def run_anew(folder: Path, *modules: str, **texts: str) -> dict[str, Any]:
    """Do so in an interpreter that is started for it."""
    return report_of(run_new_python, folder, modules, texts)


def report_of(run_it: Callable[..., Any], folder: Path, modules: tuple[str, ...], texts: dict[str, str]) -> Any:
    """Return what the program printed."""
    for name, text in {"program": PROGRAM, "api": API, **texts}.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    done = run_it("-B", folder / "program.py", *modules)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("target")
def test_two_extensions_for_one_function_never_get_each_others_code(tmp_path: Path) -> None:
    texts = {"one": OVERLOAD.replace("VALUE", "1"), "two": OVERLOAD.replace("VALUE", "2")}
    for compiles in (1, 0):
        for module, value in (("one", 1), ("two", 2)):
            report = (run_anew if (module, compiles) == ("one", 0) else run)(tmp_path, module, **texts)
            assert (report["value"], report["compiles"]) == (value, compiles)
    both = run(tmp_path, "one", "two", **texts)
    assert both["compiles"] == 1


@pytest.mark.some(1)
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(
    "extension", [OVERLOAD, LOWERING, TYPE_OF_VALUE], ids=["overload", "lowering", "type of value"]
)
def test_a_changed_extension_is_a_miss_and_the_old_one_a_hit_again(tmp_path: Path, extension: str) -> None:
    for value, compiles in ((1, 1), (2, 1), (1, 0)):
        report = run(tmp_path, "extension", extension=extension.replace("VALUE", f"{value}.0"))
        assert (report["value"], report["compiles"]) == (value, compiles), report["story"]


@pytest.mark.usefixtures("target")
def test_what_a_rewrite_reads_from_another_module_counts(tmp_path: Path) -> None:
    for value, compiles in ((66, 1), (67, 1), (66, 0)):
        report = run(tmp_path, "extension", extension=REWRITE, api_tuning=f"VALUE = {value}")
        assert (report["value"], report["compiles"]) == (value, compiles), report["story"]


def test_a_rewrite_that_counts_what_it_saw_keeps_the_artifact_in_memory(foreign_rewrites: None) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    seen: list[str] = []

    @register_rewrite("after-inference")
    @register_rewrite("before-inference")
    class Counts(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            seen.append(f"block {len(seen)}")
            return False

    @gridjit.jit(target="host")
    def kernel(out):
        out[0] = 1

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 1 and len(seen) > 1
    assert "Counts after-inference changed while the kernel was compiled" in kernel.explain()


@pytest.mark.some(1)
@pytest.mark.cuda_toolkit
@pytest.mark.skipif(missing_library() is not None, reason="a library of the CUDA toolkit cannot be found")
@pytest.mark.parametrize("place", ["memory", "file", "header"])
def test_code_that_a_declared_function_brings_along_is_linked_and_counts(
    tmp_path: Path, restart: Callable[[], None], place: str
) -> None:
    file, header = tmp_path / "add.cu", tmp_path / "amount.h"

    def kernel_for(amount: int) -> gridjit.Kernel:
        body = f'extern "C" __device__ int add(int* result, int x) {{ *result = x + {amount}; return 0; }}\n'
        header.write_text(body)
        file.write_text('#include "amount.h"\n' if place == "header" else body)
        add = cuda.declare_device(
            "add", "int32(int32)", link=cuda.CUSource(body) if place == "memory" else os.fspath(file)
        )

        def kernel(out):
            out[0] = add(out[0])

        return gridjit.jit(kernel)

    images = []
    for amount, compiles in ((1, 1), (2, 1), (1, 0)):
        restart()
        kernel = kernel_for(amount)
        images.append(kernel.compile("void(int32[::1])", target="sm_90").image)
        assert kernel.stats.compiles == compiles, kernel.explain()
    assert images[0] == images[2] != images[1]
