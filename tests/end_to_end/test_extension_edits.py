"""An extension that is edited between two processes is a miss if the code changes, and a hit if it does not."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import pytest

from tests.programs import run_python

EXTENSION_PROGRAM = {
    "mutated_part.py": "ADDED = 5\n",
    "mutated_overload.py": """
from numba.cuda.extending import overload

def doubled(value):
    raise NotImplementedError

def factor():
    return 2

@overload(doubled, target="cuda")
def overload_doubled(value):
    times = factor()
    def implementation(value):
        return value * times
    return implementation
""",
    "mutated_intrinsic.py": """
import mutated_part
from numba.cuda import types
from numba.cuda.extending import intrinsic

@intrinsic
def added(typingctx, value):
    def codegen(context, builder, signature, arguments):
        return builder.add(arguments[0], context.get_constant(types.int64, mutated_part.ADDED))
    return types.int64(types.int64), codegen
""",
    "mutated_rewrite.py": """
from numba.cuda.core.rewrites import Rewrite, register_rewrite
from numba.cuda.launchconfig import current_launch_config

@register_rewrite("after-inference")
class Shares(Rewrite):
    def match(self, func_ir, block, typemap, calltypes):
        current_launch_config().sharedmem = 16
        return False
""",
    "mutated.py": """
import gridjit
import mutated_rewrite
import numpy as np
from gridjit import cuda
from mutated_intrinsic import added
from mutated_overload import doubled

@gridjit.jit
def kernel(x, out):
    out[0] = doubled(x[0])
    out[1] = added(x[0])
    out[2] = cuda.shared.array(0, np.int8).size
""",
}
EXTENSION_RESULT = [20, 15, 16]
# Edits the program, then runs it in a child which has imported numba-cuda but none of it; prints what each child did.
RUN_EDITS = """
import json, os, sys
import numpy as np
import gridjit
import numba.cuda.extending

program, edits = json.loads(sys.argv[1]), json.loads(sys.argv[2])
sys.path.insert(0, os.getcwd())
sys.dont_write_bytecode = True

@gridjit.jit(cache=False)
def warm(x):
    x[0] = 1

# What the first compile of a process takes long for, the children inherit.
warm.compile("void(int64[::1])", target="host")

def child():
    import mutated
    out = np.zeros(3, np.int64)
    mutated.kernel[1, 1](np.full(1, 10), out)
    print(json.dumps([out.tolist(), mutated.kernel.stats.compiles, mutated.kernel.explain()]), flush=True)

for file, old, new in edits:
    for name, text in program.items():
        assert name != file or text.count(old) == 1
        with open(name, "w") as written:
            written.write(text.replace(old, new) if name == file else text)
    process = os.fork()
    if not process:
        try:
            child()
        finally:
            os._exit(0)
    os.waitpid(process, 0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionEdit:
    """A text replaced in one file of the extension, and what the kernel writes then, if not what it wrote before."""

    file: str
    old: str
    new: str
    out: list[int]
    compiles: int = 1
    why: str = ""


EXTENSION_EDITS = {
    "nothing yet": ExtensionEdit(
        file="mutated_part.py", old="5", new="5", out=EXTENSION_RESULT, why="nothing in the cache"
    ),
    "nothing": ExtensionEdit(file="mutated_part.py", old="5", new="5", out=EXTENSION_RESULT, compiles=0),
    "overload": ExtensionEdit(
        file="mutated_overload.py",
        old="value * times",
        new="value * times + 1",
        out=[21, 15, 16],
        why="mutated_overload.overload_doubled, which the compile used, has changed",
    ),
    "what an overload calls": ExtensionEdit(
        file="mutated_overload.py",
        old="return 2",
        new="return 3",
        out=[30, 15, 16],
        why="mutated_overload.overload_doubled, which the compile used, has changed",
    ),
    "comment beside an overload": ExtensionEdit(
        file="mutated_overload.py", old="\n\ndef factor", new="\n\n# two\ndef factor", out=EXTENSION_RESULT, compiles=0
    ),
    "intrinsic": ExtensionEdit(
        file="mutated_intrinsic.py",
        old="builder.add",
        new="builder.sub",
        out=[20, 5, 16],
        why="mutated_intrinsic.added",
    ),
    "global of an intrinsic": ExtensionEdit(
        file="mutated_part.py", old="5", new="6", out=[20, 16, 16], why="global mutated_part.ADDED 5 -> 6"
    ),
    "rewrite": ExtensionEdit(
        file="mutated_rewrite.py", old="16", new="17", out=[20, 15, 17], why="rewrite mutated_rewrite.Shares"
    ),
    "all as it was": ExtensionEdit(file="mutated_part.py", old="5", new="5", out=EXTENSION_RESULT, compiles=0),
}


@pytest.fixture(scope="module")
def extension_outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[int], int, str]]:
    """What the program did after each edit: what it wrote, how often it compiled, and its explanation."""
    folder = tmp_path_factory.mktemp("extension")
    edits = [(edit.file, edit.old, edit.new) for edit in EXTENSION_EDITS.values()]
    # A process that forks after it has used a GPU leaves its children none.
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": "host"}
    arguments = json.dumps(EXTENSION_PROGRAM), json.dumps(edits)
    done = run_python("-c", RUN_EDITS, *arguments, env=environment, cwd=folder)
    assert done.stderr == ""
    return dict(zip(EXTENSION_EDITS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.some(2)
@pytest.mark.parametrize("name", EXTENSION_EDITS)
def test_an_extension_edited_between_processes_is_a_miss_if_the_code_changes(
    extension_outcomes: dict[str, tuple[list[int], int, str]], name: str
) -> None:
    edit = EXTENSION_EDITS[name]
    out, compiles, explained = extension_outcomes[name]
    assert (out, compiles) == (edit.out, edit.compiles)
    assert edit.why in explained
