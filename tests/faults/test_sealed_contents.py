"""Whatever stands in an entry whose seal is right: a miss or what was put, at once, and never an exception."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridjit
from gridjit.cache.disk import DiskStore
from gridjit.cache.history import History, PastJob
from gridjit.cache.manifest import Manifest, Shape
from gridjit.compiler.hooks.hook import Hook
from gridjit.compiler.targets.host.llvm.libllvm import load_object
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.elf import is_code, read_sections
from gridjit.compiler.values.errors import ConfigError, LaunchError
from gridjit.compiler.values.footprint import Effects, Fact, Footprint
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import ScalarType, Signature
from gridjit.compiler.values.target import ExceptionEntry, Target
from gridjit.runtime.devices.host.device import HostDevice
from gridjit.runtime.specializations.needs import Need

MAGIC = b"gridjit1"
# An ELF file of a header, the header of one section, and that section: names.
ELF = struct.pack("<16s16xQQ6xHHHHH", b"\x7fELF\x02\x01\x01", 0, 64, 0, 0, 64, 1, 0)
ELF += struct.pack("<4xI16xQQ24x", 3, 128, 8) + b"\0kernel\0"


def artifact(**changes: Any) -> Artifact:
    """An artifact with something in every part."""
    values: dict[str, Any] = {
        "target": Target(kind="host", arch="znver4", features="+avx2"),
        "image": ELF,
        "suffix": ".o",
        "entry": "kernel",
        "kernel": "stats.scale",
        "signature": "(float64)",
        "parameters": "@d",
        "resources": {"shared_bytes": 8},
        "exceptions": {1: ExceptionEntry(module="builtins", qualname="ValueError", arguments=("x", 1), place="a.py:1")},
        "footprint": Footprint(facts=(Fact(field="blockdim", value=(64, 1, 1), place="a.py:2"),)),
        "effects": Effects(sharedmem=16, hooks=(Hook(module="stats", qualname="hook", arguments=(1, None)),)),
        "dependencies": (Dependency(kind="overload", name="stats.gamma", parts=(("stats.f", "ab"),)),),
        "metadata": {"why": "first use", "compile_ms": 1.5},
        "assembly": "ret;",
    }
    return Artifact(**values | changes)


def described(description: Any, image: bytes = ELF) -> bytes:
    """The bytes of an artifact with that description."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return image + text + struct.pack("<Q8s", len(text), MAGIC)


def description() -> Any:
    """What artifact() says of itself."""
    data = artifact().to_bytes()
    return json.loads(data[len(ELF) : -16])


def need() -> Need:
    """A recorded line's need."""
    signature = Signature(arguments=(ScalarType(dtype="int64"),))
    return Need(
        kernel="m:k",
        signature=signature,
        config=LaunchConfig.of(1, 64),
        target="host",
        facts=(Fact(field="blockdim.x", value=64),),
    )


MANIFEST = Manifest().with_compile(Shape.of(["blockdim"], [("overload", "m.f")]), "ab" * 32)
HISTORY = History(kernel="k", jobs=(PastJob.of("ab" * 32, [("global X", "1")], 1.5),))
DEEP: Any = []
for _ in range(500):
    DEEP = [DEEP]
HOSTILE_NUMBERS = [None, True, 0, -1, 2**31, 2**63, 10**31, 1.5, -1e300]
HOSTILE_TEXTS = [
    "",
    "../..",
    "\x1b[2J",
    "\ud800",
    "\0",
    "a.b",
    "@999999999s",
    "os",
    "argument 3",
    "argument \u00b2",
    "ptx",
]
HOSTILE_TREES: list[Any] = [[], {}, [[]], {"a": 1}, [1, 2, 3], DEEP, ["x"] * 300]
HOSTILE = st.sampled_from([*HOSTILE_NUMBERS, *HOSTILE_TEXTS, *HOSTILE_TREES])


@st.composite
def mutated(draw: Any, tree: Any) -> Any:
    """Return tree with some of its nodes replaced, removed or doubled."""
    whole = [copy.deepcopy(tree)]
    for _ in range(draw(st.integers(1, 3))):
        holder, place = draw(st.sampled_from(list(places(whole))))
        match draw(st.sampled_from(["replace", "remove", "double"])):
            case "remove" if holder is not whole:
                del holder[place]
            case "double" if isinstance(holder, list) and holder is not whole:
                holder.insert(place, copy.deepcopy(holder[place]))
            case _:
                holder[place] = copy.deepcopy(draw(HOSTILE))
    return whole[0]


def places(holder: Any) -> Any:
    """Yield (holder, place) of every node below holder; not of the deepest of hostile ones."""
    for place in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, place
        below = holder[place]
        if isinstance(below, dict | list) and len(json.dumps(below)) < 900:
            yield from places(below)


QUICK = settings(max_examples=4 * settings().max_examples)  # they take moments


@QUICK
@given(mutated(description()))
def test_an_altered_description_is_not_an_artifact_or_says_the_same_of_itself(changed: Any) -> None:
    found = Artifact.from_bytes(described(changed))
    assert found is None or Artifact.from_bytes(found.to_bytes()) == found


@QUICK
@given(mutated(json.loads(MANIFEST.to_bytes())))
def test_an_altered_manifest_is_empty_or_one_that_says_the_same_of_itself(changed: Any) -> None:
    found = Manifest.from_bytes(json.dumps(changed).encode())
    assert Manifest.from_bytes(found.to_bytes()) == found


@QUICK
@given(mutated(json.loads(HISTORY.to_bytes())))
def test_an_altered_history_is_none_or_one_that_says_the_same_of_itself(changed: Any) -> None:
    found = History.from_bytes(json.dumps(changed).encode())
    assert found is None or History.from_bytes(found.to_bytes()) == found


@QUICK
@given(mutated(json.loads(need().to_line())))
def test_an_altered_recorded_line_is_refused_or_one_that_says_the_same_of_itself(changed: Any) -> None:
    try:
        found = Need.from_line(json.dumps(changed))
    except ConfigError:
        return
    assert Need.from_line(found.to_line()) == found


@QUICK
@given(st.data())
def test_altered_bytes_are_read_or_missed(data: Any) -> None:
    whole = data.draw(st.sampled_from([artifact().to_bytes(), MANIFEST.to_bytes(), HISTORY.to_bytes()]))
    at, length = data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, 8))
    changed = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + length :]
    for reader in (Artifact, Manifest, History):
        found = reader.from_bytes(changed)
        assert found is None or type(found) is reader


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 5_000_000,
        b'{"a":' * 1_000_000,
        b"9" * 5_000,
        b"-1" + b"0" * 1_000_000,
        b"1e999",
        b"NaN",
        b"-Infinity",
        b'"\xff"',
        b"\xff\xfe{\0}\0",
    ],
)
@pytest.mark.parametrize("limits", ["usual limits", "lifted limits"])
def test_json_that_is_hard_to_read_is_a_miss_at_once(text: bytes, limits: str) -> None:
    recursion, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    try:
        if limits == "lifted limits":
            sys.setrecursionlimit(10**8)
            sys.set_int_max_str_digits(0)
        assert Artifact.from_bytes(described(text)) is None
        assert Manifest.from_bytes(text) == Manifest()
        assert History.from_bytes(text) is None
        with pytest.raises(ConfigError):
            Need.from_line(text.decode("latin-1"))
    finally:
        sys.setrecursionlimit(recursion)
        sys.set_int_max_str_digits(digits)


WRONG: dict[str, dict[str, Any]] = {
    "an image that is none": {"image": b"no code"},
    "an image cut short": {"image": ELF[:40]},
    "an image without its end": {"image": ELF[:-1]},
    "an image without names": {"image": ELF[:68] + bytes(60) + ELF[128:]},
    "an image of another entry": {"entry": "another"},
    "code of another kind": {"suffix": ".cubin"},
    "a target of no kind": {"target": Target(kind="fpga", arch="x")},
    "no entry": {"entry": ""},
    "an entry with a zero in it": {"entry": "kern\0el"},
    "parameters that struct refuses": {"parameters": "@z"},
    "parameters of gigabytes": {"parameters": "@9999999999s"},
    "resources of less than nothing": {"resources": {"shared_bytes": -1}},
    "an exception of no name": {"exceptions": {1: ExceptionEntry(module="a b", qualname="c")}},
    "a fact of no field": {"footprint": Footprint(facts=(Fact(field="weather", value=1),))},
    "a fact of no argument": {"footprint": Footprint(facts=(Fact(field="argument x", value=1),))},
    "less than no shared memory": {"effects": Effects(sharedmem=-1)},
    "more shared memory than there is": {"effects": Effects(sharedmem=2**40)},
    "a hook of no module": {"effects": Effects(hooks=(Hook(module="../..", qualname="f"),))},
    "a dependency of no kind": {"dependencies": (Dependency(kind="moon", name="full", parts=()),)},
    "a metadata that is not finite": {"metadata": {"compile_ms": float("nan")}},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_an_artifact_with_a_part_that_cannot_be_is_none(changes: dict[str, Any]) -> None:
    assert Artifact.from_bytes(artifact().to_bytes()) == artifact()
    assert Artifact.from_bytes(artifact(**changes).to_bytes()) is None


# -- launches ----------------------------------------------------------------------------------------------------------


def add(x, y):
    x[0] = x[0] + y


def launch() -> int:
    """Launch a new kernel, which must be right; return how often it compiled."""
    kernel, x = gridjit.jit(add), np.full(1, 7, np.int64)
    kernel[1, 1](x, 3)
    assert x[0] == 10
    return kernel.stats.compiles


def change(folder: Path, act: Callable[[Artifact], Artifact | bytes]) -> None:
    """Put something else in the place of the artifact in folder, under its right seal."""
    store = DiskStore(folder)
    for info in list(store.entries()):
        found = Artifact.from_bytes(store.get(info.key) or b"")
        if found is not None:
            changed = act(found)
            store.put(info.key, changed if isinstance(changed, bytes) else changed.to_bytes(), suffix=info.suffix)


ACTS: dict[str, Callable[[Artifact], Artifact | bytes]] = {
    "code that is damaged": lambda a: dataclasses.replace(a, image=a.image[:64] + bytes(len(a.image) - 64)),
    "an entry that is not in the code": lambda a: dataclasses.replace(a, entry="another"),
    "parameters of other arguments": lambda a: dataclasses.replace(a, parameters="@q"),
    "another kernel's": lambda a: dataclasses.replace(a, kernel="another.kernel"),
    "a fact that does not hold": lambda a: dataclasses.replace(
        a, footprint=Footprint(facts=(Fact(field="blockdim.x", value=64),))
    ),
    "a dependency that does not hold": lambda a: dataclasses.replace(
        a, dependencies=(Dependency(kind="overload", name="a.b", parts=(("c", "d"),)),)
    ),
    "a hook in a module that must not be imported": lambda a: dataclasses.replace(
        a, effects=Effects(hooks=(Hook(module="ends_the_process", qualname="hook"),))
    ),
    "a hook under another name than its own": lambda a: dataclasses.replace(
        a, effects=Effects(hooks=(Hook(module="os", qualname="system", arguments=("true",)),))
    ),
    "a hook that cannot be called": lambda a: dataclasses.replace(
        a, effects=Effects(hooks=(Hook(module="os", qualname="sep"),))
    ),
    "no artifact": lambda a: b"[" * 100_000,
}


@pytest.mark.some(4)
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_launch_that_finds_code_of_no_use_compiles_and_is_right(
    cache_dir: Path,
    restart: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Artifact], Artifact | bytes],
) -> None:
    (tmp_path / "ends_the_process.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert launch() == 1
    change(cache_dir, act)
    restart()
    assert launch() == 1
    restart()
    assert launch() == 0
    assert "ends_the_process" not in sys.modules


@pytest.mark.some(2)
@pytest.mark.parametrize("path", ["{folder}/pipe.ptx", "../../pipe.ptx", "{folder}", "{folder}/a\0b.ptx", "/dev/zero"])
def test_a_launch_that_finds_a_dependency_on_no_file_compiles_at_once(
    cache_dir: Path, restart: Callable[[], None], tmp_path: Path, path: str
) -> None:
    os.mkfifo(tmp_path / "pipe.ptx")
    assert launch() == 1
    name = path.format(folder=tmp_path)
    change(
        cache_dir,
        lambda a: dataclasses.replace(
            a, dependencies=(Dependency(kind="linked file", name=name, parts=(("a", "b"),)),)
        ),
    )
    store = DiskStore(cache_dir)
    for info in list(store.entries()):
        known = Manifest.from_bytes(store.get(info.key))
        if known.shapes:
            wrong = known.with_compile(Shape.of(used=[("linked file", name)]), "ab" * 32)
            store.put(info.key, wrong.to_bytes(), suffix=wrong.suffix)
    restart()
    assert launch() == 1
    restart()
    assert launch() == 0


def refuse(patch: pytest.MonkeyPatch, times: int) -> None:
    """Have the device refuse what it is to load, so many times."""
    left, load = [times], HostDevice.load

    def loaded(self: HostDevice, artifact: Artifact, *callbacks: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise LaunchError("this does not load")
        return load(self, artifact, *callbacks)

    patch.setattr(HostDevice, "load", loaded)


def test_code_from_the_cache_that_the_device_refuses_is_compiled_anew(
    restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launch() == 1
    restart()
    refuse(monkeypatch, 1)
    assert launch() == 1
    refuse(monkeypatch, 2)
    restart()
    with pytest.raises(LaunchError, match="does not load"):
        launch()


def an_object() -> tuple[bytes, str]:
    """An object file as the host target makes it, and its entry."""

    @gridjit.jit(target="host", cache=False)
    def power(x, n):
        for j in range(n):
            x[j] = x[j] ** 1.5 / (j + 1)

    power[1, 1](np.ones(4), 3)
    made = power.specializations[0].artifact
    return made.image, made.entry


def with_header(image: bytes, number: int, **changes: int) -> bytes:
    """An object file whose section of that number says something else of itself."""
    (start,) = struct.unpack_from("<40xQ", image)
    names = ("name", "type", "flags", "addr", "offset", "size", "link", "info", "addralign", "entsize")
    header = dict(zip(names, section_of(image, number), strict=True)) | changes
    changed = bytearray(image)
    struct.pack_into("<IIQQQQIIQQ", changed, start + 64 * number, *header.values())
    return bytes(changed)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "changes",
    [
        {"name": 2**31},
        {"addralign": 3},
        {"addralign": 2**40},
        {"link": 99},
        {"offset": 8},
        {"size": 2**40},
        {"flags": 0},
    ],
    ids=str,
)
def test_an_object_file_whose_code_is_not_where_it_says_is_none(changes: dict[str, int]) -> None:
    image, entry = an_object()
    assert is_code(image, entry, linked=False)
    code = next(number for number, section in enumerate(read_sections(image)) if section.flags & 4)
    assert not is_code(with_header(image, code, **changes), entry, linked=False)


def section_of(image: bytes, number: int) -> tuple[int, ...]:
    """The header of a section."""
    (start,) = struct.unpack_from("<40xQ", image)
    return struct.unpack_from("<IIQQQQIIQQ", image, start + 64 * number)


def test_symbols_and_relocations_of_things_that_are_not_there_are_not_code() -> None:
    image, entry = an_object()
    headers = read_sections(image)
    symbols, relocations = (next(h for h in headers if h.type == kind and h.size) for kind in (2, 4))
    for place, code, wrong in (
        (symbols.offset + 24, "<I", 2**31),
        (symbols.offset + 24 + 6, "<H", 999),
        (relocations.offset, "<Q", 2**40),
        (relocations.offset + 8, "<I", 200),
        (relocations.offset + 12, "<I", 2**30),
        (relocations.offset + 16, "<q", 2**50),
    ):
        changed = bytearray(image)
        struct.pack_into(code, changed, place, wrong)
        assert not is_code(bytes(changed), entry, linked=False), place


def test_an_artifact_whose_object_file_refers_to_what_is_not_there_is_none() -> None:
    image, entry = an_object()
    relocations = next(one for one in read_sections(image) if one.type == 4 and one.size)
    changed = bytearray(image)
    struct.pack_into("<Q", changed, relocations.offset, 2**40)
    sound = artifact(image=image, entry=entry)
    assert Artifact.from_bytes(sound.to_bytes()) == sound
    assert Artifact.from_bytes(artifact(image=bytes(changed), entry=entry).to_bytes()) is None


def test_an_object_file_for_another_kind_of_processor_is_refused_before_llvm_has_it() -> None:
    image, entry = an_object()
    for at, value in ((0, 0), (16, 3), (18, 8)):  # that it is one, what kind of file, and for which machine
        changed = bytearray(image)
        struct.pack_into("<H", changed, at, value)
        with pytest.raises(LaunchError, match="not for this computer's kind of processor"):
            load_object(bytes(changed), entry)


def test_an_artifact_of_a_kernel_that_synchronizes_the_grid_is_read_on_the_host_too() -> None:
    assert Artifact.from_bytes(described(description())) is not None
    found = Artifact.from_bytes(described({**description(), "cooperative": True}))
    assert found is not None and found.cooperative
