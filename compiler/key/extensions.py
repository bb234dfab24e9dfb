"""Extensions: other libraries' registrations with numba-cuda that may change any kernel, as labelled key fields.

Installed distributions' registrations have one field for each distribution. The user's own registrations have the
fingerprint of their code, of the code and the globals that it reaches, and of the values of these globals, as a
kernel's own source has; a value that gridjit cannot see into keeps every kernel's artifact in this process.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from gridjit.base.digests import utf8
from gridjit.base.values import dataclass
from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint_values
from gridjit.compiler.key.registration import Registration, name_of
from gridjit.compiler.key.registrations import made_by_a_compile, made_by_compiles, registrations
from gridjit.compiler.source.code import digest_fields, plan_of
from gridjit.compiler.source.libraries import is_librarys, is_numbas
from gridjit.compiler.source.objects import code_behind, function_of

if TYPE_CHECKING:
    from gridjit.compiler.key.installed import Distribution

# A registration, and a value that it was made with, by name.
_Given: TypeAlias = "tuple[Registration, str, object]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredExtensions:
    """Registrations as fields of a key; private: why no artifact made under them may be stored.

    reached: functions, classes and modules of installed distributions that the user's registered code may run.
    """

    fields: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = ()
    reached: tuple[object, ...] = ()


def extensions() -> RegisteredExtensions:
    """Return the registrations with numba-cuda at this moment; none in a process that has not imported numba-cuda."""
    found = [one for one in (*_rewrites(), *registrations()) if not one.stub]
    if not found:
        return RegisteredExtensions()
    installed, made_with = _installed(tuple(one for one in found if one.owner is not None))
    given = [(name, value) for one, name, value in made_with if not _is_as_made(one, value)]
    users = [one for one in found if one.owner is None and not made_by_a_compile(one)]
    general = [one for one in users if not one.kind.startswith("rewrite")]
    sources = [
        (_label(one), fingerprint_values([(_label(one), one.sources[0])], running=True))
        for one in users
        if one not in general
    ]
    fields = [*installed.fields, *((label, source.digest) for label, source in sources)]
    fields += [(_label(one), _text(one)) for one in general]
    if general or given:
        code = _fingerprint(general, given)
        fields.append(("extension code", code.digest))
        sources.append(("", code))
    return RegisteredExtensions(
        fields=numbered(fields),
        private=tuple(dict.fromkeys((*installed.private, *(why for _, source in sources for why in source.opaque)))),
        reached=tuple(value for _, source in sources for value in source.reached),
    )


def sources_fingerprint(found: Iterable[Registration]) -> SourceFingerprint:
    """Return the fingerprint of all that registrations consist of."""
    found = tuple(found)
    return _fingerprint(found, [named for one in found for named in _given_to(one)])


def covered_functions(used: Iterable[object]) -> Iterator[FunctionType]:
    """Yield the registered Python functions that keys and dependencies cover.

    used: functions of @overload and @intrinsic that a compile used; other registrations count in every key.
    """
    wanted = {id(function_of(one)) for one in used}
    for one in all_registrations():
        if not one.stub or id(function_of(one.sources[0])) in wanted:
            yield from sources_fingerprint([one]).functions
            yield from _made_of(one).functions


def numbered(fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return fields with "(2)" and so on behind a label that was there before."""
    labelled: dict[str, str] = {}
    for label, text in fields:
        name, count = label, 1
        while name in labelled:
            count += 1
            name = f"{label} ({count})"
        labelled[name] = text
    return tuple(labelled.items())


def forget_in_keys(found: Iterable[Registration], known: Container[str] = ()) -> None:
    """Leave the registrations that installed code made during a compile out of keys: a hit registers nothing.

    The values that a registration was made with do not count either, while their texts stay the same. known: packages
    that the program imported itself, and may have configured.
    """
    for one in found:
        made_by_compiles[one.identity] = one.sources[0]
        if name_of(code_behind(one.sources[0])).partition(".")[0] not in known:
            _as_made[one.identity] = {id(value): text for _, value in _given_to(one) if (text := _plain_text(value))}


def all_registrations() -> tuple[Registration, ...]:
    """Return everything registered, the rewrites first."""
    return (*_rewrites(), *registrations())


# The texts of values that installed code made a registration with, while it was loaded or compiled, by identity.
_as_made: dict[object, dict[int, str]] = {}
# The state of the last look at installed code, its fields and the user's values: most looks find the same.
_last: list[tuple[object, RegisteredExtensions, list[_Given]]] = []


def _rewrites() -> Iterator[Registration]:
    for kind, rewrite in foreign_rewrites():
        from gridjit.compiler.key.installed import owner_of

        yield Registration(kind=f"rewrite {kind}", about="", sources=(rewrite,), owner=owner_of(rewrite))


def _installed(found: tuple[Registration, ...]) -> tuple[RegisteredExtensions, list[_Given]]:
    """Return a field for each distribution that registered something, and the user's values in its registrations.

    A field holds the identity of the installation, and a digest of its registrations.
    """
    state = ([(one.kind, one.sources[0]) for one in found], len(made_by_compiles))
    # Other threads look too, and may find another state: this call returns its own.
    known = next(iter(_last), None)
    if known is None or known[0] != state:
        texts = _texts_by_owner(found)
        fields = [(f"extension library {owner.name}", _owner_text(owner, texts[owner])) for owner in texts]
        late = [owner.name for owner in texts if owner.overtaken]
        private = tuple(
            f"{name} was modified after this process began, so what is loaded may be older" for name in late
        )
        general = (one for one in found if not _is_for_one_thing(one))
        given = [(one, *named) for one in general for named in _given_to(one)]
        known = (state, RegisteredExtensions(fields=numbered(sorted(fields)), private=private), given)
        _last[:] = [known]
    return known[1:]


def _texts_by_owner(found: Iterable[Registration]) -> dict[Distribution, set[str]]:
    from gridjit.compiler.key.installed import one_look

    texts: dict[Distribution, set[str]] = {}
    with one_look():
        for one in found:
            if one.owner is not None and not made_by_a_compile(one) and not _is_for_one_thing(one):
                texts.setdefault(one.owner, set()).add(_registered_text(one))
    return texts


def _is_for_one_thing(found: Registration) -> bool:
    """Return whether only code that holds one very thing meets a registration, which its text there says then.

    That is a class that a call made, an object of an installed class that equals no other, or a generated intrinsic.
    """
    from gridjit.compiler.key.installed import generator_of
    from gridjit.compiler.key.made_with import is_a_librarys_object, is_made

    if found.kind == "intrinsic" and generator_of(found.sources[0]) is not None:
        return True
    for one in found.mentions:
        cls = one if isinstance(one, type) else type(one)
        if is_librarys(cls):
            continue
        if is_made(cls) or (is_a_librarys_object(one) and vars(object)["__eq__"] is getattr(cls, "__eq__", None)):
            return True
    return False


def _owner_text(owner: Distribution, texts: Iterable[str]) -> str:
    return f"{owner.identity}, registered {digest_fields(utf8(text) for text in sorted(texts))}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    """The values that installed code made a registration with.

    settled: texts of immutable values, and of installed code's objects as they first were. given: the user's
    functions, tables and objects, which count as they are when a job is made. functions: the user's functions in the
    settled texts.
    """

    source: object
    settled: tuple[str, ...]
    given: tuple[tuple[str, object], ...]
    functions: tuple[FunctionType, ...] = ()


# By the identity of a registered source, which each entry keeps alive.
_made: dict[int, _Made] = {}


def _made_of(found: Registration) -> _Made:
    source = found.sources[0]
    known = _made.get(id(source))
    if known is None or known.source is not source:
        known = _made[id(source)] = _look_at(found)
    return known


def _look_at(found: Registration) -> _Made:
    if found.owner is None:
        return _Made(source=found.sources[0], settled=(), given=())
    from gridjit.compiler.key.made_with import is_a_librarys_object, made_with, settled_text

    settled, given = [], []
    functions: list[FunctionType] = []
    for name, value in made_with(found):
        if (text := settled_text(value)) is not None:
            settled.append(f"{name}={text}")
        elif is_a_librarys_object(value):
            text, held = _object_text(name, value)
            settled.append(f"{name}={text}")
            functions += held
        else:
            given.append((f"{_label(found)}, given {name}", value))
    return _Made(source=found.sources[0], settled=tuple(settled), given=tuple(given), functions=tuple(functions))


def _object_text(name: str, value: object) -> tuple[str, tuple[FunctionType, ...]]:
    """Return the digest of an object of installed code, and the functions that this covers.

    It is the class alone, and covers none, where the object cannot be seen into.
    """
    found = fingerprint_values([(name, value)], running=True)
    if found.opaque:
        return f"{type(value).__module__}.{type(value).__qualname__}", ()
    return found.digest, found.functions


def _registered_text(found: Registration) -> str:
    return " ".join((found.kind, found.name, "for", found.about, *_made_of(found).settled))


def _given_to(found: Registration) -> tuple[tuple[str, object], ...]:
    """Return the user's values, by name, that an installed function was made with."""
    return _made_of(found).given


def _is_as_made(found: Registration, value: object) -> bool:
    text = _as_made.get(found.identity, {}).get(id(value))
    return text is not None and text == _plain_text(value)


def _plain_text(value: object) -> str | None:
    """Return the text of a value that holds no code of the user's; None for others."""
    found = fingerprint_values([("given", value)], running=True)
    return None if found.opaque or found.functions else found.digest


def _fingerprint(found: Iterable[Registration], given: Iterable[tuple[str, object]]) -> SourceFingerprint:
    parts: list[tuple[str, object]] = []
    for one in found:
        name = f"{_label(one)} for {one.about}"
        if one.owner is None:
            parts += [(f"{name}, part {n}" if n else name, source) for n, source in enumerate(one.sources)]
        else:
            parts.append((name, f"{one.owner.identity} {_registered_text(one)}"))
    return fingerprint_values((*parts, *given), running=True)


def _label(registration: Registration) -> str:
    if registration.kind.startswith("rewrite "):
        return f"rewrite {registration.name} {registration.kind.removeprefix('rewrite ')}"
    return f"extension {registration.kind} {registration.name}"


def _text(registration: Registration) -> str:
    codes = (plan_of(s.__code__).digest for s in registration.sources if isinstance(s, FunctionType))
    return " ".join((f"for {registration.about}", *codes))


def foreign_rewrites() -> tuple[tuple[str, type[Any]], ...]:
    """Return (kind, class) of each rewrite that is neither numba-cuda's nor gridjit's, without importing anything.

    In the order of kinds, then of registration, which is the order they are applied in. A process that has not
    imported numba-cuda cannot have registered any.
    """
    registry = getattr(sys.modules.get("numba.cuda.core.rewrites.registry"), "rewrite_registry", None)
    if registry is None:
        return ()
    return tuple(
        (kind, rewrite)
        for kind in sorted(registry.rewrites)
        for rewrite in registry.rewrites[kind]
        if not (is_numbas(str(rewrite.__module__)) or str(rewrite.__module__).startswith("gridjit."))
    )
