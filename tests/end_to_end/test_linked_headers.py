"""Linked CUDA C++ is keyed by what its compiler reads: however a header is named, and whenever it is edited."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.ptx import nvrtc as ptx_nvrtc
from gridjit.compiler.targets.ptx.cubin import read_cubin
from gridjit.compiler.values.errors import CompileError
from gridjit.runtime.kernel import Kernel
from tests.programs import run_new_python, run_python
from tests.toolkit import needs_toolkit

cuda: Any = numba_cuda()

pytestmark = needs_toolkit()

value = cuda.declare_device("value", "int32()")
FUNCTION = 'extern "C" __device__ int value(int *out) { *out = PART; return 0; }\n'


def stores(x):
    x[0] = value()


class Library:
    """A folder with a source file that a kernel is linked with, which defines value; PART is what it stores."""

    def __init__(self, folder: Path, restart: Callable[[], None]) -> None:
        self.folder, self.restart = folder, restart
        folder.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def part(self, number: int, name: str = "part.h") -> Path:
        return self.write(name, f"#define PART {number}\n")

    def kernel(self) -> Kernel:
        self.restart()
        kernel = gridjit.jit(link=str(self.folder / "source.cu"))(stores)
        kernel.compile("void(int32[::1])", target="sm_90")
        return kernel

    def compiles(self) -> int:
        """Return how many compiles a new process needs."""
        return self.kernel().stats.compiles

    def code(self) -> bytes:
        """Return the machine code that a new process has of value; names in the rest are numbered by numba."""
        (found,) = self.kernel().specializations
        return read_cubin(found.artifact.image)[".text.value"].data


@pytest.fixture
def library(tmp_path: Path, restart: Callable[[], None]) -> Library:
    return Library(tmp_path / "library", restart)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders that headers are looked for in."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    named = f"{first}:{second}"
    monkeypatch.setenv("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", named)
    config = sys.modules["numba.core.config"]
    if hasattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS"):
        monkeypatch.setattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", named)
    return first, second


FORMS = {
    "in quotes": '#include "part.h"',
    "in brackets": "#include <part.h>",
    "between comments": '/* a\n */ # /* b */ include /* c\n */ "part.h" // d',
    "over lines": '#\\\n inc\\\nlude "pa\\\nrt.h"',
    "over lines of Windows": '#include \\\r\n"part.h"\r',
    "after a digraph": '%:include "part.h"',
    "in a condition": '#if defined(NOTHING) || 1\n#include "part.h"\n#endif',
    "by a longer way": '#include "./../library/part.h"',
    "by its path": '#include "{folder}/part.h"',
    "through a macro": '#define NAME "part.h"\n#include NAME',
    "through one of two macros": '#if 0\n#define NAME "none.h"\n#else\n#define NAME <part.h>\n#endif\n#include NAME',
    "through a macro's argument": "#define TEXT(name) #name\n#include TEXT(part.h)",
    "through a macro in brackets": "#define IN(name) <name.h>\n#include IN(part)",
    "through a macro's path": "#define TEXT(name) #name\n#include TEXT({folder}/part.h)",
    "where it is asked for": '#if __has_include("part.h")\n#include "part.h"\n#endif',
    "where a macro asks": "#define HAS __has_include(<part.h>)\n#if HAS\n#include <part.h>\n#endif",
    "after a raw string": '__device__ const char text[] = R"x(\n" /* )x";\n#include "part.h"',
    "after an apostrophe": "#if 0\ndon't\n#endif\n#include \"part.h\"\nstatic const int large = 1'000;",
    "as the next one": '#include_next "part.h"',
}


@pytest.mark.some(4)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::gridjit.compiler.targets.ptx.nvrtc.LinkedCodeWarning")
def test_a_header_counts_however_it_is_included(library: Library, form: str) -> None:
    library.part(1)
    library.write("other.h", "#define PART 7\n")
    library.write("source.cu", FORMS[form].replace("{folder}", str(library.folder)) + "\n" + FUNCTION)
    first = library.code()
    library.write("other.h", "#define PART 8\n")
    assert library.compiles() == 0
    library.part(2)
    assert library.compiles() == 1
    assert library.compiles() == 0
    assert library.code() != first
    library.part(1)
    assert library.compiles() == 0
    assert library.code() == first


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "form", ["in quotes", "through a macro", "through a macro's argument", "where it is asked for"]
)
def test_a_header_counts_in_another_process(library: Library, form: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import gridjit\nfrom gridjit import cuda\nvalue = cuda.declare_device('value', 'int32()')\n"
        f"@gridjit.jit(link={str(library.folder / 'source.cu')!r})\ndef stores(x):\n    x[0] = value()\n"
        "stores.compile('void(int32[::1])', target='sm_90')\nprint(stores.stats.compiles)\n"
    )

    def compiles(*, new: bool = False) -> int:
        done = (run_new_python if new else run_python)(script)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    library.part(1)
    library.write("source.cu", FORMS[form] + "\n" + FUNCTION)
    assert [compiles(), compiles(new=form == "in quotes")] == [1, 0]
    library.part(2)
    assert [compiles(), compiles()] == [1, 0]


@pytest.mark.some(1)
@pytest.mark.parametrize("query", ['__has_include("later.h")', "__has_include(LATER)", "HAS"])
def test_a_header_that_appears_or_goes_counts_where_it_is_asked_for(library: Library, query: str) -> None:
    library.write(
        "source.cu",
        f'#define LATER "later.h"\n#define HAS __has_include(LATER)\n#if {query}\n#define PART 1\n#else\n'
        f"#define PART 2\n#endif\n{FUNCTION}",
    )
    without = library.code()
    later = library.write("later.h", "")
    assert library.compiles() == 1
    assert library.code() != without
    later.unlink()
    assert library.compiles() == 0
    assert library.code() == without


def test_what_only_the_preprocessor_can_ask_for_is_right_and_not_stored(library: Library) -> None:
    library.write(
        "source.cu",
        "#define HAS(name) __has_include(name)\n#if HAS(<later.h>)\n#define PART 1\n#else\n#define PART 2\n#endif\n"
        + FUNCTION,
    )
    without = library.code()
    assert library.compiles() == 1
    library.write("later.h", "")
    assert library.code() != without
    assert "source.cu:1: __has_include(name)" in library.kernel().explain()


def test_code_that_reads_the_clock_is_not_stored(library: Library) -> None:
    library.write("source.cu", f"#define PART __TIME__[7]\n{FUNCTION}")
    assert [library.compiles(), library.compiles()] == [1, 1]
    assert "source.cu:1: __TIME__" in library.kernel().explain()


def test_a_header_of_the_current_folder_is_not_taken(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.write(
        "source.cu", f'#if __has_include("part.h")\n#include "part.h"\n#else\n#define PART 1\n#endif\n{FUNCTION}'
    )
    before = library.code()
    (tmp_path / "part.h").write_text("#define PART 2\n")
    monkeypatch.chdir(tmp_path)
    library.write("source.cu", (library.folder / "source.cu").read_text() + "\n")
    assert library.compiles() == 1
    assert library.code() == before
    library.write("source.cu", f'#include "part.h"\n{FUNCTION}')
    with pytest.raises(CompileError, match=r'source\.cu\(1\)[^\0]*"part\.h"'):
        library.compiles()


def test_the_first_of_two_folders_that_has_a_header_counts(library: Library, folders: tuple[Path, Path]) -> None:
    first, second = (folder / "part.h" for folder in folders)
    second.write_text("#define PART 2\n")
    library.write("source.cu", f"#include <part.h>\n{FUNCTION}")
    of_second = library.code()
    first.write_text("#define PART 1\n")
    assert library.compiles() == 1
    assert library.code() != of_second
    second.write_text("#define PART 3\n")
    assert library.compiles() == 0
    first.unlink()
    second.write_text("#define PART 2\n")
    assert library.compiles() == 0
    assert library.code() == of_second


def test_the_next_header_of_a_name_is_that_of_the_next_folder(library: Library, folders: tuple[Path, Path]) -> None:
    first, second = (folder / "part.h" for folder in folders)
    first.write_text('#pragma once\n#include_next "part.h"\n')
    second.write_text("#define PART 2\n")
    library.write("source.cu", f"#include <part.h>\n{FUNCTION}")
    before = library.code()
    second.write_text("#define PART 3\n")
    assert library.compiles() == 1
    assert library.code() != before


def test_headers_of_one_name_in_two_folders_are_each_their_own(library: Library) -> None:
    library.write("a/outer.h", '#include "config.h"\n')
    library.write("b/outer.h", '#include "config.h"\n')
    library.write("a/config.h", "#define A 1\n")
    config = library.write("b/config.h", "#define B 10\n")
    library.write("source.cu", f'#include "a/outer.h"\n#include "b/outer.h"\n#define PART A + B\n{FUNCTION}')
    before = library.code()
    config.write_text("#define B 20\n")
    assert library.compiles() == 1
    assert library.code() != before


def test_a_name_that_macros_make_of_two_headers_is_refused(library: Library) -> None:
    library.write("a/outer.h", "#include TEXT(config.h)\n")
    library.write("b/outer.h", "#include TEXT(config.h)\n")
    library.write("a/config.h", "#define A 1\n")
    library.write("b/config.h", "#define B 10\n")
    text = '#define TEXT(name) #name\n#include "a/outer.h"\n#include "b/outer.h"\n#define PART A + B\n'
    library.write("source.cu", text + FUNCTION)
    with pytest.raises(
        CompileError, match=r"'config\.h', which macros make, may be .*; include them by their names in quotes"
    ):
        library.compiles()


def test_a_header_that_is_included_in_two_ways_is_included_once(library: Library) -> None:
    library.write("part.h", "#pragma once\n#define PART 1\n__device__ int only_once;\n")
    text = '#define TEXT(name) #name\n#include "part.h"\n#include <../library/part.h>\n#include TEXT(part.h)\n'
    library.write("source.cu", text + FUNCTION)
    assert [library.compiles(), library.compiles()] == [1, 0]


def test_the_toolkits_headers_include_each_other(library: Library) -> None:
    library.write(
        "source.cu", f"#include <cooperative_groups/scan.h>\n#include <cuda/atomic>\n#define PART 1\n{FUNCTION}"
    )
    assert [library.compiles(), library.compiles()] == [1, 0]


def test_a_header_may_stand_before_one_of_the_toolkits(library: Library) -> None:
    header = library.write("cuda_fp16.h", "#include_next <cuda_fp16.h>\n#define PART __half2int_rn(__int2half_rn(3))\n")
    library.write("source.cu", f"#include <cuda_fp16.h>\n{FUNCTION}")
    assert [library.compiles(), library.compiles()] == [1, 0]
    header.write_text(header.read_text().replace("3", "4"))
    assert library.compiles() == 1


def test_messages_name_files_and_lines_as_their_author_does(library: Library) -> None:
    library.write("sub/part.h", '#include \\\n "../empty.h"\n#define PART missing\n')
    library.write("empty.h", "")
    library.write("source.cu", f'#include "sub/part.h"\n\nint broken = 1 +;\n{FUNCTION}')
    with pytest.raises(CompileError) as caught:
        library.compiles()
    assert "source.cu(3): error" in str(caught.value) and "/dev/null" not in str(caught.value)
    library.write("sub/part.h", '#include \\\n "../empty.h"\n#include "gone.h"\n')
    with pytest.raises(CompileError) as caught:
        library.compiles()
    assert 'sub/part.h(3): catastrophic error: cannot open source file "gone.h"' in str(caught.value)
    assert f"looked for beside the file that includes it, and in {library.folder}, " in str(caught.value)


def test_a_pipe_in_place_of_a_header_is_none(library: Library) -> None:
    os.mkfifo(library.folder / "part.h")
    library.write("source.cu", f'#if __has_include("part.h")\n#error a pipe\n#endif\n#define PART 1\n{FUNCTION}')
    assert [library.compiles(), library.compiles()] == [1, 0]


def test_a_pipe_in_place_of_a_linked_file_is_named(library: Library) -> None:
    os.mkfifo(library.folder / "source.cu")
    with pytest.raises(CompileError, match=r"source\.cu.*not a regular file"):
        library.compiles()


# -- headers of what declared functions bring along --------------------------------------------------------------------


def compiles_of(library: Library, declared: Any) -> Callable[[], int]:
    """Return what tells how many compiles a new process needs for a kernel that calls a declared function."""

    def calls_it(x):
        x[0] = declared()

    def compiles() -> int:
        library.restart()
        kernel = gridjit.jit(calls_it)
        kernel.compile("void(int32[::1])", target="sm_90")
        return kernel.stats.compiles

    return compiles


@pytest.mark.some(1)
@pytest.mark.parametrize("form", ["in quotes", "through a macro's argument"])
def test_a_header_of_a_declared_functions_file_counts(library: Library, form: str) -> None:
    source = library.write("source.cu", FORMS[form] + "\n" + FUNCTION)
    declared = cuda.declare_device("value", "int32()", link=[str(source)])

    compiles = compiles_of(library, declared)
    for number in (1, 2):
        library.part(number)
        assert [compiles(), compiles()] == [1, 0]
    library.part(1)
    assert compiles() == 0
    (library.folder / "part.h").unlink()
    os.mkfifo(library.folder / "part.h")
    with pytest.raises(CompileError, match=r"part\.h"):
        compiles()


def test_a_header_of_a_declared_functions_code_in_memory_counts(library: Library, folders: tuple[Path, Path]) -> None:
    text = f"#if __has_include(<part.h>)\n#include <part.h>\n#else\n#define PART 0\n#endif\n{FUNCTION}"
    declared = cuda.declare_device("value", "int32()", link=[cuda.CUSource(text)])

    compiles = compiles_of(library, declared)
    first, second = (folder / "part.h" for folder in folders)
    assert [compiles(), compiles()] == [1, 0]
    second.write_text("#define PART 2\n")
    assert [compiles(), compiles()] == [1, 0]
    first.write_text("#define PART 1\n")
    assert [compiles(), compiles()] == [1, 0]
    first.write_text("#define PART 3\n")
    assert [compiles(), compiles()] == [1, 0]


# -- edits at any moment ----------------------------------------------------------------------------------------------


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Callable[[], object]], None]]:
    """Return what has an edit made just before a step of the compile, once."""

    def before(step: str, edit: Callable[[], object]) -> None:
        owner, name = STEPS[step]
        real, edits = getattr(owner, name), [edit]

        def staged(*args: Any, **options: Any) -> Any:
            if edits:
                edits.pop()()
            return real(*args, **options)

        monkeypatch.setattr(owner, name, staged)

    yield before


STEPS: dict[str, tuple[Any, str]] = {
    "what NVRTC is given": (ptx_nvrtc, "program"),
    "NVRTC": (ptx_nvrtc, "_run"),
    "the result": (ptx_nvrtc, "_result"),
}


@pytest.mark.each_value_once
@pytest.mark.parametrize("edited", ["part.h", "source.cu"])
@pytest.mark.parametrize("step", STEPS)
def test_an_edit_while_the_kernel_compiles_is_never_another_files_code(
    library: Library, at: Callable[[str, Callable[[], object]], None], step: str, edited: str
) -> None:
    library.part(1)
    library.write("source.cu", f'#include "part.h"\n{FUNCTION}')
    texts = {name: (library.folder / name).read_text() for name in ("part.h", "source.cu")}
    changed = {"part.h": "#define PART 2\n", "source.cu": texts["source.cu"].replace("= PART", "= PART + 1")}
    at(step, lambda: library.write(edited, changed[edited]))
    made_during = library.code()
    made_after = library.code()
    assert made_after != made_during
    library.write(edited, texts[edited])
    assert library.code() == made_during
    library.write(edited, changed[edited])
    assert library.code() == made_after


@pytest.mark.some(1)
@pytest.mark.parametrize("step", STEPS)
def test_an_edit_of_a_header_that_a_macro_names_is_never_another_files_code(
    library: Library, at: Callable[[str, Callable[[], object]], None], step: str
) -> None:
    library.part(1)
    library.write("source.cu", f"{FORMS[TEXT]}\n{FUNCTION}")
    at(step, lambda: library.part(2))
    library.code()
    library.part(1)
    of_one = library.code()
    library.part(2)
    of_two = library.code()
    assert of_one != of_two
    library.part(1)
    assert library.code() == of_one
    library.part(2)
    assert library.code() == of_two


TEXT = "through a macro's argument"
