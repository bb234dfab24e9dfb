"""Launch arguments: what type each has for the compiler, and which parameters it becomes. One file a kind."""

from gridjit.runtime.args import arrays, scalars

__all__ = ["arrays", "scalars"]
