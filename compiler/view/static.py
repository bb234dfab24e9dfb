"""gridjit.static: the launch's dimensions as compile-time integers for use inside kernels.

`cuda.shared.array(gridjit.static.blockDim.x, float32)` is an array of exactly the launched block's size. Each name
that is read makes the compiled kernel depend on that value, and on no other.
"""

from __future__ import annotations

from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import PRESENCE
from gridjit.compiler.view.config import current_view


class _Static:
    """A name of gridjit.static, for a field of the launch."""

    __slots__ = ("_field", "_name")

    def __init__(self, name: str, field: str) -> None:
        self._name = name
        self._field = field

    def __repr__(self) -> str:
        return f"gridjit.static.{self._name}"

    __gridjit_fingerprint__ = __repr__


class StaticDim3(_Static):
    """A dimension of the launch, with the compile-time integers x, y and z."""

    __slots__ = ()

    @property
    def x(self) -> int:
        """The first extent."""
        return self.value("x")

    @property
    def y(self) -> int:
        """The second extent."""
        return self.value("y")

    @property
    def z(self) -> int:
        """The third extent."""
        return self.value("z")

    def value(self, axis: str, where: str = "") -> int:
        """Return one extent of the launch that is being compiled for; where it is read is kept with the fact."""
        if axis not in ("x", "y", "z"):
            raise ConfigError(f"{self!r} has x, y and z, not {axis!r}")
        return _read(f"{self!r}.{axis}", f"{self._field}.{axis}", where)


class StaticInt(_Static):
    """One compile-time integer of the launch."""

    __slots__ = ()

    def value(self, where: str = "") -> int:
        """Return the number of the launch that is being compiled for; where it is read is kept with the fact."""
        return _read(repr(self), self._field, where)

    __index__ = value


def _read(name: str, field: str, where: str) -> int:
    view = current_view()
    if view is None:
        raise ConfigError(f"{name} has a value only inside a kernel, while it is compiled")
    if view.ahead_of_launch:
        view.read(PRESENCE, where)
        raise ConfigError(f"{name} needs a launch configuration: launch the kernel, or pass compile(..., config=...)")
    value = view.read_static(field, where)
    if not isinstance(value, int):
        raise ConfigError(f"{name} is {value!r}, not an integer")
    return value


blockDim = StaticDim3("blockDim", "blockdim")  # noqa: N816 - CUDA's name
gridDim = StaticDim3("gridDim", "griddim")  # noqa: N816 - CUDA's name
sharedmem = StaticInt("sharedmem", "sharedmem")
