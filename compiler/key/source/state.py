"""What an object of a Python class holds: its dictionary and its slots."""

from __future__ import annotations

_NO_STATE = ("__weakref__", "__dict__")


def attributes_of(value: object) -> list[object]:
    """Return the names and values of what an object holds, by name; nothing of its class is called."""
    held = state_of(value)
    return [part for name in sorted(held) for part in (name, held[name])]


def state_of(value: object) -> dict[str, object]:
    """Return what an object holds in its dictionary and in its slots, by name; nothing of its class is called."""
    held: dict[str, object] = dict(getattr(value, "__dict__", None) or {})
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name not in _NO_STATE:
                mangled = f"_{cls.__name__.lstrip('_')}{name}"
                hidden = name.startswith("__") and not name.endswith("__")
                held[name] = _slot(value, mangled if hidden else name)
    return held


def _slot(value: object, name: str) -> object:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None
