"""One process's compiles, timed: `child.py COMPILER TARGET FOLDER SIGNATURE MODULE KERNEL...`, a JSON line for each.

COMPILER: gridjit or numba, whose compiler is imported before any time starts. TARGET: cubin or host. Times are in
seconds: wall and cpu of each kernel's compile, and with gridjit the milliseconds of its phases. FOLDER is searched for
the module before the checked-in ones.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

CAPABILITY = (8, 0)


def main() -> None:
    """Compile the kernels one after the other."""
    peer, target, folder, signature, module, *names = sys.argv[1:]
    os.environ["COMPILE_TIMES_PEER"] = peer
    sys.setrecursionlimit(20_000)  # numba goes 30 calls deep into each function of a chain
    sys.path.insert(0, folder)
    started = time.perf_counter()
    compile_one = _numba_compiler(target) if peer == "numba" else _gridjit_compiler(target)
    imported = time.perf_counter() - started
    kernels = importlib.import_module(module)
    for name in names:
        wall, cpu = time.perf_counter(), time.process_time()
        found = compile_one(getattr(kernels, name), signature)
        times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "import": imported}
        print(json.dumps({"kernel": name, **times, **found}), flush=True)


def _gridjit_compiler(target: str) -> Callable[[Any, str], dict[str, Any]]:
    from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
    from gridjit.compiler.values import phases

    phases.clock = time.process_time  # leaves out the work of other programs

    numba_cuda()
    for module in ("compile", "frontend.lower", f"targets.{'host' if target == 'host' else 'ptx'}.generate"):
        importlib.import_module(f"gridjit.compiler.{module}")
    name = "host" if target == "host" else f"sm_{CAPABILITY[0]}{CAPABILITY[1]}"

    def compile_one(kernel: Any, signature: str) -> dict[str, Any]:
        artifact = kernel.compile(signature, target=name)
        return {"phases": artifact.metadata.get("phases", {}), "compiles": kernel.stats.compiles}

    return compile_one


def _numba_compiler(target: str) -> Callable[[Any, str], dict[str, Any]]:
    from numba.cuda import compiler, dispatcher  # as `numba.cuda.compile` does, which returns PTX only

    for module in (compiler, dispatcher):  # device functions ask which GPU they are for
        module.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)

    def compile_one(kernel: Any, signature: str) -> dict[str, Any]:
        begin = time.perf_counter()
        library, _ = compiler._compile_pyfunc_with_fixup(
            kernel.py_func, signature, device=False, abi="numba", cc=CAPABILITY
        )
        library.get_asm_strs(cc=CAPABILITY)
        ptx = time.perf_counter() - begin
        if target == "cubin":
            library.get_cubin(cc=CAPABILITY)
        return {"ptx": ptx}

    return compile_one


if __name__ == "__main__":
    main()
