"""Tables in a terminal, and what commands read of a cache to show one entry."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from gridjit.cache.disk import DiskStore
from gridjit.commands import main, tables


def made() -> tables.TerminalTable:
    table = tables.table("kernel", "depends on", "size", right=("size",))
    table.add_row("scale", "nothing", "3 B")
    table.add_section()
    table.add_row("größe", "blockdim.x = 32; griddim.x = 4", "1024 B")
    return table


def test_a_table_has_columns_as_wide_as_what_they_hold() -> None:
    assert list(made().lines(100, "-")) == [
        " kernel  depends on                        size",
        " ----------------------------------------------",
        " scale   nothing                            3 B",
        "",
        " größe   blockdim.x = 32; griddim.x = 4  1024 B",
    ]


@pytest.mark.parametrize("width", [24, 30, 44])
def test_a_table_that_is_wider_than_the_terminal_is_folded_and_loses_nothing(width: int) -> None:
    lines = list(made().lines(width, "-"))
    assert max(map(len, lines)) <= max(width, 3 * 8 + 2 * 3)
    said = "".join("".join(lines).split())
    assert all(part in said for part in ("scale", "größe", "3B", "1024B"))


def test_wide_characters_keep_the_columns_in_line() -> None:
    table = tables.table("kernel", "hits", right=("hits",))
    table.add_row("核", "1")
    table.add_row("ab", "2")
    assert list(table.lines(80, "-"))[2:] == [" 核         1", " ab         2"]


def test_a_table_is_printed_in_whatever_the_output_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    tables.show(made())
    output.flush()
    assert b"\n ------" in output.buffer.getvalue()


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("kind", ["code", "manifest", "history"])
def test_to_show_an_entry_others_are_not_read(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gridjit.commands.inventory import open_cache, read_items

    items = [item for item in read_items(open_cache()) if item.kernel == "opstats.sized"]
    one = next(item for item in items if item.kind == kind)
    known, get = {item.info.key for item in items}, DiskStore.get

    def get_known(store: DiskStore, key: str) -> Any:
        assert key in known, "an entry of another kernel is read"
        return get(store, key)

    monkeypatch.setattr(DiskStore, "get", get_known)
    assert main(["cache", "show", one.info.key[:12]]) == 0
    assert "kernel" in (out := capsys.readouterr().out) and "opstats.sized" in out
