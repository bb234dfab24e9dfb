"""pass_runs: a pass of numba-cuda's is run without the texts for listeners to its events and for its printing.

For each pass, numba-cuda writes down the flags, the types of arguments and the pass's name for listeners to its events,
makes a stack of things to undo, and goes through all statements for ends of variables. Here the text is left out if
nobody listens, and statements are looked through by their classes. numba's global lock, which each pass takes again, is
held for the whole of gridjit's compile.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

_EVENT = "numba-cuda:run_pass"


def _install(replace: Replace) -> None:
    from numba.cuda.core import compiler_machinery as machinery
    from numba.cuda.core import errors, event, ir
    from numba.cuda.core.compiler_machinery import FunctionPass, PassManager

    ends: dict[type, bool] = {}

    def enforce_no_dels(function: Any) -> None:
        for block in function.blocks.values():
            for kind in {*map(type, block.body)}:
                if kind not in ends:
                    ends[kind] = issubclass(kind, ir.del_types)
                if ends[kind]:
                    enforce_original(function)

    def run_pass(manager: Any, index: int, found: Any, state: Any) -> None:
        name = found.name()
        is_printed = any(name in names for names in (manager._print_before, manager._print_after, manager._print_wrap))
        if is_printed or event._registered.get(_EVENT):
            original(manager, index, found, state)
            return
        found.analysis = manager._analysis
        try:
            mutated, begun = False, perf_counter()
            times = []
            for step in (found.run_initialization, found.run_pass, found.run_finalizer):
                mutated |= _checked(step(state), name)
                times.append(perf_counter() - begun)
                begun += times[-1]
        except errors.NumbaError as error:
            error.add_context(f"Pass {name}")
            raise
        if isinstance(found, FunctionPass):
            machinery.enforce_no_dels(state.func_ir)
        if manager._ENFORCING:
            _enforce(state, found, mutated)
        manager.exec_times[f"{index}_{name}"] = machinery.pass_timings(*times)

    def _enforce(state: Any, found: Any, mutated: bool) -> None:
        if machinery._pass_registry.get(found.__class__).mutates_CFG:
            if mutated:
                machinery.PostProcessor(state.func_ir).run()
            else:
                state.func_ir.blocks = machinery.transforms.canonicalize_cfg(state.func_ir.blocks)
        if not machinery.legalize_single_scope(state.func_ir.blocks):
            raise errors.CompilerError(f"multiple scope in func_ir detected in {found}")

    enforce_original = replace(machinery, "enforce_no_dels", enforce_no_dels)
    original = replace(PassManager, "_runPass", run_pass)


def _checked(mutated: Any, name: str) -> Any:
    """Return a pass's result, whether it changed anything; raises ValueError for another."""
    if mutated not in (True, False):
        raise ValueError(
            f"CompilerPass implementations should return True/False. CompilerPass with name '{name}' did not."
        )
    return mutated


PIECE = Piece(
    name="pass_runs",
    written_for={
        "numba.cuda.core.compiler_machinery:PassManager._runPass": ("4 lines, 2e9897519d9f0a01",),
        "numba.cuda.core.compiler_machinery:PassManager._runPass.__wrapped__": ("83 lines, cea0700fbc42612e",),
        "numba.cuda.core.event:broadcast": ("9 lines, 403fcae73ba06942",),
        "numba.cuda.core.event:start_event": ("12 lines, 4b1fe14ff5cf8039",),
        "numba.cuda.core.event:end_event": ("19 lines, 8a8e201fff9719fc",),
        "numba.cuda.core.event:trigger_event.__wrapped__": ("21 lines, e48ecb7c2709554b",),
        "numba.cuda.core.errors:new_error_context.__wrapped__": ("19 lines, 40eee903880a38c0",),
        "numba.cuda.core.ir_utils:enforce_no_dels": ("9 lines, 693ffb468f920464",),
        "numba.cuda.core.ir:Block.find_insts": ("7 lines, 04ae149bff433197",),
    },
    install=_install,
)
