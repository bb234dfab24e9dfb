"""dask: jobs on the workers of a Dask cluster. Its scheduler runs one task for a key, however many clients ask."""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridjit.cache.errors import way_to_install
from gridjit.commands.warm_work import Built
from gridjit.compiler.values.errors import GridjitError
from gridjit.fleet.compiling import Result, compile_job
from gridjit.fleet.delivery import deliver
from gridjit.fleet.filling import MOST_KILLED, MOST_RESULTS, Attempt
from gridjit.fleet.jobs import Fields, Job, refusal
from gridjit.fleet.warmed import Warmed, warm_by

try:
    import distributed
except ImportError as error:
    raise ImportError(f"distributed is not installed: {way_to_install('dask')}") from error

# The name of the data set of results for askers to come.
PUBLISHED = "gridjit"
_CONNECT_S, _CLOSE_S = 10, 2


def warm(
    client: Any,
    needs: str | os.PathLike[str],
    targets: Sequence[str] | None = None,
    *,
    compile: Callable[[Job], Result] = compile_job,
    told: Callable[[Built, int], object] = lambda built, total: None,
) -> Warmed:
    """Have a cluster's workers compile recorded needs into this process's cache.

    client: a distributed.Client. needs: the file that GRIDJIT_RECORD=FILE wrote. targets: as for gridjit.fleet.plan.
    compile: does a job on a worker. told: called with each outcome, and the number of needs.

        gridjit.fleet.dask.warm(Client("HOST:8786"), "needs.jsonl").failed
    """
    engine = DaskWorkers(client, compile)
    try:
        return warm_by(engine, f"dask://{client.scheduler.addr.partition('://')[2]}", Path(needs), targets, told)
    finally:
        engine.end()


class WarmPlugin(distributed.WorkerPlugin):  # type: ignore[misc]  # the library is not followed
    """A plugin that puts a bundle into the cache of each worker, also of workers that join later.

    bundle: the bytes of a file that `gridjit cache export` wrote. To register it twice changes nothing.

        client.register_plugin(WarmPlugin(Path("kernels.gridjit").read_bytes()))
    """

    idempotent = True

    def __init__(self, bundle: bytes) -> None:
        self.name = f"gridjit-{hashlib.sha256(bundle).hexdigest()[:16]}"
        self._bundle = bundle

    def setup(self, worker: Any) -> None:
        """Put the bundle into the worker's cache."""
        deliver(self._bundle)


class DaskWorkers:
    """The workers of a Dask cluster as an engine. compile: does a job on a worker."""

    def __init__(self, client: Any, compile: Callable[[Job], Result] = compile_job) -> None:
        self._client = client
        self._compile = compile
        self._threads: dict[str, int] = {}
        self._open: dict[Any, Attempt] = {}
        self._kept: deque[Any] = deque(maxlen=MOST_RESULTS)
        self._over: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Toolchain -> the reason for which each worker refuses it.
        self._refusals: dict[Fields, dict[str, str]] = {}

    @property
    def _is_connected(self) -> bool:
        """Whether the scheduler is there; a client that tries to connect again would wait for long."""
        return bool(self._client.status == "running")

    def slots(self) -> int:
        """Return how many threads the workers have."""
        if not self._is_connected:
            return 0
        try:
            self._threads = self._client.nthreads()
        except OSError:  # the scheduler went just now
            return 0
        return sum(self._threads.values())

    def begin(self, attempt: Attempt) -> str:
        """Submit a job under its digest, to workers with its toolchain."""
        refusals = self._refusals_of(attempt.job.toolchain)
        able = [one for one in self._threads if not refusals[one] and one not in attempt.avoided]
        if not able:
            return next((f"{one} refused it: {why}" for one, why in refusals.items() if why), "each worker refused it")
        tried = f"-{attempt.number}" if attempt.number else ""
        future = self._client.submit(
            compile_here,
            attempt.job,
            self._compile,
            key=f"gridjit-{attempt.job.digest}{tried}",
            pure=True,
            workers=None if len(able) == len(self._threads) else able,
        )
        self._open[future] = attempt
        future.add_done_callback(self._over.put)
        return ""

    def _refusals_of(self, toolchain: Fields) -> dict[str, str]:
        """Return why workers refuse a toolchain, by address; new workers are asked."""
        known = self._refusals.setdefault(toolchain, {})
        if new := [one for one in self._threads if one not in known]:
            told = self._client.run(refusal, toolchain, workers=new, on_error="return")
            # A worker that is gone has not answered.
            known.update({one: _text(told.get(one, "it is gone")) for one in new})
        return known

    def finished(self, seconds: float) -> list[tuple[Attempt, Result]]:
        """Return the tries that are over, and their results."""
        try:
            done = [self._over.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._over.empty():
            done.append(self._over.get())
        mine = [future for future in done if future in self._open]
        results = self._results(mine)
        self._kept += [future for future, result in zip(mine, results, strict=True) if result.bundle]
        return [(self._open.pop(future), result) for future, result in zip(mine, results, strict=True)]

    def _results(self, futures: Sequence[Any]) -> list[Result]:
        try:
            return list(self._client.gather(futures))
        except Exception:  # of one of them
            return [_result(future) for future in futures]

    def drop(self) -> list[Attempt]:
        """Cancel the tasks that are not over."""
        left = [*self._open.values()]
        if self._open and self._is_connected:
            self._client.cancel([*self._open])
        self._open.clear()
        return left

    def end(self) -> None:
        """Cancel the tasks that are not over, and publish the last results: without that, Dask forgets them."""
        self.drop()
        if not (self._kept and self._is_connected):
            return
        with contextlib.suppress(OSError):  # the scheduler went just now
            known = {future.key: future for future in self._client.get_dataset(PUBLISHED, default=[])}
            known |= {future.key: future for future in self._kept}
            self._client.publish_dataset([*known.values()][-MOST_RESULTS:], name=PUBLISHED, override=True)


def compile_here(job: Job, compile: Callable[[Job], Result]) -> Result:
    """Return a job's result with the address of the worker that this runs on."""
    return replace(compile(job), where=distributed.get_worker().address)


def _result(future: Any) -> Result:
    """Return a task's result, whatever its end: a task fails in Dask's ways too."""
    try:
        found: Result = future.result()
        return found
    except distributed.scheduler.KilledWorker as error:
        return Result(killed=MOST_KILLED, ended=str(error).partition(".")[0])
    except Exception as error:
        return Result(refused=f"{type(error).__name__}: {error}")


def _text(told: object) -> str:
    """Return a worker's answer; an exception is one too."""
    return told if isinstance(told, str) else f"{type(told).__name__}: {told}"


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at HOST:PORT; raises GridjitError if there is none."""
    try:
        client = distributed.Client(f"tcp://{address}", timeout=_CONNECT_S)
    except OSError as error:
        raise GridjitError(f"dask://{address}: no scheduler answers there: {error}") from None
    try:
        yield client
    finally:
        client.close(timeout=_CLOSE_S)  # a scheduler that is gone would be waited for
