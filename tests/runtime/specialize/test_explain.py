"""Why a kernel was compiled: the first thing that differs from the nearest result, in memory or on disk."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.history import MAX_JOBS, History, PastJob, add_job, history_key, read_history, shown
from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations import explain
from gridjit.runtime.specializations.look import Launch

SOURCE = """
from gridjit import cuda, static
THRESHOLD = {threshold}
@cuda.jit(device=True)
def clip(x):
    return x if x > THRESHOLD else {other}
def work(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = clip(x[i]) {extra}
"""


def make_kernel(threshold: int = 3, other: str = "0", extra: str = "", **options: Any) -> Any:
    """Return the kernel of a module that an edit would make."""
    module = types.ModuleType("edited")
    exec(compile(SOURCE.format(threshold=threshold, other=other, extra=extra), "edited.py", "exec"), vars(module))
    return gridjit.jit(vars(module)["work"], target="host", **options)


def launch(kernel: Any, block: int = 64, dtype: type = np.float32) -> str:
    """Launch and return why the newest specialization was needed."""
    kernel[1, block](np.ones(8, dtype))
    return str(kernel.specializations[-1].reason)


def test_the_first_use_of_a_kernel_says_so() -> None:
    assert launch(make_kernel()) == explain.FIRST_USE


def test_a_global_changed_since_the_last_process_is_named_with_both_values(restart: Callable[[], None]) -> None:
    launch(make_kernel(threshold=3))
    restart()
    assert launch(make_kernel(threshold=4)) == "global edited.THRESHOLD 3 -> 4"


def test_an_edited_callee_is_named_by_its_code(restart: Callable[[], None]) -> None:
    launch(make_kernel())
    restart()
    assert launch(make_kernel(other="-x")).startswith("callee edited.clip code ")


def test_another_option_is_named(restart: Callable[[], None]) -> None:
    launch(make_kernel())
    restart()
    assert launch(make_kernel(fastmath=True)) == "option.fastmath False -> True"


def test_other_argument_types_are_named(restart: Callable[[], None]) -> None:
    launch(make_kernel())
    restart()
    assert launch(make_kernel(), dtype=np.float64) == "signature (float32[1d C]) -> (float64[1d C])"


def test_another_version_of_a_library_is_named(restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    from gridjit.compiler import job

    launch(make_kernel())
    restart()
    newer = tuple((n, "99.1" if n == "numba-cuda" else v) for n, v in job.toolchain("host"))  # type: ignore[attr-defined]
    before = dict(job.toolchain("host"))["numba-cuda"]  # type: ignore[attr-defined]
    monkeypatch.setattr(job, "toolchain", lambda kind: newer)
    assert launch(make_kernel()) == f"numba-cuda {before} -> 99.1"


def test_the_nearest_job_is_compared_and_not_the_newest(restart: Callable[[], None]) -> None:
    launch(make_kernel(threshold=3))
    launch(make_kernel(threshold=7, extra="+ 1", fastmath=True))
    restart()
    assert launch(make_kernel(threshold=4)) == "global edited.THRESHOLD 3 -> 4"


def test_more_than_one_change_is_counted(restart: Callable[[], None]) -> None:
    launch(make_kernel())
    restart()
    assert launch(make_kernel(threshold=5, fastmath=True)) == "option.fastmath False -> True (and 1 more)"


def sensitive() -> Any:
    """Return a kernel that depends on its block size."""

    @gridjit.jit(target="host")
    def sized(x):
        x[0] = gridjit.static.blockDim.x

    return sized


def test_a_fact_of_another_processs_launch_is_named_with_its_place(restart: Callable[[], None]) -> None:
    assert launch(sensitive(), 128) == explain.FIRST_USE
    restart()
    reason = launch(sensitive(), 256)
    assert reason.startswith("blockdim.x 128 -> 256, read at test_explain.py:")


def test_a_compile_ahead_of_a_launch_that_asked_for_one_is_told_from_one_within() -> None:
    now = LaunchConfig.of(1, 64)
    fact = Fact(field="launch", value=False, place="lib.py:3")
    with_arguments, without = Launch(config=now, args=(0, 0, 0.25)), Launch(config=now)
    assert explain._fact_text(fact, with_arguments) == "compiled without -> with a launch, read at lib.py:3"
    fact = Fact(field="arguments", value=True)
    assert explain._fact_text(fact, without) == "compiled with a launch's arguments -> without"
    fact = Fact(field="argument 2", value="float 0.5", place="lib.py:4")
    assert explain._fact_text(fact, with_arguments) == "argument 2 float 0.5 -> float 0.25, read at lib.py:4"


def test_a_stored_result_that_went_is_said_to_be_gone(restart: Callable[[], None], cache_dir: Path) -> None:
    launch(make_kernel())
    for file in cache_dir.glob("??/*.o"):
        file.unlink()
    restart()
    assert launch(make_kernel()) == "its code is no longer in the cache, or is damaged"


def test_a_hit_tells_what_the_compile_was_for(restart: Callable[[], None]) -> None:
    launch(make_kernel(threshold=3))
    launch(make_kernel(threshold=4))
    restart()
    kernel = make_kernel(threshold=4)
    assert launch(kernel) == "in the cache"
    assert "   compiled because: global edited.THRESHOLD 3 -> 4\n" in kernel.explain()


def test_the_log_and_the_forbidden_compile_give_the_reason(
    restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launch(make_kernel(threshold=3))
    monkeypatch.setenv("GRIDJIT_LOG", "compiles")
    restart()
    launch(make_kernel(threshold=4))
    assert "ms: global edited.THRESHOLD 3 -> 4" in capsys.readouterr().err
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    with pytest.raises(gridjit.CompileDisabledError, match=r"global edited\.THRESHOLD [34] -> 9"):
        launch(make_kernel(threshold=9))


def test_a_hit_does_not_read_the_history(restart: Callable[[], None], cache_dir: Path) -> None:
    launch(make_kernel())
    damage_the_history("edited.work", cache_dir)
    restart()
    assert launch(make_kernel()) == "in the cache"


def test_a_damaged_history_costs_only_the_explanation(restart: Callable[[], None], cache_dir: Path) -> None:
    launch(make_kernel())
    damage_the_history("edited.work", cache_dir)
    restart()
    assert launch(make_kernel(threshold=4)) == explain.FIRST_USE
    assert len(read_history(session().store(), "edited.work").jobs) == 1


def damage_the_history(kernel: str, cache_dir: Path) -> None:
    keys = [history_key(kernel, place) for place in range(MAX_JOBS)]
    files = [file for key in keys for file in cache_dir.glob(f"??/{key}.json")]
    assert files
    for file in files:
        file.write_bytes(b"damaged")


def numbered_job(number: int) -> PastJob:
    long = "x" * 500 + str(number)
    return PastJob.of(f"{number:08x}", [("global X", str(number)), ("long", long)], float(number))


def test_a_history_keeps_so_many_jobs_and_rewrites_none_of_them() -> None:
    store, stored = MemoryStore(), []
    for number in range(MAX_JOBS + 5):
        before = {info.key: store.get(info.key) for info in store.entries()}
        assert add_job(store, "k", numbered_job(number))
        stored.append(sum(store.get(key) is not data for key, data in before.items()))
    assert stored == [0] * MAX_JOBS + [1] * 5
    jobs = read_history(store, "k").jobs
    assert len(jobs) == MAX_JOBS
    assert jobs[-1].field("global X") == str(MAX_JOBS + 4)
    assert all(len(store.get(info.key) or b"") < 500 for info in store.entries())


def test_a_history_reads_back() -> None:
    history = History(
        kernel="caf\udce9", jobs=(numbered_job(1), PastJob.of("ab" * 32, [("global \udce9", "\udce9" * 500)]))
    )
    assert History.from_bytes(history.to_bytes()) == history


@pytest.mark.parametrize("data", [None, b"", b"[]", b"{}", b'{"schema":3}', b'{"schema":2,"kernel":"k","jobs":[{}]}'])
def test_what_is_not_a_history_reads_as_none(data: bytes | None) -> None:
    assert History.from_bytes(data) is None


def test_long_values_that_begin_alike_are_shown_differently() -> None:
    assert shown("a" * 200 + "1") != shown("a" * 200 + "2")
    assert shown("short") == "short"
