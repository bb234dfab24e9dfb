#!/usr/bin/env python
"""Print what each first step of a process on a GPU takes, in milliseconds: the medians of several processes.

The goals: 5 ms for the first array, and 150 ms from the start of the process to the first result, less the context.
What it takes to load the driver, to start it and to make the context is counted as "context", whenever that happens.
Two processes run before those that count, so that the kernel is in the cache.

--context-first: somebody else made the context before, as torch may have. --import-bindings: cuda.bindings is imported
first, to show what that takes by itself.
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
marks, context = [("interpreter", float(sys.argv[1]), 0.0)], 0.0
def mark(name):
    marks.append((name, time.monotonic(), context))
def timed(function, *given):
    global context
    begin = time.monotonic()
    try:
        return function(*given)
    finally:
        context += time.monotonic() - begin
class Timed:
    def __init__(self, function):
        vars(self)["function"] = function
    def __setattr__(self, name, value):
        setattr(self.function, name, value)
    def __call__(self, *given):
        return timed(self.function, *given)
CDLL = ctypes.CDLL
class Library(CDLL):
    def __init__(self, *given, **options):
        timed(lambda: super(Library, self).__init__(*given, **options))
    def __getattr__(self, name):
        found = super().__getattr__(name)
        if name in ("cuInit", "cuDevicePrimaryCtxRetain"):
            found = Timed(found)
            setattr(self, name, found)
        return found
ctypes.CDLL = Library
if "--context-first" in sys.argv:
    mark("somebody else's context")
    library, device, made = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    codes = (library.cuInit(0), library.cuDeviceGet(ctypes.byref(device), 0),
        library.cuDevicePrimaryCtxRetain(ctypes.byref(made), device), library.cuCtxSetCurrent(made))
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
mark("import what makes arrays")
import gridjit.runtime.arrays.create
mark("the device")
space = gridjit.runtime.arrays.create.current_space()
mark("the first allocation")
memory = space.allocate(4000, 0)
mark("the first array, after these")
x = cuda.to_device(np.ones(1000, np.float32))
mark("the second array")
y = cuda.to_device(np.ones(1000, np.float32))
ctypes.CDLL = CDLL  # what is compiled where libraries were changed is compiled in each process
mark("the first launch")
saxpy[8, 128](x, y, 2.0)
mark("the result")
assert (y.copy_to_host() == 3).all()
mark("a large array after that")
space.allocate(64 << 20, 0)
mark("")
steps = {name: (end - at - (after - before)) * 1e3
    for (name, at, before), (_, end, after) in zip(marks, marks[1:])}
steps["context"] = context * 1e3
first = ("import what makes arrays", "the device", "the first allocation", "the first array, after these")
steps["= the first array, less the context"] = sum(steps[name] for name in first)
steps["= start to result, less the context"] = (marks[-2][1] - marks[0][1] - context) * 1e3
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
