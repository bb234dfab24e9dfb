"""The modules of a code library are found in one walk over the libraries it calls into."""

# mypy: ignore-errors
from __future__ import annotations

from gridjit.compiler.frontend.lower import _modules


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
