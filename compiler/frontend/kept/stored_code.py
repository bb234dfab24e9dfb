"""stored_code: a callee's result in a stored unit - its LLVM IR and how it is called - and numba's result made of that.

Names of functions in LLVM IR have numbers that numba gives out anew in each process. They are replaced by numbers of
this process, so that no two functions of a kernel share one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from gridjit.base import reading
from gridjit.compiler.frontend.kept.library import PrintedModule, is_printed
from gridjit.compiler.frontend.kept.stored_record import Descriptor
from gridjit.compiler.frontend.kept.type_rows import row_of, rows_of, type_of

_NAMED = re.compile(r'@("[^"\n]*"|[\w.$-]+)')
# Definitions in a module of LLVM IR: its functions and its variables, with their linkage, each after the end of a line,
# for which a text is searched at once.
_FUNCTION = re.compile(r'\ndefine (\w+) [^@\n]*@("[^"\n]*"|[\w.$-]+)')
_VARIABLE = re.compile(r'\n@("[^"\n]*"|[\w.$-]+) *= *(\w+)')
_OWN = ("private", "internal")
# Shared arrays, which numba-cuda numbers in each process.
_SHARED = "_cudapy_smem"
# Variables with a meaning for LLVM, as the list of used functions.
_LLVMS = "llvm."


def described(result: Any) -> Descriptor | None:
    """Return how a result is called; None if there is more to it than is known here."""
    from numba.cuda.core.callconv import CUDACallConv

    found, library = result.fndesc, result.library
    arguments, returns = rows_of(found.argtypes), row_of(found.restype)
    plain = type(found.call_conv) is CUDACallConv and not found.abi_info and found.global_dict is None
    same = result.signature.return_type == found.restype and result.signature.args == found.argtypes
    if not (plain and same and found.native and not found.kws) or arguments is None or returns is None:
        return None
    return Descriptor(
        name=found.unique_name or "",
        module=found.modname,
        qualname=found.qualname,
        symbol=found.mangled_name,
        env=found.env_name,
        library=library.name,
        names=tuple(found.args),
        tags=tuple(found.abi_tags),
        arguments=tuple(arguments),
        returns=returns,
        inline=bool(found.inline),
        noalias=bool(found.noalias),
        cooperative=bool(library.use_cooperative),
    )


def printed(result: Any, descriptor: Descriptor) -> str | None:
    """Return a result's LLVM IR, if it was printed for its kernel and defines only its function and known variables."""
    if not is_printed(result.library):
        return None
    text = str(result.library._module)
    lines = f"\n{text}"
    functions = {name.strip('"') for linkage, name in _FUNCTION.findall(lines) if linkage not in _OWN}
    variables = {name.strip('"') for name, linkage in _VARIABLE.findall(lines) if linkage not in _OWN}
    known = all(name == descriptor.env or name.startswith((_SHARED, _LLVMS)) for name in variables)
    return text if functions == {descriptor.symbol} and known else None


def revived(descriptor: Descriptor, text: str, callees: Mapping[str, str], libraries: Sequence[Any]) -> Any:
    """Return numba's result of a stored unit; raises Unreadable if none can be made.

    callees: the symbols of its callees, as the text has them and as they are now. libraries: of the callees.
    """
    from numba.cuda.compiler import cuda_compile_result
    from numba.cuda.core.bytecode import FunctionIdentity
    from numba.cuda.core.callconv import CUDACallConv
    from numba.cuda.core.funcdesc import PythonFunctionDescriptor
    from numba.cuda.descriptor import cuda_target
    from numba.cuda.typing import signature

    context = cuda_target.target_context
    arguments, returns = tuple(map(type_of, descriptor.arguments)), type_of(descriptor.returns)
    number, convention = next(FunctionIdentity._unique_ids), CUDACallConv(context)
    named = PythonFunctionDescriptor(
        native=True,
        modname=descriptor.module,
        qualname=descriptor.qualname,
        unique_name=f"{descriptor.qualname}${number}",
        doc="",
        typemap=None,
        restype=returns,
        calltypes=None,
        args=descriptor.names,
        kws=(),
        mangler=convention.mangler,
        argtypes=arguments,
        inline=descriptor.inline,
        noalias=descriptor.noalias,
        abi_tags=list(descriptor.tags),
        uid=number,
        call_conv=convention,
        abi_info={},
    )
    own = {descriptor.symbol: named.mangled_name, descriptor.env: named.env_name}
    library = context.codegen().create_library(descriptor.library)
    library._module = PrintedModule.of(_renamed(text, descriptor, named, {**callees, **own}))
    for one in libraries:
        library.add_linking_library(one)
    library.use_cooperative |= descriptor.cooperative
    library.finalize()
    return cuda_compile_result(
        typing_context=context.typing_context,
        target_context=context,
        type_annotation=SimpleNamespace(),
        library=library,
        signature=signature(returns, *arguments),
        objectmode=False,
        lifted=(),
        fndesc=named,
        metadata={},
        reload_init=[],
    )


def _renamed(text: str, descriptor: Descriptor, named: Any, names: Mapping[str, str]) -> str:
    """Return LLVM IR with the names of this process; raises Unreadable if it is not of that function."""
    from numba.cuda.cudaimpl import _get_unique_smem_id

    first, line, rest = text.partition("\n")
    if not line or first != f'; ModuleID = "{descriptor.name}"' or descriptor.symbol not in rest:
        raise reading.Unreadable("LLVM IR of that function is expected")
    shared: dict[str, str] = {}

    def new(match: re.Match[str]) -> str:
        name = match[1].strip('"')
        if name in names:
            return f'@"{names[name]}"'
        if name.startswith(f"{_SHARED}_"):
            if name not in shared:
                shared[name] = _get_unique_smem_id(_SHARED)
            return f'@"{shared[name]}"'
        return match[0]

    return f'; ModuleID = "{named.unique_name}"\n{_NAMED.sub(new, rest)}'
