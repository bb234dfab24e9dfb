"""Launch arguments: each one's type for the compiler, and its parameters. One file for each kind."""

# It finds the kinds. NumPy's arrays and numbers are loaded with it; a value of another type loads every kind.
from gridjit.runtime.args import lookup

__all__ = ["lookup"]
