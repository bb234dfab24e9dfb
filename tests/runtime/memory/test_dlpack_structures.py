"""DLPack's capsules are looked into without changing what other libraries see of ctypes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gridjit.runtime.memory.dlpack_structures import pointer_in


def test_a_capsule_is_found_by_its_name_and_other_objects_hold_nothing() -> None:
    capsule = np.ones(3).__dlpack__()
    assert pointer_in(id(capsule), b"dltensor")
    assert pointer_in(id(capsule), b"dltensor_versioned") == 0
    for other in (0, 1 << 40, b"dltensor", object()):
        assert pointer_in(id(other), b"dltensor") == 0


@pytest.mark.parametrize("name", ["PyCapsule_New", "PyCapsule_IsValid", "PyCapsule_GetPointer"])
def test_loading_every_kind_of_argument_leaves_ctypes_functions_as_they_were(name: str) -> None:
    program = f"""
import ctypes
import gridjit.runtime.memory.dlpack_export
from gridjit.runtime.args.lookup import load_all
load_all()
print(ctypes.pythonapi.{name}.argtypes, ctypes.pythonapi.{name}.restype.__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None c_int"
