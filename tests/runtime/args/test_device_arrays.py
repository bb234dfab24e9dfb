"""gridjit's own arrays as arguments: what is found out about their class is found out once."""

from __future__ import annotations

import numpy as np
import pytest

from gridjit.runtime.args import device_arrays
from gridjit.runtime.args.handler import Place
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.native.layout.probes import object_layout


@pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
def test_machine_code_is_told_of_a_second_array_without_looking_into_memory_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = device_arrays.OwnArray(DeviceArray, "a device array")
    first, second = (to_device(np.arange(n), space=HOST_SPACE) for n in (3, 4))
    told = own.operation(first, Place(), own.type_of(first, Place()))
    monkeypatch.setattr(device_arrays, "slot_offset", lambda *_: pytest.fail("looked again"))
    assert told is not None
    assert own.operation(second, Place(), own.type_of(second, Place())) == told
