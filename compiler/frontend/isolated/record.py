"""Isolation: one compile's record of its inputs, and numba-cuda's tables of callees and exceptions, which it empties.

The numbers of exceptions are digests, so that callees' never collide with a kernel's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.frontend.isolated.failing import Failures
from gridjit.compiler.frontend.isolated.recursion import Waiting
from gridjit.compiler.frontend.kept.asked import Raised, offers_what_it_is_called_with
from gridjit.compiler.frontend.kept.callees import Callees
from gridjit.compiler.frontend.kept.drafts import Drafts
from gridjit.compiler.frontend.kept.keeping import Keeping
from gridjit.compiler.frontend.kept.places import taken_out_at_the_end
from gridjit.compiler.frontend.kept.plain import is_numbas
from gridjit.compiler.frontend.narrow.telling import ShownWarnings
from gridjit.compiler.source.code_place import CodePlace
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.view.config import ConfigView


@dataclass(slots=True)
class Isolation:
    """One compile's record of its inputs.

    discovered: functions of @overload and @intrinsic, in the order of their use.
    exceptions: the raises by return code. Codes are digests: callees' never collide with a kernel's,
        and they agree between processes.
    waiting: functions that were called before their compile had ended.
    without_narrow_floats: whether it began without numba-cuda's floats of 16 and 8 bits. told: its warnings then.
        told_before: the warnings of the same compile without them; None if there was none.
    needs_all: whether it is to load all deferred modules. met_a_word: whether it ended at a word that is left out.
    drafts: the callees that are being compiled. keeping: the use of kept callees; None if this compile keeps none.
    """

    view: ConfigView
    discovered: dict[Any, None] = field(default_factory=dict)
    exceptions: dict[int, Raised] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)
    drafts: Drafts = field(default_factory=Drafts)
    keeping: Keeping | None = None
    waiting: list[Waiting] = field(default_factory=list)
    without_narrow_floats: bool = False
    told: ShownWarnings = field(default_factory=ShownWarnings)
    told_before: ShownWarnings | None = None
    needs_all: bool = False
    met_a_word: bool = False

    def meet_a_word(self) -> None:
        """Note that it ended at a word that is left out."""
        self.met_a_word = True


_FIRST_USER_CODE, _LAST_CODE = 1024, 2**31 - 1
# Tables of templates of @overload and @intrinsic that last from one compile to the next.
_TEMPLATE_TABLES = ("_impl_cache", "_compiled_overloads", "_inline_overloads", "_overload_cache")


def number(record: Isolation, exception: Any, arguments: Any, place: CodePlace | None) -> int:
    """Return the code of an exception: a digest of its class, its arguments and its place."""
    raised = Raised(exception, arguments, place)
    text = repr((exception.__module__, exception.__qualname__, arguments, raised.stays))
    digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    code = _FIRST_USER_CODE + digest % (_LAST_CODE - _FIRST_USER_CODE)
    found = record.exceptions.setdefault(code, raised)
    if found.identity != raised.identity:
        raise CompileError(f"two exceptions of the kernel have the code {code}: {found} and {text}; reword one")
    record.drafts.note(raised)
    return code


def number_exceptions(record: Isolation) -> None:
    """Number exceptions by digests: numba-cuda counts from 1 in every function, so callees' codes collide.

    Places are in the user's source. numba-cuda gives none to operations such as a division by zero.
    """
    from numba.cuda import lowering
    from numba.cuda.core import callconv

    lowered: list[Any] = []

    def lower_block(lower: Any, block: Any) -> None:
        lowered.append(lower)
        try:
            lower_original(lower, block)
        finally:
            lowered.pop()

    def add(helper: Any, exception: Any, arguments: Any, location: Any) -> int:
        place = _users_place(lowered[-1], location) if lowered else None
        code = number(record, exception, arguments, place)
        helper.exceptions[code] = exception, arguments, location
        return code

    lower_original = replace(lowering.BaseLower, "lower_block", lower_block)
    replace(callconv._MinimalCallHelper, "_add_exception", add)


def _users_place(lower: Any, location: tuple[str, str, int] | None) -> CodePlace | None:
    """Return the place of numba's location; None in numba's own functions, whose places tell users nothing.

    Without a location, it is the line being lowered, in debug code only: other code's checks have no place.
    """
    identity = lower.func_ir.func_id
    if is_numbas(identity.func) or (location is None and lower.flags.error_model != "python"):
        return None
    _, path, line = location or ("", lower.loc.filename, lower.loc.line)
    return CodePlace.at_line(path, line, identity.func_qualname, identity.code)


def empty(record: Isolation, dispatcher: Any) -> None:
    """Forget the results of a device function, and its signature: its defaults count as they are now."""
    from numba.cuda.utils import pysignature

    if id(dispatcher) in record.emptied:
        return
    record.emptied.add(id(dispatcher))
    compiled = dispatcher.overloads
    replace(dispatcher, "overloads", type(compiled)())
    replace(dispatcher._compiler, "pysig", pysignature(dispatcher.py_func))
    if not dispatcher._can_compile:
        # For declared signatures, it was compiled when it was decorated, with the globals of that moment.
        for args, result in compiled.items():
            if hasattr(result, "fndesc"):
                dispatcher.compile_device(args, result.signature.return_type)


def empty_device_functions(record: Isolation, callees: Callees, failures: Failures) -> None:
    from numba.cuda.core.errors import TypingError
    from numba.cuda.dispatcher import CUDADispatcher

    def compile_device(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        def compile_it() -> Any:
            return callees.device_function(
                dispatcher, args, return_type, lambda: compiled(dispatcher, args, return_type)
            )

        return failures.compiled(dispatcher, args, return_type, compile_it)

    def compiled(dispatcher: Any, args: Any, return_type: Any) -> Any:
        fresh = args not in dispatcher.overloads
        result = compile_original(dispatcher, args, return_type)
        if fresh:
            taken_out_at_the_end(result)
            if (result.metadata or {}).get("launch_config_sensitive"):
                record.view.mark_kernel_as_launch_config_sensitive()
        return result

    def get_call_template(dispatcher: Any, args: Any, kws: Any) -> Any:
        if dispatcher.py_func.__code__.co_kwonlyargcount:
            raise TypingError("parameters that are given only by name")  # numba would give them items of *args
        empty(record, dispatcher)
        if not offers_what_it_is_called_with(dispatcher):
            record.drafts.spoil("it calls a function for declared signatures")
        record.drafts.note_call(dispatcher)
        return template_original(dispatcher, args, kws)

    compile_original = replace(CUDADispatcher, "compile_device", compile_device)
    template_original = replace(CUDADispatcher, "get_call_template", get_call_template)


def empty_templates(record: Isolation, callees: Callees) -> None:
    """Empty the tables of each @overload and @intrinsic template when it is first used, and record its function."""
    from numba.cuda.typing import templates

    def watched(original: Callable[..., Any], function: str) -> Callable[..., Any]:
        def call(template: Any, args: Any, kws: Any) -> Any:
            owner = type(template)
            if id(owner) not in record.emptied:
                record.emptied.add(id(owner))
                for name in _TEMPLATE_TABLES:
                    if hasattr(owner, name):
                        replace(owner, name, {})
            record.discovered[getattr(template, function)] = None
            if not is_numbas(getattr(template, function)):
                record.drafts.spoil("an extension implements what it calls")
            return original(template, args, kws)

        return call

    for name, method, function in (
        ("_OverloadFunctionTemplate", "generic", "_overload_func"),
        ("_OverloadFunctionTemplate", "_get_impl", "_overload_func"),
        ("_IntrinsicTemplate", "generic", "_definition_func"),
    ):
        owner = getattr(templates, name)
        replace(owner, method, watched(getattr(owner, method), function))

    def build(template: Any, numbas_key: Any, args: Any, kws: Any) -> Any:
        return callees.implementation(template, numbas_key, args, kws, build_original)

    build_original = replace(templates._OverloadFunctionTemplate, "_build_impl", build)
