"""The documents' Python examples run, and print what the documents say they print.

The ```python blocks of one document are one program, run on the host target with a cache of its own. An ```output
block behind one is what it prints, "..." standing for anything. A block after `<!-- not run -->` is not run.
"""

from __future__ import annotations

import doctest
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import gridjit
from tests.programs import run_new_python, run_python

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(
    r"(?P<skip><!-- not run -->\n+(?:<!-- file \S+ -->\n)?)?"
    r"^```python\n(?P<code>.*?)^```\n(?:\n*```output\n(?P<output>.*?)^```)?",
    re.M | re.S,
)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
_BETWEEN = "==== next block ===="


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One block of a document: its program, the line it starts at, and what it is said to print (None: not said)."""

    code: str
    line: int
    output: str | None


def examples(text: str) -> list[Example]:
    """Return the blocks of a document that are to be run."""
    return [
        Example(code=found["code"], line=text.count("\n", 0, found.start("code")) + 1, output=found["output"])
        for found in _BLOCK.finditer(text)
        if not found["skip"]
    ]


def program_of(blocks: list[Example]) -> str:
    """Return the blocks as one program whose line numbers are the document's, so that errors name its lines."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.code.splitlines()
        lines.append(f"print({_BETWEEN!r})")  # where the fence was
    return "\n".join(lines) + "\n"


def script_of(document: Path, folder: Path) -> Path:
    """Return a script, in a folder, of all examples of a document."""
    script = folder / f"{document.stem.replace('-', '_').lower()}.py"
    script.write_text(program_of(examples(document.read_text())))
    return script


def run_example(script: Path, new: bool = False) -> str:
    """Return what the program prints on the host target, its cache beside it; warnings are errors.

    new: it is run by an interpreter that is started for it, as a reader runs it.
    """
    environment = os.environ | {"GRIDJIT_TARGET": "host", "GRIDJIT_CACHE_DIR": str(script.parent / "cache")}
    done = (run_new_python if new else run_python)("-W", "error", script, env=environment, cwd=script.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CacheWarning" not in done.stderr
    return done.stdout


DOCUMENTS_WITH_EXAMPLES = [path for path in DOCUMENTS if examples(path.read_text())]


@pytest.mark.parametrize("document", DOCUMENTS_WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_a_document_run_and_print_what_it_says(document: Path, tmp_path: Path) -> None:
    blocks = examples(document.read_text())
    said = run_example(script_of(document, tmp_path), new=document.stem == "README")
    *printed, _ = said.split(_BETWEEN + "\n")
    for block, text in zip(blocks, printed, strict=True):
        if block.output is not None:
            same = doctest.OutputChecker().check_output(block.output, text, doctest.ELLIPSIS)
            assert same, f"{document.name}:{block.line} prints\n{text}"


@pytest.mark.some(3)
@pytest.mark.parametrize("document", DOCUMENTS_WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_a_document_run_with_all_of_it_in_the_cache(document: Path, tmp_path: Path) -> None:
    script = script_of(document, tmp_path)
    stored = []
    for _ in range(2):  # as every reader does sooner or later
        run_example(script)
        # Code that is compiled again is written anew, to a file that takes the first one's place.
        stored.append({file.name: file.stat().st_ino for file in (tmp_path / "cache").glob("??/*.o")})
    assert stored[0] == stored[1]


def headings(document: Path) -> set[str]:
    """Return the places of a document that links lead to, as GitHub and the site name them."""
    text = re.sub(
        r"^```.*?^```", "", (document / "README.md" if document.is_dir() else document).read_text(), flags=re.M | re.S
    )
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_a_documents_links_lead_to_files_and_headings() -> None:
    dead = [
        f"{document.relative_to(ROOT)}: {target}{place}"
        for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
        for target, place in re.findall(r"\]\(([^)#:\s]*)(#[^)]*)?\)", _CODE.sub("", document.read_text()))
        if not (file := document.parent / target if target else document).exists()
        or (place and place[1:] not in headings(file))
    ]
    assert dead == []


def test_each_picture_of_a_document_has_a_text_for_those_who_do_not_see_it() -> None:
    texts = [text for document in DOCUMENTS for text in re.findall(r"!\[(.*?)\]\(", document.read_text())]
    assert len(texts) > 10 and [text for text in texts if len(text) < 10] == []


def test_a_file_that_a_reader_is_to_make_is_named_where_it_is_read() -> None:
    unnamed = [
        f"{document.relative_to(ROOT)}: {name}"
        for document in DOCUMENTS
        for name in re.findall(r"^<!-- file (\S+) -->$", document.read_text(), re.M)
        if f"`{name}`" not in document.read_text()
    ]
    assert unnamed == []


def test_a_links_text_is_words_and_not_the_name_of_a_document() -> None:
    names = {
        f"{document.relative_to(ROOT)}: {text}"
        for document in DOCUMENTS
        for text in re.findall(r"\[([\w./-]+\.md)\]\(", document.read_text())
    }
    assert names == set()


def test_every_file_that_a_document_names_is_there() -> None:
    folders = ("src", "compiler", "runtime", "cache", "tests", "scripts", "examples")
    files = [f"/{file}" for file in (*ROOT.glob("*.*"), *(f for top in folders for f in (ROOT / top).rglob("*.*")))]
    gone = [
        f"{document.relative_to(ROOT)}: {name}"
        for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]
        for name in re.findall(r"`([\w./-]+\.(?:py|cu|toml))`", document.read_text())
        if f"<!-- file {name} -->" not in document.read_text()
        if not any(file.endswith(f"/{name.removeprefix('gridjit/')}") for file in files)
    ]
    assert gone == []


def test_the_figures_of_the_first_pages_stand_in_the_page_of_benchmarks() -> None:
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text()
    rows, others = (
        [line for line in page.read_text().splitlines() if line.startswith("|") and "`make bench" in line]
        for page in (ROOT / "README.md", ROOT / "docs" / "index.md")
    )
    assert rows == others
    for row in rows:
        _, _, ours, theirs, measured, _, _ = row.split("|")
        figures = re.findall(r"\d+\.\d+|\d{2,}", f"{ours}{theirs}") + re.findall(r"\d{4}-\d\d-\d\d", measured)
        assert len(figures) > 1, row
        assert [figure for figure in figures if figure not in benchmarks] == [], row
    first = re.search(
        r"^\| first launch of a cached kernel.*?\| (.*?) \|", (ROOT / "docs/features.md").read_text(), re.M
    )
    assert first and f"| **{first[1]}** |" in rows[1]


def test_every_setting_is_documented() -> None:
    read = set(re.findall(r"GRIDJIT_[A-Z_]+", (ROOT / "runtime" / "environment" / "settings.py").read_text()))
    table = set(re.findall(r"^\| `(GRIDJIT_[A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.M))
    assert read - table == set()


def test_every_public_error_and_warning_is_explained_by_its_name() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    names = {name for name in gridjit.__all__ if re.search(r"(?:Error|Warning)$", name)}
    explained = set(re.findall(r"\w+", " ".join(re.findall(r"^#+ .*$|^\| `[\w.]+`", text, re.M))))
    assert names - explained - {"GridjitError"} == set()  # the base of all, which the page begins with


def test_the_glossary_is_in_order_and_has_words_that_other_pages_use() -> None:
    page = ROOT / "docs" / "glossary.md"
    words = re.findall(r"^- \*\*(.+)\*\*: .*\.$", page.read_text(), re.M)
    others = "\n".join(document.read_text() for document in DOCUMENTS if document != page)
    assert words == sorted(set(words), key=str.lower) and len(words) == page.read_text().count("\n- ")
    assert [word for word in words if not re.search(rf"\b{word}", others, re.I)] == []


def test_every_document_has_a_place_in_the_navigation_of_the_site() -> None:
    """Decisions have theirs in a list of their own."""
    places = (ROOT / "mkdocs.yml").read_text() + (ROOT / "docs" / "decisions" / "README.md").read_text()
    found = [file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")]
    names = {str(file.relative_to("decisions")) if file.name[:1] == "0" else str(file) for file in found}
    assert {name for name in names if f": {name}\n" not in places and f"]({name})" not in places} == set()


def test_an_example_that_raises_is_found_and_named_by_its_line() -> None:
    text = "# Title\n\n```python\nx = 1\n```\n\n<!-- not run -->\n```python\n1 / 0\n```\n```python\nx.y\n```\n"
    blocks = examples(text)
    assert [block.line for block in blocks] == [4, 12]
    assert program_of(blocks).splitlines()[11] == "x.y"
