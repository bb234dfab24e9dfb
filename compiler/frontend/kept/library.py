"""library: a callee's code library, which may be linked into many kernels: its module is printed and found once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.frontend.kept.initial_stores import without_initial_stores


class PrintedModule:
    """Stands for a complete module of LLVM IR, which is dropped once it has been printed, without initial stores."""

    def __init__(self, module: Any, text: str = "") -> None:
        self._module = module
        self._text = text

    @classmethod
    def of(cls, text: str) -> PrintedModule:
        """Return a module of a text that was printed before."""
        return cls(None, text)

    @property
    def is_printed(self) -> bool:
        """Whether it is complete: it was printed for a kernel, which first sets the linkage of its callees."""
        return self._module is None

    @property
    def functions(self) -> Sequence[Any]:
        """The module's functions, whose linkage numba sets when a caller is complete; none once it was printed."""
        return () if self._module is None else self._module.functions

    def __str__(self) -> str:
        if self._module is not None:
            self._text, self._module = text_of(self._module), None
        return self._text


def text_of(module: Any) -> str:
    """Return the text of a complete module, without the stores of zeros that nothing reads."""
    return str(module) if isinstance(module, PrintedModule) else without_initial_stores(str(module))


def is_printed(library: Any) -> bool:
    """Return whether a library's module is complete and stands as a text only."""
    return isinstance(library._module, PrintedModule) and library._module.is_printed


def print_once(library: Any) -> None:
    """Print the module of a complete library only once, for all its linkers."""
    if not isinstance(library._module, PrintedModule):
        library._module = PrintedModule(library._module)


def let_go_of_the_way(result: Any) -> None:
    """Drop numba's form of a result's function, which is kept only for people to look at."""
    result.fndesc.typemap = result.fndesc.calltypes = None
    vars(result.type_annotation).clear()


def is_code_alone(library: Any) -> bool:
    """Return whether a library is only code: without files, callbacks or objects."""
    parts = ("_linking_files", "_setup_functions", "_teardown_functions", "referenced_objects")
    return getattr(library, "_module", None) is not None and not any(getattr(library, part, True) for part in parts)


def find_modules_once() -> None:
    """Have numba-cuda go through each linked library once, however many paths lead to it, until changes are undone."""
    from numba.cuda.codegen import CUDACodeLibrary

    def modules(library: Any) -> list[Any]:
        found, seen, waiting = [], {id(library)}, [library]
        while waiting:
            one = waiting.pop()
            if not isinstance(one, CUDACodeLibrary):
                found += one.modules
                continue
            found.append(one._module)
            new = {id(linked): linked for linked in one._linking_libraries if id(linked) not in seen}
            seen.update(new)
            waiting += new.values()
        return found

    replace(CUDACodeLibrary, "modules", property(modules))
