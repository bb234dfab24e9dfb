"""Overloads of the user's that import while a kernel is compiled: found again, and a miss where that has changed."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_new_python, run_python

PROGRAM = """
    import json, sys
    import numpy as np
    from gridjit import cuda
    import package
    from package import overloads

    def kernel_of(function):
        @cuda.jit
        def kernel(out):
            out[0] = function()
        return kernel

    found, loaded = {}, {}
    for name in overloads.FUNCTIONS:
        # Each finds nothing imported, as if it were the first of its process.
        for late in ("tuning", "further", "missing"):
            sys.modules.pop(f"package.{late}", None)
            vars(package).pop(late, None)
        kernel, out = kernel_of(getattr(overloads, name)), np.zeros(1)
        kernel[1, 1](out)
        private = [reason for one in kernel.specializations for reason in one.artifact.private]
        found[name] = [out[0], kernel.stats.compiles, private]
        loaded[name] = sorted(module for module in sys.modules if module.startswith("package."))
    print(json.dumps({"found": found, "loaded": loaded}))
"""
WAYS = {
    "statement": "from . import tuning\nvalue = tuning.VALUE",
    "name": "from .tuning import VALUE as value",
    "dotted": "import package.tuning\nvalue = package.tuning.VALUE",
    "helper": "value = through()",
    "call": "import importlib\nvalue = importlib.import_module('package.tuning').VALUE",
    "relative_call": "import importlib\nvalue = importlib.import_module('.tuning', __package__).VALUE",
    "relative_call_by_keyword": "from importlib import import_module\n"
    "value = import_module('.tuning', package=__package__).VALUE",
    "relative_call_with_a_text": "import importlib\nvalue = importlib.import_module('..tuning', 'package.inner').VALUE",
    "old_call": "value = __import__('package.tuning').tuning.VALUE",
    "twice_over": "from . import further\nvalue = further.value()",
    "optional": "try:\n    from .missing import VALUE\nexcept ImportError:\n    from .tuning import VALUE\n"
    "value = VALUE",
    "not_taken": "value = 3.0 if len('ab') else __import__('package.unwanted')",
}
FILES = {
    "tuning": "VALUE = 3.0\n",
    "further": "def value():\n    from .tuning import VALUE\n    return VALUE\n",
    "unwanted": "raise SystemExit('nobody imports this')\n",
}


def written(folder: Path, **files: str) -> Path:
    """Write the package with an overload for each way, and the program; files: modules that are other than usual."""
    package = folder / "package"
    package.mkdir(exist_ok=True)
    code = ["from gridjit import cuda", f"FUNCTIONS = {list(WAYS)}"]
    code.append("def through():\n    from package.tuning import VALUE\n    return VALUE")
    for name, body in WAYS.items():
        code.append(f"def {name}():\n    raise NotImplementedError")
        code.append(f"@cuda.extending.overload({name})\ndef implement_{name}():\n{textwrap.indent(body, '    ')}")
        code.append("    return lambda: value")
    texts = {"__init__": "", "overloads": "\n".join(code), **FILES, **files}
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    return folder


def run(folder: Path, *, new: bool = False) -> dict[str, Any]:
    """Return what became of every way in a process of its own. new: in an interpreter that is started for it."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = (run_new_python if new else run_python)(folder / "program.py", env=environment)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.usefixtures("target")
def test_an_overload_that_imports_while_it_runs_is_found_by_the_next_process_and_an_edit_of_that_is_a_miss(
    tmp_path: Path,
) -> None:
    first = run(written(tmp_path))
    assert first["found"] == {name: [3.0, 1, []] for name in WAYS}
    again = run(tmp_path, new=True)
    assert again["found"] == {name: [3.0, 0, []] for name in WAYS}
    assert again["loaded"] == first["loaded"]  # and so nothing that the compiles did not
    edited = run(written(tmp_path, tuning="VALUE = 12345.0\n"))["found"]
    untouched = edited.pop("not_taken")
    assert untouched == [3.0, 0, []]
    assert edited == {name: [12345.0, 1, []] for name in WAYS if name != "not_taken"}


@pytest.mark.usefixtures("target")
def test_a_module_that_an_overload_could_not_import_and_now_can_is_a_miss(tmp_path: Path) -> None:
    run(written(tmp_path))
    found = run(written(tmp_path, missing="VALUE = 7.0\n"))["found"]
    assert found["optional"] == [7.0, 1, []]
    assert {name: row for name, row in found.items() if name != "optional" and row[1]} == {}
