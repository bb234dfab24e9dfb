"""Long chains on the host: what a kernel costs to compile is in proportion to what its threads do together."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host import generate
from gridjit.compiler.targets.host.regions import write
from gridjit.compiler.targets.host.regions.body import defined, used

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

    monkeypatch.setattr(write, "used", counted(used))
    monkeypatch.setattr(write, "defined", counted(defined))
    monkeypatch.setattr(generate, "_final", final)

    def measure(links: int) -> tuple[str, int]:
        looked.clear()
        with pytest.raises(Stopped):
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
        for link in range(12):
            partners = np.arange(len(row)) ^ (1 << link % 5)
            v = v + np.where(partners < len(row), v[np.minimum(partners, len(row) - 1)], v)
            kept.append(v)
        row[:] = v
        for one in kept:
            row ^= one
    chain_of(12)[1, 70](x)
    assert x.tolist() == np.concatenate(rows).astype(np.int32).tolist()
