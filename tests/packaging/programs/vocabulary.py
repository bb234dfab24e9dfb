"""gridjit.cuda: what is gridjit's own has its types; what is numba's can be anything."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import gridjit
from gridjit import cuda

array = cuda.to_device(np.zeros((4, 4)))
assert_type(array, gridjit.DeviceArray)
assert_type(cuda.device_array((4, 4), np.float32, order="F"), gridjit.DeviceArray)
assert_type(cuda.device_array_like(array), gridjit.DeviceArray)
assert_type(cuda.as_cuda_array(array), gridjit.DeviceArray)
assert_type(array.T.reshape(16), gridjit.DeviceArray)
assert_type(array.shape, tuple[int, ...])
assert_type(array.copy_to_host().ndim, int)
assert_type(cuda.pinned_array(16).nbytes, int)
assert_type(cuda.is_available(), bool)
assert_type(cuda.is_cuda_array(array), bool)
with cuda.stream() as stream, stream.auto_synchronize(), cuda.pinned(np.zeros(4)):
    assert_type(stream, gridjit.Stream)
    before, after = cuda.event().record(stream), cuda.event(timing=True)
    after.record(stream)
    assert_type(before, gridjit.Event)
    assert_type(cuda.event_elapsed_time(before, after), float)
    assert_type(before.elapsed_time(after), float)
assert_type(cuda.default_stream(), gridjit.Stream)
assert_type(cuda.external_stream(7), gridjit.Stream)
assert_type(gridjit.current_stream().priority, int)
stream.wait(before)
stream.wait(gridjit.default_stream())
stream.on_complete(lambda: print("done"))


async def waits() -> None:
    assert_type(await stream.done(), gridjit.Stream)


@cuda.reduce
def total(a: float, b: float) -> float:
    return a + b


@cuda.vectorize(["float64(float64, float64)"])
def plus(a: float, b: float) -> float:
    return a + b


@cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def first(x: Any, out: Any) -> None:
    out[0] = x[0]


assert_type(total, cuda.Reduce)
print(total(array[0], size=2, stream=stream), cuda.Reduce(plus)(array[0]))
print(plus(np.ones(4), 2.0, out=array, stream=stream), plus.reduce(np.ones(4)), first(np.ones((4, 4))))
assert_type(array[1:], gridjit.DeviceArray)
array.copy_to_device(np.ones((4, 4)), stream=stream)
later = gridjit.Out(np.zeros(4), asynchronous=True)
assert_type(later.event, gridjit.Event | None)
assert_type(cuda.get_current_device().compute_capability, tuple[int, int])
assert_type(cuda.select_device(0).name, str)
assert_type(len(cuda.list_devices()), int)
cuda.synchronize()
assert_type(cuda.launchconfig.current_launch_config() is None, bool)
assert_type(cuda.threadIdx, Any)
assert_type(cuda.float32(1), Any)
both: gridjit.In | gridjit.Out = cuda.In(np.zeros(4))

cuda.to_device()  # wrong: nothing to copy
cuda.device_array("4")  # wrong: not a shape
cuda.event(timing="no")  # wrong: True or False
cuda.select_device("0")  # wrong: a number
stream.on_complete()  # wrong: nothing to call
gridjit.In(np.zeros(4), asynchronous=True)  # wrong: nothing comes back
cuda.synchronize(stream)  # wrong: takes nothing
cuda.default_stream().synchronise()  # wrong: no such method
array.copy_to_host(stream="s")  # wrong: not a stream
cuda.to_device(np.zeros(4), "s")  # wrong: not a stream
before.record("s")  # wrong: not a stream
stream.wait("s")  # wrong: neither an event nor a stream
cuda.guvectorize(["void(float64[:], float64[:])"])  # wrong: no layout
cuda.reduce(1)  # wrong: not a function
total(np.ones(4), axis=0)  # wrong: no such argument
plus(np.ones(4), 2.0, where=True)  # wrong: no such argument
plus.accumulate(np.ones(4))  # wrong: no such method
array.copy_to_hots()  # wrong: no such method
array.shape = (16,)  # wrong: reshape gives another view
