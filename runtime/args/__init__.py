"""Launch arguments: which type each has for the compiler, and which parameters it becomes. One file for each kind.

NumPy's arrays and numbers are loaded at once; a value of another type loads every kind (lookup.py, all_kinds.py).
"""

from gridjit.runtime.args import lookup

__all__ = ["lookup"]
