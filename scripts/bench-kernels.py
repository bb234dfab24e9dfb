#!/usr/bin/env python3
"""Measure kernels on a GPU: gridjit's against CUDA C through NVRTC, numba-cuda and Triton, in turns in one process.

Each contestant's results are checked, at a small size against NumPy and at the measured one against CUDA C. Times are
the device's, by events: medians of batches of launches that were all queued before the first began. Without a GPU,
--check compiles the kernels for sm_90, and runs gridjit's on the host at the small sizes.

    python scripts/bench-kernels.py [--kernels saxpy,n_body] [--codegen nvvm,llvm] [--modes default,launch] [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from kernel_times import KERNELS
from kernel_times.codes import MODES, Code, cuda_code, gridjit_code, way
from kernel_times.kernel import Kernel
from launch_overhead.device import machine, why_no_gpu

import gridjit
from gridjit import cuda
from gridjit.commands.svg import Bar, bars
from gridjit.runtime.environment.settings import settings

Row = dict[str, Any]
_WIDTHS = "{kernel:22} {gridjit:12} {us:>9} {cuda:>8} {numba:>8} {triton:>8} {peer:>8} {registers:>9} {local:>9} "
_LINE = _WIDTHS + "{blocks:>7} {loop:>13}"


def main() -> None:
    """Print a line for each kernel and way of gridjit's."""
    given = _arguments()
    warnings.simplefilter("ignore")
    if given.check:
        raise SystemExit(check(given))
    if reason := why_no_gpu():
        print(f"bench-kernels.py: {reason}; --check compiles the kernels without", file=sys.stderr)
        raise SystemExit(2)
    print(", ".join(machine("cuda").values()))
    print(_LINE.format(**_HEAD))
    rows, failed = measured(given)
    for line in _summary(rows):
        print(line)
    if given.output:
        found = {"machine": machine("cuda"), "rows": rows, "failed": failed}
        given.output.write_text(json.dumps(found, indent=2))
    if given.plot:
        given.plot.write_text(_picture(rows))
    raise SystemExit(1 if failed else 0)


def measured(given: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Return the rows of all kernels, which are printed as they come, and what failed."""
    from kernel_times.device import Timer, first_device

    arch = first_device()
    timer, rows, failed = Timer(arch), [], []
    for kernel in given.kernels:
        found, errors = _measured(kernel, timer, arch, given)
        for row in found:
            rows.append(row)
            print(_line(row), flush=True)
        for error in errors:
            failed.append(error)
            print(error, file=sys.stderr, flush=True)
    return rows, failed


def _measured(kernel: Kernel, timer: Any, arch: str, given: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Return a kernel's rows, and what failed: each contestant with a wrong result, or that cannot be compiled."""
    from kernel_times.contestants import Contestant, of_cuda, of_gridjit, of_numba, of_triton

    makers: dict[str, Callable[[], Contestant]] = {"CUDA C": partial(of_cuda, kernel, timer.stream, arch)}
    for names in product(given.codegen, given.modes):
        makers[way(*names)] = partial(of_gridjit, kernel, timer.stream, *names)
    makers["numba-cuda"] = partial(of_numba, kernel, timer.stream)
    if kernel.triton and all(map(find_spec, ("torch", "triton"))):
        makers["Triton"] = partial(of_triton, kernel, timer.stream)
    launches: dict[str, Callable[[], object]] = {}
    codes: dict[str, Code | None] = {}
    failed, right = [], None
    (args, small), of_numpy = map(kernel.arguments, kernel.sizes), expected(kernel)
    for name, make in makers.items():
        try:
            contestant = make()
            _compared(kernel, _results(contestant.bind(small, kernel.sizes[1])), of_numpy)
            bound = contestant.bind(args, kernel.sizes[0])
            found = _results(bound)
            right = right or found
            _compared(kernel, found, right)
            launches[name], codes[name] = bound.launch, contestant.code
        except Exception as error:  # noqa: PERF203  # the others go on
            failed.append(f"{kernel.name}, {name}: {type(error).__name__}: {error}")
    if "CUDA C" not in launches:
        return [], failed
    try:
        return _rows(kernel, timer.medians(launches, given.batches), codes), failed
    except OSError as error:
        return [], [*failed, f"{kernel.name}: {error}"]


def _rows(kernel: Kernel, times: dict[str, float], codes: dict[str, Code | None]) -> list[Row]:
    from kernel_times.device import resources

    figures = {}
    for name, code in codes.items():
        if code is not None:
            loop, language = code.loop(kernel.work)
            taken = resources(code, kernel.launch(kernel.sizes[0])[1])._asdict()
            figures[name] = {**taken, "instructions": loop.instructions, "work": loop.work, "language": language}
    return [
        {
            "kernel": kernel.name,
            "gridjit": name,
            "times": times,
            "figures": {"gridjit": own, "CUDA C": figures["CUDA C"]},
        }
        for name, own in figures.items()
        if name != "CUDA C"
    ]


def _results(bound: Any) -> list[Any]:
    cuda.synchronize()
    bound.launch()
    cuda.synchronize()
    return list(bound.results())


def _compared(kernel: Kernel, found: Sequence[Any], right: Sequence[Any]) -> None:
    if difference := kernel.difference(found, right):
        raise ValueError(f"wrong results: {difference}")


def expected(kernel: Kernel) -> list[Any]:
    """Return NumPy's results at the small size."""
    right = kernel.expected(*kernel.arguments(kernel.sizes[1]))
    return [np.asarray(one) for one in (right if isinstance(right, tuple) else (right,))]


def check(given: argparse.Namespace) -> int:
    """Compile all kernels for sm_90 and run gridjit's on the host; return the exit status."""
    import numba
    from numba.cuda import compiler, dispatcher

    for module in (compiler, dispatcher):  # device functions ask which GPU they are for
        module.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))
    failed = 0
    os.environ["GRIDJIT_TARGET"] = "host"
    for kernel in given.kernels:
        said = []
        try:
            said.append(f"CUDA C {_said(kernel, cuda_code(kernel.cuda_text, 'sm_90'))}")
            for names in product(given.codegen, given.modes):
                code = gridjit_code(kernel, *names, "sm_90", kernel.sizes[0])
                said.append(f"{way(*names)} {_said(kernel, code)}")
            small = kernel.arguments(kernel.sizes[1])
            numba.cuda.compile_ptx(kernel.function, tuple(map(numba.typeof, small)), cc=(9, 0))
            gridjit.jit(kernel.function)[kernel.launch(kernel.sizes[1])](*small)
            _compared(kernel, kernel.results(small), expected(kernel))
        except Exception as error:
            failed += 1
            said.append(f"{type(error).__name__}: {error}")
        print(f"{kernel.name:22} {'   '.join(said)}", flush=True)
    return 1 if failed else 0


def _said(kernel: Kernel, code: Code) -> str:
    loop, language = code.loop(kernel.work)
    return f"{_loop(loop.instructions, loop.work)} in {language}"


def _loop(instructions: int, work: int) -> str:
    return f"{instructions / work:.1f}" if work else str(instructions)


_HEAD = {
    "kernel": "kernel",
    "gridjit": "gridjit",
    "us": "CUDA C us",
    "cuda": "/ CUDA C",
    "numba": "numba/C",
    "triton": "Triton/C",
    "peer": "/ numba",
    "registers": "registers",
    "local": "local B",
    "blocks": "blocks",
    "loop": "inner loop",
}


def _line(row: Row) -> str:
    times, (own, other) = row["times"], (row["figures"][who] for who in ("gridjit", "CUDA C"))
    both = {name: f"{own[name]}/{other[name]}" for name in ("registers", "local", "blocks")}
    return _LINE.format(
        kernel=row["kernel"],
        gridjit=row["gridjit"],
        us=f"{times['CUDA C']:.1f}",
        cuda=_ratio(times, row["gridjit"], "CUDA C"),
        numba=_ratio(times, "numba-cuda", "CUDA C"),
        triton=_ratio(times, "Triton", "CUDA C"),
        peer=_ratio(times, row["gridjit"], "numba-cuda"),
        loop="/".join(_loop(one["instructions"], one["work"]) for one in (own, other)),
        **both,
    )


def _ratio(times: dict[str, float], one: str, other: str) -> str:
    return f"{times[one] / times[other]:.2f}" if one in times and other in times else "-"


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each contestant: the geometric mean and the worst of its ratios to CUDA C."""
    kernels = {row["kernel"]: row["times"] for row in rows}
    for one in dict.fromkeys(name for times in kernels.values() for name in times if name != "CUDA C"):
        ratios = {name: times[one] / times["CUDA C"] for name, times in kernels.items() if one in times}
        worst = max(ratios, key=lambda name: ratios[name])
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        yield f"{one} / CUDA C, {len(ratios)} kernels: geometric mean {mean:.3f}, worst {ratios[worst]:.2f} ({worst})"


def _picture(rows: Sequence[Row]) -> str:
    """Return times as multiples of CUDA C's, as an SVG file."""
    drawn = []
    for name in dict.fromkeys(row["kernel"] for row in rows):
        ways = [row["gridjit"] for row in rows if row["kernel"] == name]
        times = next(row["times"] for row in rows if row["kernel"] == name)
        for who in (*ways, "numba-cuda", "Triton"):
            if who in times:
                value, ours = times[who] / times["CUDA C"], who in ways
                shown = f"gridjit, {who}" if ours else who
                color = "accent" if ours else "c6"
                drawn.append(Bar(name=f"{name}, {shown}", value=value, said=f"{value:.2f}", color=color, bold=ours))
    return bars("Times of kernels", "Multiples of CUDA C's through NVRTC", drawn, mark=(1.0, "CUDA C"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [kernel.name for kernel in KERNELS]
    ways = ["nvvm", "llvm"]
    parser.add_argument(
        "--kernels", type=_several(names), default=names, help="kernels to measure: " + ", ".join(names)
    )
    default = settings().codegen
    parser.add_argument("--codegen", type=_several(ways), default=[default], help="gridjit's generators: nvvm,llvm")
    parser.add_argument("--modes", type=_several(list(MODES)), default=["default"], help="of " + ", ".join(MODES))
    parser.add_argument("--batches", type=int, default=15, help="batches of launches (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compile and compare without a GPU")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="write what was measured")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the times as multiples of CUDA C's")
    given = parser.parse_args()
    given.kernels = [kernel for kernel in KERNELS if kernel.name in given.kernels]
    return given


def _several(known: Sequence[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        named = [name.strip() for name in text.split(",")]
        if unknown := [name for name in named if name not in known]:
            raise argparse.ArgumentTypeError(f"there are {', '.join(known)}, and not {', '.join(unknown)}")
        return named

    return read


if __name__ == "__main__":
    main()
