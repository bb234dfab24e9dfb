"""gridjit.cuda: numba.cuda's module surface, ours where we have it, and the same program on either target."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda


def test_every_public_name_of_numba_cuda_is_there() -> None:
    names = [name for name in dir(numba_cuda()) if not name.startswith("_")]
    assert len(names) > 100
    assert [name for name in names if not hasattr(cuda, name)] == []


def test_device_vocabulary_is_numba_cudas_own() -> None:
    assert cuda.threadIdx is numba_cuda().threadIdx
    assert cuda.atomic is numba_cuda().atomic


@pytest.mark.parametrize("name", ["to_device", "device_array", "stream", "event", "synchronize", "In", "jit"])
def test_arrays_streams_and_jit_are_ours(name: str) -> None:
    assert getattr(cuda, name).__module__.startswith("gridjit.")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"neither gridjit nor numba\.cuda has 'threadIndex'"):
        _ = cuda.threadIndex


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("zeros", r"cuda\.to_device\(numpy\.zeros\(\.\.\.\)\) makes such an array"),
        ("empty", r"cuda\.device_array\(shape, dtype\) makes an array without values"),
        ("asarray", r"cuda\.to_device\(values\) copies an array to the device"),
        ("sync", r"cuda\.synchronize\(\) waits for the work of all streams"),
        ("set_device", r"cuda\.select_device\(number\) chooses a device"),
        ("memory_allocated", r"cuda\.current_context\(\)\.get_memory_info\(\) returns the free and the total bytes"),
    ],
)
def test_a_name_of_another_library_says_what_does_the_same_here(name: str, way: str) -> None:
    with pytest.raises(AttributeError, match=rf"^neither gridjit nor numba\.cuda has '{name}': {way}$"):
        getattr(cuda, name)


def test_a_ufunc_is_made_of_a_function_only() -> None:
    for decorator in (cuda.vectorize(["f4(f4)"]), cuda.guvectorize(["void(f4[:], f4[:])"], "(n)->()")):
        not_a_function: Any = 3
        with pytest.raises(gridjit.ConfigError, match="vectorize decorates functions made with def or lambda, not 3"):
            decorator(not_a_function)


def test_to_numba_cuda_the_module_is_its_own_also_where_gridjit_compiled_nothing() -> None:
    lines = [
        "from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda",
        "numba_cuda()",
        "from gridjit import cuda",
        "from numba.cuda.descriptor import cuda_target",
        "print(cuda_target.typing_context.resolve_value_type(cuda))",
    ]
    said = subprocess.check_output([sys.executable, "-c", "\n".join(lines)], text=True)
    assert said.startswith("Module(<module 'numba.cuda'")


def test_importing_the_vocabulary_imports_no_compiler() -> None:
    loaded = "{'numba', 'numba_cuda', 'llvmlite'} & {*sys.modules}"
    code = f"import sys; from gridjit import cuda; cuda.to_device; print({loaded})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_a_program_with_device_arrays_streams_and_events_runs_on_the_host() -> None:
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    stream = cuda.stream()
    start, end = cuda.event(), cuda.event()
    x = cuda.to_device(np.arange(100.0), stream=stream)
    start.record(stream)
    double[1, 128, stream](x)
    end.record(stream)
    stream.synchronize()
    assert (x.copy_to_host() == 2 * np.arange(100.0)).all()
    assert cuda.event_elapsed_time(start, end) >= 0


def test_the_package_exports_what_it_lists() -> None:
    assert all(hasattr(gridjit, name) for name in gridjit.__all__)


def keywords(function: Any) -> list[str]:
    """Return the names that a function's arguments may be given by."""
    found = inspect.signature(function).parameters.values()
    return [one.name for one in found if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def test_arguments_have_the_names_that_they_have_in_numba_cuda() -> None:
    numba = numba_cuda()
    from numba.cuda.cudadrv.devicearray import DeviceNDArray
    from numba.cuda.cudadrv.driver import Event, Stream
    from numba.cuda.dispatcher import CUDADispatcher
    from numba.cuda.kernels.reduction import Reduce

    pairs = [(f"cuda.{name}", getattr(cuda, name), getattr(numba, name, None)) for name in {*cuda.__all__} - {"jit"}]
    classes = {
        gridjit.Kernel: CUDADispatcher,
        gridjit.DeviceArray: DeviceNDArray,
        gridjit.Event: Event,
        gridjit.Stream: Stream,
        cuda.Reduce: Reduce,
    }
    for ours, theirs in classes.items():
        names = [name for name in [*dir(theirs), "__call__"] if name[0] != "_" or name == "__call__"]
        pairs += [(f"{ours.__name__}.{name}", getattr(ours, name, None), getattr(theirs, name)) for name in names]
    both = [
        (name, ours, theirs) for name, ours, theirs in pairs if inspect.isroutine(ours) and inspect.isroutine(theirs)
    ]
    assert len(both) > 50
    missing = {
        name: [*dict.fromkeys(keywords(theirs))]
        for name, ours, theirs in both
        if {*keywords(theirs)} - {*keywords(ours)}
    }
    assert missing == {}


def test_arrays_and_events_take_numba_cudas_keywords(on_host: None) -> None:
    x = cuda.to_device(np.arange(6.0).reshape(1, 2, 3))
    stream = cuda.stream()
    assert x.squeeze(axis=0, stream=stream).transpose(axes=(1, 0)).copy_to_host(stream=stream)[2, 1] == 5
    assert x.ravel(order="C", stream=stream).stream is stream
    assert x.getitem(item=(0, 1, 2), stream=stream) == 5
    first, second = cuda.event(), cuda.event()
    first.record(), second.record()
    cuda.synchronize()
    assert cuda.event_elapsed_time(evtstart=first, evtend=second) >= 0
    assert cuda.external_stream(ptr=stream).handle == stream.handle
    cuda.select_device(device_id=0)


def test_what_the_package_lists_of_itself_is_public() -> None:
    assert [name for name in dir(gridjit) if not name.startswith("__")] == sorted(gridjit.__all__)


def test_the_vocabulary_lists_its_own_names_numbas_and_no_others() -> None:
    listed = {name for name in dir(cuda) if name[0] != "_"}
    assert {*cuda.__all__, "gpus", "grid", "current_context"} <= listed
    assert listed & {"Any", "annotations", "importlib", "session", "sys"} <= {*dir(numba_cuda())}
