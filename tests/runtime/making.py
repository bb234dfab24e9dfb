"""Specializations made of nothing, for tests of what is shown of them."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.footprint import Effects, Fact, Footprint
from gridjit.compiler.values.signature import ScalarType, Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.specializations.table import Specialization

SIGNATURE = Signature(arguments=(ScalarType(dtype="int64"),))


def make_artifact(*facts: Fact, target: Target, **resources: int) -> Artifact:
    """Return an artifact that was made for a target under some facts, and uses these resources."""
    return Artifact(
        target=target,
        image=b"",
        suffix=".cubin",
        entry="entry",
        kernel="work",
        signature=str(SIGNATURE),
        parameters=SIGNATURE.codes,
        resources=resources,
        exceptions={},
        footprint=Footprint(facts=facts),
        effects=Effects(),
    )


def make_specialization(
    *facts: Fact, arch: str = "sm_90", reason: str = "first use", **resources: int
) -> Specialization:
    """Return a specialization for a GPU of an architecture."""
    target = Target(kind="ptx", arch=arch)
    changes: dict[str, Any] = {"config": None, "origin": "compiled", "milliseconds": 1.5, "reason": reason}
    return Specialization(signature=SIGNATURE, artifact=make_artifact(*facts, target=target, **resources), **changes)
