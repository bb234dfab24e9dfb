"""mistake: marks a kernel that does not compile, and says for which types; what users are told is in a text beside it.

`python -m tests.end_to_end.mistakes.mistake` writes these texts anew. Read what changed: each line is for a person.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridjit import CompileError, cuda

FLOATS = "void(float32[::1])"
# The modules of this folder that have mistakes.
TOPICS = ("names", "constructs", "values", "calls", "libraries", "habits", "kinds", "elsewhere", "overloads")

_FOLDER = Path(__file__).parent
# Topic -> kernel's name -> its function and signature.
_mistakes: dict[str, dict[str, tuple[Callable[..., Any], str]]] = {}


def mistake(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that notes a kernel with the types to compile it for."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        topic = function.__module__.rpartition(".")[2]
        _mistakes.setdefault(topic, {})[function.__name__] = (function, signature)
        return function

    return note


def mistakes(topic: str) -> dict[str, tuple[Callable[..., Any], str]]:
    """Return the kernels of a topic with their signatures, by name."""
    importlib.import_module(f"tests.end_to_end.mistakes.{topic}")
    return _mistakes[topic]


def told(function: Callable[..., Any], signature: str, target: str) -> str:
    """Return what a user is told, with the names of files instead of their paths, and "TARGET" for the target."""
    try:
        cuda.jit(cache=False)(function).compile(signature, config=(1, 32), target=target)
    except CompileError as error:
        return str(error).replace(f"{_FOLDER}/", "").replace(f" for {target} does", " for TARGET does")
    raise AssertionError(f"{function.__name__}{signature} compiles for {target}")


def expected(topic: str) -> dict[str, str]:
    """Return the texts of a topic, by kernel."""
    whole = (_FOLDER / f"{topic}.txt").read_text().split("=====\n")
    return {text.partition("(")[0]: text.rstrip("\n") for text in whole if text}


def write(topic: str) -> None:
    """Write what is told of a topic's kernels."""
    texts = (told(function, signature, "host") for function, signature in mistakes(topic).values())
    (_FOLDER / f"{topic}.txt").write_text("=====\n".join(f"{text}\n" for text in texts))


if __name__ == "__main__":
    from tests.end_to_end.mistakes.mistake import write as write_topic

    for each in TOPICS:
        write_topic(each)
