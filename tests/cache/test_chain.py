"""ChainStore: bases answer, the overlay remembers."""

from __future__ import annotations

import pytest

from gridjit.cache.chain import ChainStore
from gridjit.cache.disk import DiskStore
from gridjit.cache.history import PastJob, add_job, read_history
from gridjit.cache.key import digest
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import MAX_SHAPES, Manifest, Shape, add_compile, note_use, read_manifest
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store

JOB = digest([("job", 1)])


def shape(number: int) -> Shape:
    """The shape of a compile that read the value of an argument."""
    return Shape.of([f"argument {number}"])


def code(number: int) -> str:
    """The key of the artifact of such a compile."""
    return digest([("artifact", number)])


def add(store: Store, number: int) -> None:
    """Add such a compile."""
    add_compile(store, JOB, shape(number), code(number), Locks())


def use(store: Store, number: int, locks: Locks) -> None:
    """Note a use of such a compile's artifact."""
    note_use(store, JOB, shape(number), code(number), read_manifest(store, JOB), locks)


def test_a_hit_in_a_base_is_copied_into_the_overlay_with_its_suffix(key_of):
    overlay, base = MemoryStore(), MemoryStore()
    base.put(key_of(1), b"baked", suffix=".lcs")
    assert ChainStore(overlay, base).get(key_of(1)) == b"baked"
    assert overlay.get(key_of(1)) == b"baked"
    assert overlay.find(key_of(1)).suffix == ".lcs"  # type: ignore[union-attr]


def test_a_put_goes_to_the_overlay_and_hides_the_base(key_of):
    overlay, base = MemoryStore(), MemoryStore()
    base.put(key_of(1), b"old", suffix=".o")
    chain = ChainStore(overlay, base)
    chain.put(key_of(1), b"new", suffix=".cubin")
    assert (chain.get(key_of(1)), base.get(key_of(1))) == (b"new", b"old")
    assert [(info.key, info.suffix) for info in chain.entries()] == [(key_of(1), ".cubin")]


def test_the_first_base_that_has_a_key_answers(key_of):
    first, second = MemoryStore(), MemoryStore()
    first.put(key_of(1), b"first", suffix=".o")
    second.put(key_of(1), b"second", suffix=".o")
    second.put(key_of(2), b"second", suffix=".o")
    chain = ChainStore(MemoryStore(), first, second)
    assert (chain.get(key_of(1)), chain.get(key_of(2))) == (b"first", b"second")


def test_a_damaged_base_entry_is_passed_over(tmp_path, key_of):
    key = key_of(1)
    damaged, good = DiskStore(tmp_path / "damaged"), MemoryStore()
    damaged.put(key, b"data", suffix=".o")
    (tmp_path / "damaged" / key[:2] / f"{key}.o").write_bytes(b"cut short")
    good.put(key, b"data", suffix=".o")
    overlay = MemoryStore()
    assert ChainStore(overlay, damaged, good).get(key) == b"data"
    assert overlay.get(key) == b"data"


def test_a_read_only_base_is_not_written(tmp_path, key_of):
    DiskStore(tmp_path / "base").put(key_of(1), b"baked", suffix=".o")
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "base").rglob("*"))
    chain = ChainStore(DiskStore(tmp_path / "mine"), DiskStore(tmp_path / "base", read_only=True))
    assert chain.get(key_of(1)) == b"baked"
    chain.put(key_of(2), b"mine", suffix=".o")
    chain.remove(key_of(1))
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "base").rglob("*")) == before
    assert chain.get(key_of(1)) == b"baked"


@pytest.fixture
def layers() -> tuple[MemoryStore, MemoryStore, MemoryStore]:
    """An overlay and two bases, the nearer first; the further one knows of all compiles of the job."""
    overlay, near, far = MemoryStore(), MemoryStore(), MemoryStore()
    for store, numbers in [(overlay, [32]), (near, [64]), (far, [32, 64, 128])]:
        for number in numbers:
            add(store, number)
    return overlay, near, far


def test_the_manifests_of_all_layers_are_read_as_one_the_nearest_as_the_newest(layers):
    known = read_manifest(ChainStore(*layers), JOB)
    assert known == Manifest(shapes=tuple(map(shape, (128, 64, 32))), recent=tuple(map(code, (128, 64, 32))))
    assert read_manifest(ChainStore(layers[0], ChainStore(*layers[1:])), JOB) == known


def test_no_layers_shapes_are_cut_off_by_the_bound_of_one():
    overlay, base = MemoryStore(), MemoryStore()
    for store, first in [(overlay, 0), (base, MAX_SHAPES)]:
        manifest = Manifest(shapes=tuple(shape(first + number) for number in range(MAX_SHAPES)))
        store.put(JOB, manifest.to_bytes(), suffix=manifest.suffix)
    chain = ChainStore(overlay, base)
    assert len(read_manifest(chain, JOB).shapes) == 2 * MAX_SHAPES
    add(chain, 9999)
    assert len(read_manifest(overlay, JOB).shapes) == MAX_SHAPES


def test_a_damaged_manifest_hides_no_other_layers(layers):
    layers[0].put(JOB, b"no manifest", suffix=".lcs")
    assert read_manifest(ChainStore(*layers), JOB).shapes == tuple(map(shape, (32, 128, 64)))


def test_a_compile_is_added_to_the_overlays_own(layers):
    chain = ChainStore(*layers)
    add(chain, 256)
    assert read_manifest(layers[0], JOB).shapes == (shape(32), shape(256))
    assert len(read_manifest(chain, JOB).shapes) == 4


def test_a_shape_of_use_is_copied_into_the_overlay_and_no_other(layers):
    use(ChainStore(*layers), 128, Locks())
    assert read_manifest(layers[0], JOB).shapes == (shape(32), shape(128))
    before = layers[0].get(JOB)
    use(ChainStore(*layers), 32, Locks())
    assert layers[0].get(JOB) == before


def test_a_shape_is_not_copied_while_another_holds_the_jobs_lock(tmp_path, layers):
    with Locks(tmp_path).single_flight(JOB) as got:
        assert got
        use(ChainStore(*layers), 128, Locks(tmp_path))
    assert read_manifest(layers[0], JOB).shapes == (shape(32),)


def test_the_histories_of_all_layers_are_read_as_one_and_added_to_in_the_overlay():
    overlay, base = MemoryStore(), MemoryStore()
    added: list[tuple[Store, int]] = [(base, 1), (base, 2), (overlay, 1), (ChainStore(overlay, base), 3)]
    for moment, (store, number) in enumerate(added):
        add_job(store, "a.kernel", PastJob.of(digest([("n", number)]), [("number", str(number))], float(moment)))
    numbers = [job.field("number") for job in read_history(ChainStore(overlay, base), "a.kernel").jobs]
    assert numbers == ["2", "1", "3"]
    assert [job.field("number") for job in read_history(overlay, "a.kernel").jobs] == ["1", "3"]
