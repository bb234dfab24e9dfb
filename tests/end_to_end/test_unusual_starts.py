"""Programs that are started in unusual ways: without start-up files, from zip files, and what their errors show."""

from __future__ import annotations

import os
import sys
import zipapp
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

# Where gridjit is installed to be edited, a start-up file says where it is.
PROGRAM = """
import importlib, pkgutil
for found in pkgutil.iter_modules():
    if found.name.startswith("__editable___gridjit"):
        importlib.import_module(found.name).install()

import numpy as np
import gridjit

@gridjit.jit
def fill(x):
    x[gridjit.cuda.grid(1)] = {value}

x = np.zeros(4)
fill[1, 4](x)
print(x, fill.stats.compiles)
"""


def environment() -> dict[str, str]:
    """Return this environment on the host, with all that is imported from named in PYTHONPATH."""
    return {**os.environ, "GRIDJIT_TARGET": "host", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_a_program_compiles_where_python_runs_no_startup_files(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.format(value=7))
    done = run_new_python("-S", tmp_path / "main.py", env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "[7. 7. 7. 7.] 1\n", "")


def test_where_numbas_own_cuda_is_imported_first_the_error_says_what_to_import(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import numba.cuda\n" + PROGRAM.format(value=7))
    done = run_new_python("-S", "-W", "ignore", tmp_path / "main.py", env=environment())
    assert done.returncode == 1
    assert "CompileError: numba.cuda is numba's own here" in done.stderr.splitlines()[-1]
    assert "import _numba_cuda_redirector first" in done.stderr


@pytest.mark.parametrize("main", [True, False])
def test_an_error_in_a_zip_file_shows_the_line(tmp_path: Path, main: bool) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / ("__main__.py" if main else "kernels.py")).write_text(PROGRAM.format(value="nowhere"))
    if not main:
        (folder / "__main__.py").write_text("import kernels\n")
    zipapp.create_archive(folder, archive := tmp_path / "app.pyz")
    if main:
        done = run_new_python(archive, env=environment())
    else:
        code = f"import runpy; runpy.run_path({str(archive)!r}, run_name='__main__')"
        done = run_python("-c", code, env=environment())
    assert "'nowhere' is not defined" in done.stderr
    assert "    x[gridjit.cuda.grid(1)] = nowhere\n" + " " * 30 + "^^^^^^^\n" in done.stderr
    assert ":12, in fill\n" in done.stderr
