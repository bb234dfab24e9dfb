"""LaunchedKernel: the argument of hooks: the code that is about to be launched, under numba-cuda's names.

In all other respects it behaves like its kernel, and compares equal to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.launch_config import DimLike
from gridjit.runtime.numba_names.overload import Overload
from gridjit.runtime.specializations.table import Specialization

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.numba_names.code_library import CodeLibrary


class LaunchedKernel(Overload):
    """A kernel and the specialization of the launch under way."""

    def __init__(self, kernel: Kernel, specialization: Specialization) -> None:
        super().__init__(kernel, specialization)
        self._library: CodeLibrary | None = None

    @property
    def extensions(self) -> list[Any]:
        """The extensions of the kernel's launches; an appended extension prepares this launch too."""
        return self.kernel.extensions

    @extensions.setter
    def extensions(self, extensions: Sequence[Any]) -> None:
        self.kernel.extensions = extensions

    @property
    def _codelibrary(self) -> CodeLibrary:
        if self._library is None:
            self._library = super()._codelibrary
        return self._library

    def launch(
        self, args: Sequence[Any], griddim: DimLike, blockdim: DimLike, stream: Any = 0, sharedmem: int = 0
    ) -> None:
        """Launch the kernel with args, without any hooks."""
        from gridjit.runtime.launch.dispatch import launch

        configured = self.kernel.configure(griddim, blockdim, stream, sharedmem)
        launch(configured.launcher, tuple(args), hooks=False)

    def __getitem__(self, launch: Any) -> ConfiguredKernel:
        return self.kernel[launch]

    def __call__(self, *args: Any) -> None:
        self.kernel(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("kernel", "specialization"):
            raise AttributeError(name)
        for whole in (self.kernel, self.specialization):
            with contextlib.suppress(AttributeError):
                return getattr(whole, name)
        raise AttributeError(f"{self.kernel!r}, about to be launched, has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        return (other.kernel if isinstance(other, LaunchedKernel) else other) is self.kernel

    def __hash__(self) -> int:
        return hash(self.kernel)

    def __repr__(self) -> str:
        return f"<{self.specialization} of {self.kernel!r}, to be launched>"
