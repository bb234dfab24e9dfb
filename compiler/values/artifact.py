"""Artifact: the portable result of one compile. Bytes that load with no numba and no pickle.

Layout: the code image as the target made it (an ELF file that other tools read), then a JSON description, then
its length in 8 bytes (little endian) and an 8-byte magic. ELF readers ignore what follows the image.
Compiled adds the functions that an artifact wants called, which exist in this process only.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.base import reading
from gridjit.base.values import dataclass, field
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.elf import is_code
from gridjit.compiler.values.footprint import PRESENCE, Effects, Fact, Footprint, is_field
from gridjit.compiler.values.target import ExceptionEntry, Target

if TYPE_CHECKING:
    from gridjit.compiler.hooks.hook import Hook

_MAGIC = b"gridjit1"
_TRAILER = struct.Struct("<Q8s")
SUFFIXES = {"host": ".o", "ptx": ".cubin"}
# A fact of an artifact without code, so that no launch agrees with it.
_WITHOUT_LAUNCH = Fact(field=PRESENCE, value=False)
# Characters of a signature that a repr shows.
_LONGEST_SIGNATURE = 120
# Bytes: of a launch's parameters as the struct module lays them out, and of a block's shared memory.
_MOST_PARAMETERS = 1 << 20
_MOST_SHARED = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Code for one job under one footprint.

    image: object or cubin bytes. suffix: ".o" or ".cubin". entry: the symbol to launch.
    parameters: struct-module codes of the launch parameters ("@PPqqPqq").
    resources: plain numbers (registers, static shared bytes...). exceptions: return code -> exception.
    footprint, effects: what the compile read and asked for. dependencies: the extensions' functions that it used.
    metadata: more for people (compile milliseconds...).
    private: why it must stay in this process; such an artifact is never stored.
    A compile that needs a launch and had none is kept as an artifact without code: image and entry are empty.
    """

    target: Target
    image: bytes = field(repr=False)
    suffix: str
    entry: str
    kernel: str
    signature: str
    parameters: str
    resources: dict[str, int]
    exceptions: dict[int, ExceptionEntry]
    footprint: Footprint
    effects: Effects
    dependencies: tuple[Dependency, ...] = ()
    cooperative: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    assembly: str = field(default="", repr=False)
    private: tuple[str, ...] = ()

    def __repr__(self) -> str:
        size = f"{len(self.image):,} bytes"
        types = (
            self.signature if len(self.signature) <= _LONGEST_SIGNATURE else f"{self.signature[:_LONGEST_SIGNATURE]}..."
        )
        return f"<artifact {self.kernel}{types} for {self.target}, {size}, depends on {self.footprint}>"

    @property
    def needs_launch(self) -> bool:
        """Whether it has no code, and says that the job compiles for a launch only."""
        return not self.entry

    @property
    def why(self) -> str:
        """Why it was compiled; empty if that is unknown."""
        from gridjit.compiler.source.code_place import shown  # only people ask

        return shown(str(self.metadata.get("why", "")))

    @property
    def launch_config_sensitive(self) -> bool:
        """Whether another launch configuration may need another artifact."""
        return self.footprint.sensitive

    def to_bytes(self) -> bytes:
        """Return the artifact as bytes, equal for equal ones; raises ValueError or TypeError if it cannot be."""
        text = json.dumps(self._description(), sort_keys=True, separators=(",", ":")).encode()
        return b"".join((self.image, text, _TRAILER.pack(len(text), _MAGIC)))

    def _description(self) -> dict[str, Any]:
        from gridjit.compiler.hooks.hook import hook_as_json

        return {
            "target": [self.target.kind, self.target.arch, self.target.features],
            "suffix": self.suffix,
            "entry": self.entry,
            "kernel": self.kernel,
            "signature": self.signature,
            "parameters": self.parameters,
            "resources": self.resources,
            "exceptions": [[c, e.module, e.qualname, list(e.arguments), e.place] for c, e in self.exceptions.items()],
            "facts": [fact.as_json() for fact in self.footprint.facts],
            "sharedmem": self.effects.sharedmem,
            "hooks": [hook_as_json(hook) for hook in self.effects.hooks],
            "setup": [hook_as_json(hook) for hook in self.effects.setup],
            "teardown": [hook_as_json(hook) for hook in self.effects.teardown],
            "dependencies": [dependency.as_dict() for dependency in self.dependencies],
            "cooperative": self.cooperative,
            "metadata": self.metadata,
            "assembly": self.assembly,
        }

    @classmethod
    def from_bytes(cls, data: bytes) -> Artifact | None:
        """Return the artifact that data holds, or None if it holds none that this version can read."""
        try:
            return cls.read(data)
        except reading.Unreadable:
            return None

    @classmethod
    def read(cls, data: bytes) -> Artifact:
        """Return the artifact that data holds; raises Unreadable if it holds none that this version can read."""
        end = len(data) - _TRAILER.size
        length, magic = _TRAILER.unpack_from(data, end) if end >= 0 else (0, b"")
        if magic != _MAGIC or length > end:
            raise reading.Unreadable("these bytes are not an artifact")
        return _described(data[: end - length], reading.parse(data[end - length : end]))


_PARTS = (
    "target", "suffix", "entry", "kernel", "signature", "parameters", "resources", "exceptions", "facts", "sharedmem",
    "hooks", "setup", "teardown", "dependencies", "cooperative", "metadata", "assembly",
)  # fmt: skip


def _described(image: bytes, value: Any) -> Artifact:
    """Return the artifact of a description; raises Unreadable if a part is not of its form."""
    given = reading.fields(value, _PARTS)
    kind, arch, features = map(reading.text, reading.row(given["target"], 3))
    suffix = reading.text(given["suffix"])
    entry, facts = _symbol(given["entry"]) if image else "", reading.items(given["facts"], _fact)
    is_whole = is_code(image, entry, linked=kind != "host") if image else _WITHOUT_LAUNCH in facts
    if SUFFIXES.get(kind) != suffix or given["entry"] != entry or not is_whole:
        raise reading.Unreadable(f"no {kind} code")
    return Artifact(
        target=Target(kind=kind, arch=arch, features=features),
        image=image,
        suffix=suffix,
        entry=entry,
        kernel=reading.text(given["kernel"]),
        signature=reading.text(given["signature"]),
        parameters=_codes(given["parameters"]),
        resources=_resources(given["resources"]),
        exceptions=dict(reading.items(given["exceptions"], _exception)),
        footprint=Footprint(facts=facts),
        effects=Effects(
            sharedmem=reading.whole(given["sharedmem"], most=_MOST_SHARED),
            hooks=reading.items(given["hooks"], _hook),
            setup=reading.items(given["setup"], _hook),
            teardown=reading.items(given["teardown"], _hook),
        ),
        dependencies=reading.items(given["dependencies"], Dependency.from_dict),
        cooperative=reading.flag(given["cooperative"]),
        metadata=_object(given["metadata"]),
        assembly=reading.text(given["assembly"]),
    )


def _symbol(value: Any) -> str:
    if not reading.text(value) or not value.isascii() or "\0" in value:
        raise reading.Unreadable("the name of a function is expected")
    return str(value)


def _codes(value: Any) -> str:
    """Return the codes of launch parameters: the struct module's, and no more bytes than a launch takes."""
    try:
        if reading.text(value).startswith("@") and struct.calcsize(value) <= _MOST_PARAMETERS:
            return value  # type: ignore[no-any-return]
    except (struct.error, ValueError):  # ValueError: a count of too many digits, or a text that is not ASCII
        pass
    raise reading.Unreadable(f"not launch parameters: {value!r}")


def _resources(value: Any) -> dict[str, int]:
    return {name: reading.whole(number) for name, number in _object(value).items()}


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise reading.Unreadable("an object is expected")
    return reading.nested(value)  # type: ignore[no-any-return]


def _exception(value: Any) -> tuple[int, ExceptionEntry]:
    code, module, qualname, arguments, place = reading.row(value, 5)
    entry = ExceptionEntry(
        module=reading.dotted(module),
        qualname=reading.dotted(qualname),
        arguments=reading.items(arguments, reading.plain),
        place=reading.text(place),
    )
    return reading.whole(code, least=-(2**31), most=2**32 - 1), entry


def _fact(value: Any) -> Fact:
    found = Fact.read(*reading.row(value, 3))
    if not is_field(found.field):
        raise reading.Unreadable(f"{found.field!r} is not a fact of a launch")
    return found


def _hook(value: Any) -> Hook:
    from gridjit.compiler.hooks.hook import hook_from_json  # most artifacts have none

    try:
        return hook_from_json(value)
    except (ValueError, TypeError) as error:
        raise reading.Unreadable(f"{value!r} is not a hook: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCallbacks:
    """Functions that linked code wants called with its module (a cuda.core.ObjectCode), in each context of a launch.

    setup: before its first launch. teardown: before it is unloaded.
    """

    setup: tuple[Callable[[Any], Any], ...] = ()
    teardown: tuple[Callable[[Any], Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.setup or self.teardown)


NO_CALLBACKS = ModuleCallbacks()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compiled:
    """A compiled kernel: its artifact, and functions of this process.

    hooks: called before each launch of the code; they may take themselves away. module: called with its module.
    """

    artifact: Artifact
    hooks: list[Callable[..., Any]] = field(default_factory=list)
    module: ModuleCallbacks = NO_CALLBACKS
