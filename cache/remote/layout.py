"""Layout: the names of a remote's objects. None is changed once it is there, so writers lose nothing to each other.

    entries/<key>           an artifact, sealed
    jobs/<job>/<shape>      a shape of a job's footprints: the name says it, or names a sealed object that does
    jobs/<job>/index        all shapes of a job, sealed, where names cannot be listed; a lost shape costs a compile
    packs/<name>            the entries of a program, as a bundle

A name is not sealed, so it says facts of the launch only. To look at anything else that a compile depended on may
import modules and read files: a trusted writer names those.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from gridjit.base.digests import sha256
from gridjit.cache.manifest import Manifest, Shape

# Of a shape in a name; a file's name has 255 bytes.
_MOST_IN_NAME = 200
ENTRIES = "entries"
_HERE, _THERE = "s-", "d-"


def entry_name(key: str) -> str:
    """Return the name of an artifact."""
    return f"{ENTRIES}/{key}"


def pack_name(name: str) -> str:
    """Return the name of a program's entries."""
    return f"packs/{name}"


def index_name(job: str) -> str:
    """Return the name of all shapes of a job."""
    return f"{job_folder(job)}/index"


def job_folder(job: str) -> str:
    """Return the folder of a job's shapes."""
    return f"jobs/{job}"


def shape_object(job: str, shape: Shape) -> tuple[str, bytes]:
    """Return the name of a shape, and the object's bytes, to be sealed."""
    data = Manifest(shapes=(shape,)).to_bytes()
    text = base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
    says = not shape.used and len(text) <= _MOST_IN_NAME
    name = f"{_HERE}{text}" if says else f"{_THERE}{sha256(data).hex()}"
    return f"{job_folder(job)}/{name}", data


def shape_of_name(name: str) -> Shape | None:
    """Return the shape that a name in a job's folder says; None if it says none, or more than facts of the launch."""
    if not name.startswith(_HERE):
        return None
    text = name.removeprefix(_HERE)
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    return next((shape for shape in Manifest.from_bytes(data).shapes if not shape.used), None)


def is_in_object(name: str) -> bool:
    """Return whether the object of a name in a job's folder says a shape."""
    return name.startswith(_THERE)


def merged(shapes: Iterable[Shape]) -> bytes:
    """Return the index of shapes, the newest last."""
    manifest = Manifest()
    for shape in shapes:
        manifest = manifest.with_newer(Manifest(shapes=(shape,)))
    return manifest.to_bytes()
