"""DiskStore against a dict: whatever is done in whatever order, it answers as the dict does."""

from __future__ import annotations

import shutil
import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gridjit.cache.disk import DiskStore
from gridjit.cache.index import remove_database
from gridjit.cache.key import digest
from gridjit.cache.store import SUFFIXES

KEYS = st.sampled_from([digest([("n", number)]) for number in range(6)])


class DiskStoreModel(RuleBasedStateMachine):
    """Two stores on one folder, and the dict that both must equal."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.stores = [DiskStore(self.folder), DiskStore(self.folder)]
        self.model: dict[str, tuple[str, bytes]] = {}

    def teardown(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    @rule(which=st.integers(0, 1), key=KEYS, data=st.binary(max_size=50), suffix=st.sampled_from(SUFFIXES))
    def put(self, which: int, key: str, data: bytes, suffix: str) -> None:
        """Put through either store."""
        self.stores[which].put(key, data, suffix=suffix)
        self.model[key] = (suffix, data)

    @rule(which=st.integers(0, 1), key=KEYS)
    def get(self, which: int, key: str) -> None:
        """Get through either store."""
        assert self.stores[which].get(key) == self.model.get(key, (None, None))[1]

    @rule(which=st.integers(0, 1), key=KEYS)
    def remove(self, which: int, key: str) -> None:
        """Remove through either store."""
        self.stores[which].remove(key)
        self.model.pop(key, None)

    @rule(which=st.integers(0, 1), key=KEYS, place=st.integers(0, 200))
    def damage(self, which: int, key: str, place: int) -> None:
        """Flip a bit of an entry's file, so that it is lost."""
        if key in self.model:
            suffix, _ = self.model.pop(key)
            path = f"{self.folder}/{key[:2]}/{key}{suffix}"
            with open(path, "r+b") as file:
                data = bytearray(file.read())
                data[place % len(data)] ^= 1
                file.seek(0)
                file.write(data)
            assert [info.key for info in self.stores[which].verify().bad] == [key]

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        """Close a store and make another."""
        self.stores[which].close()
        self.stores[which] = DiskStore(self.folder)

    @rule()
    def lose_the_index(self) -> None:
        """Delete the database under the stores."""
        remove_database(self.folder)

    @rule(which=st.integers(0, 1))
    def collect(self, which: int) -> None:
        """Tidy up."""
        self.stores[which].collect()

    @invariant()
    def entries_are_the_models(self) -> None:
        """Compare what is listed."""
        assert {info.key: info.suffix for info in self.stores[0].entries()} == {
            key: suffix for key, (suffix, _) in self.model.items()
        }


TestDiskStoreModel = DiskStoreModel.TestCase
TestDiskStoreModel.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=20, suppress_health_check=list(HealthCheck)
)
