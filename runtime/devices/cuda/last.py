"""last: which kernel was launched last in each stream, for errors that are only found out later. A best effort."""

from __future__ import annotations

from gridjit.compiler.launch_config import LaunchConfig


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
