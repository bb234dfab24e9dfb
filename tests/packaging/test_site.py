"""The site is built from the documents without a warning, and without anything from another host."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow  # `make docs` builds it, too; that each document has its place is a quick test's
ROOT = Path(__file__).parents[2]
_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"?([^\"\s>]+)|<link\b[^>]*?\bhref=\"?([^\"\s>]+)")

_LINK = re.compile(r"<(?:a|link|img|script)\b[^>]*?\s(?:href|src)=\"?([^\"\s>]*)")
_PLACE = re.compile(r"\b(?:id|name)=\"?([^\"\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    for name in ("mkdocs", "mkdocstrings_handlers.python"):
        pytest.importorskip(name, reason="the site needs the docs extra")
    made = tmp_path_factory.mktemp("site")
    subprocess.run(["make", "-s", "view"], cwd=ROOT, check=True)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(made)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return made


def test_each_document_is_a_page_of_the_site(site: Path) -> None:
    documents = [file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")]
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    wanted = {str(file.with_suffix(".html")).replace("README.html", "index.html") for file in documents}
    assert wanted - pages == set()
    assert {"project/CHANGELOG.html", "project/CONTRIBUTING.html"} <= pages


def test_pages_load_nothing_from_another_host(site: Path) -> None:
    loaded = {
        "".join(found) for page in site.rglob("*.html") for found in _LOADED.findall(page.read_text(encoding="utf-8"))
    }
    assert loaded
    assert [name for name in loaded if re.match(r"(?:\w+:)?//", name)] == []


def test_each_link_leads_to_a_file_and_a_place_of_the_site(site: Path) -> None:
    """From a folder: none begins at the server's root."""
    places = {page: set(_PLACE.findall(page.read_text(encoding="utf-8"))) for page in site.rglob("*.html")}
    dead = []
    for page in places:
        for link in map(unescape, _LINK.findall(page.read_text(encoding="utf-8"))):
            target, _, place = unquote(link).partition("#")
            if re.match(r"\w+:", link):
                continue
            file = (page.parent / target.partition("?")[0]).resolve() if target else page
            if not file.is_file() or (place not in ("", "__skip") and file in places and place not in places[file]):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []


def test_each_picture_of_a_page_has_a_text_for_those_who_do_not_see_it(site: Path) -> None:
    pictures = {
        found
        for page in site.rglob("*.html")
        for found in re.findall(r"<img\b[^>]*>", page.read_text(encoding="utf-8"))
    }
    assert len(pictures) > 3
    assert [found for found in pictures if not re.search(r'alt="?[^"> ]', found)] == []


def test_pages_are_edited_where_the_repository_is_and_nowhere_if_that_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mkdocs", reason="the site needs the docs extra")
    hooks = runpy.run_path(str(ROOT / "scripts" / "website" / "pages.py"))
    monkeypatch.setitem(hooks["on_pre_page"].__globals__, "ROOT", tmp_path)
    edited = []
    for urls in ("", '[project.urls]\nRepository = "https://example.org/gridjit"\n'):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "1"\n{urls}')
        for uri in ("tutorials/host-first.md", "project/CHANGELOG.md", "project/examples/01_saxpy.py.page.md"):
            page = SimpleNamespace(file=SimpleNamespace(src_uri=uri), edit_url=None)
            edited.append(hooks["on_pre_page"](page).edit_url)
    under = "https://example.org/gridjit/edit/main"
    files = ("docs/tutorials/host-first.md", "CHANGELOG.md", "examples/01_saxpy.py")
    assert edited == [None] * 3 + [f"{under}/{file}" for file in files]


def test_pages_show_the_version_and_a_switch_of_colors(site: Path) -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert version is not None
    assert f"gridjit {version[1]}" in _read(site, "memory").partition("<main")[0]
    assert _read(site, "memory").count('name="__palette"') == 3


def test_the_search_finds_pages_in_a_folder(site: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("neither chromium nor google-chrome is installed")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    page = f"{(site / 'index.html').as_uri()}?q=footprint"
    command = [browser, *options, "--virtual-time-budget=20000", page]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.search(r'search-result__meta">\d+ matching documents<', shown)


def test_the_reference_has_parameters_as_a_list_and_examples_as_code(site: Path) -> None:
    configure = (
        _read(site, "api").partition('id="gridjit.Kernel.configure"')[2].partition('id="gridjit.Kernel.forall"')[0]
    )
    assert re.search(r"<li>\s*(?:<p>)?<strong><code>griddim</code></strong>, <strong><code>blockdim</code>", configure)
    assert configure.count("<pre") == 2  # its signature and its example
    assert "<code>__dlpack__</code>" in _read(site, "api")


def test_code_of_a_file_has_its_name_and_bars_in_tables_have_no_backslash(site: Path) -> None:
    assert '<span class="filename">stats.py</span>' in _read(site, "operating")
    assert "<code>--target cuda|host</code>" in _read(site, "benchmarks")
    assert not re.search(r"<code>[^<]*\\\|", _read(site, "kernel-language"))


def test_lists_of_documents_are_lists_on_their_pages(site: Path) -> None:
    """Python-Markdown wants an empty line before a list, and four spaces for one in another; GitHub wants neither."""
    unmade = [
        str(page.relative_to(site))
        for page in site.rglob("*.html")
        if re.search(r"<p>(?:(?!</p>).)*\n(?:- |\d+\. )", page.read_text(encoding="utf-8"), re.S)
    ]
    assert unmade == []
    assert re.search(r"<ul>(?:(?!</ul>).)*<ul>\s*<li>a function that can be imported", _read(site, "sensitivity"), re.S)


def _read(site: Path, page: str) -> str:
    return (site / f"{page}.html").read_text(encoding="utf-8")
