"""Includes are found as a preprocessor finds them: not in comments and strings, and wherever lines are joined."""

from __future__ import annotations

import pytest

from gridjit.compiler.key.includes import includes


def names(text: str) -> list[str]:
    """Return what text includes."""
    return [one.name for one in includes(text.encode()).references if not one.query]


@pytest.mark.parametrize(
    "text",
    [
        '#include "a.h"',
        "#include<a.h>",
        ' \t/* b */ # /* c\n*/ include/**/"a.h" // d',
        '%: include "a.h"',
        '%\\\n:inc\\\r\nlude \\\n "a\\\n.h"',
        '// b\n#include "a.h"',
        '/* b */\n/* c */ #include "a.h"',
        'const char *text = "\\"/*"; char c = \'"\';\n#include "a.h"',
        "int n = 1'000'000; char q = '\\'';\n#include \"a.h\"",
        'auto text = R"x(\n#include "b.h"\n)"\n)x";\n#include "a.h"',
        'auto text = u8R"(")"; auto more = NOT_R"(";\n#include "a.h"',
        'char c = 0; const char *text = "s"; // b\n/* c */ #include "a.h"',
        '#define X \\\n 1\n#include "a.h"',
        '#error don\'t\n#include "a.h"',
        '#if 0\n#elif defined(X)\n#include "a.h"\n#endif',
        '#include_next "a.h"',
        "\n" * 3 + '\f\v#\vinclude\f"a.h"',
    ],
)
def test_an_include_is_found(text: str) -> None:
    assert names(text) == ["a.h"]


@pytest.mark.parametrize(
    "text",
    [
        '// #include "a.h"',
        '// b \\\n#include "a.h"',
        '/*\n#include "a.h"\n*/',
        'x; #include "a.h"',
        'x /* b\n */ #include "a.h"',
        'x \\\n#include "a.h"',
        'const char *text = "\\\n#include \\"a.h\\"\\\n";',
        '#define S(x) #x\n#define INCLUDE "#include a.h"',
        '#includes "a.h"',
        '#pragma include "a.h"',
    ],
)
def test_what_only_looks_like_an_include_is_none(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('#if __has_include("a.h")', ["a.h"]),
        ("#elif defined(__has_include) && __has_include ( <a.h> )", ["a.h"]),
        ("#define HAS __has_include(<a.h>) || __has_inc\\\nlude(/* b */ <c.h>)", ["a.h", "c.h"]),
        ("#ifdef __has_include", []),
        ('// __has_include("a.h")', []),
        ('"__has_include(<a.h>)"', []),
    ],
)
def test_what_is_asked_for_is_found(text: str, asked: list[str]) -> None:
    found = includes(text.encode())
    assert [one.name for one in found.references if one.query] == asked
    assert found.computed == ()


@pytest.mark.parametrize("text", ["__has_include(NAME)", "__has_include(TEXT(a.h))", "__has_include (\\\n NAME )"])
def test_what_only_macros_know_is_told_apart(text: str) -> None:
    (asked,) = includes(f"\n#if {text}\n#endif".encode()).computed
    assert (asked.line, asked.query) == (2, True)
    (included,) = includes(b"#include /* a */ TEXT(a.h) // b\n").computed
    assert (included.operand, included.query) == ("TEXT(a.h)", False)


def test_a_macro_that_is_a_name_is_told_from_others() -> None:
    text = b'#define A "a.h" // b\n#define B <b.h>\n#define C(x) "c.h"\n#define D "d" "e"\n#\tdefine\tE\n'
    assert dict(includes(text).macros) == {"A": '"a.h"', "B": "<b.h>", "C": "", "D": "", "E": ""}


@pytest.mark.parametrize(
    "text",
    [
        "CAT(__TI,ME__)",
        "CAT(__TIME,STAMP__)",
        "#define now(x) x##_TIME__",
        "#define now __D##ATE__",
        "__TI\\\nM, E__",
        "#define now(x) __##x##__\nnow(TIME)",
        "CAT3(__, TIME, __)",
    ],
)
def test_a_name_that_may_be_pasted_to_the_clocks_is_told(text: str) -> None:
    ((line, what),) = includes(f"\n{text}".encode()).unseen
    assert line >= 2 and "may be pasted" in what


def test_pasting_other_names_is_none_of_the_clocks_business() -> None:
    text = "#define CAT(a, b) a##b\nint CAT(x, y), _1, __a, TIME, DATE, my__TIME; // CAT_(a, b) _x\nauto f = CAT(E, D);"
    assert includes(text.encode()).unseen == ()


@pytest.mark.parametrize("text", ["__DATE__", "__TIME__", "__TIMESTAMP__", '\n#embed "a"', "__has_embed"])
def test_what_no_key_can_have_is_told_with_its_line(text: str) -> None:
    (told,) = includes(f"\n#if 1\n{text}".encode()).unseen
    assert told == (4 if text.startswith("\n") else 3, text.split()[0])


def test_many_comments_in_a_row_are_read_at_once() -> None:
    assert names("#" + "/* a */" * 5000 + "x") == []
