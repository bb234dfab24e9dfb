"""ray: jobs on the workers of a Ray cluster. One named actor has each compiled once, however many drivers ask."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridjit import __version__
from gridjit.cache.errors import way_to_install
from gridjit.commands.warm_work import Built
from gridjit.compiler.values.errors import GridjitError
from gridjit.fleet.compiling import Result, compile_job
from gridjit.fleet.delivery import deliver
from gridjit.fleet.filling import MOST_KILLED, MOST_RESULTS, Attempt
from gridjit.fleet.jobs import Job
from gridjit.fleet.warmed import Warmed, warm_by

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise ImportError(f"ray is not installed: {way_to_install('ray')}") from error

# Another version's actor does not understand this version's jobs.
KEEPER, NAMESPACE = f"gridjit-{__version__}", "gridjit"


def warm(
    needs: str | os.PathLike[str],
    targets: Sequence[str] | None = None,
    *,
    compile: Callable[[Job], Result] = compile_job,
    told: Callable[[Built, int], object] = lambda built, total: None,
) -> Warmed:
    """Have the workers of the connected Ray cluster compile recorded needs into this process's cache.

    needs: the file that GRIDJIT_RECORD=FILE wrote. targets: as for gridjit.fleet.plan. compile: does a job on a worker.
    told: called with each outcome, and the number of needs. Call ray.init() first.

        gridjit.fleet.ray.warm("needs.jsonl").failed
    """
    engine = RayWorkers(compile)
    try:
        return warm_by(engine, "the Ray cluster", Path(needs), targets, told)
    finally:
        engine.end()


def setup_hook(bundle: bytes) -> Callable[[], None]:
    """Return the function that puts a bundle into the cache of each worker process that starts.

    bundle: the bytes of a file that `gridjit cache export` wrote.

        ray.init(runtime_env={"worker_process_setup_hook": setup_hook(Path("kernels.gridjit").read_bytes())})
    """

    def fill_cache() -> None:  # Ray wants a function with a name
        deliver(bundle)

    return fill_cache


class Keeper:
    """The actor that has each job done once. It keeps the last results, and what is known to end workers."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[tuple[str, int], Any] = OrderedDict()

    async def result(self, compile: Callable[[Job], Result], job: Job, number: int, node: str | None) -> Result:
        """Return a job's result: of the task that was begun for it, or of a new one. number: of the try.

        node: where to begin it; None for anywhere.
        """
        key = (job.digest, number)
        if key not in self._tasks:
            where = "DEFAULT" if node is None else NodeAffinitySchedulingStrategy(node, soft=False)
            self._tasks[key] = _on_worker().options(scheduling_strategy=where).remote(compile, job)
        result = await _result(self._tasks[key])
        if result.refused:
            self._tasks.pop(key, None)
        while len(self._tasks) > MOST_RESULTS:
            self._tasks.popitem(last=False)
        return result


@functools.cache
def _on_worker() -> Any:
    """Return compile_here as a task, which Ray tries once more if its worker dies; it is sent to workers once."""
    return ray.remote(max_retries=MOST_KILLED - 1)(compile_here)


async def _result(task: Any) -> Result:
    """Return a task's result, whatever its end: a task fails in Ray's ways too."""
    try:
        found: Result = await task
        return found
    except ray.exceptions.RayTaskError as error:
        return Result(refused=f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}")
    except ray.exceptions.TaskUnschedulableError as error:
        return Result(refused=f"its node is gone: {error}")
    except ray.exceptions.RayError as error:
        return Result(killed=MOST_KILLED, ended=str(error).strip().partition("\n")[0])


class RayWorkers:
    """The workers of the connected Ray cluster as an engine. compile: does a job on a worker."""

    def __init__(self, compile: Callable[[Job], Result] = compile_job) -> None:
        self._compile = compile
        self._open: dict[Any, Attempt] = {}
        self._nodes: list[str] = []
        self._turn = itertools.count()
        self._keeper = _keeper()

    def slots(self) -> int:
        """Return how many processors the nodes offer."""
        try:
            alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        except ConnectionError:  # the cluster is gone
            return 0
        self._nodes = [node["NodeID"] for node in alive]
        return sum(int(node["Resources"]["CPU"]) for node in alive)

    def begin(self, attempt: Attempt) -> str:
        """Ask the actor for a job; after a refusal, of the nodes that have not refused it."""
        able = [node for node in self._nodes if node not in attempt.avoided]
        if not able:
            return "each node refused it"
        node = able[next(self._turn) % len(able)] if attempt.avoided else None
        asked = self._keeper.result.remote(self._compile, attempt.job, attempt.number, node)
        self._open[asked] = attempt
        return ""

    def finished(self, seconds: float) -> list[tuple[Attempt, Result]]:
        """Return the tries that are over, and their results."""
        done, left = ray.wait([*self._open], num_returns=1, timeout=seconds)
        if left:
            more, _ = ray.wait(left, num_returns=len(left), timeout=0)
            done += more
        return [(self._open.pop(one), _got(one)) for one in done]

    def drop(self) -> list[Attempt]:
        """Forget the tries that are not over; they end by themselves."""
        left = [*self._open.values()]
        self._open.clear()
        return left

    def end(self) -> None:
        """Forget the tries that are not over; the actor stays."""
        self.drop()


def _keeper() -> Any:
    """Return the actor, which stays when its first asker ends, and starts anew where its node dies."""
    made = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Keeper)
    return made.options(name=KEEPER, namespace=NAMESPACE, get_if_exists=True, lifetime="detached").remote()


def _got(asked: Any) -> Result:
    try:
        found: Result = ray.get(asked)
        return found
    except ray.exceptions.RayError as error:  # of the actor
        return Result(refused=f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}")


def compile_here(compile: Callable[[Job], Result], job: Job) -> Result:
    """Return a job's result with the node that this runs on."""
    return replace(compile(job), where=ray.get_runtime_context().get_node_id())


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """Be connected to a cluster: HOST:PORT of its client server, or "auto"; raises GridjitError if none answers."""
    place = address if address == "auto" else f"ray://{address}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an error follows, which says more
            ray.init(address=place, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise GridjitError(f"ray://{address}: no cluster answers there: {error}") from None
    try:
        yield
    finally:
        ray.shutdown()
