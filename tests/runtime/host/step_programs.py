"""Small programs whose lanes read each other's shared items without a barrier, and a model of lanes in step."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

# Items of the own warp. Lanes write different ones, since it is undefined which lane of several wins.
written = st.sampled_from(("t", "t ^ 16", "t ^ 1", "t - lane + (lane + 1) % 32", "t - lane + 31 - lane"))
read = st.one_of(written, st.sampled_from(("t - lane", "max(t - 1, t - lane)", "t - lane + 5", "t - lane + lane // 2")))
conditions = st.sampled_from(("lane >= 1", "lane < 16", "lane % 3 == 0", "lane == 7", "x[t] > 50"))
stores = st.tuples(st.just("store"), written, read)
loads = st.tuples(st.just("load"), read)


def _nested(inner):
    body = st.lists(inner, min_size=1, max_size=3)
    trips = st.sampled_from(("2", "lane % 3", "x[t] % 3"))
    return st.one_of(st.tuples(st.just("if"), conditions, body), st.tuples(st.just("for"), trips, body))


programs = st.lists(st.recursive(st.one_of(stores, loads), _nested, max_leaves=6), min_size=1, max_size=5)


def source(program) -> str:
    """Return a kernel kernel(x, out) of a program."""
    lines = ["s = cuda.shared.array(64, np.int64)", "t, lane = cuda.threadIdx.x, cuda.laneid"]
    lines += [
        "s[t], v = x[t], 1",
        "cuda.syncthreads()",
        *_lines(program),
        "cuda.syncthreads()",
        "out[t] = s[t] * 31 + v",
    ]
    return "def kernel(x, out):\n" + "".join(f"    {line}\n" for line in lines)


def _lines(program, depth=0):
    lines = []
    for kind, what, *rest in program:
        if kind == "store":
            lines.append(f"s[{what}] = (s[{rest[0]}] * 3 + v) % 1009")
        elif kind == "load":
            lines.append(f"v = (v * 5 + s[{what}]) % 1009")
        else:
            lines.append(f"if {what}:" if kind == "if" else f"for k{depth} in range({what}):")
            lines += ["    " + line for line in _lines(rest[0], depth + 1)]
    return lines


def model(program, x):
    """Return what each thread of two warps has at the end, if the lanes of each do everything together."""
    t = np.arange(64)
    state = {"s": x.copy(), "v": np.ones(64, np.int64), "t": t, "lane": t % 32, "x": x, "max": np.maximum}
    _run(program, state, np.ones(64, bool))
    return state["s"] * 31 + state["v"]


def _run(program, state, here):
    for kind, what, *rest in program:
        value = np.broadcast_to(eval(what, {}, state), 64)
        if kind == "store":
            new = (state["s"][eval(rest[0], {}, state)] * 3 + state["v"]) % 1009
            state["s"][value[here]] = new[here]
        elif kind == "load":
            state["v"] = np.where(here, (state["v"] * 5 + state["s"][value]) % 1009, state["v"])
        elif kind == "if":
            _run(rest[0], state, here & value)
        else:
            for turn in range(3):
                _run(rest[0], state, here & (turn < value))
