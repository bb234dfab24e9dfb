"""SimulatedDevice: a GPU that the host simulates, under the names of numba-cuda's devices.

All of them are this processor and its memory. The current device decides the answers, and whose memory is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from gridjit.base.forking import cached_property
from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.environment.models import DeviceModel, attribute_of, bus_of, model
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.queues.timeline import HOST
from gridjit.runtime.simulated import current

if TYPE_CHECKING:
    from gridjit.runtime.memory.space import Space
    from gridjit.runtime.queues.streams import Timeline
    from gridjit.runtime.simulated.context import Context


class SimulatedDevice:
    """A GPU that the host simulates. ordinal: its number. Attributes have the driver's names, in capitals.

    In a `with` block it is the calling thread's device.
    """

    def __init__(self, ordinal: int, kind: DeviceModel) -> None:
        self.ordinal = ordinal
        self.id = ordinal
        self.model = kind
        self.name = kind.name
        self.compute_capability = kind.compute_capability
        # Not a real UUID: these devices have no serial number.
        self.uuid = f"GPU-00000000-0000-0000-0000-{ordinal:012x}"

    def attribute(self, name: str) -> int:
        """Return an attribute by the driver's name for it, without CU_DEVICE_ATTRIBUTE_ ("MULTIPROCESSOR_COUNT").

        Raises UnknownAttributeError, an AttributeError, for an attribute unknown of such a device.
        """
        return attribute_of(self.model, self.ordinal, name)

    def __getattr__(self, name: str) -> int:
        if not name.isupper():
            raise AttributeError(f"a simulated device has no attribute {name!r}")
        return self.attribute(name)

    @property
    def supports_float16(self) -> bool:
        """Whether there is arithmetic on 16-bit floats."""
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self) -> bool:
        """Whether there is arithmetic on bfloat16."""
        return self.compute_capability >= (8, 0)

    @property
    def supports_fp8(self) -> bool:
        """Whether there are 8-bit floats."""
        return self.compute_capability >= (8, 9)

    def get_device_identity(self) -> dict[str, int]:
        """Return the device's place on the bus, which tells it from other devices."""
        return {name.lower(): place for name, place in bus_of(self.ordinal).items() if name.startswith("PCI_")}

    # -- being current -----------------------------------------------------------------------------------------------

    @cached_property
    def primary_context(self) -> Context:
        """The device's only context."""
        from gridjit.runtime.simulated.context import Context

        return Context(self)

    def get_primary_context(self) -> Context:
        """Return the device's only context."""
        return self.primary_context

    def release_primary_context(self) -> None:
        """Return: the context has nothing to release."""

    def make_current(self) -> None:
        """Make this device the calling thread's."""
        current.choose(self.ordinal)

    @property
    def current(self) -> SimulatedDevice:
        """A context manager that makes the device the calling thread's, and restores the thread's own after it."""
        return self

    def __enter__(self) -> SimulatedDevice:
        current.push(self.ordinal)
        return self

    def __exit__(self, *_: object) -> None:
        current.pop()

    def reset(self) -> None:
        """Clear the device's context; arrays stay, as they are this process's memory."""
        self.primary_context.reset()

    # -- gridjit's devices -------------------------------------------------------------------------------------------

    @property
    def max_shared_bytes(self) -> int:
        """The most shared memory that a block can have, in bytes."""
        return self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    @property
    def space(self) -> Space:
        """The memory: this process's."""
        from gridjit.runtime.memory.space import HOST_SPACE

        return HOST_SPACE

    @property
    def timeline(self) -> Timeline:
        """The streams and events: the host's."""
        return HOST

    def synchronize(self) -> None:
        """Return: launches and copies on the host are over when they return."""

    # -- identity ----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimulatedDevice) and (self.ordinal, self.model) == (other.ordinal, other.model)

    def __hash__(self) -> int:
        return hash(self.ordinal)

    def __repr__(self) -> str:
        return f"<CUDA device {self.ordinal} '{self.name}', simulated>"


class SimulatedDevices:
    """The simulated devices, by number: numba-cuda's gpus."""

    def __init__(self, kind: DeviceModel, count: int) -> None:
        self.lst = [SimulatedDevice(ordinal, kind) for ordinal in range(count)]

    @overload
    def __getitem__(self, number: int) -> SimulatedDevice: ...
    @overload
    def __getitem__(self, number: slice) -> list[SimulatedDevice]: ...
    def __getitem__(self, number: Any) -> Any:
        """Return a device by its number, or several by a slice; raises IndexError if there is none."""
        return self.lst[number if isinstance(number, slice) else int(number)]

    def __iter__(self) -> Iterator[SimulatedDevice]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __str__(self) -> str:
        return ", ".join(map(str, self.lst))

    @property
    def current(self) -> SimulatedDevice | None:
        """The calling thread's device; None before it has chosen any."""
        return self.lst[current.ordinal()] if current.is_chosen() else None


def simulated_devices() -> SimulatedDevices:
    """Return the settings' devices; raises ConfigError if they name an unknown device."""
    wanted = settings()
    return _made(wanted.host_device, wanted.host_devices)


def current_device() -> SimulatedDevice:
    """Return the calling thread's device; a thread without a device gets device 0."""
    found = simulated_devices()
    if not current.is_chosen():
        current.push(0)
    return found[min(current.ordinal(), len(found) - 1)]  # there may be fewer than before, in another session


def select_device(ordinal: int) -> SimulatedDevice:
    """Make a device the calling thread's, by its number; raises DeviceError if there is none."""
    found = simulated_devices()
    if not 0 <= int(ordinal) < len(found):
        last = len(found) - 1
        raise DeviceError(
            f"there is no device {ordinal}; the last is device {last} (GRIDJIT_HOST_DEVICES says how many)"
        )
    found[ordinal].make_current()
    return found[ordinal]


@functools.lru_cache(maxsize=4)
def _made(kind: str | None, count: int) -> SimulatedDevices:
    return SimulatedDevices(model(kind), count)
