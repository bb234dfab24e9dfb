"""resolving: a call of the same function with the same types of arguments is resolved once in a compile.

numba tries a function's templates one after the other, each with and without literal types, for every call in a kernel
and in every round of type inference. If one does not match, numba writes down all its signatures for an error that is
hardly ever raised. Here a template is tried once if both tries are the same, the text is written for the error only,
and the result is kept if it depends on the types alone: all templates that were tried are numba's own, and the types
are numbers, arrays of numbers, and tuples of these.

A later compile in the same surroundings begins with the template that matched, and reuses its answer unless it is a
template of @overload or @intrinsic. The templates before it refused without compiling anything, and are not tried
again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.matched import Match, compiled, keep, match_for
from gridjit.compiler.frontend.faster.piece import Piece, Replace
from gridjit.compiler.key.registry_entries import is_an_extensions

# A call's signature, the key of its implementation, and objects that keep the ids in its own key valid.
_Found = tuple[Any, Any, Any]


class _Resolved:
    """The resolutions of calls in one compile, and facts about templates.

    shared: by function and types. of_flags: also by the flags of the function that is compiled, as numba does where a
    template of @overload or @intrinsic was tried. orders: of templates. are_plain: types, by code.
    implementations, foreign: how many templates of @overload and @intrinsic, and of extensions, were tried until now.
    winner: the template that matched last, and whether literal types were given; None if others compiled callees first.
    """

    def __init__(self) -> None:
        self.shared: dict[Any, _Found] = {}
        self.of_flags: dict[Any, _Found] = {}
        self.orders: dict[Any, tuple[Any, list[Any]]] = {}
        self.are_foreign: dict[Any, bool] = {}
        self.are_plain: dict[int | None, tuple[Any, bool]] = {}
        self.implementations = self.foreign = 0
        self.winner: tuple[Any, bool] | None = None


def _install(replace: Replace) -> None:
    from numba.cuda.core.targetconfig import ConfigStack

    resolved, is_plain, kind_of_functions = _Resolved(), _plain_types(), _functions().Function

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or type(function) is not kind_of_functions or not _are_plain(resolved, args, is_plain):
            return _resolve(resolved, function, context, args, kws, original)
        flags = ConfigStack.top_or_none()
        key = id(function), id(context), tuple([kind._code for kind in args])
        if (found := _known(resolved, key, flags)) is None:
            found = _resolve_once(resolved, key, flags, function, context, args, original)
        function._impl_keys[found[0].args] = found[1]
        return found[0]

    original = replace(_functions().BaseFunction, "get_call_type", get_call_type)


def _resolve_once(
    resolved: _Resolved, key: Any, flags: Any, function: Any, context: Any, args: Any, original: Callable[..., Any]
) -> _Found:
    """Return the resolution of a call that is new to this compile."""
    asked, foreign, resolved.winner = resolved.implementations, resolved.foreign, None
    alive = (function, context, tuple(args), flags)
    if (before := match_for(function, key, flags)) is not None:
        resolved.implementations += before.depends_on_flags
        if (answer := _answered_again(before, function, context, args)) is not None:
            found = *answer, alive
            _keep(resolved, key, flags, found, depends_on_flags=before.depends_on_flags)
            return found
    signature = _resolve(resolved, function, context, args, {}, original)
    found = signature, function._impl_keys[signature.args], alive
    if resolved.foreign == foreign:
        depends_on_flags = resolved.implementations != asked
        _keep(resolved, key, flags, found, depends_on_flags=depends_on_flags)
        if resolved.winner is not None:
            keep(key, function, flags, resolved.winner, None if depends_on_flags else found[:2], alive)
    return found


def _answered_again(before: Match, function: Any, context: Any, args: Any) -> tuple[Any, Any] | None:
    if before.answer is not None:
        return before.answer
    template, literal = before.winner
    tried = template(context)
    given = args if literal else tuple([_functions()._unlit_non_poison(one) for one in args])
    signature, _ = _applied(tried, given, {})
    return None if signature is None else (signature, tried.get_impl_key(signature))


def _known(resolved: _Resolved, key: Any, flags: Any) -> _Found | None:
    """Return a call's resolution. If it depends on flags, so does a call that needs it to be resolved."""
    if (found := resolved.shared.get(key)) is None:
        found = resolved.of_flags.get((key, id(flags)))
        resolved.implementations += found is not None
    return found


def _keep(resolved: _Resolved, key: Any, flags: Any, found: _Found, *, depends_on_flags: bool) -> None:
    if depends_on_flags:
        resolved.of_flags[key, id(flags)] = found
    else:
        resolved.shared[key] = found


def _resolve(
    resolved: _Resolved, function: Any, context: Any, args: Any, kws: Any, original: Callable[..., Any]
) -> Any:
    """Return the signature of the first template that matches, as numba's original does, but do nothing twice."""
    from numba.core import errors

    unliteral = _functions()._unlit_non_poison
    try:
        without = tuple([unliteral(one) for one in args]), {n: unliteral(v) for n, v in kws.items()}
    except errors.NumbaError:
        resolved.foreign += 1  # numba's further tries are not known here
        return original(function, context, args, kws)
    failures: list[tuple[Any, Exception | None, bool]] = []
    before = compiled()
    given, depth = {True: (args, kws), False: without}, function._depth
    are_same = (tuple(args), kws) == without
    order = _order(resolved, function, context)
    function._depth += 1
    for template in order:
        tried, error = template(context), None
        is_foreign = _note(resolved, template)
        for attempt, literal in enumerate((True, False) if tried.prefer_literal else (False, True)):
            if attempt == 0 or is_foreign or not are_same:
                others = compiled()
                signature, error = _applied(tried, *given[literal])
            if signature is not None:
                function._impl_keys[signature.args] = tried.get_impl_key(signature)
                function._depth -= 1
                resolved.winner = (template, literal) if others == before else None
                return signature
            failures.append((tried, error, literal))
    return _fail(function, context, args, kws, depth, failures)


def _applied(template: Any, args: Any, kws: Any) -> tuple[Any, Exception | None]:
    from numba.core import errors

    try:
        return template.apply(args, kws), None
    except errors.NumbaError as error:
        return None, error


def _order(resolved: _Resolved, function: Any, context: Any) -> list[Any]:
    """Return a function's templates in the order in which numba tries them."""
    from numba.core import utils
    from numba.core.target_extension import get_local_target

    target = get_local_target(context)
    if (key := (id(function), target)) not in resolved.orders:
        order = utils.order_by_target_specificity(target, function.templates, fnkey=function.key[0])
        resolved.orders[key] = function, order
    return resolved.orders[key][1]


def _note(resolved: _Resolved, template: Any) -> bool:
    """Count a template that is tried, and return whether an extension may have a say in its answer."""
    if template not in resolved.are_foreign:
        resolved.are_foreign[template] = is_an_extensions(template)
    resolved.foreign += resolved.are_foreign[template]
    resolved.implementations += hasattr(template, "_overload_func") or hasattr(template, "_definition_func")
    return resolved.are_foreign[template]


def _fail(
    function: Any, context: Any, args: Any, kws: Any, depth: int, failures: list[tuple[Any, Exception | None, bool]]
) -> Any:
    """Raise numba's error, with its words."""
    collected = _functions()._ResolutionFailures(context, function, args, kws, depth=depth)
    for template, error, literal in failures:
        collected.add_error(template, error is None, _no_match(template) if error is None else error, literal)
    return collected.raise_error()


def _no_match(template: Any) -> str:
    cases = getattr(template, "cases", None)
    if cases is None:
        return "No match."
    return "No match for registered cases:\n" + "\n".join(f" * {case}" for case in cases)


def _are_plain(resolved: _Resolved, kinds: Any, is_plain: Callable[[Any], bool]) -> bool:
    for kind in kinds:
        code = getattr(kind, "_code", None)
        if code not in resolved.are_plain:
            resolved.are_plain[code] = kind, is_plain(kind)
        if not resolved.are_plain[code][1]:
            return False
    return True


def _functions() -> Any:
    return importlib.import_module("numba.core.types.functions")


def _plain_types() -> Callable[[Any], bool]:
    """Return a predicate of numba's own types that contain nothing of a program's."""
    from numba.cuda import types

    numbers = (types.Boolean, types.Integer, types.Float, types.Complex)
    literals = (types.BooleanLiteral, types.IntegerLiteral, types.StringLiteral)
    others = (types.NoneType, types.SliceType, types.EllipsisType)

    def is_plain(kind: Any) -> bool:
        if type(kind) is types.Array:
            return type(kind.dtype) in numbers
        if type(kind) in (types.UniTuple, types.Tuple):
            return all(is_plain(item) for item in kind.types)
        return type(kind) in numbers or type(kind) in literals or type(kind) in others

    return is_plain


PIECE = Piece(
    name="resolving",
    written_for={
        "numba.core.types.functions:BaseFunction.get_call_type": ("49 lines, 258470bf6d116a4a",),
        "numba.core.types.functions:_ResolutionFailures.add_error": ("14 lines, c0803dd7180a2c3b",),
        "numba.core.types.functions:_unlit_non_poison": ("8 lines, c37f6adee77a2c25",),
        "numba.core.types.functions:Function.get_impl_key": ("6 lines, aa0df278e47eb2d7",),
        "numba.core.utils:order_by_target_specificity": ("37 lines, 08c27e880c90dbb2",),
        "numba.cuda.typing.templates:AbstractTemplate.apply": ("28 lines, 5a0367bca791fde3",),
        "numba.cuda.typing.templates:_OverloadFunctionTemplate.generic": ("108 lines, 761bd26b1eb786f4",),
        "numba.cuda.typing.templates:_OverloadFunctionTemplate._get_impl": ("17 lines, 6a46bc0da643e6fe",),
        "numba.cuda.typing.templates:_OverloadFunctionTemplate.get_impl_key": ("6 lines, 5d6c8a575181a9b2",),
        "numba.cuda.typing.templates:_IntrinsicTemplate.generic": ("23 lines, 945d97efc53eebd7",),
        "numba.cuda.typing.templates:_IntrinsicTemplate.get_impl_key": ("6 lines, eaffff569f32c889",),
    },
    install=_install,
)
