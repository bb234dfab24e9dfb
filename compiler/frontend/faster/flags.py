"""flags: the flags of compiles are compared by the flags that were set.

Flags are part of the keys by which numba-cuda finds what it compiled. For each hash and each comparison, it reads
all of their forty properties; the hash is made of the properties' names, so it is the same for all flags of a class.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.core.targetconfig import TargetConfig

    hashes: dict[type, int] = {}
    defaults: dict[type, dict[str, Any]] = {}

    def values(flags: Any) -> dict[str, Any]:
        if (kind := type(flags)) not in defaults:
            defaults[kind] = {name: option.default for name, option in kind.options.items()}
        found = {**defaults[kind], **flags._values}
        # Flags copied from another class's may have more.
        return found if len(found) == len(defaults[kind]) else {name: found[name] for name in defaults[kind]}

    def hash_of(flags: Any) -> int:
        if (kind := type(flags)) not in hashes:
            hashes[kind] = hash(tuple(sorted(kind.options)))
        return hashes[kind]

    replace(TargetConfig, "values", values)
    replace(TargetConfig, "__hash__", hash_of)


# Flags of one class with equal values, and numba-cuda's text of them.
_texts: list[tuple[type, dict[str, Any], str]] = []
_MOST_TEXTS = 32


def text_of(flags: Any) -> str:
    """Return numba-cuda's text of flags, which names all of them; "None" for None."""
    values: dict[str, Any] = {} if flags is None else flags._values
    for kind, known, text in _texts:
        if kind is type(flags) and known == values:
            return text
    if len(_texts) >= _MOST_TEXTS:
        _texts.clear()
    own = {name: dict(value) if type(value) is dict else value for name, value in values.items()}
    _texts.append((type(flags), own, repr(flags)))
    return _texts[-1][2]


PIECE = Piece(
    name="flags",
    written_for={
        "numba.cuda.core.targetconfig:TargetConfig.values": ("3 lines, 9a86203669891e49",),
        "numba.cuda.core.targetconfig:TargetConfig.__hash__": ("2 lines, 46db234dd7175bbb",),
        "numba.cuda.core.targetconfig:TargetConfig.__eq__": ("5 lines, e36812fc55110275",),
        "numba.cuda.core.targetconfig:_MetaTargetConfig.__init__": ("32 lines, 8a38ed1bc01787c9",),
    },
    install=_install,
)
