"""`gridjit report`: a page that says what a cache or a run holds and spent, whatever its names are; and its summary."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.store import EntryInfo
from gridjit.commands import main
from gridjit.commands.inventory import CODE, ListedEntry
from gridjit.commands.markup import element, escaped, raw
from gridjit.commands.reports import events
from gridjit.commands.reports.events import read_events
from gridjit.commands.reports.facts import Form, Report, SeenFact, SeenShape, SeenUse, Slice, splits
from gridjit.commands.reports.occupancy import occupancy, own_occupancy
from gridjit.commands.reports.page import page
from gridjit.commands.reports.style import SCRIPT
from gridjit.commands.svg import Part, bar, whole_file

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
HOSTILE = "<script>alert('hit')</script><img src=x onerror=\"alert(1)\">&amp;\x1b[2J\u202e"

Run = Callable[..., tuple[int, str, str]]


class Page(HTMLParser):
    """What a browser finds in a page: elements, attributes, texts, and whether all that is opened is closed."""

    VOID = ("meta", "br", "col", "link", "img", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.cells: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.cells[-1][-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a tag."""
        return [attributes for name, attributes in self.tags if name == tag]


def form(kernel: str = "stats.scale", block: int = 64, **changes: Any) -> Form:
    given: dict[str, Any] = {
        "signature": "(float32[1d C])",
        "target": "sm_90",
        "facts": (SeenFact(field="blockdim.x", value=str(block), where="stats.py:18"),),
        "bytes": 4096,
        "compile_ms": 120.0,
        "phases": {"type inference": 20.0, "lowering": 30.0, "PTX": 40.0, "link": 25.0, "key": 5.0},
        "resources": {"registers": 32, "shared_bytes": 512, "local_bytes": 0},
        "why": "first use",
        "hits": 3,
        "compiles": 1,
        "last": 1_700_000_000.0,
    }
    return Form(kernel=kernel, **(given | changes))


def report(*forms: Form, **changes: Any) -> Report:
    uses = (SeenUse(time=1_700_000_000.0, hit=False), SeenUse(time=1_700_000_100.0, hit=True))
    given: dict[str, Any] = {"source": "/var/cache", "is_trace": False, "uses": uses, "forms": forms or (form(),)}
    return Report(**(given | changes))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs `gridjit report ...` and gives its status, output and errors."""

    def run_report(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["report", *words])
        done = capsys.readouterr()
        return status, done.out, done.err

    return run_report


def traced(folder: Path, *slices: dict[str, Any], end: str = "]") -> Path:
    """Return a trace of slices; those that say no more are slices of one thread."""
    rows = [{"ph": "X", "pid": 1, "tid": 1, "args": {}} | one for one in slices]
    path = folder / "trace.json"
    path.write_text("[" + ",\n".join(map(json.dumps, rows)) + end)
    return path


def compile_of(kernel: str, begins: float = 0.0, **known: Any) -> list[dict[str, Any]]:
    args = {"kernel": kernel, "signature": "(int64)", "target": "host", "facts": {}, "why": "first use", "bytes": 10}
    return [
        {"name": f"compile {kernel}", "cat": "compile", "ts": begins, "dur": 100_000, "args": args | known},
        {"name": "type inference", "cat": "types", "ts": begins + 10, "dur": 40_000},
        {"name": "lowering", "cat": "lowering", "ts": begins + 40_010, "dur": 50_000},
    ]


@pytest.mark.usefixtures("filled")
def test_the_page_of_a_cache_tells_its_kernels_and_the_facts_that_split_them(run: Run, tmp_path: Path) -> None:
    assert run("--html", "report.html") == (0, "wrote report.html\n", "")
    found = Page((tmp_path / "report.html").read_text())
    rows = {row[0]: row for row in found.cells if len(row) == 7}
    assert rows["opstats.sized"][1] == "2" and rows["opstats.scale"][1] == "1"
    assert any(text.startswith("blockdim.x, read at opstats.py:") for text in found.texts)
    chips = [text for text in found.texts if text in ("32", "64")]
    assert chips == ["32", "64"]
    assert {"Where compile time went", "Hits and misses over time", "What splits kernels"} <= set(found.texts)


@pytest.mark.usefixtures("filled")
def test_the_page_goes_to_standard_output_where_its_file_is_a_dash(run: Run) -> None:
    status, out, err = run("--html", "-")
    assert (status, err, Path("-").exists()) == (0, "", False)
    assert "opstats.scale" in Page(out).texts


@pytest.mark.usefixtures("filled")
def test_without_html_the_same_is_said_in_the_terminal(run: Run) -> None:
    status, out, _ = run()
    assert status == 0
    assert "3 kernels, 4 specializations" in out
    assert re.search(r"opstats\.sized is split by blockdim\.x, read at opstats\.py:\d+: 32, 64", out)
    assert re.search(r"lowering +\d", out)


@pytest.mark.usefixtures("filled")
def test_a_report_as_json_gives_scripts_values(run: Run) -> None:
    known = json.loads(run("--json", "--kernel", "sized")[1])
    (forms,) = known["kernels"].values()
    assert [one["facts"][0]["value"] for one in forms] == ["32", "64"]
    assert (known["kind"], known["compiles"]) == ("cache", 2)
    assert all(type(one["compile_ms"]) is float and one["phases_ms"] for one in forms)


def test_an_empty_cache_has_a_page_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert run("--dir", str(tmp_path / "none"), "--html", str(tmp_path / "page.html"))[0] == 0
    assert "Nothing is compiled here yet." in Page((tmp_path / "page.html").read_text()).texts


@pytest.mark.parametrize(
    "where", ["kernel", "signature", "target", "why", "field", "value", "where", "source", "resource"]
)
def test_whatever_a_name_holds_it_is_text_in_the_page(where: str) -> None:
    fact = {"field": "blockdim.x", "value": "1", "where": "a.py:1"}
    changes: dict[str, Any] = {}
    if where in fact:
        changes["facts"] = (SeenFact(**(fact | {where: HOSTILE})), SeenFact(field="griddim", value="1"))
    elif where == "resource":
        changes["resources"] = {HOSTILE: 1}
    elif where != "source":
        changes[where] = HOSTILE
    source = {"source": HOSTILE} if where == "source" else {}
    text = page(report(form(**changes), form(block=32), **source))
    found = Page(text)
    assert [attributes for tag, attributes in found.tags if tag in ("img", "iframe", "object", "link", "a")] == []
    assert len(found.of("script")) == 1 and SCRIPT in text
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert "\x1b" not in text and "\u202e" not in text
    if where not in ("resource", "where"):
        assert any("<script>alert('hit')</script>" in said for said in found.texts)


def test_a_traces_names_are_text_too(run: Run, tmp_path: Path) -> None:
    thread = {"ph": "M", "name": "thread_name", "args": {"name": HOSTILE}}
    launch = {"name": "launch", "cat": "launch", "ts": 1, "dur": 5, "args": {"kernel": HOSTILE, "why": HOSTILE}}
    path = traced(tmp_path, thread, launch, *compile_of(HOSTILE, facts={HOSTILE: HOSTILE}, why=HOSTILE))
    assert run(str(path), "--html", str(tmp_path / "page.html"))[0] == 0
    found = Page((tmp_path / "page.html").read_text())
    assert len(found.of("script")) == 1 and found.of("img") == []
    status, out, _ = run(str(path))
    assert status == 0 and "\x1b" not in out


def test_the_page_asks_the_network_for_nothing() -> None:
    text = page(report(form(), form(block=32), slices=(Slice(name="a", group="launch", thread="t", begins=0, ends=1),)))
    found = Page(text)
    assert not {name for _, attributes in found.tags for name in attributes} & {"src", "href", "xlink:href", "action"}
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text) == []
    (policy,) = [one["content"] or "" for one in found.of("meta") if one.get("http-equiv")]
    assert policy.startswith("default-src 'none'")


def test_the_page_shows_all_without_its_script() -> None:
    text = page(report(form(), form(block=32)))
    still = Page(re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    assert {"stats.scale", "blockdim.x = 64", "32"} <= set(still.texts)
    assert "button" not in {tag for tag, _ in still.tags}
    assert "hidden" not in {name for _, attributes in still.tags for name in attributes}


def test_the_page_follows_the_readers_light_or_dark_and_fits_a_phone() -> None:
    text = page(report())
    assert "@media (prefers-color-scheme:dark)" in text
    assert "width=device-width" in text
    assert all((one["width"] or "").endswith("%") for one in Page(text).of("svg"))


def test_pictures_are_drawn_to_scale_and_say_what_they_show() -> None:
    drawn = Page(bar([Part(value=30, color="c0", title="a"), Part(value=10, color="c1", title="b")], 80, says="both"))
    assert [(one["x"], one["width"]) for one in drawn.of("rect")] == [("0%", "37.5%"), ("37.5%", "12.5%")]
    (picture,) = drawn.of("svg")
    assert (picture["role"], picture["aria-label"]) == ("img", "both")
    assert drawn.texts == ["a", "b"]


def test_a_picture_of_its_own_is_a_whole_svg_file() -> None:
    import xml.etree.ElementTree as ElementTree

    root = ElementTree.fromstring(whole_file([bar([Part(value=1, color="c0", title="<&>")], 1)], 100, 50, 'a "title"'))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.attrib["aria-label"] == 'a "title"'


def test_only_markup_is_markup() -> None:
    assert element("p", "<b>", raw("<i></i>"), title='"') == '<p title="&quot;">&lt;b&gt;<i></i></p>'
    assert escaped(escaped("<")) == "&lt;"


def test_what_splits_a_kernel_is_what_differs() -> None:
    other = form(block=128, facts=(SeenFact(field="sharedmem", value="0"),))
    assert splits([form(block=64), form(block=128)]) == {"blockdim.x, read at stats.py:18": ("64", "128")}
    assert splits([form(block=64)]) == {}
    assert splits([form(block=64), other]) == {
        "blockdim.x, read at stats.py:18": ("64", "not read"),
        "sharedmem": ("not read", "0"),
    }


@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "expected"),
    [
        ("sm_90", 32, 0, 256, 1.0),
        ("sm_90", 64, 0, 256, 0.5),
        ("sm_90", 255, 0, 256, 0.125),
        ("sm_90", 32, 0, 32, 0.5),  # 32 blocks of a warp at most
        ("sm_90", 32, 100 << 10, 256, 0.25),  # two blocks of 101 KiB fit into 228
        ("sm_75", 32, 0, 1024, 1.0),
        ("sm_90a", 32, 0, 1024, 1.0),
        ("sm_90", 255, 0, 1024, 0.0),  # such a block cannot be launched
        ("host", 32, 0, 256, None),
        ("sm_90", 0, 0, 256, None),
        ("sm_9999", 32, 0, 256, None),
    ],
)
def test_occupancy_is_what_cudas_guide_says(
    target: str, registers: int, shared: int, threads: int, expected: float | None
) -> None:
    found = occupancy(target, {"registers": registers, "shared_bytes": shared}, threads)
    assert (None if found is None else found.share) == expected


@pytest.mark.parametrize(
    ("resources", "threads", "sharedmem", "expected"),
    [
        ({"registers": 32}, 256, 0, ()),
        ({"registers": 168}, 128, 0, ("registers",)),
        ({"registers": 32, "shared_bytes": 60 << 10}, 256, 0, ("shared memory",)),
        ({"registers": 32}, 256, 100 << 10, ("shared memory",)),
        ({"registers": 16}, 32, 0, ("blocks",)),
        ({"registers": 16}, 768, 0, ("threads",)),
        ({"registers": 64}, 256, 56 << 10, ("registers", "shared memory")),
    ],
)
def test_occupancy_names_the_resource_that_limits_it(
    resources: dict[str, int], threads: int, sharedmem: int, expected: tuple[str, ...]
) -> None:
    found = occupancy("sm_90", resources, threads, sharedmem)
    assert found is not None and found.limits == expected


def test_occupancy_is_of_a_specializations_launches_and_of_no_block_where_none_is_known() -> None:
    many, few = SeenShape(blocks=9, threads=32, count=5), SeenShape(blocks=9, threads=256, count=1)
    own = own_occupancy(form(shapes=(many, few)))
    assert own is not None and own.share == 0.5
    assert own_occupancy(form()) is None
    assert "any block" in Page(page(report(form()))).texts


def test_the_report_of_a_run_adds_up_its_phases_and_launches(run: Run, tmp_path: Path) -> None:
    launches = [
        {"name": "launch k", "cat": "launch", "ts": 200_000 + n, "dur": 1000, "args": {"kernel": "k", "why": "hooks"}}
        for n in range(3)
    ]
    path = traced(tmp_path, *compile_of("k"), *launches)
    known = json.loads(run(str(path), "--json")[1])
    assert known["groups_ms"] == {"types": 40.0, "lowering": 50.0, "other": 10.0}
    status, _, errors = run(str(path), "--kernel", "c")
    assert (status, errors) == (1, f"gridjit: {path} holds no entry of c; leave --kernel out to see all\n")
    assert known["kernels"]["k"][0]["phases_ms"] == {"type inference": 40.0, "lowering": 50.0, "other": 10.0}
    assert known["launches_from_python"] == [{"kernel": "k", "why": "hooks", "count": 3, "seconds": 0.003}]
    assert "hooks" in run(str(path))[1]


def test_a_long_trace_is_read_in_parts_that_are_told_and_has_the_same_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = [{"name": "launch k", "cat": "launch", "ts": n, "dur": 1, "args": {"kernel": "k"}} for n in range(40)]
    path = traced(tmp_path, *compile_of("k", 100_000), *launches)
    whole = read_events(path)
    monkeypatch.setattr(events, "_PART_BYTES", 500)
    told: list[str] = []
    assert [(one.name, one.begins, one.place) for one in read_events(path, told.append)] == [
        (one.name, one.begins, one.place) for one in whole
    ]
    assert len(whole) > 40
    assert 3 < len(told) <= events.parts_of(path)
    assert set(told) == {path.name}


def test_a_kernel_of_a_run_can_be_chosen(run: Run, tmp_path: Path) -> None:
    path = traced(tmp_path, *compile_of("a"), *compile_of("b", 200_000))
    known = json.loads(run(str(path), "--json", "--kernel", "b")[1])
    assert list(known["kernels"]) == ["b"]
    assert known["groups_ms"] == {"types": 40.0, "lowering": 50.0, "other": 10.0}


@pytest.mark.parametrize("end", ["", ",", "]\n", ",\n", ',\n{"ph": "X", "na'])
def test_a_trace_whose_end_is_missing_is_read(run: Run, tmp_path: Path, end: str) -> None:
    path = traced(tmp_path, *compile_of("k"), end=end)
    assert json.loads(run(str(path), "--json")[1])["compiles"] == 1


@pytest.mark.parametrize(
    "text",
    ["", "notes", "{}", "7", '{"traceEvents": 3}', "[" * 100_000, '[{"ph": "X", "ts": NaN', b"\xff\xfe\0"],
)
def test_what_is_not_a_trace_is_an_error_in_one_line(run: Run, tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "it.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, out, err = run(str(path))
    assert (status, out) == (1, "")
    assert err == f"gridjit: {path} is not a trace: give a file that GRIDJIT_TRACE=FILE wrote\n"


def test_events_that_make_no_sense_are_left_out(run: Run, tmp_path: Path) -> None:
    odd: list[Any] = [
        7, None, "x", {"ph": "X"}, {"ph": "X", "ts": "1", "dur": 1}, {"ph": "X", "ts": -1, "dur": 1},
        {"ph": "X", "ts": 1, "dur": True}, {"ph": "M"}, {"ph": "X", "ts": 1, "dur": 2, "cat": 3, "name": [], "args": 4},
        {"ph": "X", "ts": 1, "dur": 2, "cat": "compile", "args": {"facts": 3, "resources": [], "bytes": "x"}},
        {"ph": "X", "ts": 1, "dur": 1e999, "cat": "launch"},
        {"ph": "X", "ts": 1e308, "dur": 1e308, "cat": "compile", "args": {"kernel": "k"}},
    ]  # fmt: skip
    path = tmp_path / "odd.json"
    path.write_text(json.dumps([*odd, *({"ph": "X", "pid": 1, "tid": 1} | one for one in compile_of("k"))]))
    assert run(str(path), "--html", str(tmp_path / "page.html"))[0] == 0
    Page((tmp_path / "page.html").read_text())
    assert "k" in json.loads(run(str(path), "--json")[1])["kernels"]


def test_the_bar_of_a_kernel_holds_all_its_phases_also_where_look_ups_are_not_part_of_its_compile() -> None:
    longest, other = form("long", compile_ms=100.0, phases={"look-up": 60.0, "lowering": 100.0}), form("short")
    bars = page(report(longest, other)).split('<svg class="bar"')[1:]
    assert len(bars) == 3
    for bar_text in bars:
        assert sum(map(float, re.findall(r'<rect[^>]*width="([0-9.]+)%"', bar_text.split("</svg>")[0]))) < 100.1
    assert "long: 160 ms" in bars[1]


def test_a_damaged_record_of_phases_is_not_a_reason_to_fail() -> None:
    from types import SimpleNamespace

    from gridjit.cache.folder import folder_at
    from gridjit.commands.reports.cached import report_of
    from gridjit.compiler.values.artifact import Artifact
    from gridjit.compiler.values.footprint import Effects, Footprint
    from gridjit.compiler.values.target import Target

    artifact = Artifact(
        target=Target(kind="host", arch="x"), image=b"", suffix=".o", entry="e", kernel="k", signature="()",
        parameters="@", resources={}, exceptions={}, footprint=Footprint(facts=()), effects=Effects(),
        metadata={"phases": {"lowering": "long", "link": -1, "key": 2}, "compile_ms": "x"},
    )  # fmt: skip
    info = EntryInfo(key="0" * 32, suffix=".o", size=7, stored=0.0)
    store: Any = SimpleNamespace(uses=list, folder="/x", place=folder_at("/x"))
    found = report_of(store, [ListedEntry(info=info, kind=CODE, kernel="k", content=artifact)])
    assert found.groups == {"cache": 2.0}
    Page(page(found))


def test_a_page_that_cannot_be_written_is_an_error_in_one_line(run: Run, tmp_path: Path) -> None:
    path = traced(tmp_path, *compile_of("k"))
    status, _, err = run(str(path), "--html", str(tmp_path / "no" / "page.html"))
    assert (status, err) == (
        1,
        f"gridjit: --html {tmp_path}/no/page.html cannot be written: No such file or directory\n",
    )


def test_a_trace_and_a_folder_are_wrong_usage(run: Run) -> None:
    assert run("trace.json", "--dir", "folder")[0] == 2


def in_browser(file: Path, *options: str) -> str:
    """Return the page as a browser has it in the end."""
    assert BROWSER is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={file.parent}/profile"]
    command = [BROWSER, *flags, "--virtual-time-budget=2000", *options, "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


_PROBE = """<script>
document.title = [document.documentElement.scrollWidth > innerWidth, window.hit === 1].join();
const th = document.querySelectorAll("table.sorted th")[%d];
th.querySelector("button").click();
document.title += "," + th.getAttribute("aria-sort") + "," + [...th.closest("table").tBodies[0].rows]
  .map((row) => row.cells[0].textContent).join(" ");
</script></body>"""


@pytest.mark.some(1)
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize(("width", "column"), [(390, 0), (1280, 0), (1280, 2)])
def test_a_browser_shows_the_page_runs_no_name_and_sorts_its_tables(tmp_path: Path, width: int, column: int) -> None:
    hostile = "<script>window.hit=1</script><img src=x onerror='window.hit=1'>"
    forms = (form("a", bytes=10), form("b", bytes=30), form("c", bytes=20, why=hostile, signature=hostile * 3))
    # The probe is a script of another page's: this one's policy would not let it run.
    text = re.sub(r'<meta http-equiv="[^>]*>', "", page(report(*forms))).replace("</body>", _PROBE % column)
    (tmp_path / "page.html").write_text(text)
    found = in_browser(tmp_path / "page.html", f"--window-size={width},900")
    title = re.search(r"<title>(.*?)</title>", found)
    assert title is not None
    assert title[1] == "false,false," + {0: "ascending,a b c", 2: "descending,b c a"}[column]


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_a_browser_runs_the_pages_own_script_and_no_other(tmp_path: Path) -> None:
    text = page(report(form(), form(block=32))).replace("</body>", "<script>document.title='ran'</script></body>")
    (tmp_path / "page.html").write_text(text)
    found = in_browser(tmp_path / "page.html")
    assert "<button>" in found
    assert "<title>ran</title>" not in found
