"""gridjit_rows: a program that times the launches of whichever gridjit it finds, and writes the rows as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from launch_overhead.device import floor_of
from launch_overhead.kernels import TAKING, scalars, signature, words
from launch_overhead.timing import COUNTS, Case, calls, indexed_calls, measure

Make = Callable[[int], list[Any]]


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--loops", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--floor")
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    import gridjit

    print(f"{given.name}: gridjit of {Path(gridjit.__file__).parent}", file=sys.stderr)
    warnings.simplefilter("ignore")
    left_out: list[str] = []
    cases = list(cases_of(given.name, kinds(given.target, left_out), left_out))
    rows = measure(cases, floor_of(given.floor), synchronizer(given.target), given.loops, given.repeats)
    given.output.write_text(json.dumps({"rows": [row.as_json() for row in rows], "left_out": left_out}))


def cases_of(who: str, made: dict[str, Make], left_out: list[str]) -> Iterator[Case]:
    """Yield every kind of arguments x number x way of configuring x way of giving the signature."""
    import gridjit

    for what, make in made.items():
        for count in COUNTS:
            if not count and what != "scalars":
                continue
            for given in ("lazy", "eager"):
                decorate = gridjit.jit if given == "lazy" else gridjit.jit(signature(what, count))
                values = make(count)
                try:
                    kernel = decorate(TAKING[count])
                    kernel[1, 1](*values)
                except Exception as error:
                    left_out.append(f"{who}: {count} {what}, {given}: {type(error).__name__}: {error}")
                    continue
                for how, loop in (("once", calls(kernel[1, 1], values)), ("each", indexed_calls(kernel, values))):
                    yield Case(
                        who=who,
                        what=what,
                        count=count,
                        how=how,
                        signature=given,
                        launch=loop,
                        words=words(what, count),
                    )


def kinds(target: str, left_out: list[str]) -> dict[str, Make]:
    """Return how to make so many arguments of each kind that is there."""
    found: dict[str, Make] = {"scalars": scalars, "own arrays": _own}
    if target == "host":
        found["NumPy arrays"] = lambda count: [np.ones(8, np.float32) for _ in range(count)]
    for what, package, make in (("torch tensors", "torch", _torch), ("CuPy arrays", "cupy", _cupy)):
        if package == "cupy" and target == "host":
            continue
        try:
            found[what] = make(importlib.import_module(package), target)
        except ImportError:
            left_out.append(f"{what}: {package} is not installed")
    return found


def synchronizer(target: str) -> Callable[[], None]:
    """Return what waits for the device."""
    from gridjit.runtime.process.session import session

    return (lambda: None) if target == "host" else session().device(target).synchronize  # type: ignore[attr-defined]


def _own(count: int) -> list[Any]:
    from gridjit.runtime.arrays.create import to_device

    return [to_device(np.ones(8, np.float32)) for _ in range(count)]


def _torch(torch: Any, target: str) -> Make:
    device = "cpu" if target == "host" else "cuda"
    return lambda count: [torch.ones(8, dtype=torch.float32, device=device) for _ in range(count)]


def _cupy(cupy: Any, target: str) -> Make:
    return lambda count: [cupy.ones(8, dtype=cupy.float32) for _ in range(count)]


if __name__ == "__main__":
    main()
