"""unassigned: with debug=True, a read of a variable that was not assigned on the way there is an UnboundLocalError.

numba reads zeros there. Each variable that a path leaves unassigned gets a flag, false where the function begins and
true from each assignment on; reads that such a path reaches look at it. This is done before variables are renamed for
SSA, so that flags are renamed with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Replace


def check_assignments(replace: Replace) -> None:
    """Check the reads of all functions that are compiled from now on."""
    from numba.cuda.core.untyped_passes import ReconstructSSA

    def run_pass(found: Any, state: Any) -> Any:
        blocks = state.func_ir.blocks
        # Parts of a kernel that numba unrolls are renamed first, and then once more with the rest.
        if not any(True for block in blocks.values() for _ in block.find_exprs("phi")):
            state.func_ir.blocks = _checked(blocks)
        return original(found, state)

    original = replace(ReconstructSSA, "run_pass", run_pass)


def _checked(blocks: dict[int, Any]) -> dict[int, Any]:
    """Return a function's blocks with checks before all reads of variables that may be unassigned there."""
    from numba.cuda.core import ir, ir_utils

    before = _assigned_before(blocks)
    names = {name for label in before for _, read in _reads(blocks[label].body, before[label]) for name in read}
    if not names:
        return blocks
    first = blocks[min(blocks)]
    flags = {name: first.scope.define(f"$assigned.{name}", first.loc) for name in sorted(names)}
    starts = [ir.Assign(ir.Const(False, first.loc), flag, first.loc) for flag in flags.values()]
    made, free = dict[int, Any](), max(blocks) + 1
    for label, block in blocks.items():
        current = made[label] = ir.Block(block.scope, block.loc)
        current.body += starts if block is first else []
        for statement, read in _reads(block.body, before.get(label, set(names))):
            for name in read:
                made[free + 1] = ir.Block(block.scope, statement.loc)
                made[free + 1].append(ir.StaticRaise(UnboundLocalError, (_message(name),), statement.loc))
                current.append(ir.Branch(flags[name], free, free + 1, statement.loc))
                current = made[free] = ir.Block(block.scope, statement.loc)
                free += 2
            current.append(statement)
            if (flag := flags.get(_target(statement))) is not None:
                current.append(ir.Assign(ir.Const(True, statement.loc), flag, statement.loc))
    return dict(ir_utils.rename_labels(made))


def _assigned_before(blocks: dict[int, Any]) -> dict[int, set[str]]:
    """Return the variables that every path to a block assigns, for each block that a path reaches."""
    assigned = {label: {_target(statement) for statement in block.body} for label, block in blocks.items()}
    before: dict[int, set[str]] = {min(blocks): set()}
    changed = [min(blocks)]
    while changed:
        label = changed.pop()
        after = before[label] | assigned[label]
        for target in blocks[label].terminator.get_targets():
            met = after if target not in before else before[target] & after
            if met != before.get(target):
                before[target] = met
                changed.append(target)
    return before


def _reads(statements: Iterable[Any], assigned: set[str]) -> Iterable[tuple[Any, list[str]]]:
    """Yield each statement of a block with the variables of the program that it reads and that may be unassigned."""
    assigned = set(assigned)
    for statement in statements:
        yield statement, sorted(_named(statement) - assigned)
        assigned.add(_target(statement))


def _named(statement: Any) -> set[str]:
    """Return the variables of the program that a statement reads."""
    from numba.cuda.core import ir

    if isinstance(statement, ir.Del):
        return set()
    value = statement.value if isinstance(statement, ir.Assign) else statement
    read = [value] if isinstance(value, ir.Var) else value.list_vars() if isinstance(value, ir.Inst) else []
    return {variable.name for variable in read if not variable.is_temp}


def _target(statement: Any) -> str:
    """Return the name of the variable that a statement assigns, or an empty text."""
    from numba.cuda.core import ir

    return statement.target.name if isinstance(statement, ir.Assign) else ""


def _message(name: str) -> str:
    return f"variable '{name.partition('.')[0]}' is read where it has no value: nothing on the way there assigned it"
