#!/usr/bin/env python3
"""Time from process start to the first result of a kernel that is in the cache, against numba @njit(cache=True).

Each number is the median over fresh processes, interleaved so that both see the same machine. The time starts when
the process is started and ends when it has checked its result; the interpreter's own start is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

GRIDJIT = """
    import numpy as np
    import gridjit
    from gridjit import cuda

    @gridjit.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    x, y = np.ones(1000), np.ones(1000)
    saxpy[8, 128](2.0, x, y)
    assert (y == 3).all() and saxpy.stats.compiles == int(__import__("sys").argv[1])
"""

NUMBA = """
    import numpy as np
    import numba

    @numba.njit(cache=True)
    def saxpy(a, x, y):
        for i in range(x.size):
            y[i] += a * x[i]

    x, y = np.ones(1000), np.ones(1000)
    saxpy(2.0, x, y)
    assert (y == 3).all()
"""

NOTHING = "import numpy"


def main() -> None:
    """Print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11, help="processes of each kind (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: _program(Path(folder), name, text) for name, text in _PROGRAMS.items()}
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            # Modules come from bytecode, as they do for whoever installed them with pip.
            "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
            "GRIDJIT_CACHE_DIR": f"{folder}/cache",
            "NUMBA_CACHE_DIR": f"{folder}/numba",
        }
        for name, path in programs.items():
            _seconds(path, environment, compiles=name == "gridjit")
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(given.repeats):
            for name, path in programs.items():
                times[name].append(_seconds(path, environment, compiles=False))
    medians = {name: statistics.median(values) * 1e3 for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:22} {median:8.0f} ms")
    print(f"numba / gridjit        {medians['numba njit cached'] / medians['gridjit']:8.1f}")
    if given.output:
        given.output.write_text(json.dumps(medians, indent=2))


_PROGRAMS = {"gridjit": GRIDJIT, "numba njit cached": NUMBA, "python + numpy alone": NOTHING}


def _program(folder: Path, name: str, text: str) -> Path:
    path = folder / f"start_{name.split()[0]}.py"
    path.write_text(textwrap.dedent(text))
    return path


def _seconds(path: Path, environment: dict[str, str], *, compiles: bool) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, str(path), str(int(compiles))], check=True, env=environment)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
