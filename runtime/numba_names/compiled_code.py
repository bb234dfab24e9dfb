"""CompiledCode: the artifact that Kernel.compile returns, which also has numba-cuda's names for a compiled kernel."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gridjit.compiler.artifact import Artifact

if TYPE_CHECKING:
    from gridjit.runtime.numba_names.overload import Overload


class CompiledCode(Artifact):
    """An artifact in this process; names that it does not have itself are those of the kernel's overload."""

    __slots__ = ("_overload",)
    __hash__ = Artifact.__hash__

    @classmethod
    def of(cls, artifact: Artifact, overload: Overload) -> CompiledCode:
        """Return an artifact that is equal to another one, and has the names of an overload."""
        made = cls(**_parts(artifact))
        object.__setattr__(made, "_overload", overload)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifact) and _parts(self) == _parts(other)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle it as the artifact alone."""
        return _artifact, (_parts(self),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._overload, name)


def _parts(artifact: Artifact) -> dict[str, Any]:
    return {part.name: getattr(artifact, part.name) for part in dataclasses.fields(Artifact)}


def _artifact(parts: dict[str, Any]) -> Artifact:
    return Artifact(**parts)
