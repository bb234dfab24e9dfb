"""griddepcontrol: how a kernel that is launched with programmatic=True is ordered after the previous grid.

Such a launch may begin before that grid ends. On the host it begins after it, and both functions do nothing.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["launch_dependents", "wait"]

if TYPE_CHECKING:

    def wait() -> None:
        """Wait until the grids that this one depends on have ended, and their writes are visible: PTX's instruction.

        Code of a kernel before it must not use their writes.
        """

    def launch_dependents() -> None:
        """Let the grids that depend on this one begin once all its blocks have called this, or ended."""


if not TYPE_CHECKING:  # what a kernel finds, once one looks

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from gridjit.compiler.frontend.bindings.vocabulary import instructions

        return instructions()[name]
