"""Objects that are known as long as they live."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from gridjit.base.forking import WeakList


class Member:
    pass


@pytest.fixture
def _many_switches() -> Iterator[None]:
    """Have threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_what_is_gone_is_not_known() -> None:
    living: WeakList[Member] = WeakList()
    kept, gone = Member(), Member()
    living.add(kept)
    living.add(gone)
    del gone
    assert living.list() == [kept]


@pytest.mark.usefixtures("_many_switches")
def test_they_can_be_gone_through_while_others_come_and_go() -> None:
    living: WeakList[Member] = WeakList()
    members = [Member() for _ in range(3000)]
    errors: list[BaseException] = []

    def add() -> None:
        while members:
            living.add(members[-1])
            living.add(Member())
            members.pop()

    def look() -> None:
        try:
            while members:
                assert all(type(member) is Member for member in living.list())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for work in (add, look, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
