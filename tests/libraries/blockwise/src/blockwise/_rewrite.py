"""The rewrite: it looks at every kernel, marks it, and replaces what it finds of `blockwise.block` in it.

It marks before it knows whether it will do anything, and reads the launch only once it has found something.
"""

from __future__ import annotations

import functools
from typing import Any

from numba.cuda.core import ir
from numba.cuda.core.rewrites import Rewrite, register_rewrite
from numba.cuda.launchconfig import current_launch_config, ensure_current_launch_config

from blockwise import _settings, block, packing
from blockwise._block import implement
from blockwise._nodes import Node, hook_over_node, hook_over_numbers
from blockwise._records import PackedType

_CONSTANTS = {"size": "blockdim", "blocks": "griddim"}
_ITEM_BYTES = 8


@functools.lru_cache(maxsize=256)
def _operation_of(value: Any) -> str | None:
    """Return the name of a function of `blockwise.block`, None for anything else."""
    name = getattr(value, "__name__", None)
    return name if name is not None and vars(block).get(name) is value else None


@register_rewrite("before-inference")
class ReplaceCalls(Rewrite):
    """Replaces calls of block-wide functions by calls of invocables, and questions about the launch by constants."""

    def __init__(self, state: Any = None) -> None:
        super().__init__(state)
        self.state = state
        if (config := current_launch_config()) is not None:
            state.metadata["launch_config_sensitive"] = True
            if hasattr(config, "mark_kernel_as_launch_config_sensitive"):  # not in every numba-cuda
                config.mark_kernel_as_launch_config_sensitive()

    def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        self.func_ir, self.block = func_ir, block
        self._pack_arguments()
        self.calls = {
            id(statement): name
            for statement in block.find_insts(ir.Assign)
            if isinstance(statement.value, ir.Expr)
            and statement.value.op == "call"
            and (name := self._called(statement.value.func)) is not None
        }
        return bool(self.calls)

    def apply(self) -> Any:
        changed = self.block.copy()
        changed.clear()
        for statement in self.block.body:
            if id(statement) not in self.calls:
                changed.append(statement)
            else:
                for replacement in self._replaced(statement, self.calls[id(statement)]):
                    changed.append(replacement)
        return changed

    def _pack_arguments(self) -> None:
        """Have launches of a kernel with arguments of this library's pack them."""
        seen = _settings.OWNERS.setdefault(self.func_ir, {})
        config = current_launch_config()
        if config is None or packing.attach in config.pre_launch_callbacks:
            return
        if seen or not any(isinstance(kind, PackedType) for kind in self.state.args):
            return
        seen["packed"] = True
        config.pre_launch_callbacks.append(packing.attach)

    def _called(self, variable: Any) -> str | None:
        value = self._value(variable)
        try:
            return _operation_of(value)
        except TypeError:  # not to be hashed
            return None

    def _value(self, variable: Any) -> Any:
        """Return the object that a variable of the kernel is known to be, None where it is not known."""
        try:
            found = self.func_ir.get_definition(variable)
        except KeyError:
            return None
        if isinstance(found, (ir.Global, ir.FreeVar)):
            return found.value
        if isinstance(found, ir.Expr) and found.op == "getattr":
            owner = self._value(found.value)
            return None if owner is None else getattr(owner, found.attr, None)
        return None

    def _replaced(self, statement: Any, name: str) -> list[Any]:
        config = ensure_current_launch_config()
        if name in _CONSTANTS:
            x, y, z = getattr(config, _CONSTANTS[name])
            return [self._assign(statement.target, ir.Const(x * y * z, statement.loc), statement.loc)]
        node = self._node(name, config)
        callee = statement.target.scope.redefine(f"$blockwise{node.number}", statement.loc)
        call = ir.Expr.call(callee, statement.value.args, statement.value.kws, statement.loc)
        replacement = ir.Global(f"blockwise_{name}", node.invocable, statement.loc)
        return [self._assign(callee, replacement, statement.loc), self._assign(statement.target, call, statement.loc)]

    def _node(self, name: str, config: Any) -> Node:
        x, y, z = config.blockdim
        node = Node(operation=name, kernel_name=config.dispatcher.func_code.co_name, threads=x * y * z)
        if name == "scratch_sum":
            config.sharedmem = max(config.sharedmem, node.threads * _ITEM_BYTES)
        if name == "watched_sum":
            config.pre_launch_callbacks.append(hook_over_numbers(name, node.threads))
        if name == "owned_sum":
            config.pre_launch_callbacks.append(node.before_launch)
        if name == "entangled_sum":
            config.pre_launch_callbacks.append(hook_over_node(node))
        implement(node.invocable)
        self.state.typingctx.refresh()
        return node

    def _assign(self, target: Any, value: Any, loc: Any) -> Any:
        self.func_ir._definitions[target.name] = [value]
        return ir.Assign(value, target, loc)
