"""What people see of kernels in a terminal and in a notebook: short, in tables, and never more than text."""

from __future__ import annotations

import copy
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.signature import ForeignType, Signature
from gridjit.runtime.specializations.display import SpecializationList, Story, Table
from tests.programs import run_new_python, run_python
from tests.runtime.making import make_specialization

HOSTILE = "<script>alert('x')</script>&\x1b[2J\u202e\udce9\"<b>"
ALLOWED = {"div", "b", "br", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td"}


class Tags(HTMLParser):
    """The tags and attributes that a page has, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def only_text(page: str) -> str:
    """Return the text of a page that has no tags but the project's own, and no attributes but alignment."""
    found = Tags(page)
    assert found.tags <= ALLOWED and not found.open
    assert {name for name, _ in found.attributes} <= {"style"}
    assert page.encode().decode().replace("\n", "").isprintable()
    return found.text


@gridjit.jit(target="host", cache=False)
def fill(x, value):
    x[cuda.grid(1)] = value * gridjit.static.blockDim.x


@pytest.fixture(scope="module")
def kernel() -> Any:
    """A kernel with two specializations, which the tests only look at."""
    for block in (32, 64):
        fill[1, block](np.zeros(64), 2.0)
    return fill


def test_the_repr_of_specializations_counts_them_by_target() -> None:
    found = [make_specialization(arch=arch) for arch in ("sm_80", "sm_90", "sm_90")]
    assert repr(SpecializationList(found, of="saxpy")) == "<3 specializations of saxpy: 1 for sm_80, 2 for sm_90>"
    assert repr(found[0]) == "<specialization (int64) for sm_80, depends on nothing>"


def test_specializations_print_as_a_table() -> None:
    found = (
        make_specialization(registers=9, shared_bytes=512, local_bytes=0, constant_bytes=0),
        make_specialization(Fact(field="blockdim.x", value=128), registers=110),
    )
    assert str(SpecializationList(found, of="saxpy")).splitlines() == [
        "2 specializations of saxpy",
        "signature  target  depends on        from       ms  registers  shared  local  constant",
        "(int64)    sm_90   nothing           compiled  1.5          9     512      0         0",
        "(int64)    sm_90   blockdim.x = 128  compiled  1.5        110       -      -         -",
    ]


def test_a_kernel_that_was_never_launched_says_so_in_every_form() -> None:
    made = gridjit.jit(fill.py_func, target="host")
    assert (repr(made.specializations), str(made.specializations)) == (
        "<no specializations of fill>",
        "no specializations of fill",
    )
    assert only_text(made.specializations._repr_html_()) == "no specializations of fill"


def test_specializations_are_a_tuple_and_copy_as_one(kernel: Any) -> None:
    found = kernel.specializations
    again = copy.copy(found)
    assert isinstance(found, tuple) and found == tuple(found) == again
    assert repr(again) == repr(found) == "<2 specializations of fill: 2 for host>"


def test_a_notebook_shows_a_kernel_with_its_parameters_counts_and_specializations(kernel: Any) -> None:
    text = only_text(kernel._repr_html_())
    for part in ("fill", "(x, value)", "2 compiled, 0 from the cache", "blockdim.x = 32", "blockdim.x 32 -> 64"):
        assert part in text


def test_a_notebook_shows_a_configured_kernel_with_the_code_that_serves_it(kernel: Any) -> None:
    text = only_text(kernel[4, 64]._repr_html_())
    assert "configured for grid 4, block 64" in text
    assert "blockdim.x = 64" in text and "blockdim.x = 32" not in text
    assert "no specializations" in only_text(kernel[4, 96]._repr_html_())
    assert "stream" in only_text(kernel[4, 64, gridjit.create_stream()]._repr_html_())


def test_a_notebook_shows_statistics_by_signature(kernel: Any) -> None:
    text = only_text(kernel.stats._repr_html_())
    assert "compiles2" in text and "(float64[1d C], float64)02" in text


def test_a_notebook_shows_an_explanation_line_by_line(kernel: Any) -> None:
    told = kernel.explain()
    assert isinstance(told, Story)
    assert only_text(told._repr_html_()) == told
    assert repr(told) == str(told)  # as an interactive shell shows it


def test_a_notebook_shows_one_specialization(kernel: Any) -> None:
    assert "blockdim.x = 64" in only_text(kernel.specializations[1]._repr_html_())


def test_looking_at_a_kernel_compiles_nothing() -> None:
    made = gridjit.jit("void(float64[::1], float64)", target="host", cache=False)(fill.py_func)
    before = made.stats.compiles
    only_text(made._repr_html_() + made[1, 32]._repr_html_() + made.stats._repr_html_())
    assert made.stats.compiles == before


def shown_of(name: str) -> list[str]:
    """Return all that notebooks are shown of a kernel that has a name everywhere."""
    found = SpecializationList((make_specialization(Fact(field="blockdim", value=name), reason=name),), of=name)
    stats = gridjit.jit(fill.py_func, target="host").stats
    stats.cache_hits[Signature(arguments=(ForeignType(name=name, numba=None),))] = 1
    return [
        found._repr_html_(),
        Story(f"{name}\n{name}")._repr_html_(),
        stats._repr_html_(),
        Table(title=name, columns=(name,), rows=((name,),)).html(),
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_hostile_name_is_only_text_in_a_notebook(number: int) -> None:
    assert "<script>alert('x')</script>&\\x1b[2J\\u202e\\udce9\"<b>" in only_text(shown_of(HOSTILE)[number])


def test_a_kernel_of_a_hostile_name_is_only_text() -> None:
    def odd(x):
        x[0] = 1

    odd.__qualname__ = odd.__module__ = HOSTILE
    made = gridjit.jit(odd, target="host", cache=False)
    for page in (made._repr_html_(), made[1, 1]._repr_html_(), made.specializations._repr_html_()):
        assert "<script>" in only_text(page)
    for text in (str(made.specializations), repr(made.specializations)):
        assert text.isprintable()


def test_a_table_in_a_terminal_cannot_control_it() -> None:
    table = Table(title=HOSTILE, columns=("name",), rows=((HOSTILE,),))
    assert all(line.isprintable() for line in table.text().splitlines())
    assert len(table.text().splitlines()) == 3


def test_a_program_that_launches_imports_nothing_of_how_it_is_shown(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, numpy as np, gridjit\n"
        "@gridjit.jit(target='host')\ndef one(x):\n    x[0] = 1\n"
        "one[1, 1](np.zeros(1))\n"
        "print([name for name in sys.modules if name == 'html' or name.endswith('.specializations.display')])\n"
    )
    compiled, found = run_python(program), run_new_python(program)
    assert compiled.returncode == 0 and "display" not in compiled.stdout, compiled.stderr
    assert (found.returncode, found.stdout.strip()) == (0, "[]"), found.stderr


def test_no_object_that_users_hold_is_shown_by_its_address(kernel: Any) -> None:
    shown = [kernel.forall(100), kernel.forall(100, 32), cuda.reduce(added)]
    assert [repr(one).partition("test_")[0] for one in shown] == [
        "<<gridjit kernel tests.runtime.",
        "<<gridjit kernel tests.runtime.",
        "<gridjit reduction by added>",
    ]
    assert [repr(one).rpartition(" for ")[2] for one in shown[:2]] == ["100 tasks>", "100 tasks, blocks of 32>"]
    assert repr(cuda.gpus) == f"[{cuda.gpus}]"


def added(a: Any, b: Any) -> Any:
    return a + b


def test_what_compile_returns_is_shown_in_a_line() -> None:
    def fill(x: Any) -> None:
        x[0] = 1

    shown = repr(gridjit.jit(fill).compile("void(float32[::1])", target="host"))
    assert shown.startswith("<artifact tests.runtime.test_display.")
    assert "fill(float32[1d C]) for host, " in shown
    assert shown.endswith(" bytes, depends on nothing>")
