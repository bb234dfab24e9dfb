"""Programs that ask for devices, contexts and memory run on the host as they do on a GPU."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import CompileError, DeviceError, LimitError, LinkError
from tests.programs import run_new_python
from tests.runtime.simulated.conftest import Choose


def test_a_program_computes_its_grid_from_the_devices_attributes(choose: Choose) -> None:
    choose(DEVICE="a100")
    device = cuda.get_current_device()
    assert (device.name, device.compute_capability) == ("NVIDIA A100-SXM4-40GB", (8, 0))
    blocks, threads = 2 * device.MULTIPROCESSOR_COUNT, device.MAX_THREADS_PER_BLOCK // 4

    @gridjit.jit
    def count(out):
        cuda.atomic.add(out, 0, 1)

    out = np.zeros(1, np.int64)
    count[blocks, threads](out)
    assert out[0] == 2 * 108 * 256


def test_the_host_is_available_and_detected(choose: Choose, capsys: pytest.CaptureFixture[str]) -> None:
    choose(DEVICES="2")
    assert cuda.is_available()
    assert cuda.detect()
    said = capsys.readouterr().out
    assert "Found 2 CUDA devices" in said and "2/2 devices are supported" in said
    assert said.count("[SUPPORTED: simulated on the host]") == 2
    assert cuda.cuda_error() is None


@pytest.mark.filterwarnings("ignore::gridjit.InstallWarning")  # of kernels that other tests made
def test_a_program_that_stays_as_it_is_detects_the_same_devices(
    choose: Choose, capsys: pytest.CaptureFixture[str]
) -> None:
    import numba.cuda

    cuda.detect()
    said = capsys.readouterr().out
    with gridjit.install():
        numba.cuda.detect()
    assert capsys.readouterr().out == said


def test_each_thread_has_a_device_of_its_own(choose: Choose) -> None:
    choose(DEVICES="3")
    cuda.select_device(2)
    seen: list[int] = []

    def other() -> None:
        seen.append(cuda.get_current_device().id)
        cuda.select_device(1)
        seen.append(cuda.current_context().device.id)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (seen, cuda.get_current_device().id) == ([0, 1], 2)


def test_a_device_is_the_threads_in_a_with_block_and_the_one_before_it_after(choose: Choose) -> None:
    choose(DEVICES="2")
    cuda.select_device(0)
    with cuda.gpus[1]:
        assert cuda.gpus.current.id == 1
        with cuda.gpus[0]:
            assert cuda.current_context().device.id == 0
        assert cuda.get_current_device().id == 1
    assert cuda.get_current_device().id == 0
    assert [device.id for device in cuda.gpus] == [0, 1] == [device.id for device in cuda.list_devices()]


def test_devices_are_told_apart_and_the_settings_say_how_many_there_are(choose: Choose) -> None:
    choose(DEVICES="2")
    first, second = cuda.gpus
    assert first != second and first.uuid != second.uuid
    assert first.get_device_identity() != second.get_device_identity()
    with pytest.raises(DeviceError, match="there is no device 2; the last is device 1"):
        cuda.select_device(2)


def test_free_memory_is_less_by_what_arrays_of_that_device_hold(choose: Choose) -> None:
    choose(DEVICES="2")
    contexts = [device.get_primary_context() for device in cuda.gpus]
    before = [context.get_memory_info().free for context in contexts]
    with cuda.gpus[1]:
        array = cuda.device_array(1 << 20, np.float64)
    view = array[10:]
    assert [b - c.get_memory_info().free for b, c in zip(before, contexts, strict=True)] == [0, 8 << 20]
    del array
    assert contexts[1].get_memory_info().free == before[1] - (8 << 20)
    del view
    gc.collect()
    assert [context.get_memory_info().free for context in contexts] == before


def test_more_memory_than_the_device_has_is_refused_as_on_a_gpu(choose: Choose) -> None:
    choose(DEVICE="t4")
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_OUT_OF_MEMORY .* drop device arrays") as found:
        cuda.device_array(16 << 30, np.uint8)
    assert getattr(found.value, "code", None) == 2


def test_devices_become_each_others_peers_once(choose: Choose) -> None:
    choose(DEVICES="2")
    first, second = (device.get_primary_context() for device in cuda.gpus)
    assert first.can_access_peer(1) and not first.can_access_peer(0) and not first.can_access_peer(2)
    first.enable_peer_access(second.handle)
    with pytest.raises(DeviceError, match="CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"):
        first.enable_peer_access(second)
    cuda.close()
    first.enable_peer_access(second)
    cuda.close()


def test_after_close_a_thread_begins_anew_with_the_first_device(choose: Choose) -> None:
    choose(DEVICES="2")
    cuda.select_device(1)
    cuda.close()
    assert cuda.gpus.current is None
    assert cuda.get_current_device().id == 0


def test_a_context_makes_streams_and_events_that_launches_take(choose: Choose) -> None:
    context = cuda.current_context()
    stream, start = context.create_stream(), context.create_event()

    @gridjit.jit
    def one(x):
        x[cuda.grid(1)] = 1

    x = cuda.to_device(np.zeros(4))
    start.record(stream)
    one[1, 4, stream](x)
    context.synchronize()
    assert start.query() and x.copy_to_host().tolist() == [1] * 4


def test_asking_for_devices_imports_no_numba() -> None:
    lines = [
        "import os; os.environ['GRIDJIT_TARGET'] = 'host'",
        "from gridjit import cuda",
        "cuda.select_device(0); cuda.detect(); cuda.current_context().get_memory_info(); list(cuda.gpus)",
        "cuda.device_array(3); cuda.close(); cuda.is_available()",
        "import sys; print(sorted({'numba', 'llvmlite'} & {*sys.modules}))",
    ]
    done = run_new_python("-c", "\n".join(lines))
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def large() -> Any:
    """Return a kernel whose static shared array no GPU has room for, not compiled yet."""

    @gridjit.jit
    def large(x):
        shared = cuda.shared.array(1 << 20, cuda.float32)
        shared[0] = x[0]
        x[0] = shared[0] + 1

    return large


@gridjit.jit
def dynamic(x):
    shared = cuda.shared.array(0, cuda.float32)
    shared[0] = x[0]
    x[0] = shared[0] + 1


def test_a_static_array_that_no_block_has_room_for_is_the_linkers_error(choose: Choose, large: Any) -> None:
    with pytest.raises(LinkError, match=r"H100.*: its shared arrays need 4,194,304 bytes, and a block has 232,448"):
        large[1, 1](np.zeros(1, np.float32))


@pytest.mark.parametrize("device", ["a100", "t4"])
def test_static_arrays_end_at_48_kilobytes_before_sm_90_and_the_error_leads_to_dynamic_memory(
    choose: Choose, device: str
) -> None:
    @gridjit.jit
    def wide(x):
        shared = cuda.shared.array((48 << 10) + 1, cuda.uint8)
        shared[0] = 1
        x[0] = shared[0]

    choose(DEVICE=device)
    with pytest.raises(LinkError, match=r"need 49,153 bytes, and this GPU has 49,152 .* dynamic shared memory"):
        wide[1, 1](np.zeros(1, np.uint8))
    choose(DEVICE="h100")
    wide[1, 1](np.zeros(1, np.uint8))


def test_the_memory_of_checks_does_not_count_against_the_limit_of_a_block(choose: Choose) -> None:
    @gridjit.jit(debug=True)
    def last(x):
        few = cuda.shared.array(16, cuda.uint8)
        many = cuda.shared.array(0, cuda.uint8)
        few[0] = many[many.size - 1] = 7
        x[0] = few[0] + many[many.size - 1]

    x = np.zeros(1, np.uint8)
    last[1, 1, 0, (227 << 10) - 16](x)
    assert x[0] == 14
    assert last.get_shared_mem_per_block() == {last.signatures[0]: 16}
    with pytest.raises(LimitError, match="16 bytes of static"):
        last[1, 1, 0, 227 << 10](x)


@gridjit.jit
def last(x, values):
    x[0] = values[4999]


def test_more_arguments_than_a_launch_passes_are_refused_as_the_gpus_compiler_does(choose: Choose) -> None:
    x = np.zeros(1)
    with pytest.raises(
        CompileError, match=r"its arguments need 40,056 bytes, and a launch passes 32,764; pass an array"
    ):
        last[1, 1](x, tuple(range(5000)))
    choose(LIMITS="0")
    last[1, 1](x, tuple(range(5000)))
    assert x[0] == 4999


@pytest.mark.parametrize(("device", "most"), [("h100", 227 << 10), ("t4", 64 << 10)])
def test_more_dynamic_shared_memory_than_a_block_may_have_is_refused(choose: Choose, device: str, most: int) -> None:
    choose(DEVICE=device)
    x = np.zeros(1, np.float32)
    dynamic[1, 1, 0, most](x)
    for size in (most + 1, 1 << 30):
        with pytest.raises(LimitError, match=rf"{size} of dynamic shared memory; .* allows {most} together"):
            dynamic[1, 1, 0, size](x)
    assert x[0] == 1


def test_limits_can_be_turned_off(choose: Choose, large: Any) -> None:
    choose(LIMITS="off")
    x = np.zeros(1, np.float32)
    large[1, 1](x)
    dynamic[1, 1, 0, 1 << 20](x)
    assert x[0] == 2
