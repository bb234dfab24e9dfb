"""BySignature: values by signature, where numba's types are keys too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gridjit.compiler.errors import ConfigError
from gridjit.compiler.signature import Signature

if TYPE_CHECKING:
    from gridjit.runtime.accepted import SignatureLike

Value = TypeVar("Value")
Default = TypeVar("Default")


class BySignature(dict[Signature, Value]):
    """A dict by Signature. A key may also be a tuple of numba's types, a numba signature or a text of one."""

    if TYPE_CHECKING:

        def __getitem__(self, key: SignatureLike, /) -> Value: ...

    def __missing__(self, key: Any) -> Value:
        if (found := as_signature(key)) is None or not super().__contains__(found):
            raise KeyError(key)
        return self[found]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(as_signature(key))

    @overload
    def get(self, key: SignatureLike, default: None = None) -> Value | None: ...
    @overload
    def get(self, key: SignatureLike, default: Value | Default) -> Value | Default: ...
    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a signature, or default."""
        try:
            return self[key]
        except KeyError:
            return default

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{signature}: {value!r}' for signature, value in self.items())}}}"


def as_signature(key: Any) -> Signature | None:
    """Return the signature of numba's types; None for anything else."""
    if isinstance(key, Signature):
        return key
    from gridjit.compiler.frontend.types import parse_signature

    try:
        return parse_signature(key)
    except ConfigError:
        return None
