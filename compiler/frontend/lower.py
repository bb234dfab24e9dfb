"""lower: a job and its view of the launch in, typed and lowered LLVM IR out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, cast

from gridjit.base.forking import section
from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions, numba_cuda
from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.frontend.bindings.types import numba_arguments
from gridjit.compiler.frontend.bindings.vocabulary import instructions, unsigned_ranges, values_of_halves
from gridjit.compiler.frontend.debugging.unassigned import check_assignments
from gridjit.compiler.frontend.fold import folded
from gridjit.compiler.frontend.isolated.asking import tell_who_asks
from gridjit.compiler.frontend.isolated.isolation import CompileConditions, Isolation, import_all, isolated
from gridjit.compiler.frontend.isolated.launch_visibility import needs_launch, while_visible
from gridjit.compiler.frontend.isolated.names import numbered, without_numbers
from gridjit.compiler.frontend.isolated.passes import kernel_pipeline
from gridjit.compiler.frontend.isolated.recursion import link_what_was_waited_for
from gridjit.compiler.frontend.kept.asked import Raised
from gridjit.compiler.frontend.kept.library import is_printed, text_of
from gridjit.compiler.frontend.linkable import discovered_files, numba_files
from gridjit.compiler.frontend.narrow.modules import are_imported, takes_narrow_floats
from gridjit.compiler.frontend.shape_rewrite import install as install_shapes
from gridjit.compiler.frontend.static_rewrite import install as install_static
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.source.libraries import is_numbas
from gridjit.compiler.values.errors import CompileError, GridjitError, LaunchNeededError, for_cause
from gridjit.compiler.values.launch_config import Dim3
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import ExceptionEntry, LinkedFile, Lowered, Target
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

# The architecture whose view of the language the host target takes.
_HOST_CAPABILITY = (9, 0)
# The functions that a module of LLVM IR defines, and all global names in it. Its first line is a comment: a pattern
# that begins with letters is searched for at once.
_DEFINED = re.compile(r'\ndefine[^@\n]*@("[^"\n]*"|[\w.$-]+)')
_NAMED = re.compile(r'@("[^"\n]*"|[\w.$-]+)')
# A shared array of a negative shape: a global of LLVM IR, not a text that a kernel prints.
_NEGATIVE = re.compile(r'^@(?:"[^"]*"|[\w.$]+) = [^"\n]*\bglobal \[-\d', re.MULTILINE)
# PTX's words for a block's cluster, in inline PTX.
_OF_CLUSTERS = (" %cluster", ",%cluster", " %ncluster", ",%ncluster", "barrier.cluster.")
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)")


def lower(
    function: Callable[..., Any],
    signature: Signature,
    options: Options,
    target: Target,
    linked: tuple[LinkedFile, ...],
    view: ConfigView,
    reads: Reads | None = None,
) -> tuple[Lowered, tuple[Callable[..., Any], ...]]:
    """Return the kernel lowered for target, and the functions of extensions that its compile used.

    Meanwhile, this thread sees view as its launch configuration, and reads records the values taken from Python.
    Raises CompileError in the user's terms.
    """
    conditions = CompileConditions(
        view=view,
        capability=capability(target),
        boundscheck=_looks_at_bounds(options),
        reads=reads or Reads(function),
        keep=not options.checks,
    )
    records: list[Isolation] = []
    load_installed_extensions()
    import_all(narrow_floats=takes_narrow_floats(signature))
    with section():
        install_static()
        install_shapes()
        instructions()
        unsigned_ranges()
        if are_imported():
            values_of_halves()

    def lower_it(record: Isolation) -> Lowered:
        records.append(record)
        tell_who_asks(view, lines=options.debug or options.lineinfo)
        _check_accesses(options)
        with phase("front end"):
            result = _compiled(function, signature, options, target, record)
        with phase("LLVM IR text"):
            return _lowered(function, result, options, target, linked, record)

    try:
        lowered = while_visible(view, isolated, conditions, lower_it)
        cluster = _cluster(lowered, target, view)
        return dataclasses.replace(lowered, signature=signature, cluster=cluster), _discovered(records[-1])
    except GridjitError as error:
        _tell_functions(error, records)
        raise
    except Exception as error:  # numba raises dozens of types; each means that the user's kernel does not compile
        let_through(error)
        kind = LaunchNeededError if needs_launch(view, error) else CompileError
        explained = _explained(kind, function, signature, target, error)
        _tell_functions(explained, records)
        raise explained from error


def _tell_functions(error: GridjitError, records: Iterable[Isolation]) -> None:
    """Add the functions of extensions that a compile had used to an error that says that a launch is needed."""
    if isinstance(error, LaunchNeededError):
        error.functions = tuple(function for record in records for function in _discovered(record))


def _check_accesses(options: Options) -> None:
    """Add names of accesses, and checks of variables without a value, to the code, as options ask."""
    if options.checks:
        from gridjit.compiler.frontend.debugging.accesses import name_accesses  # the host target's, as its imports are

        name_accesses(replace)
    if "uninitialized" in options.checks if options.checks else options.debug:
        check_assignments(replace)


def _cluster(lowered: Lowered, target: Target, view: ConfigView) -> Dim3 | None:
    """Return the launch's cluster, if code for the host asks for its place in one."""
    if target.kind != "host" or not any(word in text for text in lowered.modules for word in _OF_CLUSTERS):
        return lowered.cluster
    cluster = view.read("cluster", "PTX about clusters")
    assert cluster is None or isinstance(cluster, tuple)
    return cast("Dim3 | None", cluster)


def _explained(
    kind: type[CompileError], function: Callable[..., Any], signature: Signature, target: Target, error: Exception
) -> CompileError:
    """Return the error to raise for the front end's: in the user's words, with the front end's as its original."""
    from gridjit.compiler.frontend.explained.rules.explain import explain

    told = explain(function, signature, target, error)
    made = for_cause(kind, str(told), error)
    made.diagnosis, made.original = told, error
    return made


def _looks_at_bounds(options: Options) -> bool:
    return "bounds" in options.checks if options.checks else options.debug


def capability(target: Target) -> tuple[Any, ...]:
    """Return numba's compute capability for a target: (9, 0) or (9, 0, "a") for "sm_90a"."""
    if target.kind == "host":
        return _HOST_CAPABILITY
    match = _ARCH.fullmatch(target.arch)
    if match is None:
        raise CompileError(f"target {target.arch!r} is not an architecture; give one, such as 'sm_90', or 'host'")
    major, minor, suffix = match.groups()
    return (int(major), int(minor), suffix) if suffix else (int(major), int(minor))


def _compiled(
    function: Callable[..., Any], signature: Signature, options: Options, target: Target, record: Isolation
) -> Any:
    """Return numba's result for the kernel, compiled now or in another process."""

    def compile_it() -> Any:
        return _run_pipeline(function, signature, options, target, record)

    # Folded fields are read of the launch when the code is complete.
    if record.keeping is None or options.specialize or type(function) is not FunctionType:
        return compile_it()
    told = (target.kind, *(text for field in options.fields for text in field))
    return record.keeping.kernel(function, numba_arguments(signature), told, compile_it)


def _run_pipeline(
    function: Callable[..., Any], signature: Signature, options: Options, target: Target, record: Isolation
) -> Any:
    numba_cuda()
    from numba.cuda import types, utils
    from numba.cuda.compiler import compile_extra
    from numba.cuda.core.callconv import CUDACallConv
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.target_context
    with utils.numba_target_override():
        result = compile_extra(
            typingctx=cuda_target.typing_context,
            targetctx=context,
            func=function,
            args=numba_arguments(signature),
            return_type=types.void,
            flags=_flags(options, target),
            locals={},
            pipeline_class=kernel_pipeline(),
            call_conv=CUDACallConv(context),
            abi_info={},
        )
    link_what_was_waited_for(result.library, record.waiting)
    result.library.finalize()
    return result


def _flags(options: Options, target: Target) -> Any:
    from numba.cuda.flags import CUDAFlags

    flags = CUDAFlags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.inline = options.inline if isinstance(options.inline, str) else "never"
    flags.error_model = "python" if options.debug else "numpy"
    flags.fastmath = bool(options.fastmath)
    flags.compute_capability = capability(target)
    flags.max_registers = options.max_registers
    flags.lto = options.lto
    flags.nvvm_options = {"opt": 3 if options.opt else 0, "fastmath": bool(options.fastmath), **_debug_option(options)}
    if options.forceinline:
        flags.forceinline = True
    if options.lineinfo or (target.kind == "ptx" and options.debug):
        flags.debuginfo = True
        flags.dbg_directives_only = options.lineinfo
        flags.dbg_extend_lifetimes = options.debug
    return flags


def _debug_option(options: Options) -> dict[str, None]:
    return {"g": None} if options.debug else {}


def _refuse_negative_shapes(modules: Iterable[str]) -> None:
    """Raise ValueError if a module has a shared array of a negative shape, which numba takes for a dynamic one."""
    if any("global [-" in module and _NEGATIVE.search(module) for module in modules):
        raise ValueError("array length <= 0")  # as numba says it of other shapes


def _lowered(
    function: Callable[..., Any],
    result: Any,
    options: Options,
    target: Target,
    linked: tuple[LinkedFile, ...],
    record: Isolation,
) -> Lowered:
    library = result.library
    entry = result.fndesc.llvm_func_name
    fields = () if options.chooses else options.specialize  # fields that it chooses are folded later
    if target.kind == "ptx" and not is_printed(library):
        _finish_kernel(library.get_function(entry), options)
    modules, names = numbered(folded(_ordered_modules(library), entry, fields, record.view))
    _refuse_negative_shapes(modules)
    return Lowered(
        modules=modules,
        entry=names.get(f'"{entry}"', entry).strip('"'),
        exceptions={code: _exception_entry(found) for code, found in sorted(record.exceptions.items())},
        linked=_to_link(modules, library, linked, target),
        cooperative=bool(library.use_cooperative),
        kernel=f"{function.__module__}.{function.__qualname__}",
        source=(function.__code__.co_filename, function.__code__.co_firstlineno),
        reused=() if record.keeping is None else tuple(record.keeping.reused),
        code=function.__code__,
        shelf=recording_of(record.view).shelf,
    )


def _finish_kernel(kernel: Any, options: Options) -> None:
    """Make the function a void kernel for NVVM; in debug mode its exceptions go to global variables."""
    from numba.cuda.compiler import kernel_fixup
    from numba.cuda.cudadrv import nvvm

    kernel_fixup(kernel, options.debug)
    nvvm.set_launch_bounds(kernel, options.launch_bounds)


def _ordered_modules(library: Any) -> tuple[str, ...]:
    """Return the kernel's module first, then each module after a caller, always in the same order.

    NVVM drops a function that may be dropped (linkonce) unless an earlier module calls it. numba-cuda keeps the
    modules in a set.
    """
    others = [module for module in library.modules if module is not library._module]
    first, *rest = map(text_of, (library._module, *others))
    texts = sorted({*rest} - {first}, key=lambda text: (without_numbers(text), text))
    defined = {text: frozenset(_DEFINED.findall(text)) for text in texts}
    ordered, named = [first], set(_NAMED.findall(first))
    while defined:
        called = next((text for text, names in defined.items() if not named.isdisjoint(names)), next(iter(defined)))
        del defined[called]
        ordered.append(called)
        named.update(_NAMED.findall(called))
    return tuple(ordered)


def _to_link(
    modules: tuple[str, ...], library: Any, linked: tuple[LinkedFile, ...], target: Target
) -> tuple[LinkedFile, ...]:
    """Return linked and the files of all called functions. On the host, numba-cuda's own files are in its library.

    Files that called functions brought along are recorded as dependencies. Code in memory is in the key, with the
    functions or extensions that hold it.
    """
    files = linked + discovered_files(library, linked, target.kind)
    return files if target.kind != "ptx" else files + numba_files(modules, files)


def _exception_entry(raised: Raised) -> ExceptionEntry:
    plain = tuple(a if isinstance(a, str | int | float | bool | None) else repr(a) for a in raised.arguments or ())
    module, name = raised.exception.__module__, raised.exception.__qualname__
    return ExceptionEntry(module=module, qualname=name, arguments=plain, place=raised.place_text)


def _discovered(record: Isolation) -> tuple[Callable[..., Any], ...]:
    # A function that exec made in a namespace without __name__ has no module.
    return tuple(f for f in record.discovered if not is_numbas(str(f.__module__)))
