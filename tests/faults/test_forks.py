"""While another thread is anywhere inside gridjit, forked children launch kernels, and processes end.

What is launched is cached, or must be compiled. A process that ends launches it in a finalizer.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

pytestmark = pytest.mark.usefixtures("llvm_makes_all_objects")

# Where the other thread is when the process forks: what is called there, and in which of two ways the fork meets it.
STAGES = {
    "importing numba": "gridjit.compiler.frontend.bindings.bootstrap:_import",
    "making numba's contexts": "gridjit.compiler.frontend.isolated.isolation:make_contexts",
    "compiling": "gridjit.compiler.frontend.lower:_run_pipeline",
    "reading a registry": "numba.cuda.core.base:BaseContext.install_registry",
    "looking through registrations": "gridjit.compiler.key.registrations:_scans",
    "generating code": "gridjit.compiler.targets.host.llvm.modules:optimize",
    "in LLVM": "gridjit.compiler.targets.host.llvm.modules:binding.parse_assembly",
    "linking": "gridjit.compiler.targets.host.llvm.libllvm:_linker",
    "loading": "gridjit.runtime.devices.host.device:load",
    "placing a native function": "gridjit.runtime.native.placement:_address_in_memory",
    "keeping a specialization": "gridjit.runtime.specializations.table:Specializations._doubt",
    "launching": "gridjit.runtime.devices.host.launch:_deal",
    "looking up": "gridjit.cache.files:open_shard",
    "writing": "gridjit.cache.files:write_file",
    "in the index": "gridjit.cache.index:_make_room",
    "locking a job's file": "gridjit.cache.lock:_try_lock",
    "printing": "gridjit.base.messages:print",
    "warning": "warnings:_showwarnmsg",
    "making the session": "gridjit.runtime.process.session:Session.__init__",
    "asking for the processor": "gridjit.runtime.devices.host.device:host_target",
}

SCRIPT = """
import atexit, builtins, gc, importlib, os, signal, sys, threading, warnings
import numpy as np

def look():
    mine, all_of_them = gridjit.base.forking.section(), gridjit.base.forking._sections.list()
    given_up.extend(other for other in all_of_them if other is not mine and not other._is_owned())

given_up = []
os.register_at_fork(before=look)  # the first to be registered is the last to be called

import gridjit, gridjit.base.forking, gridjit.base.messages
from gridjit import cuda
from gridjit.runtime.native import placement

place, ending, stuck = sys.argv[1], sys.argv[2] == "ending", sys.argv[2] != "finishing"
SOON_S = 100

@gridjit.jit
def cached(x):
    x[cuda.grid(1)] += 1

@gridjit.jit
def compiled(x):
    x[cuda.grid(1)] += 2

@gridjit.jit(max_specializations=1)
def threads(x):
    x[cuda.grid(1)] += 3

def launches(kernel, dtype=np.float64):
    x = np.zeros(8, dtype)
    kernel[2, 4](x)
    return x.tolist()

if sys.argv[3] == "prepare":
    assert launches(cached) == [1.0] * 8
    sys.exit()

inside, begun, over = threading.Event(), threading.Event(), threading.Event()
module, _, path = place.partition(":")
owner = importlib.import_module(module)
*parents, name = path.split(".")
for parent in parents:
    owner = getattr(owner, parent)
original = getattr(owner, name, None) or getattr(builtins, name)

# Held while a process forks, as a module that is imported later than gridjit may have it: logging does.
taken = threading.RLock()
os.register_at_fork(before=taken.acquire, after_in_parent=taken.release, after_in_child=taken._at_fork_reinit)
sys.modules["imported_later"] = sys

def pause(*args, **kwargs):
    if threading.current_thread() is not threading.main_thread() and not inside.is_set():
        inside.set()
        (over if stuck else begun).wait(SOON_S)
        with taken:
            pass
    return original(*args, **kwargs)

def pause_inside(frame, event, _):
    if event == "call" and frame.f_code is original.__code__ and not inside.is_set():
        inside.set()
        begun.wait(SOON_S)

def work():
    if is_numbas:
        sys.setprofile(pause_inside)
    launches(threads, np.float32)
    launches(threads, np.float64)  # one more than it keeps, which is warned of
    placement.launch_address(gridjit.runtime.process.session.session().store())

is_numbas = module.startswith("numba.")  # whose names count in keys
if not is_numbas:
    setattr(owner, name, pause)
thread = threading.Thread(target=work, daemon=True)
thread.start()
while not inside.wait(0.05):
    assert thread.is_alive(), "the thread never came there"
if stuck:
    gridjit.base.forking.PATIENCE_S = 0.2
os.register_at_fork(before=begun.set)  # the last to be registered is the first to be called
warnings.simplefilter("ignore")

def status_alone():
    right = launches(cached) == [1.0] * 8 and cached.stats.compiles == 0
    right = right and launches(compiled) == [2.0] * 8 and compiled.stats.compiles == 1
    right = right and launches(threads) == [3.0] * 8
    placement.launch_address(gridjit.runtime.process.session.session().store())
    return 0 if right else 1

class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):
        print(status_alone(), flush=True)

if ending:
    gc.set_threshold(0)  # so that garbage is collected by the interpreter's end, when the other thread is no more
    atexit.register(Garbage)
    sys.exit()
child = os.fork()
if child == 0:
    signal.alarm(SOON_S)
    os._exit(status_alone())
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
over.set()
thread.join()
assert launches(compiled) == [2.0] * 8
print(status if stuck or not given_up else "the fork gave up waiting")
"""

# Where the fork gives up waiting: what is in native code then, or imports, cannot be helped.
STUCK = ("compiling", "generating code", "keeping a specialization", "in the index", "printing", "making the session")
CASES = [*((stage, "finishing") for stage in STAGES), *((stage, "stuck") for stage in STUCK)]

Begin = Callable[..., subprocess.CompletedProcess[str]]
# Where only a process comes that has not imported numba yet, or has not compiled.
BEGINNINGS: dict[str, Begin] = {
    "importing numba": run_new_python,
    **dict.fromkeys(
        ("making numba's contexts", "reading a registry"), functools.partial(run_python, compiles_first=True)
    ),
}

# Three threads compile, load and look up without end, while the process forks at moments that chance has.
STRESS = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
import gridjit
from gridjit import cuda

warnings.simplefilter("ignore")
choose, over = random.Random(5), threading.Event()

def fresh(number):
    names = {"cuda": cuda, "__name__": "made"}
    exec(f"def kernel(x):\\n    x[cuda.grid(1)] += {number}", names)
    return gridjit.jit(names["kernel"])

def right(number):
    x = np.zeros(8)
    fresh(number)[2, 4](x)
    return x.tolist() == [float(number)] * 8

def work(me):
    number = 0
    while not over.is_set():
        number += 1
        assert right(me * 1000 + number) and right(1)

assert right(1)
threads = [threading.Thread(target=work, args=(me,)) for me in (1, 2, 3)]
for thread in threads:
    thread.start()
statuses = []
for number in range(int(sys.argv[1])):
    time.sleep(choose.uniform(0.0, 0.3))
    child = os.fork()
    if child == 0:
        signal.alarm(200)
        os._exit(0 if right(1) and right(900000 + number) else 1)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over.set()
for thread in threads:
    thread.join()
print(statuses.count(0))
"""


# Children whose other threads compile, launch and use streams without end return at moments that chance has.
EXITS = """
import atexit, os, random, signal, statistics, struct, sys, threading, time
import numpy as np
import gridjit
from gridjit import cuda
from gridjit.runtime.process.session import end_session

exits, seed, import_first = map(int, sys.argv[1:])

def fresh(number):
    names = {"cuda": cuda, "__name__": "made"}
    exec(f"def kernel(x):\\n    x[cuda.grid(1)] += {number}", names)
    return gridjit.jit(names["kernel"])

def compile_often():
    fresh(choose.randrange(1 << 30))[2, 4](x)

def compile_the_same():
    fresh(next(numbers) // 4)[2, 4](x)

def launch():
    cached[2, 4](x)

def launch_large():
    cached[len(large) // 128, 128](large)

def use_streams():
    cached[2, 4, choose.choice(streams)](x)
    choose.choice(streams).wait(choose.choice(streams).record())
    streams[0].on_complete(lambda: None)
    choose.choice(streams).synchronize()

def work_for_ever(work):
    while True:
        work()

def return_at_some_moment():
    if choose.random() < 0.3:
        os.environ["GRIDJIT_COMPILE_PROCESSES"] = "2"
        end_session()
    if import_first and choose.random() < 0.2:
        atexit.register(launch)  # it would compile with the other threads, as long as that takes
    for work in choose.sample([compile_often, compile_the_same, launch, launch_large, use_streams], 3) * 2:
        threading.Thread(target=work_for_ever, args=(work,), daemon=True).start()
    time.sleep(choose.uniform(0.0, 0.5))

x, large, cached = cuda.to_device(np.zeros(8)), cuda.to_device(np.zeros(1 << 20)), fresh(0)
streams = [gridjit.create_stream() for _ in range(3)]
if import_first:
    launch()
returned, returning = os.pipe()
took = []
for number in range(exits):
    if not (child := os.fork()):
        choose, numbers = random.Random(seed + number), iter(range(1 << 30))
        return_at_some_moment()
        signal.alarm(30)
        os.write(returning, struct.pack("d", time.monotonic()))
        break
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        sys.exit(f"of exits from {seed} on, number {number} ended with {status}")
    took.append(time.monotonic() - struct.unpack("d", os.read(returned, 8))[0])
else:
    print("all ended")
    print(f"ends took {statistics.median(took):.2f} s, at most {max(took):.2f} s", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script, and a cache in which its first kernel is."""
    folder = tmp_path_factory.mktemp("forks")
    (folder / "script.py").write_text(SCRIPT)
    done = run(folder / "script.py", folder / "cache", "", "", "prepare")
    assert done.returncode == 0, done.stderr
    return folder


def run(script: Path, cache: Path, *arguments: str, begin: Begin = run_python) -> subprocess.CompletedProcess[str]:
    settings = {"GRIDJIT_CACHE_DIR": str(cache), "GRIDJIT_LOG": "compiles", "GRIDJIT_TARGET": "host"}
    return begin(script, *arguments, env={**os.environ, **settings}, timeout=900)


@pytest.mark.some(4)
@pytest.mark.parametrize(("stage", "how"), CASES)
def test_a_child_forked_while_a_thread_is_at_work_launches(
    tmp_path: Path, prepared: Path, stage: str, how: str
) -> None:
    shutil.copytree(prepared / "cache", tmp_path / "cache", symlinks=True)
    begin = BEGINNINGS.get(stage, run_python)
    done = run(prepared / "script.py", tmp_path / "cache", STAGES[stage], how, "fork", begin=begin)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.some(2)
@pytest.mark.parametrize("stage", STAGES)
def test_a_process_that_ends_while_a_thread_is_at_work_launches_to_its_end(
    tmp_path: Path, prepared: Path, stage: str
) -> None:
    shutil.copytree(prepared / "cache", tmp_path / "cache", symlinks=True)
    done = run(prepared / "script.py", tmp_path / "cache", STAGES[stage], "ending", "end", begin=run_new_python)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.parametrize("forks", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_children_forked_at_any_moment_launch(tmp_path: Path, forks: int) -> None:
    (tmp_path / "script.py").write_text(STRESS)
    done = run(tmp_path / "script.py", tmp_path / "cache", str(forks))
    assert (done.returncode, done.stdout) == (0, f"{forks}\n"), done.stderr


@pytest.mark.parametrize("import_first", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("exits", "seed"), [(2, 0), *(pytest.param(125, 1000 * n, marks=pytest.mark.slow) for n in range(1, 9))]
)
def test_processes_that_end_at_any_moment_end(tmp_path: Path, exits: int, seed: int, import_first: bool) -> None:
    (tmp_path / "script.py").write_text(EXITS)
    done = run(
        tmp_path / "script.py", tmp_path / "cache", str(exits), str(seed), str(int(import_first)), begin=run_new_python
    )
    assert (done.returncode, done.stdout) == (0, "all ended\n"), done.stderr
    assert "Traceback" not in done.stderr
    print(done.stderr)  # how long ends took: told with pytest -rP
