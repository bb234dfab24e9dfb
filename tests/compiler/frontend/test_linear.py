"""What replaces parts of numba-cuda answers as they do."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest

import gridjit
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.frontend.isolated import linear
from gridjit.compiler.frontend.lower import _modules


def branches(x, n):
    total = 0.0
    for i in range(n):
        if x[i] > 0:
            value = math.sin(x[i])
            total += value
        elif x[i] < -1:
            value = x[i]
            value = value * value
            total -= value
        else:
            continue
    x[0] = total


def tuples(x, n):
    pair = (x[0], x[1])
    count = 0
    while count < n:
        first, second = pair
        pair = (second, first + second)
        count += 1
    x[0] = pair[0] + min(pair) + abs(pair[1])


def straight(x, n):
    a = x[0]
    a = a + 1
    b = a * n
    x[1] = b
    x[2] = b


@pytest.mark.parametrize("body", [branches, tuples, straight])
def test_the_variables_that_need_no_memory_are_those_that_numba_finds(monkeypatch, body):
    numba_cuda()
    from numba.cuda.lowering import Lower

    theirs, ours = Lower._find_singly_assigned_variable, linear._find_singly_assigned
    compared = []

    def both(lowering):
        theirs(lowering)
        expected = lowering._singly_assigned_vars, lowering._blk_local_varmap
        ours(lowering)
        assert (lowering._singly_assigned_vars, lowering._blk_local_varmap) == expected
        compared.append(len(expected[0]))

    monkeypatch.setattr(linear, "_find_singly_assigned", both)
    gridjit.jit(body, cache=False).compile("void(float64[::1], int64)", target="host")
    assert compared
    assert min(compared) > 0
    assert Lower._find_singly_assigned_variable is theirs


def test_the_search_goes_through_each_instruction_once(monkeypatch):
    numba_cuda()
    from numba.cuda.core import ir

    original, ours = ir.Block.find_insts, linear._find_singly_assigned
    counted = []

    def search(lowering):
        found = []

        def counting(block, cls=None):
            for one in original(block, cls):
                found.append(one)
                yield one

        with monkeypatch.context() as patch:
            patch.setattr(ir.Block, "find_insts", counting)
            ours(lowering)
        counted.append(len(found) == len({id(one) for one in found}) > 0)

    monkeypatch.setattr(linear, "_find_singly_assigned", search)
    gridjit.jit(straight, cache=False).compile("void(float64[::1], int64)", target="host")
    assert counted
    assert all(counted)


class Library:
    """A code library as numba-cuda has them: a module, and the libraries it calls into."""

    def __init__(self, *called):
        self._module, self._linking_libraries = object(), set(called)


def test_each_module_is_taken_once_however_many_ways_lead_to_it():
    libraries = [Library()]
    for _ in range(60):
        libraries.append(Library(*libraries[-2:]))
    found = _modules(libraries[-1])
    assert found[0] is libraries[-1]._module
    assert len(found) == len(libraries)
    assert {id(one) for one in found} == {id(one._module) for one in libraries}
