"""Measure gridjit's own part of a launch: nanoseconds per call of the native launch function, without the driver.

    python scripts/bench-native-call.py [--loops 200000] [--repeat 5] [--output FILE.json]

What stands in for cuLaunchKernel returns at once. The floor is a loop in machine code that fills as many parameters
and calls the same function. The builtin that does nothing is called in the same way as the launch function, and returns
None. The GIL is held, and the launch function called by itself, unless said otherwise. Where there is a driver, the
functions that tell the current context are timed too: a launch on a GPU asks the first one.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.indexing import Indexable, index_natively
from gridjit.runtime.launch.launcher import Launcher
from gridjit.runtime.launch.ready import ConfigKey
from gridjit.runtime.native.function import NativeFunction, builtin, native_function
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.object_code import code_of, compile_text, put_in_memory
from gridjit.runtime.native.table import KernelHandle, LaunchTable

COUNTS = (0, 1, 4, 26)

_NOTHING = "define i32 @nothing() { ret i32 0 }"
_FLOOR = """
define void @floor(i64 %times, i64 %words, ptr %source, ptr %function) #0 {
entry:
  %buffer = alloca [512 x i64], align 16
  %size = alloca i64
  %extra = alloca [5 x ptr]
  br label %launch
launch:
  %n = phi i64 [ 0, %entry ], [ %n.next, %launched ]
  %empty = icmp eq i64 %words, 0
  br i1 %empty, label %launched, label %fill
fill:
  %i = phi i64 [ 0, %launch ], [ %i.next, %fill ]
  %from = getelementptr i64, ptr %source, i64 %i
  %to = getelementptr i64, ptr %buffer, i64 %i
  %word = load volatile i64, ptr %from
  store volatile i64 %word, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %words
  br i1 %more, label %fill, label %launched
launched:
  store volatile ptr %buffer, ptr %extra
  store volatile ptr %size, ptr %extra
  %code = call i32 %function(ptr null, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 0, ptr null, ptr null, ptr %extra)
  %n.next = add i64 %n, 1
  %again = icmp slt i64 %n.next, %times
  br i1 %again, label %launch, label %done
done:
  ret void
}
attributes #0 = { nounwind "no-builtins" }
"""


_IDLE = """
define ptr @idle(ptr %self, ptr %args, i64 %count, ptr %keywords) {
KEEP
  ret ptr %self
}
"""
_KEEP = "%count.of = load i64, ptr %self\n  %more = add i64 %count.of, 1\n  store i64 %more, ptr %self"
_ASKING = """
define void @asking(i64 %times, ptr %function) #0 {
entry:
  %answer = alloca i64
  br label %ask
ask:
  %n = phi i64 [ 0, %entry ], [ %n.next, %ask ]
  CALL
  %n.next = add i64 %n, 1
  %again = icmp slt i64 %n.next, %times
  br i1 %again, label %ask, label %done
done:
  ret void
}
attributes #0 = { nounwind "no-builtins" }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Nanoseconds per call, by number of arguments."""

    name: str
    nanoseconds: dict[int, float] = field(default_factory=dict)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--loops", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", help="write the figures as JSON")
    options = parser.parse_args()
    rows = measure(options.loops, options.repeat)
    print(f"ns per launch, CPython {sys.version.split()[0]}, best of {options.repeat} x {options.loops}")
    print(f"{'':34}" + "".join(f"{count:>8}" for count in COUNTS))
    for row in rows:
        print(f"{row.name:34}" + "".join(f"{row.nanoseconds[count]:8.1f}" for count in COUNTS))
    if options.output:
        with open(options.output, "w") as file:
            json.dump({row.name: row.nanoseconds for row in rows}, file, indent=1)


def measure(loops: int, repeat: int) -> list[Measurement]:
    """Return all measurements."""
    nothing = _placed(_NOTHING)
    values: dict[str, Callable[[int], Any]] = {
        "ints": lambda index: index,
        "floats": lambda index: index + 0.5,
        "NumPy arrays, 2-D": lambda index: np.ones((3, 4)),
    }
    if (device_array := _device_array()) is not None:
        values["own arrays, 2-D"] = device_array
    rows = [
        _timed("floor, 1 word an argument", lambda n: _floor_time(nothing, n, loops, repeat)),
        _timed("floor, 9 words an argument", lambda n: _floor_time(nothing, 9 * n, loops, repeat)),
        _timed("a builtin that does nothing", lambda n: _nothing_time(values["ints"], n, loops, repeat)),
    ]
    for name, make in values.items():
        rows.append(_timed(name, lambda n, make=make: _native_time(nothing, make, n, loops, repeat)))  # type: ignore[misc]
    ints = values["ints"]
    rows += [
        _timed("ints, configured once", lambda n: _kernel_time(nothing, ints, n, loops, repeat, "f")),
        _timed("ints, kernel[grid, block]", lambda n: _kernel_time(nothing, ints, n, loops, repeat, "f[grid, block]")),
        _timed("ints, GIL released", lambda n: _native_time(nothing, ints, n, loops, repeat, hold=False)),
    ]
    return [*rows, *_contexts(loops, repeat)]


class _Kernel(Indexable):
    """What is indexed as kernels are, and launched by one native function."""

    def __init__(self, function: NativeFunction) -> None:
        super().__init__()
        nobody: Any = None
        self.launcher = Launcher(nobody, ConfigKey(LaunchConfig.of(1, 1)), 0, self._ready)
        self.launcher.native, self.launcher.fast = function, function.call

    def _configure(self, launch: Any) -> ConfiguredKernel:
        return ConfiguredKernel.of(self.launcher)


def _kernel_time(launch: int, make: Callable[[int], Any], count: int, loops: int, repeat: int, called: str) -> float:
    index_natively(MemoryStore())
    values = tuple(make(index) for index in range(count))
    kernel = _Kernel(told_of(launch, values, True))
    return _time(kernel[1, 1] if called == "f" else kernel, values, loops, repeat, called)


def _contexts(loops: int, repeat: int) -> list[Measurement]:
    """Return how long the driver takes to tell the current context; nothing where there is no driver."""
    from gridjit.runtime.devices import presence

    if not presence.device_count():
        return []
    from gridjit.runtime.devices.cuda.device import current_device

    address_of = current_device().driver.entry_point
    calls = {"cuCtxGetId": "ptr null, ptr %answer", "cuCtxGetCurrent": "ptr %answer"}
    return [_asking(name, given, address_of(name), loops, repeat) for name, given in calls.items()]


def _asking(name: str, given: str, address: int, loops: int, repeat: int) -> Measurement:
    code = _placed(_ASKING.replace("CALL", f"%code = call i32 %function({given})"))
    loop = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(code)
    best = min(timeit.repeat(lambda: loop(loops, address), number=1, repeat=repeat)) / loops * 1e9
    return _timed(name, lambda _: best)


def _timed(name: str, measure: Callable[[int], float]) -> Measurement:
    return Measurement(name=name, nanoseconds={count: round(measure(count), 1) for count in COUNTS})


def _nothing_time(make: Callable[[int], Any], count: int, loops: int, repeat: int) -> float:
    found = object_layout()
    idle = _placed(_IDLE.replace("KEEP", _KEEP if found is not None and found.counts_none else ""))
    return _time(builtin(idle, None), tuple(make(index) for index in range(count)), loops, repeat)


def _native_time(
    launch: int, make: Callable[[int], Any], count: int, loops: int, repeat: int, hold: bool = True
) -> float:
    values = tuple(make(index) for index in range(count))
    function = told_of(launch, values, hold)
    return _time(function.call, values, loops, repeat)


def told_of(launch: int, values: tuple[Any, ...], hold: bool) -> NativeFunction:
    """Return a native function that launches such values by the function at an address."""

    def surprised(*args: Any) -> None:
        raise RuntimeError("the native function did not take its arguments")

    function = native_function(MemoryStore(), surprised, surprised)
    if function is None:
        raise SystemExit("this interpreter launches from Python; there is nothing to measure")
    host = Place()
    types = Signature(arguments=tuple(handler_of(value).type_of(value, host) for value in values)).arguments
    operations = tuple(handler_of(v).operation(v, host, t) for v, t in zip(values, types, strict=True))
    table = LaunchTable(
        launch=launch,
        entry=KernelHandle(handle=1),
        config=LaunchConfig.of(1, 1),
        sharedmem=0,
        stream=0,
        operations=tuple(operation for operation in operations if operation is not None),
        hold_gil=hold,
    )
    function.add(table)
    return function


def _time(function: Any, values: tuple[Any, ...], loops: int, repeat: int, called: str = "f") -> float:
    names = {f"a{index}": value for index, value in enumerate(values)}
    call = f"for _ in loop:\n    {called}({', '.join(names)})"
    # Names are local, as they are in a user's function.
    setup = "loop = range(loops); f = function; grid = block = 1" + "".join(
        f"; {name} = names['{name}']" for name in names
    )
    space = {"function": function, "names": names, "loops": loops}
    empty = min(timeit.repeat("for _ in loop:\n    pass", setup, globals=space, number=1, repeat=repeat))
    best = min(timeit.repeat(call, setup, globals=space, number=1, repeat=repeat))
    return (best - empty) / loops * 1e9


def _floor_time(launch: int, words: int, loops: int, repeat: int) -> float:
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    floor = prototype(_placed(_FLOOR))
    source = (ctypes.c_int64 * 512)()
    return min(timeit.repeat(lambda: floor(loops, words, source, launch), number=1, repeat=repeat)) / loops * 1e9


def _placed(text: str) -> int:
    code = code_of(compile_text(text))
    address = None if code is None else put_in_memory(code)
    if address is None:
        raise SystemExit("machine code cannot be placed in memory here; there is nothing to measure")
    return address


def _device_array() -> Callable[[int], Any] | None:
    try:
        from gridjit.runtime.arrays.create import to_device
        from gridjit.runtime.memory.space import HOST_SPACE
    except ImportError:
        return None
    return lambda index: to_device(np.ones((3, 4)), space=HOST_SPACE)


if __name__ == "__main__":
    main()
