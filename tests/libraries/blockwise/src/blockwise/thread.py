"""What kernels call for one thread; nothing of the launch is asked for. There is no code here: see _thread."""

from __future__ import annotations

from typing import Any, NoReturn


def _in_kernels_only() -> NoReturn:
    raise TypeError("functions of blockwise.thread are for kernels")


def clamp(x: Any, low: Any, high: Any) -> Any:
    """The value between low and high that is nearest to x."""
    _in_kernels_only()


def blend(a: Any, b: Any) -> Any:
    """The mean of two values of one type."""
    _in_kernels_only()


def difference(a: Any, b: Any) -> Any:
    """The first value less the second."""
    _in_kernels_only()


def scaled(x: Any) -> Any:
    """A number times the setting SCALE."""
    _in_kernels_only()


def offset(x: Any) -> Any:
    """A number plus the setting OFFSET; SCALE is not read."""
    _in_kernels_only()


def weight(i: Any) -> Any:
    """One of the setting WEIGHTS."""
    _in_kernels_only()


def position(i: Any, count: Any) -> Any:
    """Where the i-th of count items lies, in the setting ORDER."""
    _in_kernels_only()


def guarded(x: Any) -> Any:
    """A number, not over the setting LIMIT if that is one, and not below zero if STRICT."""
    _in_kernels_only()


def twice(x: Any) -> Any:
    """Twice a number."""
    _in_kernels_only()


def low_bits(x: Any) -> Any:
    """The low eight bits of an integer."""
    _in_kernels_only()


def lazily(x: Any) -> Any:
    """A number plus 7; what implements it is imported when it is first compiled."""
    _in_kernels_only()


def remembered(x: Any) -> Any:
    """A number plus 11; what implements it is kept in tables."""
    _in_kernels_only()


def item_of_launch(x: Any) -> Any:
    """A number plus the first number among the arguments of the launch."""
    _in_kernels_only()
