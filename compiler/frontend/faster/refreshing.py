"""refreshing: numba-cuda's contexts look only at registries with something new in them.

numba-cuda goes through fifty registries whenever it begins to compile a function, finds no implementation at once, or
makes a template of @overload_method: 150 times when a process first compiles. Each registry gives a context its new
entries. A registry whose lists are no longer than at that context's last look has nothing new, and is left out here;
the others come in numba-cuda's order. A context's first refresh is numba-cuda's own, and shows that order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


class _Step:
    """The installation of a registry in contexts, and the length of the registry's lists at its last begin.

    streams: the contexts' readers of the registry; if they are others, the contexts were told to begin again.
    """

    def __init__(self, registry: Any, install: Callable[[Any], object]) -> None:
        self.registry, self.install = registry, install
        self.lists = tuple(entries for entries in vars(registry).values() if type(entries) is list)
        self.streams, self.count = None, 0

    def take(self, context: Any) -> None:
        """Install new entries. An entry added meanwhile, and not seen by this refresh, is new to the next."""
        count = sum(map(len, self.lists))
        self.install(context)
        self.streams, self.count = context._registries[self.registry]._registrations, count

    def is_taken(self, loaders: Any) -> bool:
        """Return whether the context has all that is in the registry."""
        return self.count == sum(map(len, self.lists)) and loaders[self.registry]._registrations is self.streams


class _Refreshed:
    """The steps that contexts with one table of registries go through, and whether these are all of them.

    Each compile has a copy of the target's context, with the same tables: an entry installed in one is in all.
    """

    def __init__(self, registries: Any) -> None:
        self.registries = registries
        self.steps: dict[Any, _Step] = {}
        self.whole = False


# The contexts' steps, by the identity of their tables of registries, of which a process has two.
_seen: dict[int, _Refreshed] = {}
_MOST_CONTEXTS = 8


def _install(replace: Replace) -> None:
    from numba.cuda.core.base import BaseContext as TargetContext
    from numba.cuda.target import CUDATargetContext, CUDATypingContext
    from numba.cuda.typing.context import BaseContext as TypingContext

    def of(context: Any) -> _Refreshed:
        registries = context._registries
        if (known := _seen.get(id(registries))) is None:
            if len(_seen) >= _MOST_CONTEXTS:
                _seen.clear()
            known = _seen[id(registries)] = _Refreshed(registries)
        return known

    for owner, name in (
        (TargetContext, "install_registry"),
        (TargetContext, "install_external_registry"),
        (TypingContext, "install_registry"),
    ):
        replace(owner, name, _noting(getattr(owner, name), of))
    replace(TargetContext, "refresh", _refreshing(TargetContext.refresh, of, CUDATargetContext))
    replace(TypingContext, "refresh", _refreshing(TypingContext.refresh, of, CUDATypingContext))


def _noting(original: Callable[..., Any], of: Callable[[Any], _Refreshed]) -> Callable[..., Any]:
    """Return a method that installs a registry, and notes it as a step."""

    def install(context: Any, registry: Any, *args: Any, **options: Any) -> None:
        steps = of(context).steps
        if registry not in steps:
            steps[registry] = _Step(registry, lambda context: original(context, registry, *args, **options))
        steps[registry].take(context)

    return install


def _refreshing(original: Callable[..., Any], of: Callable[[Any], _Refreshed], kind: Any) -> Callable[..., Any]:
    """Return refresh for contexts of a kind: original the first time, then only registries with new entries."""

    def refresh(context: Any) -> None:
        known = of(context)
        if not known.whole or context.__class__ is not kind:
            original(context)
            known.whole = True
            return
        loaders = context._registries
        for step in tuple(known.steps.values()):
            if not step.is_taken(loaders):
                step.take(context)
        if (typing := getattr(context, "typing_context", None)) is not None:
            typing.refresh()

    return refresh


PIECE = Piece(
    name="refreshing",
    written_for={
        "numba.cuda.core.base:BaseContext.refresh": ("17 lines, 5a4511195e7121e4",),
        "numba.cuda.core.base:BaseContext.subtarget": ("10 lines, c57c20f751fcbcb7",),
        "numba.cuda.core.base:BaseContext.install_registry": ("15 lines, 91853312a8e7bf3a",),
        "numba.cuda.core.base:BaseContext.install_external_registry": ("66 lines, 2220e0345607413e",),
        "numba.cuda.target:CUDATargetContext.load_additional_registries": ("70 lines, 6f58a1e3055069d1",),
        "numba.cuda.target:CUDATypingContext.load_additional_registries": ("23 lines, e4d670ac85f24c62",),
        "numba.cuda.typing.context:BaseContext.refresh": ("8 lines, 57473d509c1b582e",),
        "numba.cuda.typing.context:BaseContext._load_builtins": ("25 lines, f16be7dc2e418032",),
        "numba.cuda.typing.context:BaseContext.install_registry": ("78 lines, 8805eb4a338c2c8f",),
        "numba.cuda.typing.templates:BaseRegistryLoader.__init__": ("5 lines, 2a3d9126c5ef3546",),
        "numba.cuda.typing.templates:BaseRegistryLoader.new_registrations": ("3 lines, 5e6beac65ebe7287",),
        "numba.cuda.utils:stream_list": ("18 lines, 4e8bd7064f04a4a5",),
    },
    install=_install,
)
