"""Rows: what is run for a row of threads: one body for each thread, or several for parts, for rows, for single threads.

The bodies are lines of LLVM IR. The code that runs them is written by threads.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.passes.peeling import Stop

# Where a part of a row begins.
PART = "%part"
# Given where a part of a row begins and where the row ends, returns a call.
Ask = Callable[[str, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """What is run for a row in parts: one body for threads that are run by themselves, another for all others.

    stops: the places of those threads along the row. ends: a call that returns where the part ends that begins at its
    first argument, in a row that ends at its second; None if parts end only at stops. The usual body finds the first
    place of its part in %part. straight: whether all rows have the same parts; the call then does not ask for the row.
    """

    stops: tuple[Stop, ...]
    usual: list[str]
    rare: list[str]
    ends: Ask | None = None
    straight: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plainly:
    """What is run for a row of threads: one body if a call says that the row is plain, else another.

    call: given the row's first thread and the one behind its last.
    """

    call: Ask
    body: list[str] | Parted
    otherwise: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Afterwards:
    """What is run for all threads of a row as if none were at a stop, and what those at stops do after it."""

    stops: tuple[Stop, ...]
    usual: Usual
    late: list[str]


Usual = list[str] | Parted | Plainly
RowBody = Usual | Afterwards


def straight_parts(body: RowBody) -> Ask | None:
    """Return the call that finds the ends of parts, if a body is run in parts that are the same in all rows."""
    parts = body.body if isinstance(body, Plainly) else body
    return parts.ends if isinstance(parts, Parted) and parts.straight else None


def of_part(body: RowBody) -> RowBody:
    """Return what is run for the threads of one part, of a body that is run in parts."""
    if isinstance(body, Plainly) and isinstance(body.body, Parted):
        return replace(body, body=body.body.usual)
    return body.usual if isinstance(body, Parted) else body
