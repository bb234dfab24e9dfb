"""DeviceModel: a real GPU as the host simulates it - its name, memory and attributes - from a table or a JSON file.

Unknown attributes of a model are not made up: reading one is an error that says how to supply it.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gridjit.base.printable import printable
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ConfigError, DeviceError
from gridjit.runtime.environment.answers import ALIASES, EVERY, HOPPER, UNASKED

# By compute capability: "Technical Specifications per Compute Capability" and "Throughput of Native Arithmetic
# Instructions" (single to double precision) in the CUDA programming guide. Clusters and tensor maps begin with 9.0.
_CAPABILITIES: dict[tuple[int, int], tuple[int, int, int, int, int, int]] = {
    # threads, blocks and shared bytes of a multiprocessor; shared bytes of a block, and reserved; precision ratio
    (7, 5): (1024, 16, 64 << 10, 64 << 10, 0, 32),
    (8, 0): (2048, 32, 164 << 10, 163 << 10, 1024, 2),
    (8, 6): (1536, 16, 100 << 10, 99 << 10, 1024, 64),
    (8, 9): (1536, 24, 100 << 10, 99 << 10, 1024, 64),
    (9, 0): (2048, 32, 228 << 10, 227 << 10, 1024, 2),
}
_PER_CAPABILITY = (
    "MAX_THREADS_PER_MULTIPROCESSOR",
    "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "RESERVED_SHARED_MEMORY_PER_BLOCK",
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO",
)
_FIRST_WITH_CLUSTERS = (9, 0)
DEFAULT = "h100"


class UnknownAttributeError(DeviceError, AttributeError):
    """A simulated device was asked for an attribute unknown of its model."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceModel:
    """A GPU of a kind. attributes: the driver's answers, by its names without CU_DEVICE_ATTRIBUTE_."""

    name: str
    compute_capability: tuple[int, int]
    memory_bytes: int
    attributes: Mapping[str, int]

    def attribute(self, name: str) -> int:
        """Return an attribute ("MULTIPROCESSOR_COUNT"); raises UnknownAttributeError for an unknown attribute."""
        try:
            return self.attributes[ALIASES.get(name, name)]
        except KeyError:
            near = difflib.get_close_matches(name, (*self.attributes, *ALIASES), n=1, cutoff=0.8)
            meant = f"did you mean {near[0]}? Else " if near else ""
            raise UnknownAttributeError(
                f"{name} of the simulated {self.name} is not known; {meant}give it in a JSON file that "
                f'GRIDJIT_HOST_DEVICE names: {{"like": "h100", "attributes": {{"{name}": ...}}}}'
            ) from None


def attribute_of(kind: DeviceModel, ordinal: int, name: str) -> int:
    """Return an attribute of the device of a number; raises UnknownAttributeError for an unknown attribute."""
    found = bus_of(ordinal).get(name)
    return kind.attribute(name) if found is None else found


def bus_of(ordinal: int) -> dict[str, int]:
    """Return the attributes that tell the device of a number from others: invented, as it is on no bus."""
    return {"PCI_DOMAIN_ID": 0, "PCI_BUS_ID": ordinal + 1, "PCI_DEVICE_ID": 0, "MULTI_GPU_BOARD_GROUP_ID": ordinal}


def _model(
    name: str,
    capability: tuple[int, int],
    memory_bytes: int,
    own: Mapping[str, int],
    more: Mapping[str, int] | None = None,
) -> DeviceModel:
    """Return the model with the attributes of every device, of its capability, and its own."""
    limits = dict(zip(_PER_CAPABILITY, _CAPABILITIES[capability], strict=True))
    clusters = int(capability >= _FIRST_WITH_CLUSTERS)
    answers = {
        **EVERY,
        **(more or {}),
        **limits,
        "COMPUTE_CAPABILITY_MAJOR": capability[0],
        "COMPUTE_CAPABILITY_MINOR": capability[1],
        "CLUSTER_LAUNCH": clusters,
        "TENSOR_MAP_ACCESS_SUPPORTED": clusters,
        # Of the host itself: nothing ends a long kernel, and one board is one device.
        "KERNEL_EXEC_TIMEOUT": 0,
        "MULTI_GPU_BOARD": 0,
        **own,
    }
    return DeviceModel(name=name, compute_capability=capability, memory_bytes=memory_bytes, attributes=answers)


def _parts(multiprocessors: int, clock_khz: int, memory_khz: int, bus_bits: int, l2_bytes: int) -> dict[str, int]:
    return {
        "MULTIPROCESSOR_COUNT": multiprocessors,
        "CLOCK_RATE": clock_khz,
        "MEMORY_CLOCK_RATE": memory_khz,
        "GLOBAL_MEMORY_BUS_WIDTH": bus_bits,
        "L2_CACHE_SIZE": l2_bytes,
    }


def known() -> dict[str, DeviceModel]:
    """Return the named models, by their names."""
    hopper = {"ECC_ENABLED": 1, "ASYNC_ENGINE_COUNT": 3, "MAX_ACCESS_POLICY_WINDOW_SIZE": 128 << 20}
    return {
        # Measured values.
        "h100": _model(
            "NVIDIA H100 80GB HBM3",
            (9, 0),
            85017493504,
            _parts(132, 1980000, 2619000, 5120, 52428800) | hopper | {"MAX_PERSISTING_L2_CACHE_SIZE": 32768000},
            HOPPER,
        ),
        "h200": _model(
            "NVIDIA H200",
            (9, 0),
            150109880320,
            _parts(132, 1980000, 3201000, 6016, 62914560) | hopper | {"MAX_PERSISTING_L2_CACHE_SIZE": 39321600},
            HOPPER,
        ),
        # deviceQuery's output in https://github.com/bottlerocket-os/bottlerocket/pull/3873 (memory, engines), and in
        # https://github.com/samridh-dev/votess/issues/10 (clocks, bus, cache)
        "a100": _model(
            "NVIDIA A100-SXM4-40GB",
            (8, 0),
            42298834944,
            _parts(108, 1410000, 1215000, 5120, 41943040) | {"ECC_ENABLED": 1, "ASYNC_ENGINE_COUNT": 3},
        ),
        # nvbench's output in https://github.com/NVIDIA/nvbench/pull/207, which gives the memory in MiB
        "rtx4090": _model(
            "NVIDIA GeForce RTX 4090",
            (8, 9),
            24563 << 20,
            _parts(128, 2520000, 10501000, 384, 75497472) | {"ECC_ENABLED": 0},
        ),
        # deviceQuery's output in https://chiemon.github.io/2024/12/25/ (the page on its output for a graphics card)
        "t4": _model("Tesla T4", (7, 5), 15843721216, _parts(40, 1590000, 5001000, 256, 4194304)),
    }


def model(wanted: str | None) -> DeviceModel:
    """Return the model of a name ("a100", or the device's own), of a JSON file, or the default.

    Raises ConfigError for anything else, and for an ambiguous name.
    """
    text = wanted or DEFAULT
    if is_file(text):
        return _read(Path(text).expanduser())
    models = known()
    names = {**{_plain(one.name): one for one in models.values()}, **models}
    found = names.get(_plain(text))
    if found is None:
        raise ConfigError(f"GRIDJIT_HOST_DEVICE={printable(text)}: {_meant(text, models)}")
    return found


def is_file(text: str) -> bool:
    """Return whether a text that names a device is the path of a file."""
    return text.endswith(".json") or os.sep in text


def _plain(name: str) -> str:
    """Return a name for comparisons: without separators, and without the maker's name."""
    return re.sub(r"[\s_-]", "", name.lower()).removeprefix("nvidia").removeprefix("geforce")


def _meant(text: str, models: Mapping[str, DeviceModel]) -> str:
    """Return the devices that may have been meant, names that contain the text first, and the known names."""
    word, by_name = _plain(text), {name: _plain(one.name) for name, one in models.items()}
    near = [name for name, full in by_name.items() if word and (word in name + full or name in word)]
    near = near or difflib.get_close_matches(word, by_name)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}give one of {', '.join(models)}, or the path of a JSON file"


def _read(path: Path) -> DeviceModel:
    """Return the model of a file: "like" a known model, with a name, memory and attributes of its own."""
    try:
        given = json.loads(path.read_text())
        return _described(given)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"GRIDJIT_HOST_DEVICE={path}: {error}; a file holds "
            '{"like": "h100", "name": ..., "memory_bytes": ..., "compute_capability": [9, 0], "attributes": {...}}, '
            "each but the first if it differs"
        ) from error


def _described(given: Any) -> DeviceModel:
    given = _object("the file", given)
    if unknown := set(given) - {"like", "name", "memory_bytes", "compute_capability", "attributes"}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    base = _base(given.get("like", DEFAULT))
    own = _attributes(_object("attributes", given.get("attributes", {})))
    capability = _capability(given.get("compute_capability", base.compute_capability))
    if capability != base.compute_capability:
        limits = _model("", capability, 0, {}).attributes
        of_it = {name: limits[name] for name in (*_PER_CAPABILITY, "CLUSTER_LAUNCH", "TENSOR_MAP_ACCESS_SUPPORTED")}
        own = of_it | {"COMPUTE_CAPABILITY_MAJOR": capability[0], "COMPUTE_CAPABILITY_MINOR": capability[1]} | own
    if not isinstance(name := given.get("name", base.name), str):
        raise ValueError(f"name: {name!r} is not a string")
    return DeviceModel(
        name=name,
        compute_capability=capability,
        memory_bytes=_integer("memory_bytes", given.get("memory_bytes", base.memory_bytes), 1),
        attributes={**base.attributes, **own},
    )


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: {value!r} is not an object")
    return value


def _attributes(given: Mapping[str, Any]) -> dict[str, int]:
    """Return a file's attributes by their first names; raises ValueError for a name that is never read."""
    names = {*known()[DEFAULT].attributes, *UNASKED, *ALIASES}
    for name in sorted(set(given) - names):
        near = difflib.get_close_matches(name.upper().removeprefix("CU_DEVICE_ATTRIBUTE_"), sorted(names))
        hint = f"did you mean {' or '.join(near)}?" if near else "they have the driver's names, as MULTIPROCESSOR_COUNT"
        raise ValueError(f"attributes: {name!r} is not one that a file can give ({hint})")
    return {ALIASES.get(name, name): _integer(name, value, 0) for name, value in given.items()}


def _integer(name: str, value: Any, least: int) -> int:
    """Return value; raises ValueError unless JSON has it as an integer."""
    if type(value) is not int or value < least:
        raise ValueError(f"{name}: {value!r} is not an integer of at least {least}")
    return value


def _base(name: Any) -> DeviceModel:
    if not isinstance(name, str) or name not in known():
        raise ValueError(f"like: {name!r}; known are {', '.join(known())}")
    return known()[name]


def _capability(value: Any) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"compute_capability: {value!r} is not [major, minor]")
    major, minor = (_integer("compute_capability", part, 0) for part in value)
    if (major, minor) not in _CAPABILITIES:
        known_ones = ", ".join(f"{a}.{b}" for a, b in _CAPABILITIES)
        raise ValueError(f"compute capability {major}.{minor}; known are {known_ones}")
    return major, minor


def active_blocks(kind: DeviceModel, threads: int, shared_bytes: int) -> int:
    """Return how many blocks of so many threads, with so much shared memory each, run on a multiprocessor at once."""
    warp = kind.attribute("WARP_SIZE")
    whole = -(-threads // warp) * warp
    if not 0 < threads <= kind.attribute("MAX_THREADS_PER_BLOCK"):
        return 0
    if shared_bytes > kind.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"):
        return 0
    each = shared_bytes + kind.attribute("RESERVED_SHARED_MEMORY_PER_BLOCK")
    by_memory = kind.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") // each if each else whole
    return min(
        kind.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        kind.attribute("MAX_THREADS_PER_MULTIPROCESSOR") // whole,
        by_memory,
    )
