"""The hook of PyInstaller for gridjit: a frozen program compiles kernels for the host, and finds them in its cache.

numba-cuda is collected as files, because its folder takes the place of `numba.cuda`. gridjit and numba have their
sources beside them, because kernels' keys and numba's own look-ups read them.
"""

# PyInstaller finds hooks by such names.
# ruff: noqa: N999
# mypy: ignore-errors
from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, collect_submodules, copy_metadata


def _is_used(name):
    return not any(part in name for part in (".tests", ".testing", ".freezing"))


hiddenimports = ["_numba_cuda_redirector"]
for package in ("gridjit", "numba", "llvmlite"):
    hiddenimports += collect_submodules(package, filter=_is_used)

datas, binaries = collect_data_files("gridjit"), []
for package in ("numba_cuda", "cuda.core", "cuda.bindings", "cuda.pathfinder"):
    datas += collect_data_files(package, include_py_files=True, excludes=["**/tests/**"])
    binaries += collect_dynamic_libs(package, search_patterns=["*.so"])
for distribution in ("gridjit", "numba-cuda", "numba", "llvmlite", "cuda-bindings", "cuda-core", "cuda-pathfinder"):
    datas += copy_metadata(distribution)

module_collection_mode = {"gridjit": "pyz+py", "numba": "pyz+py"}
