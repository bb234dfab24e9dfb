"""Long chains on the host: what a kernel costs to compile is in proportion to what its threads do together."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host import optimizing
from gridjit.compiler.targets.host.ir.body import defined, used
from gridjit.compiler.targets.host.passes import outlining, region_text

_LINE = "    v += cuda.shfl_xor_sync(0xFFFFFFFF, v, {lane})\n"


def chain_of(links: int) -> Any:
    """Return a kernel that shuffles so many times, and keeps as many values until its end."""
    text = "def kernel(x):\n    i = cuda.grid(1)\n    v = x[i]\n"
    for link in range(links):
        text += _LINE.format(lane=1 << link % 5) + f"    kept{link} = v\n"
    text += "    x[i] = v\n" + "".join(f"    x[i] ^= kept{link}\n" for link in range(links))
    names: dict[str, Any] = {"cuda": cuda}
    exec(text, names)
    return gridjit.jit(cache=False, target="host")(names["kernel"])


# Conditions that all threads share, that differ within a warp's lanes, and between warps; and what is done there.
_CONDITIONS = ("n > {link}", "(i >> 5) % 3 != {link} % 3", "kept >> {link} & 1 == 0")
_DONE = {
    "shuffle": "v += cuda.shfl_xor_sync(0xFFFFFFFF, v, {lane})",
    "vote": "v += cuda.ballot_sync(0xFFFFFFFF, v % 2 == 0) & 7",
    "barrier": "cuda.syncthreads(); v += x[i ^ 1]; cuda.syncthreads(); x[i] = v & 0xFF",
}
_WAYS = (
    (_CONDITIONS[0], "shuffle", 0),
    (_CONDITIONS[2], "shuffle", 3),
    (_CONDITIONS[1], "vote", 0),
    (_CONDITIONS[0], "barrier", 3),
    (_CONDITIONS[1], "shuffle", 3),
    (_CONDITIONS[2], "barrier", 0),
)


def conditional(links: int, condition: str, done: str, turns: int = 0, mark: int = 0) -> Any:
    """Return a kernel that does so as often, each time behind a condition; in turns of a loop, if there are any.

    mark: what tells it from another one that is otherwise equal.
    """
    text = f"def kernel(x, n):\n    mark = {mark}\n    i = cuda.grid(1)\n"
    text += "    v = x[i]\n    kept = (i >> 5) + n\n"
    text += f"    for turn in range({turns} if n > 0 else 0):\n" if turns else "    if True:\n"
    for link in range(links):
        line = done.format(lane=1 << link % 5)
        text += f"        if {condition.format(link=link)}:\n            {line}\n            kept += v % 2 - v % 2\n"
    text += "    x[i] = v + kept\n"
    names: dict[str, Any] = {"cuda": cuda}
    exec(text, names)
    return gridjit.jit(cache=False, target="host")(names["kernel"])


class Stopped(Exception):
    """Stops a compile before LLVM optimizes."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that compiles a chain, and returns its text and how often names were looked for in a line."""
    looked: list[str] = []
    texts: list[str] = []

    def counted(of: Any) -> Any:
        def call(line: str) -> Any:
            looked.append(line)
            return of(line)

        return call

    def final(text: str, *_: Any, **__: Any) -> Any:
        texts.append(text)
        raise Stopped

    monkeypatch.setattr(region_text, "used", counted(used))
    monkeypatch.setattr(region_text, "defined", counted(defined))
    monkeypatch.setattr(optimizing, "_final", final)

    def measure(links: int, **how: Any) -> tuple[str, int]:
        looked.clear()
        with pytest.raises(Stopped):
            if how:
                conditional(links, **how)[1, 32](np.zeros(32, np.int32), 3)
            else:
                chain_of(links)[1, 32](np.zeros(32, np.int32))
        return texts[-1], len(looked)

    return measure


def test_forty_shuffles_take_twice_the_work_of_twenty(measured: Any) -> None:
    few, some, many = (measured(links)[1] for links in (10, 20, 40))
    assert many - some < 2.5 * (some - few)


def test_shuffles_of_one_kind_share_the_code_that_exchanges_their_values(measured: Any) -> None:
    text, _ = measured(20)
    for name in ("meet", "whole"):
        assert len(re.findall(rf"^define [^\n]*@gridjit\.{name}\.", text, re.MULTILINE)) == 5


def test_a_chain_of_shuffles_gives_what_they_give_one_after_the_other() -> None:
    x = np.arange(70, dtype=np.int32)
    wanted = np.zeros((3, 32), np.int64)
    wanted.reshape(-1)[:70] = x
    rows = [wanted[0], wanted[1], wanted[2, :6]]
    for row in rows:
        kept, v = [], row.copy()
        for link in range(7):
            partners = np.arange(len(row)) ^ (1 << link % 5)
            v = v + np.where(partners < len(row), v[np.minimum(partners, len(row) - 1)], v)
            kept.append(v)
        row[:] = v
        for one in kept:
            row ^= one
    chain_of(7)[1, 70](x)
    assert x.tolist() == np.concatenate(rows).astype(np.int32).tolist()


@pytest.mark.some(2)
@pytest.mark.parametrize(("condition", "done", "turns"), _WAYS[:4])
def test_code_of_forty_warp_operations_behind_conditions_is_twice_that_of_twenty(
    measured: Any, condition: str, done: str, turns: int
) -> None:
    some, many = (measured(n, condition=condition, done=_DONE[done], turns=turns)[0].count("\n") for n in (20, 40))
    assert many < 2.4 * some


@pytest.mark.some(2)
@pytest.mark.parametrize(("condition", "done", "turns"), _WAYS)
def test_regions_that_share_their_code_compute_what_they_do_alone(
    monkeypatch: pytest.MonkeyPatch, condition: str, done: str, turns: int
) -> None:
    texts: list[str] = []
    final = optimizing._final
    monkeypatch.setattr(optimizing, "_final", lambda text, *a, **k: texts.append(text) or final(text, *a, **k))
    results = []
    for most in (10**9, 0):
        monkeypatch.setattr(outlining, "_MOST_LINES", most)
        monkeypatch.setattr(outlining, "_MOST_TIMES", min(most, 1))
        monkeypatch.setattr(outlining, "_WAY", 10)
        kernel = conditional(4, condition, _DONE[done], turns, mark=most)
        for n in (0, 2, 4):
            x = np.arange(128, dtype=np.int32)
            kernel[2, 64](x, n)
            results.append(x.tolist())
    assert results[:3] == results[3:]
    shared = re.compile(r"^define [^\n]*@gridjit\.region\.\d+\([^\n]*\) noinline", re.MULTILINE)
    alone, together = (len(shared.findall(text)) for text in texts)
    assert alone == 0
    assert together > 0
