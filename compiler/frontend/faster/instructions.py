"""instructions: llvmlite's instructions are made, and named, in one call each.

llvmlite goes through five calls to make an instruction and to find a name for it. Here its parts are set at once, as
they are after these calls. Operands of the wrong types are left to llvmlite, which reports them.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.cgutils import ir

    instruction, named = ir.instructions.Instruction, ir.values.NamedValue
    scopes, block, kinds = type(ir.Module().scope), ir.Block, ir.Type

    def set_name(value: Any, name: Any) -> None:
        scope = value.parent.scope
        if type(scope) is not scopes or not value.deduplicate_name:
            set_original(value, name)
            return
        value._name = _unused(scope, name)

    def make(made: Any, parent: Any, typ: Any, opname: Any, operands: Any, name: str = "", flags: Any = ()) -> None:
        fits = type(parent) is block and isinstance(typ, kinds) and isinstance(flags, (tuple, list))
        if not fits or type(made)._set_name is not set_name:
            make_original(made, parent, typ, opname, operands, name, flags)
            return
        made.parent, made.type = parent, typ
        set_name(made, name)
        made.opname, made.operands, made.flags, made.metadata = opname, operands, list(flags), {}

    set_original = replace(named, "_set_name", set_name)
    make_original = replace(instruction, "__init__", make)


def _unused(scope: Any, name: str) -> str:
    """Return a new name of the scope, and note it as used."""
    if name in (used := scope._useset):
        base, counts = name, scope._basenamemap
        count = counts[base]
        while name in used:
            count += 1
            name = f"{base}.{count}"
        counts[base] = count
    used.add(name)
    return name


PIECE = Piece(
    name="instructions",
    written_for={
        "llvmlite.ir._utils:NameScope.register": ("7 lines, d300216f371f06d5",),
        "llvmlite.ir._utils:NameScope.deduplicate": ("7 lines, 06f334288723969c",),
        "llvmlite.ir._utils:NameScope.is_used": ("2 lines, a36bb0fed6285c26",),
        "llvmlite.ir.values:NamedValue._set_name": ("4 lines, c505a16148eb6d83",),
        "llvmlite.ir.values:NamedValue.__init__": ("6 lines, 9dc9edb310e04f12",),
        "llvmlite.ir.instructions:Instruction.__init__": ("8 lines, 446d3f56dbbfd317",),
    },
    install=_install,
)
