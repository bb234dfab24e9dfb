"""A kernel that numba-cuda's own jit made, launched without a GPU: one sentence names it, its place and the way on."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.runtime.devices import presence
from gridjit.runtime.process.session import end_session
from tests.programs import run_new_python


def missed(x):
    x[0] = 1


@pytest.fixture
def own_jit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """numba-cuda's own jit, where there is no GPU."""
    from numba.cuda.decorators import jit

    monkeypatch.setattr(presence, "device_count", lambda: 0)
    end_session()
    yield jit
    end_session()


@pytest.mark.parametrize(
    "launch",
    [
        lambda jit: jit(missed)[200, 1](np.zeros(1)),
        lambda jit: jit(missed).forall(1)(np.zeros(1)),
        lambda jit: jit(missed).specialize(np.zeros(1)),
        lambda jit: jit(missed).compile((1.0,)),
    ],
)
def test_it_is_one_sentence_and_the_users_own_lines(own_jit: Any, launch: Callable[[Any], Any]) -> None:
    with pytest.raises(gridjit.DeviceError) as caught:
        launch(own_jit)
    said = str(caught.value)
    assert said.startswith(f"kernel {__name__}.missed ({__file__}:{missed.__code__.co_firstlineno}) was made by numba-")
    assert "from gridjit import cuda" in said and "gridjit.install()" in said and "\n" not in said
    assert {entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_a_function_for_kernels_that_is_launched_gets_numbas_error(own_jit: Any) -> None:
    with pytest.raises(RuntimeError, match="Cannot compile a device function as a kernel"):
        own_jit(device=True)(missed)[200, 1](np.zeros(1))


def test_programs_that_look_for_numbas_error_still_find_it(own_jit: Any) -> None:
    from numba.cuda.cudadrv.error import CudaSupportError

    with pytest.raises(CudaSupportError) as caught:
        own_jit("void(float32[:])")(missed)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, gridjit.DeviceError) and isinstance(again, CudaSupportError)
    assert str(again) == str(caught.value)


IMPORTS = ("from numba import cuda", "import gridjit.cuda")


@pytest.mark.some(1)
@pytest.mark.parametrize("imports", [IMPORTS, IMPORTS[::-1]], ids=["numba", "gridjit"])
def test_it_does_not_matter_which_is_imported_first(tmp_path: Path, imports: tuple[str, str]) -> None:
    kernel = "@cuda.jit\ndef forgotten(x):\n    x[0] = 1\n"
    (tmp_path / "program.py").write_text("\n".join((*imports, kernel, "forgotten[200, 1](1.0)")))
    done = run_new_python("program.py", cwd=tmp_path)
    assert done.stderr.splitlines()[-1].startswith("gridjit.DeviceError: kernel __main__.forgotten (")
    assert done.stderr.count("  File ") == 1
