"""Memory that a compile frees stays with the process for the next one."""

from __future__ import annotations

import platform

import pytest

from tests.programs import run_new_python

PROGRAM = """
import resource
from gridjit.compiler.process.collecting import keep_freed_memory

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [b"x" * 100_000 for _ in range(60)]
    del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

pages(), print(pages())
keep_freed_memory()
pages(), print(pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_memory_that_was_freed_once_is_not_fetched_from_the_system_again() -> None:
    done = run_new_python("-c", PROGRAM)
    before, after = map(int, done.stdout.split())
    assert before > 1000 > 100 > after, done.stderr
