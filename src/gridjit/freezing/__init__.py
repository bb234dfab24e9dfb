"""Freezing: hooks for PyInstaller, so that a frozen program contains everything that compiles kernels."""

from __future__ import annotations

import os


def hook_dirs() -> list[str]:
    """Return the folder of the hook that PyInstaller runs for a program that imports gridjit."""
    return [os.path.dirname(os.path.abspath(__file__))]
