"""LLVM for this processor: parse, link, run passes, emit. llvmlite is untyped and walled off here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as binding
from llvmlite.binding.ffi import OutputString, lib
from llvmlite.binding.newpassmanagers import NewPassManager

from gridjit.base.interrupts import uninterrupted
from gridjit.compiler.targets.host.ir.module import FunctionText, attribute_groups, symbol, with_definitions
from gridjit.compiler.targets.host.ir.types import closing_bracket
from gridjit.compiler.targets.host.llvm.features import llvm_features
from gridjit.compiler.targets.joining import joined
from gridjit.compiler.targets.refusals import of_code
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.target import Target

# An llvmlite module; the library is untyped.
Module = Any

# LLVM's names for pointers that nothing is written through.
_UNWRITTEN = frozenset((b"readonly", b"readnone"))
_PARTS = frozenset("{[<(")
# Before its version 0.48, llvmlite gives a function's attributes to what it returns.
_ATTRIBUTES_OF_RESULTS = tuple(map(int, llvmlite.__version__.split(".")[:2])) < (0, 48)
_BEFORE_ATTRIBUTES = ("unnamed_addr", "local_unnamed_addr")
# Enough cleaning to see a kernel's shape, and nothing that duplicates or moves a barrier, which is declared convergent.
# Names are given last, so that every value and block of the result has one. LLVM's NewGVN is not among them: it takes
# two counters that a loop advances in different branches for one.
_CLEANING = (
    # Before inlining, which marks where each variable's life ends at each return of the function: numba makes several
    # variables for each access, so a long kernel would grow by many times before they are gone. What is no longer used
    # then is not worth copying.
    "sroa",
    "dead_code_elimination",
    "always_inliner",
    "sroa",
    # LLVM 20 would make values of the end of a loop over range, where newer ones keep the branch.
    *(("jump_threading",) if binding.llvm_version_info < (21,) else ()),
    "simplify_cfg",
    "instruction_combine",
    "sccp",
    "dead_code_elimination",
    "simplify_cfg",
    # Again: an iterator keeps pointers to its counters in memory; now that it is gone, these are seen to be values.
    "sroa",
    "instruction_combine",
    "simplify_cfg",
    "global_dead_code_eliminate",
    "strip_dead_prototype",
    "instruction_namer",
)
# Of a long kernel, what is inlined is simplified before: LLVM copies it to its one place.
_CLEANING_LONG = (_CLEANING[0], "instruction_combine", *_CLEANING[2:])
# Passes that shorten functions that are run seldom, at little cost.
_SHORTENING = (
    "always_inliner",
    "dead_arg_elimination",
    "dead_code_elimination",
    "simplify_cfg",
    "global_dead_code_eliminate",
)


def parse(text: str, of: str = "the kernel") -> Module:
    """Return the module of LLVM IR text; raises CompileError saying what is wrong with the code of a kernel."""
    try:
        return binding.parse_assembly(text)
    except RuntimeError as error:
        words = of_code(str(error)) or f"LLVM does not accept the code: {error}"
        raise CompileError(f"{of} for the host: {words}") from error


def parse_bitcode(data: bytes) -> Module:
    """Return the module of LLVM bitcode; raises RuntimeError with LLVM's own words."""
    return binding.parse_bitcode(data)


def link(modules: Sequence[Module]) -> Module:
    """Return the first module with the others linked into it (they are consumed)."""
    try:
        return joined(modules)
    except RuntimeError as error:
        raise CompileError(f"the kernel's modules do not link for the host: {error}") from error


def keep_only(module: Module, entry: str, recursive: frozenset[str]) -> Module:
    """Make all of module but entry private to it, to have every function inlined that is not recursive; return it."""
    inlined = []
    for function in module.functions:
        if function.is_declaration:
            continue
        if function.name != entry:
            function.linkage = "internal"
            if function.name not in recursive:
                inlined.append(function.name)
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"
    return _with_attributes(module, inlined, "alwaysinline")


def _with_attributes(module: Module, names: Iterable[str], *attributes: str) -> Module:
    """Return module, in which functions have attributes."""
    if not _ATTRIBUTES_OF_RESULTS:
        for name in names:
            function = module.get_function(name)
            for attribute in attributes:
                function.add_function_attribute(attribute)
        return module
    wanted, text = {*names}, text_of(module)
    # LLVM refuses a function that must and must not be inlined.
    groups = attribute_groups(text).items()
    apart = {name: words.replace("noinline", "") for name, words in groups if "noinline" in words}

    def changed(function: FunctionText) -> str:
        line, end, body = function.text.partition("\n")
        for name, others in apart.items() if function.name in wanted else ():
            line = line.replace(f" {name} ", f" {others} ")
        return (with_attributes(line, attributes) if function.name in wanted else line) + end + body

    return parse(with_definitions(text, changed))


def with_attributes(line: str, attributes: Sequence[str]) -> str:
    """Return the first line of a function's definition with attributes, which stand behind its parameters."""
    end = closing_bracket(line, line.index("(", line.index("@") + len(symbol(line)))) + 1
    head, rest = line[:end], line[end:]
    for word in _BEFORE_ATTRIBUTES:
        if rest.startswith(f" {word} "):
            head, rest = f"{head} {word}", rest.removeprefix(f" {word}")
    return " ".join((head, *attributes)) + rest


def clean(module: Module, target: Target, *, long: bool = False) -> None:
    """Inline and simplify module, long or not, without losing, copying or moving a barrier."""
    _run_each(_CLEANING_LONG if long else _CLEANING, module, target)


def infer_attributes(module: Module, target: Target) -> None:
    """Have LLVM note which of the functions' pointers nothing is written through, as far as it can prove that."""
    passes = binding.create_new_module_pass_manager()
    passes.add_post_order_function_attributes_pass()
    _run(passes, module, _builder(target, 1))


def written_pointers(module: Module, name: str) -> list[str]:
    """Return the names of a function's pointers that may be written through."""
    arguments = module.get_function(name).arguments
    return [one.name for one in arguments if str(one.type) == "ptr" and not _UNWRITTEN.intersection(one.attributes)]


def parameter_types(module: Module, name: str) -> list[str]:
    """Return the types of a function's parameters as text."""
    function = module.get_function(name)
    listed = str(function.global_value_type).partition("(")[2].rpartition(")")[0]
    # Those of several parts have commas of their own.
    if not _PARTS.isdisjoint(listed):
        return [str(argument.type) for argument in function.arguments]
    return listed.split(", ") if listed else []


def optimize(
    module: Module, target: Target, level: int, *, vectorize: bool = True, abreast: bool = True, unroll: bool = True
) -> None:
    """Run LLVM's own pipeline for level (0 to 3) on module.

    vectorize: whether loops become vector code. abreast: whether operations that stand side by side do as well.
    """
    builder = _builder(target, level, vectorize=vectorize, abreast=vectorize and abreast, unroll=unroll)
    _run(builder.getModulePassManager(), module, builder)


def with_seldom(module: Module, seldom: Module, shared: Collection[str], target: Target) -> Module:
    """Return an optimized module linked behind one of functions that are run seldom, which are compiled as they are.

    shared: the functions that one of the modules has and the other calls.
    """
    _run_each(_SHORTENING, seldom, target)
    names = [function.name for function in seldom.functions if not function.is_declaration]
    joined = link([seldom, module])
    for name in shared:
        joined.get_function(name).linkage = "internal"
    return _with_attributes(joined, names, "noinline", "optnone")


def emit(module: Module, target: Target) -> bytes:
    """Return the object file of module."""
    return bytes(_machine(target).emit_object(module))


def assembly(module: Module, target: Target) -> str:
    """Return the assembly text of module."""
    return str(_machine(target).emit_assembly(module))


def text_of(module: Module) -> str:
    """Return the text of module."""
    with _Text() as text:
        lib.LLVMPY_PrintModuleToString(module, text)
        return str(text)


def header(target: Target) -> str:
    """Return the lines that open every module made for target."""
    return _prepared(target).header


def triple(target: Target) -> str:
    """Return LLVM's name of the machine: processor, vendor, system."""
    return str(_machine(target).triple)


def global_type(module: Module, name: str) -> Any:
    """Return the type of the memory that a global variable names."""
    return module.get_global_variable(name).global_value_type


def size_of(target: Target, value_type: Any) -> int:
    """Return how many bytes a value of an LLVM type takes in an array."""
    return int(_machine(target).target_data.get_abi_size(value_type))


def align_of(target: Target, value_type: Any) -> int:
    """Return the alignment of a value of an LLVM type."""
    return int(_machine(target).target_data.get_abi_alignment(value_type))


class _Text(OutputString):  # type: ignore[misc]
    """A string that LLVM allocates. llvmlite's own is freed twice where an interrupt comes right after it was freed."""

    _ptr: Any

    def close(self) -> None:
        pointer, self._ptr = self._ptr, None
        if pointer is not None:
            lib.LLVMPY_DisposeString(pointer)


class _Prepared(NamedTuple):
    """The objects of a target: LLVM's description of the machine, and the lines that open its modules."""

    machine: Any
    header: str


_targets: dict[Target, _Prepared] = {}


def _machine(target: Target) -> Any:
    return _prepared(target).machine


def _prepared(target: Target) -> _Prepared:
    if target not in _targets:
        uninterrupted(lambda: _targets.setdefault(target, _prepare(target)))
    return _targets[target]


def _prepare(target: Target) -> _Prepared:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=target.arch, features=llvm_features(target), opt=3, reloc="pic", codemodel="small"
    )
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    return _Prepared(machine, header)


def _run_each(names: Sequence[str], module: Module, target: Target) -> None:
    """Run the passes of these names on module."""
    passes = binding.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    _run(passes, module, _builder(target, 1))


def _run(passes: Any, module: Module, builder: Any) -> None:
    """Run passes, which can be run only once, and free them: a pipeline of LLVM's takes 30 KB."""
    try:
        passes.run(module, builder)
    finally:
        # llvmlite itself never frees them: the empty method of one base class hides that of the other. The wrapper is
        # told first, because an interrupt may come right after LLVM's function.
        passes._owned = True
        NewPassManager._dispose(passes)


_builders: dict[tuple[Target, int, bool, bool, bool], Any] = {}


def _builder(target: Target, level: int, *, vectorize: bool = True, abreast: bool = True, unroll: bool = True) -> Any:
    """Return the pass builder for a level; it is kept, as LLVM leaves something behind for each."""
    key = target, level, vectorize, abreast, unroll
    if (found := _builders.get(key)) is None:
        made = binding.create_pass_builder(_machine(target), _tuning(level, vectorize, abreast, unroll))
        found = _builders.setdefault(key, made)
    return found


def _tuning(level: int, vectorize: bool, abreast: bool, unroll: bool) -> Any:
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = level > 1 and unroll
    options.loop_vectorization = level > 1 and vectorize
    options.slp_vectorization = level > 1 and abreast
    return options
