"""tables: a page's lists - the facts that split kernels into specializations, the kernels, and every specialization."""

from __future__ import annotations

import time
from collections.abc import Iterable

from gridjit.commands.markup import Markup, element, joined
from gridjit.commands.printing import count, milliseconds, share_text, size_text
from gridjit.commands.reports.facts import Form, Report, splits
from gridjit.commands.reports.occupancy import BLOCKS, block_of, occupancy
from gridjit.commands.reports.sections import table
from gridjit.commands.svg import Part, columns

_MOST_VALUES, _MOST_FORMS = 24, 2000


def splitting(report: Report) -> Markup | None:
    """Return the section with the differences between the specializations of each kernel with several."""
    several = {name: forms for name, forms in report.kernels.items() if len(forms) > 1}
    if not several:
        return None
    return element(
        "section",
        element("h2", "What splits kernels"),
        element(
            "p", "What their compiles read, where it differs: each value has code of its own.", class_="soft small"
        ),
        *(_split(name, forms) for name, forms in sorted(several.items(), key=lambda one: -len(one[1]))),
    )


def _split(name: str, forms: list[Form]) -> Markup:
    title = element("h3", element("span", name, class_="code"), f" - {count('specialization', len(forms))}")
    told = [_values(what, values) for what, values in splits(forms).items()]
    same = [
        element(
            "p", "Source, options, globals or the toolchain: see why each was compiled, below.", class_="soft small"
        )
    ]
    return element("div", title, *(told or same), class_="split")


def _values(what: str, values: tuple[str, ...]) -> Markup:
    chips = [element("span", value, class_="chip code") for value in values[:_MOST_VALUES]]
    more = [element("span", f"and {len(values) - _MOST_VALUES} more", class_="soft small")] * (
        len(values) > _MOST_VALUES
    )
    return element("p", element("span", f"{what} ", class_="soft"), *chips, *more)


def kernels(report: Report) -> Markup | None:
    """Return the table of kernels."""
    if not report.forms:
        return None
    headings = [("kernel", ""), ("specializations", "n"), ("size", "n"), ("compile time", "n")]
    uses = [("found", "n"), ("compiled", "n"), ("last use", "n")]
    rows = [_kernel(name, forms, report.is_trace) for name, forms in report.kernels.items()]
    return element("section", element("h2", "Kernels"), table([*headings, *uses], rows))


def _kernel(name: str, forms: list[Form], is_trace: bool) -> Markup:
    spent = sum(form.compile_ms or 0.0 for form in forms)
    last = max((form.last for form in forms if form.last is not None), default=None)
    return element(
        "tr",
        element("td", name, class_="code"),
        _number(len(forms)),
        _size(forms),
        _number(spent, milliseconds(spent)),
        _number(sum(form.hits for form in forms)),
        _number(sum(form.compiles for form in forms)),
        _number(last or 0, _last(last, is_trace)),
    )


def specializations(report: Report) -> Markup | None:
    """Return the table of all specializations, the longest compiles first where there are too many."""
    if not report.forms:
        return None
    shown = sorted(report.forms, key=lambda form: -(form.compile_ms or 0.0))[:_MOST_FORMS]
    shown.sort(key=lambda form: (form.kernel, form.signature, form.target))
    first = [("kernel", ""), ("types", ""), ("target", ""), ("depends on", "")]
    numbers = [("registers", "n"), ("shared", "n"), ("local", "n"), ("occupancy", "n")]
    rest = [("size", "n"), ("compile", "n"), ("found", "n"), ("compiled because", "")]
    left_out = len(report.forms) - len(shown)
    more = [element("p", f"{left_out} that compiled faster are left out.", class_="soft small")] * bool(left_out)
    said = "Occupancy: threads of a multiprocessor in use, in blocks of 32 to 1024 (columns), and in its own (number)."
    note = [element("p", said, class_="soft small")] if any(_curve(form) for form in shown) else []
    rows = table([*first, *numbers, *rest], map(_form, shown))
    return element("section", element("h2", "Specializations"), *note, rows, *more)


def _form(form: Form) -> Markup:
    facts = [_fact(f"{fact.field} = {fact.value}", fact.where) for fact in form.facts]
    return element(
        "tr",
        element("td", form.kernel, class_="code"),
        element("td", form.signature, class_="code"),
        element("td", form.target),
        element("td", *(facts or [element("span", "nothing of the launch", class_="soft small")])),
        _resource(form, "registers"),
        _resource(form, "shared_bytes"),
        _resource(form, "local_bytes"),
        _occupancy(form),
        _size([form]),
        _number(form.compile_ms or 0, "-" if form.compile_ms is None else milliseconds(form.compile_ms)),
        _number(form.hits),
        element("td", form.why, class_="why small"),
    )


def _fact(said: str, where: str) -> Markup:
    return element("span", said, class_="chip code", title=f"read at {where}" if where else None)


def _resource(form: Form, name: str) -> Markup:
    found = form.resources.get(name)
    text = "-" if found is None else size_text(found) if name.endswith("_bytes") else str(found)
    return _number(found or 0, text)


def _occupancy(form: Form) -> Markup:
    """Return the cell with a column for each number of threads in a block; "-" for a form that is not a GPU's."""
    curve = _curve(form)
    if not curve:
        return _number(0, "-")
    own = block_of(form.facts) or form.resources.get("max_threads") or 256
    reached = occupancy(form.target, form.resources, own) or 0.0
    parts = [[Part(value=v, color="accent", title=f"{n} threads: {share_text(v)}")] for n, v in curve]
    said = element("span", share_text(reached), title=f"in blocks of {own} threads")
    return element(
        "td",
        joined(said, columns(parts, height=22, says=f"occupancy {share_text(reached)}")),
        class_="n",
        data_value=reached,
    )


def _curve(form: Form) -> list[tuple[int, float]]:
    found = ((block, occupancy(form.target, form.resources, block)) for block in BLOCKS)
    return [(block, value) for block, value in found if value is not None]


def _number(value: float, said: str | None = None) -> Markup:
    return element("td", str(value) if said is None else said, class_="n", data_value=value)


def _size(forms: Iterable[Form]) -> Markup:
    size = sum(form.bytes for form in forms)
    return _number(size, size_text(size))


def _last(last: float | None, is_trace: bool) -> str:
    if last is None:
        return "-"
    return f"{last:.2f} s" if is_trace else time.strftime("%Y-%m-%d %H:%M", time.localtime(last))
