"""Optimizing: LLVM's passes over the final text of a kernel's module."""

from __future__ import annotations

from gridjit.compiler.targets.host.analysis.vectorizer_chains import may_never_end, never_ends
from gridjit.compiler.targets.host.ir.cold_code import split_cold_code
from gridjit.compiler.targets.host.library.libmvec import replacement, several_forms
from gridjit.compiler.targets.host.library.narrow_floats import half_calls
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.sanitizer.checks import is_worth_again
from gridjit.compiler.values.options import PLAIN, Options
from gridjit.compiler.values.target import Target

# Lines of LLVM IR, cleaned and cut into regions: five for each line of a kernel that computes with arrays.
_HUGE = 10_000
# With so many lines of its own, a kernel is not searched for operations side by side that make a vector: the search
# takes longer than all other passes, and the loops over the threads are vectorized anyway.
_LONG = 500
_DEFINITION = "\ndefine "
# A region's function: the kernel's own code, which may have loops besides those that run it.
_REGION = "@gridjit.region."


def optimized(text: str, target: Target, options: Options) -> llvm.Module:
    """Return the module of a text, optimized as much as its size and the options allow."""
    return _final(text, target, _level(text, options), abreast=_is_short(text))


def _level(text: str, options: Options) -> int:
    """Return LLVM's level of optimization: above a size, -O3 takes longer than the program is likely to gain."""
    # Checks take far more time than the rest of a kernel, and keep its own code from being changed much.
    if options.codegen == PLAIN:
        return 1
    return 3 if (options.opt or options.checks) and text.count("\n") <= _HUGE else 1


def _is_short(text: str) -> bool:
    """Return whether the kernel's own code is worth a search for operations side by side."""
    return sum(region.count("\n") for region in _regions_of(text)) <= _LONG


def _regions_of(text: str) -> list[str]:
    """Return those functions of a module's text that are regions."""
    functions = (one.partition("\n}") for one in text.split(_DEFINITION)[1:])
    return [f"define {one}{end}" for one, end, _ in functions if _REGION in one.partition("(")[0]]


def _final(text: str, target: Target, level: int, *, abreast: bool) -> llvm.Module:
    """Return the optimized module of a text, with the functions that are run seldom as they are."""
    parts = split_cold_code(text)
    module = _optimum(parts.often, target, level, abreast=abreast)
    if parts.seldom:
        module = llvm.with_seldom(module, llvm.parse(llvm.header(target) + parts.seldom), parts.shared, target)
    if half_calls.may_be_called(text, target):
        module = llvm.link([module, llvm.parse(llvm.header(target) + half_calls.DEFINITIONS)])
    return _with_one_form(module, target) if "@_ZGV" in text else module


def _with_one_form(module: llvm.Module, target: Target) -> llvm.Module:
    """Return an optimized module in which each mathematical function gives one result for an argument."""
    made = several_forms(llvm.text_of(module))
    for symbol in made:
        module.get_function(symbol).name = replacement(symbol)
    return llvm.link([module, *(llvm.parse(llvm.header(target) + text) for text in made.values())])


def _optimum(text: str, target: Target, level: int, *, abreast: bool) -> llvm.Module:
    """Return the optimized module of a text; its loops are not vectorized if LLVM would never finish."""
    if level > 1 and may_never_end("\n".join(_regions_of(text))):
        plain = llvm.parse(text)
        llvm.optimize(plain, target, level, vectorize=False)
        if never_ends(llvm.text_of(plain)):
            return plain
    module = llvm.parse(text)
    llvm.optimize(module, target, level, abreast=abreast)
    if is_worth_again(text):
        llvm.optimize(module, target, level, abreast=abreast)
    return module
