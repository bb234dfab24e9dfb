#!/usr/bin/env python
"""Print what each first step of a process on a GPU takes, in milliseconds: the medians of several processes.

The goals: 5 ms for the first array, and 150 ms from the start of the process to the first result, less the context.
Two processes run before those that count, so that the kernel is in the cache. --import-bindings imports cuda.bindings
in each process first, to show what that takes by itself.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROCESSES = 9
PROGRAM = """
import ctypes, json, sys, time
marks = [("interpreter", float(sys.argv[1]))]
def mark(name):
    marks.append((name, time.monotonic()))
mark("context")
library = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
codes = (library.cuInit(0), library.cuDeviceGet(ctypes.byref(device), 0),
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), library.cuCtxSetCurrent(context))
assert not any(codes), codes
mark("import numpy")
import numpy as np
if "--import-bindings" in sys.argv:
    mark("import cuda.bindings")
    import cuda.bindings.driver
mark("import gridjit.cuda")
from gridjit import cuda
mark("decorate")
@cuda.jit
def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]
mark("imports of the device")
import gridjit.runtime.memory.create, gridjit.runtime.devices.cuda.device, gridjit.runtime.devices.cuda.memory.space
mark("the device")
space = gridjit.runtime.devices.cuda.device.current_device().space
mark("the first allocation")
memory = space.allocate(4000, 0)
mark("the first array, after these")
x = cuda.to_device(np.ones(1000, np.float32))
mark("the second array")
y = cuda.to_device(np.ones(1000, np.float32))
mark("the first launch")
saxpy[8, 128](x, y, 2.0)
mark("the result")
assert (y.copy_to_host() == 3).all()
mark("")
steps = {name: (end - at) * 1e3 for (name, at), (_, end) in zip(marks, marks[1:])}
first = ("imports of the device", "the device", "the first allocation", "the first array, after these")
steps["= the first array"] = sum(steps[name] for name in first)
steps["= start to result, less the context"] = (marks[-1][1] - marks[0][1]) * 1e3 - steps["context"]
steps["cuda.bindings imported"] = float("cuda.bindings.driver" in sys.modules)
print(json.dumps(steps))
"""


def run(program: Path) -> dict[str, float]:
    """Return what the steps of one process took."""
    command = [sys.executable, str(program), str(time.monotonic()), *sys.argv[1:]]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "first_use.py")
        program.write_text(PROGRAM)
        for _ in range(2):
            run(program)
        found = [run(program) for _ in range(PROCESSES)]
    for name in found[0]:
        print(f"{name:40} {statistics.median(steps[name] for steps in found):8.2f}")


if __name__ == "__main__":
    main()
