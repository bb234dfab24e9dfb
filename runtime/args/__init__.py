"""Launch arguments: what type each has for the compiler, and which parameters it becomes. One file a kind.

NumPy's arrays and numbers are there at once; a value of another type has every kind loaded (lookup.py, all_kinds.py).
"""

from gridjit.runtime.args import lookup

__all__ = ["lookup"]
