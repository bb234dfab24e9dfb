"""Artifact: the portable result of one compile. Bytes that load with no numba and no pickle.

Layout: the code image as the target made it (an ELF file that other tools read), then a JSON description, then
its length in 8 bytes (little endian) and an 8-byte magic. ELF readers ignore what follows the image.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from gridjit.compiler.dependencies import Dependency
from gridjit.compiler.footprint import Effects, Fact, FactValue, Footprint
from gridjit.compiler.hook import hook_as_json, hook_from_json
from gridjit.compiler.targets.base import ExceptionEntry, Target
from gridjit.values import dataclass, field

_MAGIC = b"gridjit1"
_TRAILER = struct.Struct("<Q8s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Code for one job under one footprint.

    image: object or cubin bytes. suffix: ".o" or ".cubin". entry: the symbol to launch.
    parameters: struct-module codes of the launch parameters ("@PPqqPqq").
    resources: plain numbers (registers, static shared bytes...). exceptions: return code -> exception.
    footprint, effects: what the compile read and asked for. dependencies: extensions' functions it used.
    metadata: more for people (compile milliseconds...).
    private: why it must stay in this process; such an artifact is never stored.
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

    @property
    def launch_config_sensitive(self) -> bool:
        """Whether another launch configuration may need another artifact."""
        return self.footprint.sensitive

    def to_bytes(self) -> bytes:
        """Return the artifact as bytes, equal for equal artifacts."""
        text = json.dumps(self._description(), sort_keys=True, separators=(",", ":")).encode()
        return b"".join((self.image, text, _TRAILER.pack(len(text), _MAGIC)))

    def _description(self) -> dict[str, Any]:
        return {
            "target": [self.target.kind, self.target.arch, self.target.features],
            "suffix": self.suffix,
            "entry": self.entry,
            "kernel": self.kernel,
            "signature": self.signature,
            "parameters": self.parameters,
            "resources": self.resources,
            "exceptions": [[c, e.module, e.qualname, list(e.arguments), e.where] for c, e in self.exceptions.items()],
            "facts": [[fact.field, fact.value, fact.where] for fact in self.footprint.facts],
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
            length, magic = _TRAILER.unpack_from(data, len(data) - _TRAILER.size)
            end = len(data) - _TRAILER.size
            if magic != _MAGIC or length > end:
                return None
            return _described(data[: end - length], json.loads(data[end - length : end]))
        except (ValueError, KeyError, TypeError, IndexError, struct.error):
            return None


def _described(image: bytes, text: dict[str, Any]) -> Artifact:
    kind, arch, features = text["target"]
    return Artifact(
        target=Target(kind=kind, arch=arch, features=features),
        image=image,
        suffix=text["suffix"],
        entry=text["entry"],
        kernel=text["kernel"],
        signature=text["signature"],
        parameters=text["parameters"],
        resources=text["resources"],
        exceptions={
            code: ExceptionEntry(module=module, qualname=qualname, arguments=tuple(arguments), where=where)
            for code, module, qualname, arguments, where in text["exceptions"]
        },
        footprint=Footprint(
            facts=tuple(Fact(field=name, value=fact_value(value), where=where) for name, value, where in text["facts"])
        ),
        effects=Effects(
            sharedmem=text["sharedmem"],
            hooks=tuple(map(hook_from_json, text["hooks"])),
            setup=tuple(map(hook_from_json, text["setup"])),
            teardown=tuple(map(hook_from_json, text["teardown"])),
        ),
        dependencies=tuple(Dependency.from_dict(values) for values in text["dependencies"]),
        cooperative=text["cooperative"],
        metadata=text["metadata"],
        assembly=text["assembly"],
    )


def fact_value(value: Any) -> FactValue:
    """Return a fact's value as it was before JSON turned its tuple into a list."""
    return tuple(value) if isinstance(value, list) else value
