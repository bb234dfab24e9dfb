"""A signature's text means what it means to numba, and no code that it holds is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.signatures import parsed

numba_cuda()

from numba.cuda import types  # noqa: E402
from numba.cuda.core import sigutils  # noqa: E402

GOOD = [
    "void()",
    "void(float32)",
    "  void(float32[:], int64)  ",
    "void(float32[::1], float64[:, ::1], int8[::1, :], bool_[:, :, :])",
    "(float32, int64[:])",
    "()",
    "(float32,)",
    "void(types.float32, types.UniTuple(types.int32, 3))",
    "float32(float32, float32)",
    "none(int32)",
    "void(f4[:], i8, double, char, intc, uintp, b1, boolean, complex64)",
    "void(UniTuple(float32, 3), Tuple((int32, float64[:])), UniTuple(UniTuple(int8, 2), 2))",
    "void(Tuple([int32, float64]))",
    "UniTuple(float32, 2)(float32)",
    "void(Array(float32, 2, 'C'), Array(float32, 1, 'A', readonly=True), Array(dtype=int8, ndim=1, layout='F'))",
    "void(CPointer(float32), RawPointer('p'), voidptr)",
    "void(NPDatetime('ns'), NPTimedelta('D')[:])",
    "void(CharSeq(4)[:], UnicodeCharSeq(2))",
    "void(Record.make_c_struct([('a', int32), ('b', float64)])[:])",
    "void(Record([('a', {'type': int32, 'offset': 0})], 4, False))",
    "void(NestedArray(float32, (2, 3)))",
    "Optional(int32)(int32)",
    "void(float32,\n     int32)",
    "void(bfloat16, float16)",
]
# Each does something in Python that would be seen: a file that appears, an attribute, an error of its own.
EVIL = [
    "__import__('os').system('touch {file}')",
    "void(float32[:]) if open('{file}', 'w') else 0",
    "[open('{file}', 'w') for _ in (1,)]",
    "(lambda: open('{file}', 'w'))()",
    "void(float32, *[open('{file}', 'w')])",
    "void(float32, **open('{file}', 'w'))",
    "void(float32[open('{file}', 'w'):])",
    "UniTuple(float32, open('{file}', 'w').fileno())",
    "Array(float32, 1, open('{file}', 'w').name)",
    "(x := open('{file}', 'w'))",
    "f\"{{open('{file}', 'w')}}\"",
    "void.__class__.__base__.__subclasses__()",
    "float32.cast_python_value('1')",
    "types.np.save('{file}', 1)",
    "Record.make_c_struct.__globals__['__builtins__']['open']('{file}', 'w')",
    "Record([('a', {{'type': open('{file}', 'w'), 'offset': 0}})], 4, False)",
    "np.save('{file}', 1)",
    "float32(3)",
    "utils",
    "Dispatcher(float32)",
]
WRONG = {
    "": "invalid syntax",
    "void(": "never closed",
    "void(\0)": "null",
    "void(flot32[:])": "numba does not have a type 'flot32'; did you mean float32?",
    "void(nothing_like_it)": "numba does not have a type 'nothing_like_it'",
    "float32": "give the types of the arguments in parentheses",
    "float32[:]": "give the types of the arguments in parentheses",
    "void(float32[1])": "give an array's dimensions as : or ::1",
    "void(float32[::2])": "give an array's dimensions as : or ::1",
    "void(float32[::-1])": "give an array's dimensions as : or ::1",
    "void(float32[...])": "give an array's dimensions as : or ::1",
    "void(UniTuple)": "UniTuple needs arguments",
    "void(float32 + int32)": "float32 + int32 is not a type",
    "void('float32')": "'float32' is not a type",
    "void(3)": "3 is not a type",
    "void(x=float32)": "is not a type",
    "void((int32, int32))": "(int32, int32) is not a type",
    "void(UniTuple(float32))": "is not understood",
    "(" * 5000 + ")" * 5000: "",
    "void(" + "-" * 50_000 + "1)": "",
    "void(" + "int32," * 50_000 + ")": "it has 300006 characters",
    "void(\ud800)": "",
    "void(\x1b[2J)": "",
}


@pytest.mark.parametrize("text", GOOD)
def test_a_text_is_read_as_numba_reads_it(text: str) -> None:
    assert sigutils.normalize_signature(parsed(text)) == sigutils.normalize_signature(
        eval(text.strip(), {}, vars(types))
    )


@pytest.mark.parametrize("text", EVIL)
@pytest.mark.parametrize("way", ["declared", "compile", "device", "key"])
def test_no_code_in_a_text_is_run(text: str, way: str, tmp_path: Path) -> None:
    file = tmp_path / "touched"

    def fill(x):
        x[0] = 1

    written = text.format(file=file)
    ways: dict[str, Any] = {
        "declared": lambda: gridjit.jit(written, target="host")(fill),
        "compile": lambda: gridjit.jit(target="host")(fill).compile(written),
        "device": lambda: gridjit.jit(written, device=True)(fill)._numba_type_,
        "key": lambda: gridjit.jit(target="host")(fill).overloads[written],
    }
    with pytest.raises(KeyError if way == "key" else gridjit.ConfigError):
        ways[way]()
    assert not file.exists()


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_text_is_said_in_one_printable_line(text: str) -> None:
    with pytest.raises(gridjit.ConfigError) as caught:
        parsed(text)
    said = str(caught.value)
    assert said.startswith("signature ") and said.isprintable() and len(said) < 600
    assert WRONG[text] in said


def test_types_of_extensions_are_known_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "interval", types.Opaque("interval"), raising=False)
    assert str(parsed("void(interval)").args[0]) == "interval"


@pytest.mark.parametrize(
    "decorator",
    [
        gridjit.cuda.vectorize,
        lambda text: gridjit.cuda.vectorize(ftylist_or_function=text),
        lambda text: gridjit.cuda.guvectorize(text, "(n)->(n)", target="cuda"),
        lambda text: gridjit.cuda.guvectorize(ftylist=text, signature="(n)->(n)"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_signatures_of_ufuncs_are_not_evaluated_either(decorator: Any, several: bool, tmp_path: Path) -> None:
    text = f"open('{tmp_path / 'touched'}', 'w')"
    with pytest.raises(gridjit.ConfigError):
        decorator([text] if several else text)(lambda x: x)
    assert not (tmp_path / "touched").exists()


def test_the_signature_of_a_declared_device_function_is_not_evaluated_either(tmp_path: Path) -> None:
    with pytest.raises(gridjit.ConfigError):
        gridjit.cuda.declare_device("twice", f"open('{tmp_path / 'touched'}', 'w')")
    assert not (tmp_path / "touched").exists()
