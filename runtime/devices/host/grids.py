"""grids: a kernel's launches in machine code: the record that describes the kernel, and launches from Python by it."""

from __future__ import annotations

import ctypes
from typing import Any

from gridjit.compiler.values.elf import place_of
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.host.launch import Status, judge, launch_bytes, params_buffer
from gridjit.runtime.devices.host.load import HostFunction
from gridjit.runtime.native.engine import Engine
from gridjit.runtime.native.layout import grid_records as records


def kernel_record(
    engine: Engine,
    function: HostFunction,
    image: bytes,
    threads: int,
    *,
    resident: bool = False,
    patience: int = 0,
    strided: bool = False,
) -> records.KernelRecord:
    """Return the record of a kernel for machine code; it must live as long as the kernel is launched.

    resident: whether its blocks wait for each other. patience: how long, in nanoseconds, without progress; 0: for ever.
    strided: whether the strided loops of adjacent blocks are interchanged.
    """
    low, high = code_of(function, image)
    return records.KernelRecord(
        entry=function.address,
        engine=ctypes.addressof(engine.record),
        low=low,
        high=high,
        threads=1 if resident else min(threads, records.WORKERS + 1),
        resident=int(resident),
        patience=patience,
        piece=records.LONG_PIECE_PS if strided else records.PIECE_PS,
        chunks=records.LONG_CHUNKS if strided else records.CHUNKS,
    )


def code_of(function: HostFunction, image: bytes) -> tuple[int, int]:
    """Return the addresses where a kernel's own code begins and ends; equal if they are not known."""
    place = place_of(image, function.name)
    if place is None:
        return function.address, function.address
    offset, size = place
    return function.address - offset, function.address - offset + size


def launch_grid(
    engine: Engine,
    record: records.KernelRecord,
    function: HostFunction,
    config: LaunchConfig,
    params: Any,
    sharedmem: int,
) -> Status | None:
    """Run a grid as launch() does, in machine code; raises a Python signal handler's exception."""
    status = ctypes.create_string_buffer(records.STATUS_BYTES)
    given = params_buffer(params), launch_bytes(config, sharedmem)
    if engine.call(ctypes.byref(record), given[1], given[0], 0, status) == 0:
        return None
    return judge(status.raw, function, config)
