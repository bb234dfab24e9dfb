"""Small programs with warp operations: drawn at random, as kernels, and run by a model of the lanes in plain Python.

The model knows CUDA's rules and nothing of how kernels are compiled: each thread is a generator that stops at every
operation, and a group of lanes goes on when all of its mask's lanes that have not ended have come.
"""

# mypy: ignore-errors
from __future__ import annotations

from hypothesis import strategies as st

FULL = 0xFFFFFFFF
LOOPS = 8
TURNS = 3
MODES = ("shfl", "shfl_up", "shfl_down", "shfl_xor")
VOTES = ("all", "any", "eq", "ballot")

lanes = st.one_of(st.integers(0, FULL), st.sampled_from((FULL, 0xFFFF, 0x55555555, 0x80000001, 0xF0F0F0F0)))
mixes = st.tuples(st.just("mix"), st.integers(1, 99), st.integers(0, 99))
shuffles = st.tuples(st.sampled_from(MODES), st.sampled_from(("lane + 1", "v", "3", "16", "31", "warp", "lane * 5")))
votes = st.tuples(st.sampled_from(VOTES), st.integers(1, 7))
others = st.sampled_from((("match_any",), ("match_all",), ("syncwarp",)))
simple = st.one_of(mixes, shuffles, votes, others)


def nested(inner):
    body = st.lists(inner, min_size=1, max_size=3)
    branch = st.tuples(st.just("if"), lanes, body, st.one_of(st.just([]), body))
    trips = st.lists(st.integers(0, TURNS), min_size=32, max_size=32)
    return st.one_of(simple, branch, st.tuples(st.just("loop"), trips, body))


# What all threads of the block come to, or have ended before.
blockwide = st.one_of(
    st.tuples(st.sampled_from(("barrier", "count", "and", "or"))),
    st.tuples(st.just("return"), lanes),
)
programs = st.lists(st.one_of(st.recursive(simple, nested, max_leaves=6), blockwide), min_size=1, max_size=6)


def source(program) -> str:
    """Return a kernel kernel(x, out, trips, masks) of a program; loops are numbered in their order."""
    lines = [
        "def kernel(x, out, trips, masks):",
        "    w, h = cuda.blockDim.x, cuda.blockDim.y",
        "    t = cuda.threadIdx.x + w * (cuda.threadIdx.y + h * cuda.threadIdx.z)",
        "    lane, warp = cuda.laneid, t // 32",
        "    v = x[t]",
    ]
    counter = iter(range(LOOPS))
    for statement in program:
        lines += _lines(statement, "    ", str(FULL), counter)
    return "\n".join([*lines, "    out[t] = v"])


def _lines(statement, indent, mask, counter):
    kind, *rest = statement
    body = []
    if kind == "mix":
        return [f"{indent}v = (v * {rest[0]} + {rest[1]} + lane) & 0xFFFF"]
    if kind in MODES:
        return [f"{indent}v = (v + cuda.{kind}_sync({mask}, v, ({rest[0]}) & 31)) & 0xFFFF"]
    if kind in VOTES:
        return [f"{indent}v = (v * 3 + np.int64(cuda.{kind}_sync({mask}, (v & {rest[0]}) != 0))) & 0xFFFF"]
    if kind == "match_any":
        return [f"{indent}v = (v * 3 + cuda.match_any_sync(np.int32({mask}), v & 3)) & 0xFFFF"]
    if kind == "match_all":
        return [
            f"{indent}m, p = cuda.match_all_sync(np.int32({mask}), v & 1)",
            f"{indent}v = (v * 3 + m + p) & 0xFFFF",
        ]
    if kind == "syncwarp":
        return [f"{indent}cuda.syncwarp(np.int32({mask}))"]
    if kind == "barrier":
        return [f"{indent}cuda.syncthreads()"]
    if kind in ("count", "and", "or"):
        return [f"{indent}v = (v * 3 + cuda.syncthreads_{kind}(np.int32(v & 1))) & 0xFFFF"]
    if kind == "return":
        return [f"{indent}if {rest[0]} >> lane & 1:", f"{indent}    out[t] = v", f"{indent}    return"]
    if kind == "if":
        chosen, then, other = rest
        for inner in then:
            body += _lines(inner, indent + "    ", f"({mask} & {chosen})", counter)
        lines = [f"{indent}if {chosen} >> lane & 1:", *body]
        body = []
        for inner in other:
            body += _lines(inner, indent + "    ", f"({mask} & {FULL ^ chosen})", counter)
        return [*lines, *([f"{indent}else:", *body] if body else [])]
    number = next(counter, None)
    if number is None:
        return [f"{indent}v += 0"]
    for inner in rest[1]:
        body += _lines(inner, indent + "    ", f"({mask} & masks[{number}, k{number}])", counter)
    return [f"{indent}for k{number} in range(trips[{number}, lane]):", *body]


def tables(program):
    """Return trips and masks: how often each lane goes round each loop, and the lanes that are in each turn."""
    found = []

    def visit(statement):
        if statement[0] == "if":
            for inner in [*statement[2], *statement[3]]:
                visit(inner)
        elif statement[0] == "loop" and len(found) < LOOPS:
            found.append(statement[1])
            for inner in statement[2]:
                visit(inner)

    for statement in program:
        visit(statement)
    found += [[0] * 32] * (LOOPS - len(found))
    masks = [[sum((trip > k) << lane for lane, trip in enumerate(loop)) for k in range(TURNS + 1)] for loop in found]
    return found, masks


class Ended(Exception):
    """The thread returned."""


def thread(program, t, start):
    """Yield what a thread comes to, as (kind, mask, value, argument), and return its value at the end."""
    state = {"v": start, "t": t, "lane": t % 32, "warp": t // 32}
    counter = iter(range(LOOPS))
    trips, masks = tables(program)
    numbers = {}

    def number(statement):
        for inner in [*statement[2], *statement[3]] if statement[0] == "if" else []:
            number(inner)
        if statement[0] == "loop":
            numbers[id(statement)] = next(counter, None)
            for inner in statement[2]:
                number(inner)

    for statement in program:
        number(statement)
    try:
        for statement in program:
            yield from _run(statement, state, FULL, trips, masks, numbers)
    except Ended:
        pass
    return state["v"]


def _signed(word):
    return word - 2**32 if word >= 2**31 else word


def _run(statement, s, mask, trips, masks, numbers):
    kind, *rest = statement
    if kind == "mix":
        s["v"] = (s["v"] * rest[0] + rest[1] + s["lane"]) & 0xFFFF
    elif kind in MODES:
        s["v"] = (s["v"] + (yield kind, mask, s["v"], eval(rest[0], {}, s) & 31)) & 0xFFFF
    elif kind in VOTES:
        s["v"] = (s["v"] * 3 + (yield kind, mask, (s["v"] & rest[0]) != 0, 0)) & 0xFFFF
    elif kind in ("match_any", "match_all"):
        s["v"] = (s["v"] * 3 + (yield kind, mask, s["v"] & (3 if kind == "match_any" else 1), 0)) & 0xFFFF
    elif kind == "syncwarp":
        yield kind, mask, 0, 0
    elif kind == "barrier":
        yield kind, None, 0, 0
    elif kind in ("count", "and", "or"):
        s["v"] = (s["v"] * 3 + (yield kind, None, s["v"] & 1, 0)) & 0xFFFF
    elif kind == "return":
        if rest[0] >> s["lane"] & 1:
            raise Ended
    elif kind == "if":
        inside = rest[0] >> s["lane"] & 1
        chosen = rest[0] if inside else FULL ^ rest[0]
        for inner in rest[1] if inside else rest[2]:
            yield from _run(inner, s, mask & chosen, trips, masks, numbers)
    elif numbers[id(statement)] is not None:
        own = numbers[id(statement)]
        for k in range(trips[own][s["lane"]]):
            for inner in rest[1]:
                yield from _run(inner, s, mask & masks[own][k], trips, masks, numbers)


def model(program, values):
    """Return what each thread of a block has at the end."""
    threads = [thread(program, t, value) for t, value in enumerate(values)]
    ends, waits = [None] * len(values), [None] * len(values)

    def go(t, answer):
        try:
            waits[t] = threads[t].send(answer)
        except StopIteration as end:
            waits[t], ends[t] = None, end.value

    for t in range(len(values)):
        go(t, None)
    while any(wait is not None for wait in waits):
        if not _step_warps(waits, go) and not _step_block(waits, go):
            raise AssertionError("the program waits for ever")
    return ends


def _step_warps(waits, go):
    moved = False
    for first in range(0, len(waits), 32):
        alive = {t for t in range(first, min(first + 32, len(waits))) if waits[t] is not None}
        for t in sorted(alive):
            if waits[t] is None or waits[t][1] is None:
                continue
            kind, mask = waits[t][:2]
            group = [u for u in sorted(alive) if mask >> (u - first) & 1 and waits[u] is not None]
            if all(waits[u][:2] == (kind, mask) for u in group):
                answers = _exchange(kind, mask, {u - first: waits[u][2:] for u in group})
                for u in group:
                    go(u, answers[u - first])
                moved = True
                break
    return moved


def _exchange(kind, mask, given):
    """Return each lane's answer, of (value, argument) of the lanes that take part."""
    values = {lane: value for lane, (value, _) in given.items()}
    group = sum(1 << lane for lane in given)
    if kind in MODES:
        source = {
            "shfl": lambda lane, by: by,
            "shfl_up": lambda lane, by: lane - by,
            "shfl_down": lambda lane, by: lane + by,
            "shfl_xor": lambda lane, by: lane ^ by,
        }[kind]
        return {lane: values.get(source(lane, by), value) for lane, (value, by) in given.items()}
    if kind == "match_any":
        return {
            lane: _signed(sum(1 << other for other in given if values[other] == value))
            for lane, value in values.items()
        }
    if kind == "match_all":
        same = len(set(values.values())) == 1
        return dict.fromkeys(given, _signed(group) + 1 if same else 0)
    yes = sum(bool(value) << lane for lane, value in values.items())
    answer = {"all": yes == group, "any": yes != 0, "eq": yes in (0, group), "ballot": _signed(yes), "syncwarp": 0}
    return dict.fromkeys(given, int(answer[kind]))


def _step_block(waits, go):
    alive = [t for t in range(len(waits)) if waits[t] is not None]
    if any(waits[t][1] is not None or waits[t][0] != waits[alive[0]][0] for t in alive):
        return False
    said = [waits[t][2] for t in alive]
    answer = {"barrier": 0, "count": sum(said), "and": int(all(said)), "or": int(any(said))}[waits[alive[0]][0]]
    for t in alive:
        go(t, answer)
    return True
