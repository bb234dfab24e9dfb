"""MkDocs' hooks for the site: documents that read well on GitHub become pages, and each link leads to the same place.

Files outside docs/ that a page links to - the changelog, an example, a source file - become pages under project/. So
the site is complete by itself, wherever it is put.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
DOCS = "docs/"
_FOR_MAINTAINERS = ("decisions/", "project/", "cache-format.md", "numba-internals.md")
_ASKED_FIRST = ("faq.md", "caching.md")
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2[ \t]*\n?", re.M | re.S)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)#:\s]+)(?P<part>#[^)\s]*)?(?=\))")
_CODE = re.compile(r"`[^`\n]*`")
_FILE = re.compile(r"^<!-- file (\S+) -->\n+((?:<!-- not run -->\n+)?```python)$", re.M)
_ITEM = re.compile(r"(?P<indent> *)(?:[-*]|\d+\.) ")


def on_config(config: Any) -> Any:
    """Show the version of gridjit beside the site's name, and leave out the page whose links need a server."""
    config.site_name += f" {_declared('version')}"
    config.theme.static_templates.discard("404.html")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the script for searches in a folder, the style, and a page for each file outside docs/ that pages link to."""
    for name in ("iframe-worker.js", "site.css"):
        files.append(File.generated(config, f"assets/{name}", content=(ROOT / "scripts/website" / name).read_text()))
    wanted = {name for file in files.documentation_pages() for name in linked(DOCS + file.src_uri)}
    made: set[str] = set()
    while new := {name for name in wanted - made if not name.startswith(DOCS)}:
        for name in new:
            files.append(File.generated(config, page_of(name), content=_text_of(name)))
            wanted |= linked(name)
        made |= new
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page's text with its links leading to pages, and its lists and tables as Python-Markdown reads them.

    The search shows pages for users before those for maintainers, which have most of the words, too.
    """
    uri = page.file.src_uri
    name = file_of(uri)
    page.meta["search"] = {"boost": 0.1 if uri.startswith(_FOR_MAINTAINERS) else 3 if uri in _ASKED_FIRST else 1}
    return _outside_code(
        lambda text: with_plain_bars(with_spaced_lists(with_page_links(text, name, uri))), with_file_names(markdown)
    )


def on_pre_page(page: Any, **_: Any) -> Any:
    """Let a reader edit the page's file, if pyproject.toml says where the repository is (`project.urls`)."""
    if repository := _declared("Repository"):
        page.edit_url = f"{repository}/edit/main/{file_of(page.file.src_uri)}"
    return page


def file_of(uri: str) -> str:
    """Return the file of the repository that a page of the site's source shows."""
    return uri.removeprefix("project/").removesuffix(".page.md") if uri.startswith("project/") else DOCS + uri


def page_of(name: str) -> str:
    """Return the page, in the site's source, that shows a file of the repository."""
    if name.startswith(DOCS):
        return name.removeprefix(DOCS)
    return f"project/{name}" if name.endswith(".md") else f"project/{name}.page.md"


def linked(name: str) -> set[str]:
    """Return the files of the repository that a document links to; none for what is not a document."""
    if not name.endswith(".md"):
        return set()
    text = _CODE.sub("", _FENCED.sub("", (ROOT / name).read_text()))
    return {_file_at(name, found["target"]) for found in _LINK.finditer(text)}


def with_page_links(text: str, name: str, uri: str) -> str:
    """Return the text of the file `name`, shown at `uri`, with links to the pages of the files that it links to."""

    def to_page(found: re.Match[str]) -> str:
        page = page_of(_file_at(name, found["target"]))
        return posixpath.relpath(page, posixpath.dirname(uri) or ".") + (found["part"] or "")

    return _LINK.sub(to_page, text)


def with_file_names(text: str) -> str:
    """Return the text with the name of each file, which a comment gives, as the title of its code."""
    return _FILE.sub(r'\2 title="\1"', text)


def with_plain_bars(text: str) -> str:
    """Return the text with the bars in tables' code as they are meant: only GitHub wants a backslash before them."""
    return _CODE.sub(lambda code: code.group().replace("\\|", "|"), text)


def with_spaced_lists(text: str) -> str:
    """Return the text with an empty line before each list, and four spaces for each level, as Python-Markdown wants."""
    return "".join(_spaced(text.splitlines(keepends=True)))


def _spaced(lines: list[str]) -> Iterator[str]:
    in_list, apart, before = False, False, "the block of code before, if there is one"
    for line in lines:
        item, indent = _ITEM.match(line), len(line) - len(line.lstrip(" "))
        if item and (apart or not in_list) and before.strip():
            yield "\n"
        apart = not item and (apart or not before.strip())  # a paragraph of its own since the last item
        in_list = bool(item) or (in_list and (not line.strip() or indent > 0 or bool(before.strip())))
        yield " " * (indent if in_list and line.strip() else 0) + line
        before = line


def _declared(name: str) -> str:
    """Return a text of pyproject.toml by its name, or an empty one."""
    found = re.search(rf'^{name} = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    return found[1] if found else ""


def _file_at(name: str, target: str) -> str:
    """Return the file of the repository that a link in the file `name` leads to; a folder's is its README."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return f"{found}/README.md" if (ROOT / found).is_dir() else found


def _text_of(name: str) -> str:
    text = (ROOT / name).read_text()
    return text if name.endswith(".md") else f"# {name}\n\n```{Path(name).suffix.lstrip('.')}\n{text.rstrip()}\n```\n"


def _outside_code(change: Callable[[str], str], text: str) -> str:
    """Return the text with what is not in a block of code changed."""
    parts, end = [], 0
    for found in _FENCED.finditer(text):
        parts += [change(text[end : found.start()]), found.group()]
        end = found.end()
    return "".join([*parts, change(text[end:])])
