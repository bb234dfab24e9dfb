"""tables: a page's lists - the facts that split kernels into specializations, the kernels, and every specialization."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from gridjit.commands.markup import Markup, element, joined
from gridjit.commands.printing import count, milliseconds, share_text, size_text
from gridjit.commands.reports.advice import advice
from gridjit.commands.reports.facts import Form, Report, splits
from gridjit.commands.reports.occupancy import curve, own_occupancy
from gridjit.commands.reports.sections import table
from gridjit.commands.svg import Part, columns

_MOST_VALUES, _MOST_FORMS = 24, 2000


def remedies(report: Report) -> Markup | None:
    """Return the section with the remedies that the data calls for."""
    if not (found := advice(report)):
        return None
    told = [
        element(
            "div",
            element("h3", element("span", one.kernel, class_="code"), f" - {one.about}"),
            element("p", one.text),
            element("p", "See ", element("code", one.page), class_="soft small"),
            class_="split",
        )
        for one in found
    ]
    return element("section", element("h2", "What would make it faster"), *told)


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
    shown.sort(key=_order)
    columns = [column for column in _COLUMNS if column[1] is None or any(map(column[1], shown))]
    left_out = len(report.forms) - len(shown)
    more = [element("p", f"{left_out} that compiled faster are left out.", class_="soft small")] * bool(left_out)
    notes = []
    if any(map(curve, shown)):
        said = "Occupancy: the share of a multiprocessor's threads that run at once, in blocks of 32 to 1024 (columns)"
        notes.append(f"{said} and of its own launch (number).")
    if report.launches:
        notes.append("Launches: those from Python. A launch: on the host, the median in one grid and block.")
    rows = table(
        [("kernel and types", ""), ("depends on, and compiled because", ""), *((name, "n") for name, _, _ in columns)],
        (element("tr", *_who_and_why(form), *(cell(form) for _, _, cell in columns)) for form in shown),
    )
    said_before = [element("p", note, class_="soft small") for note in notes]
    return element("section", element("h2", "Specializations"), *said_before, rows, *more)


def _order(form: Form) -> tuple[object, ...]:
    """Return the sort key of a form: numbers among facts from the smallest."""
    facts = [(fact.field, len(fact.value), fact.value) for fact in form.facts]
    return form.kernel, form.signature, form.target, facts


def _who_and_why(form: Form) -> tuple[Markup, Markup]:
    facts = [_fact(f"{fact.field} = {fact.value}", fact.where) for fact in form.facts]
    return (
        element(
            "td",
            element("b", form.kernel),
            element("span", f"{form.signature} for ", class_="soft"),
            element("span", form.target),
            class_="code",
        ),
        element(
            "td",
            *(facts or [element("span", "nothing of the launch", class_="soft small")]),
            element("div", form.why, class_="small"),
            class_="why",
        ),
    )


def _fact(said: str, where: str) -> Markup:
    return element("span", said, class_="chip code", title=f"read at {where}" if where else None)


def _resource(form: Form, name: str) -> Markup:
    found = form.resources.get(name)
    text = "-" if found is None else size_text(found) if name.endswith("_bytes") else str(found)
    return _number(found or 0, text)


def _occupancy(form: Form) -> Markup:
    """Return the cell with a column for each number of threads in a block; "-" for a form that is not a GPU's."""
    shares = curve(form)
    if not shares:
        return _number(0, "-")
    own, shape = own_occupancy(form), form.shape
    parts = [[Part(value=v, color="accent", title=f"{n} threads: {share_text(v)}")] for n, v in shares.items()]
    said = "any block" if own is None else share_text(own.share)
    limits = f"limited by {' and '.join(own.limits)}" if own and own.limits else None
    at = "" if own is None or shape is None else f"of {shape.threads}"
    return element(
        "td",
        joined(element("span", said, title=limits), " ", element("span", at, class_="soft small")),
        columns(parts, height=22, says=f"occupancy {said}"),
        class_="n",
        data_value=0 if own is None else own.share,
    )


def _launch(form: Form) -> Markup:
    """Return the cell with the time of a specialization's most frequent launch, with its blocks and threads."""
    if form.launch_ms is None:
        return _number(0, "-")
    shape = element("span", f"of {form.shape}", class_="soft small")
    return element("td", milliseconds(form.launch_ms), " ", shape, class_="n", data_value=form.launch_ms)


def _milliseconds(value: float | None) -> Markup:
    return _number(value or 0, "-" if value is None else milliseconds(value))


def _number(value: float, said: str | None = None) -> Markup:
    return element("td", str(value) if said is None else said, class_="n", data_value=value)


def _size(forms: Iterable[Form]) -> Markup:
    size = sum(form.bytes for form in forms)
    return _number(size, size_text(size))


def _last(last: float | None, is_trace: bool) -> str:
    if last is None:
        return "-"
    return f"{last:.2f} s" if is_trace else time.strftime("%Y-%m-%d %H:%M", time.localtime(last))


# The heading of a column of numbers, whether a form has something to show there (None: every form has), and its cell.
_COLUMNS: tuple[tuple[str, Callable[[Form], object] | None, Callable[[Form], Markup]], ...] = (
    ("registers", curve, lambda form: _resource(form, "registers")),
    ("shared", None, lambda form: _resource(form, "shared_bytes")),
    ("local", curve, lambda form: _resource(form, "local_bytes")),
    ("occupancy", curve, _occupancy),
    ("launches", lambda form: form.launches, lambda form: _number(form.launches, str(form.launches or "-"))),
    ("a launch", lambda form: form.launch_ms, lambda form: _launch(form)),
    ("size", None, lambda form: _size([form])),
    ("compile", None, lambda form: _milliseconds(form.compile_ms)),
    ("found", None, lambda form: _number(form.hits)),
)
