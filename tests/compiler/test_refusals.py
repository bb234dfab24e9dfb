"""What users are told where the code that the compiler made is refused further on."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.refusals import of_code, of_shared_memory


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("51:18: error: invalid cast opcode for cast from 'double' to 'i32'", "float64 where it takes an int32"),
        ("(50, 17): parse invalid cast opcode for cast from 'float' to 'i64'", "float32 where it takes an int64"),
    ],
)
def test_a_type_that_only_the_parser_refuses_is_told_as_users_write_it(words: str, said: str) -> None:
    told = of_code(words)
    assert told is not None
    assert said in told
    assert told.endswith("convert it, as in int(x)")


@pytest.mark.parametrize(
    "words", ["<string>:3:23: error: expected number in address space", "parse expected number in"]
)
def test_an_array_larger_than_memory_is_told_without_the_code(words: str) -> None:
    told = of_code(f"{words} address space\n@x = external global [1208925819614629174706176 x float]")
    assert told == "a shared or local array that it declares is larger than all memory there is; make its shape smaller"


def test_too_many_arguments_are_told_in_bytes_and_without_the_names_of_the_code() -> None:
    told = of_code(
        "(): Error: Formal parameter space overflowed (40056 bytes required, max 32764 bytes allowed) in _ZN8"
    )
    assert told == "its arguments need 40,056 bytes, and a launch passes 32,764; pass an array instead of a long tuple"


def test_too_much_shared_memory_is_told_in_bytes() -> None:
    words = "error   : Entry function '_ZN4more' uses too much shared data (0x400000 bytes, 0x38c00 max)\nERROR 9"
    told = of_shared_memory(words)
    assert (
        told == "its shared arrays need 4,194,304 bytes, and a block has 232,448; make them smaller, or split the work"
    )


def test_too_much_static_shared_memory_leads_to_dynamic_memory_where_there_is_more_of_that() -> None:
    told = of_shared_memory("error   : Entry function 'k' uses too much shared data (0xc001 bytes, 0xc000 max)")
    assert told is not None
    assert told.startswith("its static shared arrays need 49,153 bytes, and this GPU has 49,152 for them; make them ")
    assert "dynamic shared memory: cuda.shared.array(0, dtype)" in told


@pytest.mark.parametrize("words", ["", "error: expected instruction opcode", "uses too much local data (0x1 bytes)"])
def test_other_words_stay_as_they_are(words: str) -> None:
    assert of_code(words) is None
    assert of_shared_memory(words) is None
