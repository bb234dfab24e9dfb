"""ConfigView: every read is recorded, marks mean what they say, effects survive, and nothing leaks out of a compile."""

from __future__ import annotations

import enum
import functools
import threading
from typing import Any

import numpy as np
import pytest

from gridjit import ConfigError, LaunchConfig, launchconfig
from gridjit.compiler.hooks.hook import Hook
from gridjit.compiler.view.config import ConfigView, current_view
from tests.compiler.view.visibility import visible

CONFIG = LaunchConfig.of(10, (64, 2), 128)


def hook(kernel: object, config: object) -> None:
    """A hook that another process can import by name."""


@pytest.mark.parametrize("field", ["griddim", "blockdim", "sharedmem", "cluster", "cooperative"])
def test_reading_a_field_records_it_with_the_reading_line(field: str) -> None:
    view = ConfigView(CONFIG)
    assert getattr(view, field) == getattr(CONFIG, field)
    (fact,) = view.footprint.facts
    assert (fact.field, fact.value) == (field, getattr(CONFIG, field))
    assert fact.where.startswith("test_config.py:")


@pytest.mark.parametrize("marked_first", [True, False])
def test_a_mark_without_names_means_what_is_read_before_it_or_after(marked_first: bool) -> None:
    view = ConfigView(CONFIG)
    if marked_first:
        view.mark_kernel_as_launch_config_sensitive()
    assert view.blockdim == (64, 2, 1)
    if not marked_first:
        view.mark_kernel_as_launch_config_sensitive()
    assert [fact.field for fact in view.footprint.facts] == ["blockdim"]


def test_a_mark_without_names_where_nothing_is_read_is_not_a_fact_and_stays_visible() -> None:
    view = ConfigView(CONFIG)
    assert view.get_kernel_launch_config_sensitive() is None
    view.mark_kernel_as_launch_config_sensitive()
    assert view.get_kernel_launch_config_sensitive() is True
    assert view.footprint.facts == ()


def test_a_mark_with_names_means_those() -> None:
    view = ConfigView(CONFIG)
    view.mark_kernel_as_launch_config_sensitive("sharedmem")
    assert [(f.field, f.value) for f in view.footprint.facts] == [("sharedmem", 128)]


def test_a_mark_with_an_unknown_name_lists_the_fields() -> None:
    with pytest.raises(ConfigError, match="fields are griddim, blockdim"):
        ConfigView(CONFIG).mark_kernel_as_launch_config_sensitive("warp")  # type: ignore[arg-type]


def test_writing_sharedmem_is_an_effect_and_only_ever_raises_it() -> None:
    view = ConfigView(CONFIG)
    view.sharedmem = 4096
    view.sharedmem = 1024
    assert view.effects.sharedmem == 4096
    assert view.footprint.facts == ()
    assert view.sharedmem == 4096


def test_a_bad_sharedmem_is_refused() -> None:
    with pytest.raises(ConfigError, match="give 0 or more bytes"):
        ConfigView(CONFIG).sharedmem = -1


def test_an_importable_hook_is_an_effect_any_other_keeps_the_artifact_private() -> None:
    view = ConfigView(CONFIG)
    view.pre_launch_callbacks.append(hook)
    assert view.effects.hooks == (Hook(module=__name__, qualname="hook"),)
    assert view.reasons_to_keep_private == ()
    view.pre_launch_callbacks.append(lambda kernel, config: view)
    assert "cannot be imported by name" in view.reasons_to_keep_private[0]  # type: ignore[misc]


def test_a_hook_with_plain_arguments_is_an_effect_with_them_and_others_stay_private() -> None:
    view = ConfigView(CONFIG)
    view.pre_launch_callbacks.append(functools.partial(hook, 4096, "tile"))
    (stored,) = view.effects.hooks
    assert stored == Hook(module=__name__, qualname="hook", arguments=(4096, "tile"))
    assert view.reasons_to_keep_private == ()
    view.pre_launch_callbacks.append(functools.partial(hook, object()))
    view.pre_launch_callbacks.append(functools.partial(hook, config=None))
    assert len(view.reasons_to_keep_private) == 2


def facts_of(view: ConfigView) -> dict[str, object]:
    return {fact.field: fact.value for fact in view.footprint.facts}


@pytest.mark.parametrize("number", [7, 2.5, True, 1 + 2j, np.int32(7), np.float32(7), np.bool_(True), np.complex64(1)])
def test_a_number_that_is_read_counts_by_its_value_and_type(number: object) -> None:
    view = ConfigView(CONFIG, (np.zeros(3), number))
    assert view.args is not None
    assert view.args[1] == number
    assert view.footprint.matches(CONFIG, (np.zeros(9), number))
    assert not view.footprint.matches(CONFIG, (np.zeros(3), type(number)(0)))  # type: ignore[call-arg]
    assert not view.footprint.matches(CONFIG, (np.zeros(3), "other"))


def test_numbers_that_only_their_bits_tell_apart_are_told_apart() -> None:
    for one, other in (
        (0.0, -0.0),
        (np.nan, -np.nan),
        (np.float32("nan"), -np.float32("nan")),
        (nan_with(1), nan_with(2)),
    ):
        view = ConfigView(CONFIG, (one,))
        assert view.args is not None
        assert view.args[0] is one
        assert view.footprint.matches(CONFIG, (one,))
        assert not view.footprint.matches(CONFIG, (other,))


def nan_with(bits: int) -> complex:
    return complex(1.0, float(np.array([0x7FF8 << 48 | bits], np.uint64).view(np.float64)[0]))


class Tagged(int):
    tile = 4


@pytest.mark.parametrize("number", [Tagged(3), type("Rounded", (float,), {"__repr__": lambda self: "1"})(1.5)])
def test_a_number_of_a_class_of_its_own_serves_launches_with_that_very_object(number: Any) -> None:
    view = ConfigView(CONFIG, (number,))
    assert view.args is not None and view.args[0] is number
    footprint = view.footprint
    assert footprint.matches(CONFIG, (number,))
    assert not footprint.matches(CONFIG, (type(number)(number),))
    number.tile = 8
    assert not footprint.matches(CONFIG, (number,))
    assert view.reasons_to_keep_private == ("the compilation was handed argument 0 itself",)


def test_what_numbers_that_are_whole_require_of_shared_memory_counts() -> None:
    view = ConfigView(CONFIG)
    view.sharedmem = np.int64(1 << 14)  # type: ignore[assignment]
    assert view.effects.sharedmem == 1 << 14 and type(view.effects.sharedmem) is int


def test_a_hook_that_cannot_be_called_is_refused_by_the_compile_that_registers_it() -> None:
    view = ConfigView(CONFIG)
    view.pre_launch_callbacks.append(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="got 3, which cannot be called"):
        view.settle()


def test_an_array_counts_by_type_until_its_shape_is_read() -> None:
    view = ConfigView(CONFIG, (np.zeros((3, 2)),))
    assert view.args is not None
    assert (view.args[0].dtype, view.args[0].ndim) == (np.float64, 2)
    assert facts_of(view) == {"arguments": True}
    assert view.args[0].shape == (3, 2)
    assert facts_of(view) == {"argument 0 shape": (3, 2), "arguments": True}
    assert not view.footprint.matches(CONFIG, (np.zeros((4, 2)),))


def test_the_length_of_an_array_is_its_shape_and_its_items_are_more_of_it() -> None:
    view = ConfigView(CONFIG, (np.arange(3.0),))
    assert view.args is not None
    assert len(view.args[0]) == 3
    assert facts_of(view) == {"argument 0 shape": (3,), "arguments": True}
    assert view.reasons_to_keep_private == ()
    assert (view.args[0][2], list(view.args[0])) == (2.0, [0.0, 1.0, 2.0])
    assert not view.footprint.matches(CONFIG, (np.arange(3.0),))
    assert "the compilation read __getitem__ of argument 0" in view.reasons_to_keep_private


def test_whether_an_array_is_true_is_the_arrays_own_affair() -> None:
    class Sized:
        shape, __cuda_array_interface__ = (0,), {"data": (0, False)}

    view = ConfigView(CONFIG, (np.zeros(1), np.zeros(2), Sized()))
    assert view.args is not None
    assert (bool(view.args[0]), bool(view.args[2])) == (False, False)
    with pytest.raises(ValueError, match="more than one element"):
        bool(view.args[1])


def test_the_field_of_a_record_can_be_read() -> None:
    record = np.zeros(1, [("size", "i4")])[0]
    view = ConfigView(CONFIG, (record,))
    assert view.args is not None
    assert view.args[0]["size"] == 0
    assert view.reasons_to_keep_private


class Counted(int):
    """A number with more than its value."""

    tile = 3


class Level(enum.IntEnum):
    LOW = 1


class Wide(np.float64):
    """One of NumPy's numbers with more than its value."""


@pytest.mark.parametrize("number", [Counted(7), Level.LOW, Wide(7)], ids=lambda number: type(number).__name__)
def test_a_number_of_a_class_of_its_own_counts_as_itself(number: object) -> None:
    view = ConfigView(CONFIG, (number,))
    assert view.args is not None and view.args[0] is number
    assert view.reasons_to_keep_private == ("the compilation was handed argument 0 itself",)


class Odd(np.ndarray):
    """An array that says something else of itself."""

    ndim = 3


MARKED = np.dtype("f8", metadata={"tile": 3})
ODD = {
    "dtype with metadata": (np.zeros(3, MARKED), "dtype"),
    "dtype of long longs, which equals that of longs": (np.zeros(3, np.longlong), "dtype"),
    "field with metadata": (np.zeros(3, [("a", MARKED)]), "dtype"),
    "field with a title": (np.zeros(3, [(("tile 3", "a"), "f8")]), "dtype"),
    "items with metadata": (np.zeros(3, [("a", MARKED, (2,))]), "dtype"),
    "other number of dimensions": (np.zeros(3).view(Odd), "ndim"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_an_array_says_beyond_its_type_counts_in_full(what: str) -> None:
    argument, name = ODD[what]
    view = ConfigView(CONFIG, (argument,))
    assert view.args is not None
    getattr(view.args[0], name)
    assert view.reasons_to_keep_private == (f"the compilation read {name} of argument 0",)


@pytest.mark.parametrize(("argument", "name"), [(np.zeros(3), "size"), (np.zeros(3), "__array__")])
def test_more_of_an_array_that_is_read_fits_no_later_launch_and_is_not_stored(argument: object, name: str) -> None:
    view = ConfigView(CONFIG, (argument,))
    assert view.args is not None
    getattr(view.args[0], name)
    assert view.reasons_to_keep_private == (f"the compilation read {name} of argument 0",)
    assert not view.footprint.matches(CONFIG, (argument,))


def test_a_compile_ahead_of_a_launch_that_asks_for_arguments_is_not_an_answer_for_a_launch() -> None:
    view = ConfigView(CONFIG)
    assert view.args is None
    assert not view.footprint.matches(CONFIG, (1,))
    assert view.footprint.matches(CONFIG)


def test_a_view_is_visible_in_its_own_thread_and_only_inside_the_block() -> None:
    view, seen = ConfigView(CONFIG), []
    with visible(view):
        assert launchconfig.current_launch_config() is view
        other = threading.Thread(target=lambda: seen.append(launchconfig.current_launch_config()))
        other.start()
        other.join()
    assert seen == [None]
    assert launchconfig.current_launch_config() is None
    with pytest.raises(RuntimeError, match="No launch config set for this thread"):
        launchconfig.ensure_current_launch_config()


def test_nested_compiles_see_their_own_view_and_restore_the_outer_one() -> None:
    outer, inner = ConfigView(CONFIG), ConfigView(LaunchConfig.of(1, 1))
    with visible(outer):
        with pytest.raises(ZeroDivisionError), visible(inner):
            assert current_view() is inner
            raise ZeroDivisionError
        assert current_view() is outer


def test_a_compile_without_a_launch_sees_none_and_depends_on_there_being_none() -> None:
    view = ConfigView(None)
    with visible(view):
        assert launchconfig.current_launch_config() is None
    assert not view.footprint.matches(CONFIG)
    assert view.footprint.matches(None)
