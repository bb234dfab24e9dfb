"""last: which kernel was launched last in each stream, for errors that are only found out later. A best effort."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gridjit.compiler.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.errors import KernelError


class LastLaunches:
    """The last launch of each stream; bounded, as streams come and go."""

    LIMIT = 4096

    def __init__(self) -> None:
        self._last: dict[int, tuple[str, LaunchConfig]] = {}

    def note(self, stream: int, kernel: str, config: LaunchConfig) -> None:
        """Keep what was launched in stream."""
        if len(self._last) >= self.LIMIT:
            self._last.clear()
        self._last[stream] = (kernel, config)

    def of(self, stream: int | None) -> str:
        """Return, in words, what was launched last in stream (None: in any); "" if that is not known."""
        last = list(self._last.items())
        found = [f"{kernel} [{config}]" for at, (kernel, config) in last if stream is None or at == stream]
        return ", ".join(dict.fromkeys(found[-4:]))


last_launches = LastLaunches()


@contextmanager
def attributed(stream: int | None) -> Iterator[None]:
    """Name the kernel that was launched last in stream (None: in any) if a call tells that one failed."""
    try:
        yield
    except KernelError as error:
        launched = last_launches.of(stream)
        raise error.saying(f"{error}; launched last: {launched}" if launched else str(error)) from None
