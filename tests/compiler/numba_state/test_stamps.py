"""Stamps: whatever changes in a dictionary or a function's code shows in its stamp, where this Python has stamps."""

import gc
import sys
from types import CellType, FunctionType

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.kept import surroundings
from gridjit.compiler.numba_state import stamps, survey, within
from gridjit.compiler.numba_state.stamps import Stamps, of_attributes, of_cells, of_dictionaries
from tests.compiler.frontend.making import look_anew

needs_versions = pytest.mark.skipif(sys.version_info >= (3, 13), reason="dictionaries have no versions")


def one(x):
    return x


def two(x):
    return x + 1


def the_stamps(found: Stamps | None) -> Stamps:
    assert found is not None
    found.settle(found.read())
    return found


@needs_versions
@pytest.mark.parametrize(
    "change",
    [
        lambda names: names.update(a=2),
        lambda names: names.update(new=1),
        lambda names: names.pop("a"),
        lambda names: names.clear(),
        lambda names: names.setdefault("b", 3),
        lambda names: names.__ior__({"a": 5}),
        lambda names: names.update({str(n): n for n in range(1000)}),
    ],
)
def test_each_change_of_a_dictionary_shows_in_its_stamp_alone(change):
    watched = [{"a": 1}, {"a": 1}, {}]
    found = the_stamps(of_dictionaries(watched))
    assert found.changed(found.read()) == []
    change(watched[1])
    assert found.changed(found.read()) == [1]


@needs_versions
def test_an_attribute_set_on_a_class_or_a_module_shows_in_its_stamp():
    class Class:
        value = 1

    watched = [gc.get_referents(vars(Class))[0], vars(stamps)]
    found = the_stamps(of_dictionaries(watched))
    Class.value = 2
    assert found.changed(found.read()) == [0]
    stamps.set_by_a_test = 1  # type: ignore[attr-defined]
    try:
        assert found.changed(found.read()) == [0, 1]
    finally:
        del stamps.set_by_a_test  # type: ignore[attr-defined]


def test_another_code_in_place_shows_in_a_functions_stamp():
    other, function = (FunctionType(code.__code__, {}) for code in (two, one))
    found = the_stamps(of_attributes(("__code__",), [other, function]))
    assert found.changed(found.read()) == []
    function.__code__ = two.__code__
    assert found.changed(found.read()) == [1]


def test_other_defaults_and_other_contents_of_cells_show_in_their_stamps():
    first, with_default = (FunctionType(one.__code__, {}, argdefs=given) for given in (None, (1,)))

    cells = [CellType(1), CellType("two")]
    defaults, contents = (
        the_stamps(of_attributes(("__defaults__",), [first, with_default])),
        the_stamps(of_cells(cells)),
    )
    assert defaults.changed(defaults.read()) == contents.changed(contents.read()) == []
    before = with_default.__defaults__, cells[1].cell_contents  # kept alive, as whoever asks has to
    with_default.__defaults__, cells[1].cell_contents = (1.0,), "three"
    assert defaults.changed(defaults.read()) == contents.changed(contents.read()) == [1], before


@pytest.mark.parametrize("has_stamps", [True, False])
def test_with_and_without_stamps_a_patch_of_numba_is_another_surrounding(monkeypatch, has_stamps):
    numba_cuda()
    from numba.cuda import cgutils

    if not has_stamps:
        for owner, name in ((survey, "of_dictionaries"), (within, "of_dictionaries"), (survey, "of_cells")):
            monkeypatch.setattr(owner, name, lambda _: None)
        monkeypatch.setattr(survey, "of_attributes", lambda *_: None)
        look_anew(monkeypatch)
    first = surroundings.surroundings((9, 0), False)
    assert surroundings.surroundings((9, 0), False) is first
    monkeypatch.setattr(cgutils, "alloca_once", lambda *_, **__: None)
    patched = surroundings.surroundings((9, 0), False)
    assert patched is not first
    monkeypatch.setattr(cgutils.pack_array, "__code__", two.__code__)
    assert surroundings.surroundings((9, 0), False) is not patched
