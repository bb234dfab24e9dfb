"""Wrong uses of arrays, buffers, streams, events and devices: each is told with its value and the way on."""

from __future__ import annotations

import inspect
import operator
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ArgumentError, Buffer, ConfigError, DeviceError, LayoutError, StridedMemoryView, cuda
from tests.programs import run_python
from tests.shown import users_files

pytestmark = pytest.mark.usefixtures("target")


@gridjit.jit
def touched(x):
    x[0] = 1


ITEMS = np.zeros(3)


@gridjit.jit
def set_first(ITEMS):  # noqa: N803
    ITEMS[0] = 1


@gridjit.jit
def set_row(x):
    x[cuda.grid(1)] = 1


def array() -> gridjit.DeviceArray:
    return cuda.to_device(np.arange(12.0).reshape(3, 4))


def adds(x):
    x[0] += 1


class Unshown:
    """What has no repr, and no name."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError


class Described:
    """What describes itself by an array interface, as it likes."""

    def __init__(self, interface: Any) -> None:
        self.__array_interface__ = interface


class Raising:
    """What raises when NumPy asks it for an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("not now")


def launched_with(callbacks: Any) -> None:
    configured = touched[1, 1]
    configured.pre_launch_callbacks = callbacks
    configured(array()[0])


def overload() -> Any:
    touched[1, 1](array()[0])
    return next(iter(touched.overloads.values()))


USES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (lambda: cuda.device_array("4"), LayoutError, "shape '4': give a whole number, or one for each axis"),  # type: ignore[arg-type]
    "strides": (
        lambda: cuda.device_array((3, 4), strides=(8,)),
        LayoutError,
        "strides (8,) do not fit shape (3, 4)",
    ),
    "like": (lambda: cuda.device_array_like(5), ArgumentError, "device_array_like: an int has no dtype"),
    "to host": (lambda: array().copy_to_host("a"), ArgumentError, "copy_to_host: a str cannot be copied into"),  # type: ignore[arg-type]
    "size": (lambda: array().reshape(5), LayoutError, "shape (3, 4) to (5,); give one for 12 items"),
    "sizes": (lambda: array().reshape(5, -1), LayoutError, "shape (3, 4) to (5, -1); give one for 12 items"),
    "copy needed": (lambda: array().T.reshape(12), gridjit.CopyNeededError, "without a copy; copy the array into one"),
    "part": (lambda: list(array()[0].split(0)), ValueError, "split(0): give how many items each part has"),
    "foreign": (lambda: cuda.as_cuda_array(5), ArgumentError, "an int does not have __cuda_array_interface__"),
    "buffer": (lambda: Buffer.allocate(4).copy_from(3), ArgumentError, "copy_from: an int is not a buffer"),  # type: ignore[arg-type]
    "dlpack": (lambda: StridedMemoryView.from_dlpack(5), ArgumentError, "an int has no __dlpack_device__"),
    "interface": (
        lambda: StridedMemoryView.from_cuda_array_interface(5),
        ArgumentError,
        "an int has no __cuda_array_interface__",
    ),
    "unknown dtype": (
        lambda: cuda.device_array(3, "flot32"),
        ArgumentError,
        "dtype 'flot32': data type 'flot32' not understood; give one of NumPy's",
    ),
    "ragged list": (lambda: cuda.to_device([[1], [2, 3]]), ArgumentError, "NumPy cannot make an array of a list: "),
    "copied into": (lambda: cuda.to_device([1], to=np.zeros(1)), ArgumentError, "to_device(to=a numpy.ndarray): give"),  # type: ignore[arg-type]
    "shape in a text": (lambda: array().reshape("12"), LayoutError, "reshape(('1', '2')): give whole numbers, or"),
    "device in a text": (lambda: cuda.select_device("a"), ArgumentError, "select_device('a'): give a device's number"),  # type: ignore[arg-type]
    "target as a number": (
        lambda: touched.compile("void(float64[::1])", target=90),  # type: ignore[arg-type]
        ConfigError,
        "target 90: give 'host', 'cuda', or an architecture such as 'sm_90'",
    ),
    "no target": (
        lambda: touched.compile("void(float64[::1])", target=""),
        ConfigError,
        "target '': give 'host', 'cuda'",
    ),
    "divided blocks": (lambda: touched[10 / 4, 4], ConfigError, "integers, got [2.5]; divide with //"),  # type: ignore[index]
    "block in a text": (lambda: touched[1, "32"], ConfigError, "blockdim must be a sequence of integers, got ['32']"),  # type: ignore[index]
    "event": (lambda: gridjit.create_event().elapsed_time(3), ArgumentError, "elapsed_time: 3 is an int, not an"),  # type: ignore[arg-type]
    "record": (lambda: gridjit.create_stream().record("x"), ArgumentError, "record: 'x' is a str, not an event; make"),  # type: ignore[arg-type]
    "callback": (lambda: gridjit.create_stream().on_complete(3), ArgumentError, "on_complete: 3 cannot be called"),  # type: ignore[arg-type]
    "old callback": (
        lambda: gridjit.create_stream().add_callback(3),  # type: ignore[arg-type]
        ArgumentError,
        "add_callback: 3 cannot be called",
    ),
    "priority": (
        lambda: gridjit.create_stream(priority="high"),  # type: ignore[arg-type]
        ArgumentError,
        "(priority='high'): give a whole number",
    ),
    "stream": (lambda: array().copy_to_host(stream="a"), ArgumentError, "stream 'a' is a str; give 0, a handle"),  # type: ignore[arg-type]
    "device": (lambda: cuda.select_device(99), DeviceError, "there is no device 99; the last is device"),
    "tasks": (lambda: touched.forall("a"), ConfigError, "forall(ntasks='a'): give a whole number"),  # type: ignore[arg-type]
    "reduction": (lambda: cuda.reduce(3), ArgumentError, "reduce(3): give a function of two values"),  # type: ignore[arg-type]
    "reduced": (lambda: cuda.reduce(lambda a, b: a + b)([1, 2]), ArgumentError, "reduce: a list is not an array; make"),
    "architecture": (
        lambda: touched.compile("void(float64[::1])", target="gpu"),
        DeviceError,
        "target 'gpu' is not a device; give 'cuda' or 'host', or to compile() also 'sm_90'",
    ),
    "cooperative": (
        lambda: touched.configure(1, 1, cooperative="x"),  # type: ignore[arg-type]
        ConfigError,
        "cooperative='x': give True or False",
    ),
    "cooperative launch": (
        lambda: gridjit.LaunchConfig(griddim=(1, 1, 1), blockdim=(1, 1, 1), cooperative="x"),  # type: ignore[arg-type]
        ConfigError,
        "cooperative='x': give True or False",
    ),
    "no compiles": (lambda: touched.disable_compile("x"), ConfigError, "disable_compile: val='x': give True or False"),  # type: ignore[arg-type]
    "timing": (lambda: gridjit.create_event(timing="x"), ConfigError, "timing='x': give True or False"),  # type: ignore[arg-type]
    "nonblocking": (lambda: gridjit.create_stream(nonblocking="x"), ConfigError, "nonblocking='x': give True or False"),  # type: ignore[arg-type]
    "hold_gil": (lambda: gridjit.jit(hold_gil=np.ones(2)), ConfigError, "hold_gil=array([1., 1.]): give True or False"),  # type: ignore[call-overload]
    "long value": (lambda: touched.forall("a" * 99), ConfigError, "forall(ntasks=a str): give a whole number"),  # type: ignore[arg-type]
    "value without repr": (
        lambda: touched.forall(Unshown()),  # type: ignore[arg-type]
        ConfigError,
        "forall(ntasks=a tests.end_to_end.test_wrong_uses.Unshown): give a whole number",
    ),
    "block without repr": (lambda: touched[1, Unshown()], ConfigError, "must be a sequence of integers, got a list"),
    "decorated": (lambda: gridjit.jit(Unshown), ConfigError, "made with def or lambda, not the type Unshown"),
    "decorated proxy": (
        lambda: gridjit.jit()(Unshown()),  # type: ignore[arg-type]
        ConfigError,
        "made with def or lambda, not a tests.end_to_end.test_wrong_uses.Unshown: write one in Python",
    ),
    "dlpack version": (
        lambda: array().__dlpack__(max_version="x"),  # type: ignore[arg-type]
        ArgumentError,
        "max_version='x': give None or (major, minor), a tuple of two whole numbers",
    ),
    "dlpack version of one": (
        lambda: array().__dlpack__(max_version=(1,)),  # type: ignore[arg-type]
        ArgumentError,
        "max_version=(1,): give None or (major, minor)",
    ),
    "dlpack device": (
        lambda: array().__dlpack__(dl_device=2),  # type: ignore[arg-type]
        ArgumentError,
        "dl_device=2: give None or (type, number)",
    ),
    "dlpack copy": (lambda: array().__dlpack__(copy="x"), ConfigError, "copy='x': give True or False"),  # type: ignore[arg-type]
    "dlpack stream": (lambda: array().__dlpack__(stream="x"), ArgumentError, "stream 'x' is a str; give 0, a handle"),  # type: ignore[arg-type]
    "interface of nothing": (lambda: cuda.to_device(Described({})), ArgumentError, "does not say where its data is"),
    "interface of nonsense": (
        lambda: cuda.to_device(Described({"shape": "x", "typestr": "<f4", "data": (8, False), "version": 3})),
        ArgumentError,
        "which does not follow the protocol: 'str' object cannot be interpreted as an integer; have its producer",
    ),
    "interface of another kind": (
        lambda: cuda.to_device(Described(5)),
        ArgumentError,
        "to_device: NumPy cannot make an array of a tests.end_to_end.test_wrong_uses.Described: Invalid",
    ),
    "an array that raises": (
        lambda: cuda.to_device(Raising()),
        ArgumentError,
        "NumPy cannot make an array of a tests.end_to_end.test_wrong_uses.Raising: not now; give it a NumPy array",
    ),
    "NumPy's type": (
        lambda: touched.compile((np.float32,)),
        ConfigError,
        "item 1 is numpy.float32, not a type of kernels: give cuda.float32",
    ),
    "Python's type": (lambda: touched.compile((cuda.int64, int)), ConfigError, "item 2 is int, not a type of kernels"),
    "dtype": (lambda: touched.compile((np.dtype("?"),)), ConfigError, "not a type of kernels: give cuda.boolean"),
    "array for a type": (
        lambda: touched.compile((np.ones((2, 2), np.float32),)),
        ConfigError,
        "item 1 is a numpy.ndarray and not its type: give cuda.float32[:, :]",
    ),
    "text in a tuple": (
        lambda: touched.compile(("int64",)),
        ConfigError,
        "item 1 is a string: give one string for the",
    ),
    "nothing for a type": (lambda: gridjit.jit((None,))(adds), ConfigError, "item 1 is None, not a type of kernels"),
    "stream of a stream": (
        lambda: cuda.current_stream("x"),  # type: ignore[arg-type]
        ArgumentError,
        "current_stream('x'): it takes no stream or name",
    ),
    "default stream of one": (lambda: cuda.default_stream(3), ArgumentError, "default_stream(3): it takes no stream"),  # type: ignore[arg-type]
    "callback of a launch": (
        lambda: launched_with([3]),
        ArgumentError,
        "pre_launch_callbacks has 3 in it, which cannot be called; give functions of (kernel, config)",
    ),
    "callbacks of a launch": (lambda: launched_with(3), ArgumentError, "pre_launch_callbacks = 3: give a list of"),
    "cooperative blocks": (
        lambda: overload().max_cooperative_grid_blocks("32"),
        ArgumentError,
        "max_cooperative_grid_blocks('32', 0): give a block's threads as whole numbers",
    ),
    "signature": (lambda: touched.compile(5), ConfigError, 'give a string, such as "void(float32[::1], int64)"'),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("use", USES)
def test_a_wrong_use_is_told_with_what_was_given_and_the_way_on(use: str) -> None:
    call, kind, words = USES[use]
    with pytest.raises(kind, match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("use", "sign"),
    [
        (lambda array: array + 1, "+"),
        (lambda array: 2.5 * array, "*"),
        (lambda array: array - array, "-"),
        (lambda array: -array, "-"),
        (lambda array: array > 0, ">"),
        (lambda array: array @ array, "@"),
        (lambda array: operator.iadd(array, 1), "+"),
        (lambda array: array == 1, "=="),
        (lambda array: array != 0.5, "!="),
        (lambda array: array == array.T, "=="),
        (lambda array: array in [array.T], "=="),
    ],
)
def test_an_operator_on_an_array_of_the_device_says_how_to_compute(use: Callable[[Any], Any], sign: str) -> None:
    with pytest.raises(
        TypeError, match=re.escape(f"an array on the device has no operator {sign}: compute its")
    ) as told:
        use(array())
    assert users_files(told.value) == {__file__}


def test_operators_of_others_still_take_arrays_of_the_device() -> None:
    class Other:
        def __radd__(self, array: object) -> str:
            return "theirs"

    assert (array() + np.ones((3, 4)))[0].tolist() == [1, 2, 3, 4]
    assert operator.mul(np.float32(2), array())[0].tolist() == [0, 2, 4, 6]
    assert array() + Other() == "theirs"
    assert "__add__" not in dir(array())


def test_an_array_of_the_device_equals_itself_and_no_value_of_another_kind() -> None:
    one: Any = array()
    other: Any = array()
    assert operator.eq(one, one)
    assert not operator.ne(one, one)
    assert one != None  # noqa: E711
    assert one != "array"
    assert one in [None, "array", one, other]
    assert {one: 1, other: 2}[other] == 2
    assert (one == np.arange(12.0).reshape(3, 4)).all()


def test_a_read_only_array_is_not_taken_for_a_global_of_the_same_name() -> None:
    items = np.zeros(3)
    items.flags.writeable = False
    with pytest.raises(gridjit.CompileError, match="'ITEMS' is a read-only array, and an item of it is assigned"):
        set_first[1, 1](items)


FAILING_CALLBACK = """
import gridjit

def fail():
    raise KeyError("of the callback")

stream = gridjit.create_stream()
stream.on_complete(fail)
stream.synchronize()
print("went on")
"""


def test_what_a_callback_of_a_stream_raises_is_printed_and_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILING_CALLBACK)
    done = run_python(tmp_path / "program.py", cwd=tmp_path)
    assert done.stdout == "went on\n", done.stderr
    assert "KeyError: 'of the callback'" in done.stderr
    assert "TypeError" not in done.stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gridjit.Graph(), "gridjit.Graph(...): users do not call this class; gridjit.graph() makes graphs"),
        (lambda: gridjit.Stream(), "gridjit.Stream(...): users do not call this class; gridjit.create_stream() makes"),
        (lambda: gridjit.Event(), "gridjit.Event(...): users do not call this class; gridjit.create_event() makes"),
        (lambda: gridjit.Kernel(adds), "gridjit.Kernel(...): users do not call this class; @gridjit.jit above a"),
        (
            lambda: gridjit.DeviceFunction(adds),
            "gridjit.DeviceFunction(...): users do not call this class; @gridjit.jit(",
        ),
        (lambda: gridjit.DeviceArray(), "gridjit.DeviceArray(...): users do not call this class; cuda.device_array("),
        (lambda: gridjit.ConfiguredKernel(), "gridjit.ConfiguredKernel(...): users do not call this class; kernel[gri"),
    ],
)
def test_a_class_that_users_do_not_call_says_what_makes_its_objects(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(said)):
        call()


def test_a_compile_without_types_says_that_it_needs_them_and_of_which_arguments() -> None:
    with pytest.raises(
        ConfigError, match=r"set_first\.compile\(\): give the types of its arguments \(ITEMS\), as in co"
    ):
        set_first.compile()


@pytest.mark.parametrize(
    ("use", "name", "way_on"),
    [
        (lambda: cuda.grid(1), "cuda.grid, a thread's position in the grid,", ""),
        (lambda: cuda.threadIdx.x, "cuda.threadIdx.x, a thread's position in its block,", ""),
        (lambda: cuda.blockDim.x, "cuda.blockDim.x,", "use the blockdim that you launch with"),
        (lambda: cuda.syncthreads(), "cuda.syncthreads,", "use cuda.synchronize(), which waits for launches"),
        (lambda: cuda.atomic.add(ITEMS, 0, 1), "cuda.atomic.add,", "use NumPy, or a kernel of one thread"),
        (lambda: cuda.shared.array(3, np.float32), "cuda.shared.array,", "use cuda.device_array(shape, dtype)"),
        (lambda: cuda.const.array_like(ITEMS), "cuda.const.array_like,", "use cuda.to_device(array)"),
        (lambda: cuda.shfl_sync(1, 2, 3), "cuda.shfl_sync", ""),
        (lambda: cuda.popc(3), "cuda.popc", ""),
        (lambda: cuda.ldca(ITEMS, 0), "cuda.ldca", ""),
        (lambda: cuda.stwt(ITEMS, 0, 1), "cuda.stwt", ""),
        (lambda: cuda.libdevice.pow(2.0, y=3.0), "cuda.libdevice.pow", ""),
        (lambda: cuda.fp16.hsin(1.0), "cuda.fp16.hsin", ""),
        (lambda: cuda.bf16.htrunc(1.0), "cuda.bf16.htrunc", ""),
        (lambda: cuda.cg.this_grid(), "cuda.cg.this_grid", ""),
        (lambda: set_row.py_func(ITEMS), "cuda.grid,", ""),
        (lambda: getattr(gridjit.griddepcontrol, "wait")(), "griddepcontrol.wait", ""),  # noqa: B009
    ],
)
def test_a_name_of_kernels_in_plain_python_says_what_it_is_and_how_to_go_on(
    use: Callable[[], Any], name: str, way_on: str
) -> None:
    with pytest.raises(NotImplementedError, match=re.escape(name)) as refused:
        use()
    assert isinstance(refused.value, gridjit.GridjitError)
    frames = traceback.extract_tb(refused.value.__traceback__)
    shown = {frame.filename for frame in frames if not frame.filename.endswith("stubs.py")}
    assert sys.version_info < (3, 11) or shown == {__file__}
    said = str(refused.value)
    assert (
        "was used outside a kernel: it works only while a kernel runs. Use it in a function that is decorated" in said
    )
    assert said.endswith(f"; outside kernels, {way_on}" if way_on else "kernel[griddim, blockdim](...)")


def test_programs_may_look_at_names_of_kernels_without_an_error() -> None:
    assert repr(cuda.threadIdx) and dict(inspect.getmembers(cuda.threadIdx))
    assert not hasattr(cuda.threadIdx, "x")
    assert inspect.getdoc(cuda.atomic.add) and inspect.signature(cuda.shared.array).parameters
    assert inspect.getdoc(cuda.libdevice.pow) and [*inspect.signature(cuda.libdevice.pow).parameters] == ["x", "y"]
    assert "def pow(x, y)" in inspect.getsource(cuda.libdevice.pow)


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("today", "seed='today': give a whole number below 2**64; of a text, zlib.crc32(text.encode()) is one"),
        (None, "seed=None: give a whole number below 2**64"),
        (1 << 64, "seed=18446744073709551616: give a whole number below 2**64"),
        (float("nan"), "seed=nan: give a whole number below 2**64"),
        ([1, 2], "seed=[1, 2]: give a whole number below 2**64"),
    ],
)
def test_a_seed_that_is_not_a_number_of_64_bits_is_refused_with_the_way_on(seed: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{re.escape(said)}$"):
        cuda.random.create_xoroshiro128p_states(4, seed=seed)


@pytest.mark.parametrize(("seed", "same"), [(7.9, 7), (np.int32(7), 7), (-1, (1 << 64) - 1), (True, 1)])
def test_numbers_of_any_kind_are_seeds(seed: Any, same: int) -> None:
    one, other = (cuda.random.create_xoroshiro128p_states(4, seed=value) for value in (seed, same))
    assert one.copy_to_host().tolist() == other.copy_to_host().tolist()
