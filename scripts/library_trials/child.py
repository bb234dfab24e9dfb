"""One process's trials: each kernel compiled by numba-cuda and by gridjit, and launched where there is a GPU.

Prints one JSON line for each kernel. Without a GPU, numba-cuda's question for the current one is answered here, as
libraries ask it before they compile; with that, all that a library does up to a launch is done.
"""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import gridjit
from gridjit import cuda
from library_trials.trial import Trial


def main() -> None:
    """Try the kernels of a module of library_trials, for an architecture (sm_90)."""
    module, architecture = sys.argv[1:3]
    capability = int(architecture[3:-1]), int(architecture[-1])
    launches = bool(cuda.is_available())
    _stand_in(capability, launches)
    for make in importlib.import_module(f"library_trials.{module}").trials():
        print(json.dumps(_tried(make, architecture, capability, launches)), flush=True)


def _tried(make: Callable[[], Trial], architecture: str, capability: tuple[int, int], launches: bool) -> dict[str, Any]:
    """Return what became of one trial: a text for each step, "ok" or the error."""
    found: dict[str, Any] = {}
    made: list[Trial] = []
    found["library"] = _outcome(lambda: made.append(make()))
    if not made:
        return {"name": "?", **found}
    trial = made[0]
    kernel = gridjit.jit(trial.kernel, link=list(trial.link))
    found["numba-cuda"] = _outcome(lambda: _by_numba_cuda(trial, capability))
    found["gridjit"] = _outcome(lambda: kernel.compile(tuple(trial.signature), (1, trial.block), architecture))
    if found["gridjit"] == "ok":
        found["stored"] = _stored(kernel)
    found["compiles"] = kernel.stats.compiles
    if launches and trial.arguments():
        found["launch"] = _outcome(lambda: _launched(trial, kernel))
    return {"name": trial.name, **found}


def _by_numba_cuda(trial: Trial, capability: tuple[int, int]) -> None:
    from numba import cuda as numba_cuda

    # The same code, with numba.cuda where its module has gridjit's.
    written = trial.kernel
    names = {**written.__globals__, "cuda": numba_cuda}
    kernel = FunctionType(written.__code__, names, written.__name__, None, written.__closure__)
    numba_cuda.compile(kernel, tuple(trial.signature), device=False, abi="numba", cc=capability, output="ltoir")


def _launched(trial: Trial, kernel: gridjit.Kernel) -> None:
    arguments = trial.arguments()
    kernel[1, trial.block](*arguments)
    if not trial.right(*arguments):
        raise AssertionError(f"a wrong result: {arguments}")


def _stored(kernel: gridjit.Kernel) -> str:
    lines = [line.strip() for line in kernel.explain().splitlines()]
    return next((line for line in lines if line.startswith("not stored")), "ok")


def _outcome(step: Callable[[], object]) -> str:
    try:
        step()
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return "ok"


def _stand_in(capability: tuple[int, int], launches: bool) -> None:
    """Answer what libraries ask numba-cuda: the device where there is none, and names that it no longer has."""
    import numba.cuda
    from numba.cuda import compiler, dispatcher
    from numba.cuda.cudadrv import devices, driver

    if not launches:
        device = SimpleNamespace(compute_capability=capability)
        devices.get_context = lambda: SimpleNamespace(device=device)
        for module in (numba.cuda, compiler, dispatcher):
            module.get_current_device = lambda: device
    if not hasattr(driver._Linker, "new"):  # until 0.26; cuda-cccl up to 0.5 links with it
        driver._Linker.new = classmethod(lambda linker, **options: linker(**options))


if __name__ == "__main__":
    main()
