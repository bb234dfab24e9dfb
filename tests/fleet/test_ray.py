"""Ray: one actor has each job compiled once; killed workers, drivers that come later, and workers that start warm."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.conftest import NEEDS, launches_without_compiling, warm, with_kernel
from tests.programs import python_path, run_new_python

pytest.importorskip("ray", reason="pip install '.[ray]'")
pytestmark = pytest.mark.slow


# A cluster of one node, which ends with this process.
NODE = """
import sys
import ray

made = ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
print(made.address_info["address"], flush=True)
sys.stdin.read()
ray.shutdown()
"""


@pytest.fixture
def cluster(program: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Start a cluster of one node with two processors, which "auto" means; return its workers' cache."""
    cache = program / "workers"
    # Of this cluster alone, whatever the user has for others.
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    settings = {"GRIDJIT_CACHE_DIR": str(cache), "FLEET_HOST": "node", "PYTHONPATH": python_path(program)}
    node = [sys.executable, "-c", NODE]
    pipe = subprocess.PIPE
    with subprocess.Popen(node, env=os.environ | settings, stdin=pipe, stdout=pipe, text=True) as running:
        assert running.stdin is not None and running.stdout is not None
        monkeypatch.setenv("RAY_ADDRESS", running.stdout.readline().strip())
        yield cache
        running.stdin.close()


def driver(script: str, *words: object, cache: Path) -> str:
    """Return the last line that a driver of the cluster prints: Ray prints messages of its own before."""
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(cache), "PYTHONPATH": python_path(os.getcwd())}
    done = run_new_python("-c", CONNECTED + script, *words, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


CONNECTED = """
import os, sys
import ray

ray.init("auto", log_to_driver=False, logging_level="ERROR")
"""


def test_each_need_is_compiled_once_for_all_drivers(cluster: Path, program: Path) -> None:
    status, told = warm("ray://auto", program / "needs.jsonl", program / "asker")
    assert (status, told["compiled"], told["failed"], told["notes"]) == (0, NEEDS, [], [])
    assert launches_without_compiling(program / "asker")
    status, told = warm("ray://auto", program / "needs.jsonl", program / "second")
    assert (status, told["compiled"], len([*cluster.glob("??/*.o")])) == (0, NEEDS, NEEDS)


BOTH = """
import threading
from gridjit.fleet.filling import filled
from gridjit.fleet.jobs import plan
from gridjit.fleet.ray import KEEPER, NAMESPACE, RayWorkers

jobs = plan(sys.argv[1]).jobs
results = []

class Asker(RayWorkers):
    def begin(self, attempt):
        refused = super().begin(attempt)
        begun.wait()
        return refused

def ask():
    results.append([result for _, result in filled(jobs, Asker(), "")])

begun = threading.Barrier(3)
asking = [threading.Thread(target=ask) for _ in range(2)]
for one in asking:
    one.start()
begun.wait()
with open("begun") as pipe:
    pipe.read()
open("goes on", "w").close()
for one in asking:
    one.join()
assert results[0][0].bundle == results[1][0].bundle != b"", results
print(sorted(result.origin for asked in results for result in asked))
"""


def test_of_two_askers_at_once_both_get_the_one_compile(cluster: Path, program: Path) -> None:
    os.mkfifo(program / "begun")
    os.mkfifo(program / "goes on")
    done = driver(BOTH, with_kernel(program, "held:scale"), cache=program / "asker")
    assert done == "['compiled', 'compiled']"
    assert len([*cluster.glob("??/*.o")]) == 1


KILLED = """
import signal
from pathlib import Path
import gridjit.fleet.ray
from gridjit.fleet.compiling import compile_job

def killed_once(job):
    try:
        os.close(os.open("killed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return compile_job(job)
    os.kill(os.getpid(), signal.SIGKILL)

done = gridjit.fleet.ray.warm(sys.argv[1], compile=killed_once)
print(done.compiled, done.failed, done.notes)
"""


def test_the_job_of_a_killed_worker_is_done_by_another(cluster: Path, program: Path) -> None:
    assert driver(KILLED, with_kernel(program, "opstats:scale"), cache=program / "asker") == "1 {} ()"


WORKER_ENDS = """
import signal
import gridjit.fleet.ray

def killed(job):
    os.kill(os.getpid(), signal.SIGKILL)

done = gridjit.fleet.ray.warm(sys.argv[1], compile=killed)
print(*done.failed.values())
"""


def test_a_job_that_ends_two_workers_is_left_to_its_user(cluster: Path, program: Path) -> None:
    needs = with_kernel(program, "deadly:scale", "opstats:sized")
    status, told = warm("ray://auto", needs, program / "asker")
    assert (status, told["compiled"], len((program / "deaths").read_text().splitlines())) == (1, 2, 2)
    assert "2 workers ended while they compiled it" in told["failed"][0]["error"]
    said = driver(WORKER_ENDS, with_kernel(program, "opstats:declared"), cache=program / "asker")
    assert said.startswith("2 workers ended while they compiled it")


HOOKED = """
from pathlib import Path
from gridjit.fleet.ray import setup_hook

ray.shutdown()
hook = setup_hook(Path("kernels.gridjit").read_bytes())
ray.init("auto", runtime_env={"worker_process_setup_hook": hook, "env_vars": {"GRIDJIT_ASSERT_NO_COMPILE": "1"}})

@ray.remote
def work():
    import numpy as np
    import opstats

    x = np.full(4, 5, np.float32)
    opstats.scale[1, 32](x, 2.0)
    return x.tolist()

print(ray.get(work.remote()))
"""


def test_a_hook_fills_the_cache_before_a_worker_starts(cluster: Path, program: Path) -> None:
    export = ("-m", "gridjit", "cache", "export", program / "kernels.gridjit")
    assert run_new_python(*export, env={**os.environ, "GRIDJIT_CACHE_DIR": str(program / "recorded")}).returncode == 0
    assert json.loads(driver(HOOKED, cache=program / "asker")) == [10.0] * 4
