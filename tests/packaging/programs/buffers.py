"""Buffers and views of memory: what they are made of and what they tell has its type."""

import numpy as np
from typing_extensions import assert_type

import gridjit
from gridjit import Buffer, StridedLayout, StridedMemoryView, cuda

stream = gridjit.create_stream()
with Buffer.allocate(64, stream, kind="managed") as buffer:
    assert_type(buffer, Buffer)
    assert_type(buffer.handle, int)
    assert_type(buffer.device, int | None)
    assert_type(buffer.fill(0, stream=stream), None)
    assert_type(buffer.copy_to(stream=stream), Buffer)
    view = StridedMemoryView.from_buffer(buffer, StridedLayout.dense((4, 4), 4), np.float32)
assert_type(Buffer.from_handle(4096, 16, owner=object()), Buffer)
assert_type(view, StridedMemoryView)
assert_type(view.layout, StridedLayout)
assert_type(view.view(view.layout[1:], np.int32), StridedMemoryView)
assert_type(view.shape, tuple[int, ...])
assert_type(view.ptr, int)
assert_type(view.readonly, bool)
view.copy_from(np.ones((4, 4), np.float32), stream)
view.copy_to(cuda.device_array((4, 4), np.float32), stream=stream)
assert_type(StridedMemoryView.from_dlpack(np.ones(4), -1), StridedMemoryView)

Buffer.allocate("64")  # wrong: a number of bytes
Buffer.allocate(64, kind="shared")  # wrong: no such kind
Buffer.from_handle("4096", 16)  # wrong: an address
buffer.close("stream")  # wrong: not a stream
print(buffer.device_id)  # wrong: no such attribute
buffer.fill("0")  # wrong: a number or bytes
print(view.device_id)  # wrong: no such attribute
view.copy_from(np.ones(4), "stream")  # wrong: not a stream
StridedMemoryView.from_buffer(np.ones(4), view.layout, np.float32)  # wrong: not a buffer
StridedMemoryView(np.ones(4), "stream")  # wrong: not a stream
