"""Kernels that do not compile: what users are told, on both targets, in a terminal and in a notebook."""

from __future__ import annotations

import enum
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import CompileError, cuda
from gridjit.runtime.environment.settings import settings
from tests.end_to_end.mistakes.mistake import TOPICS, expected, mistakes, told
from tests.programs import python_path, run_new_python, run_python
from tests.shown import files_of, users_files
from tests.toolkit import needs_toolkit

NAMED = [(topic, name) for topic in TOPICS for name in mistakes(topic)]
# What only numba's authors, and ours, understand.
INTERNALS = re.compile(
    r"0x[0-9a-f]{6}|\$\d|Literal\[|<class|numba\.(?:cuda|core)\.\w|[Nn]umba\b|candidate|CallConv|iv="
)
ENABLED = "NUMBA_CUDA_ENABLE_NRT=1, or numba.cuda.config.CUDA_ENABLE_NRT"
SCREEN = 24


@pytest.mark.each_value_once
@pytest.mark.parametrize(("topic", "name"), NAMED)
@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_a_mistake_is_told_in_the_users_words(topic: str, name: str, target: str) -> None:
    function, signature = mistakes(topic)[name]
    assert told(function, signature, target) == expected(topic)[name]


@pytest.mark.parametrize("topic", TOPICS)
def test_what_users_are_told_fits_a_screen_and_says_nothing_of_the_compiler(topic: str) -> None:
    for name, text in expected(topic).items():
        assert len(text.splitlines()) <= SCREEN, name
        assert INTERNALS.search(text.replace(ENABLED, "")) is None, name
        assert f"\n  {topic}.py:" in text, name


VAIN = ("whole_arrays_added", "whole_array_negated", "percentile", "sorted_array", "beginning_of_a_string")


@pytest.mark.some(3)
@pytest.mark.parametrize("name", VAIN)
def test_what_kernels_cannot_do_even_if_they_allocate_is_told_so_with_and_without_that_setting(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.cuda import config

    assert "NRT" not in expected("elsewhere")[name]
    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)
    text = told(*mistakes("elsewhere")[name], "host")
    assert re.search(r"would make a whole array|is not available in kernels|it makes a string", text) is not None
    assert "does not support" not in text


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", ["1", "5"])  # numba takes the returns from a set, in one order and the other
def test_a_function_that_returns_several_types_is_told_of_in_the_same_words_in_every_process(seed: str) -> None:
    program = (
        "from tests.end_to_end.mistakes.mistake import mistakes, told\n"
        "print(told(*mistakes('calls')['calls_number_or_text'], 'host'))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": python_path(Path(__file__).parents[2])}
    said = run_new_python("-c", program, env=environment)
    assert said.stdout.rstrip("\n") == expected("calls")["calls_number_or_text"], said.stderr


LINEAR = [
    *(("calls", name) for name in ("np_linalg_norm", "matmul", "np_dot")),
    *(("libraries", name) for name in mistakes("libraries")),
]


@pytest.mark.some(4)
@pytest.mark.parametrize(("topic", "name"), LINEAR)
@pytest.mark.parametrize("installed", [True, False])
def test_what_is_told_of_linear_algebra_is_the_same_with_scipy_and_without(
    topic: str, name: str, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("scipy", "scipy.linalg", "scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module) if installed else None)
    function, signature = mistakes(topic)[name]
    assert told(function, signature, "host") == expected(topic)[name]


@pytest.mark.parametrize(
    ("target", "most"),
    [pytest.param("sm_89", 49_152, marks=needs_toolkit()), pytest.param("sm_90", 232_448, marks=needs_toolkit())],
)
def test_static_shared_arrays_end_where_the_documents_say(target: str, most: int) -> None:
    def filled(size: int) -> Any:
        @gridjit.jit(cache=False)
        def fill(out: Any) -> None:
            tile = cuda.shared.array(size, np.uint8)
            tile[0] = out[0]
            cuda.syncthreads()
            out[1] = tile[0]

        return fill

    assert filled(most).compile("void(uint8[::1])", target=target).resources["shared_bytes"] == most
    with pytest.raises(gridjit.LinkError, match=f"shared arrays need {most + 1:,} bytes, and .* {most:,}"):
        filled(most + 1).compile("void(uint8[::1])", target=target)


@gridjit.jit
def shuffled(out: Any) -> None:
    out[0] = cuda.shfl_sync(0xFFFFFFFF, out[0], 1.5)


def test_a_float_for_a_lane_is_told_of_with_the_kernel_and_its_place(on_the_host: None) -> None:
    with pytest.raises(CompileError, match=r"shuffled \(.*test_compile_errors\.py:\d+\) .* is given a float64"):
        shuffled[1, 32](np.zeros(1))


class Access(enum.Flag):
    """Values that programs join with &."""

    READ = 1
    WRITE = 2


Weather = namedtuple("Weather", "wind temperature")


@gridjit.jit
def changed(items: Any) -> None:
    items[0] += 1


@gridjit.jit
def may_write(out: Any, access: Any) -> None:
    if access & Access.WRITE:
        out[0] = 1


@gridjit.jit
def wind_of(out: Any, weather: Any) -> None:
    out[0] = weather.temprature


@gridjit.jit
def of_a_misspelt_dtype(out: Any) -> None:
    tile = cuda.shared.array(32, "flaot32")
    out[0] = tile[0]


ARGUMENTS = [
    (changed, (np.array([b"a", b"bc"]),), "changed(|S2[:]) for host", "|S2 += 1 is not", "compare and assign strings"),
    (changed, (np.array(["a", "bc"]),), "changed(<U2[:]) for host", "<U2 += 1 is not", "compare and assign strings"),
    (changed, (np.zeros(2, "M8[s]"),), "", "datetime64[s] += 1 is not", "STEP = np.timedelta64(1, 's')."),
    (
        may_write,
        (np.zeros(1), Access.READ),
        "(float64[:], enum Access) for",
        "enum Access & enum Access",
        "write .value",
    ),
    (wind_of, (np.zeros(1), Weather(1, 2)), "", "does not have an attribute 'temprature'", "mean 'temperature'?"),
    (of_a_misspelt_dtype, (np.zeros(1),), "", "is given 'flaot32', which is not a dtype", "Did you mean 'float32'?"),
]


@pytest.mark.parametrize(("kernel", "arguments", "whole", "sentence", "advice"), ARGUMENTS)
def test_a_mistake_with_arguments_of_other_kinds_than_numbers_is_told_with_the_way_on(
    kernel: gridjit.Kernel, arguments: tuple[Any, ...], whole: str, sentence: str, advice: str, on_the_host: None
) -> None:
    with pytest.raises(CompileError) as caught:
        kernel[1, 1](*arguments)
    first, *_, last = str(caught.value).splitlines()
    assert whole in first
    assert sentence in first
    assert advice in last
    assert INTERNALS.search(first) is None


def test_a_kernel_that_assigns_a_variable_around_it_is_refused_before_it_loses_what_it_assigns() -> None:
    count = 0
    with pytest.raises(gridjit.ConfigError, match=r"counting assigns 'count' of the function around it \(nonlocal\)"):

        @gridjit.jit
        def counting(out: Any) -> None:
            nonlocal count
            count += 1
            out[0] = count

    assert count == 0


def test_a_function_in_a_kernel_may_assign_the_kernels_variables_and_no_others() -> None:
    count = 0
    with pytest.raises(gridjit.ConfigError, match=r"counting assigns 'count' of the function around it \(nonlocal\)"):

        @gridjit.jit
        def counting(out: Any) -> None:
            def count_on() -> None:
                nonlocal count
                count += 1

            count_on()
            out[0] = count

    @gridjit.jit
    def counting_its_own(out: Any) -> None:
        count = 1

        def count_on() -> None:
            nonlocal count
            count += 1

        count_on()
        out[0] = count

    out = np.zeros(1)
    counting_its_own[1, 1](out)
    assert (out[0], count) == (2, 0)


@gridjit.jit
def misspelled(out: Any) -> None:
    out[0] = thresold  # type: ignore[name-defined]  # noqa: F821


def by_launch() -> None:
    misspelled[1, 32](np.zeros(1))


def by_forall() -> None:
    misspelled.forall(1)(np.zeros(1))


def by_compile() -> None:
    misspelled.compile("void(float32[::1])")


def by_signature() -> None:
    gridjit.jit("void(float32[::1])")(misspelled.py_func)


def by_specialize() -> None:
    misspelled.specialize(np.zeros(1))


WAYS = [by_launch, by_forall, by_compile, by_signature, by_specialize]


@pytest.mark.parametrize("way", WAYS)
def test_a_traceback_shows_the_users_frames_and_no_others(way: Callable[[], None], on_the_host: None) -> None:
    with pytest.raises(CompileError) as caught:
        way()
    assert users_files(caught.value) == {__file__}
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    printed = "".join(traceback.format_exception(caught.value))
    assert len(printed.splitlines()) < SCREEN


@gridjit.jit(device=True)
def doubled(value: float) -> float:
    return 2 * value


class Unwilling:
    """What raises an error of its own when it is asked for its array."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("not now")


def while_handling() -> None:
    try:
        vars()["missing"]
    except KeyError:
        misspelled.forall(-1)


REFUSED: dict[str, Callable[[], Any]] = {
    "option": lambda: gridjit.jit(devcie=True),  # type: ignore[call-overload]
    "target": lambda: gridjit.jit(target="hots"),  # type: ignore[call-overload]
    "decorated": lambda: gridjit.jit(len),
    "no configuration": lambda: misspelled(np.zeros(1)),
    "tasks": lambda: misspelled.forall(-1),
    "inspected": lambda: misspelled.inspect_asm("void(int8)"),
    "registers": lambda: misspelled.get_regs_per_thread("void(int8)"),
    "architecture": lambda: misspelled.compile("void(float32[::1])", target="sm_9000"),
    "device function": lambda: doubled(2.0),
    "launched device function": lambda: doubled[1, 1](2.0),  # type: ignore[index]
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_shows_the_users_frames_and_no_others(what: str, on_the_host: None) -> None:
    with pytest.raises(gridjit.GridjitError) as caught:
        REFUSED[what]()
    assert users_files(caught.value) == {__file__}
    assert traceback.format_exception(caught.value)[0].startswith("Traceback")
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 1


def test_what_the_program_raised_itself_stays_with_its_own_frames(on_the_host: None) -> None:
    with pytest.raises(gridjit.ArgumentError) as caught:
        misspelled[1, 1](Unwilling())
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError)
    assert users_files(cause) == {__file__}
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 2


class Circular:
    """What raises an error whose causes form a circle."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        first = RuntimeError("not now")
        try:
            raise first
        except RuntimeError as error:
            try:
                raise OSError("not now") from error
            except OSError as second:
                first.__cause__ = second
        raise first


def test_errors_that_the_program_raised_from_each_other_are_told_of_once(on_the_host: None) -> None:
    with pytest.raises(gridjit.ArgumentError) as caught:
        misspelled[1, 1](Circular())
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError) and isinstance(cause.__cause__, OSError)
    assert "".join(traceback.format_exception(caught.value)).count("Traceback") == 3


def test_what_the_program_was_handling_stays(on_the_host: None) -> None:
    with pytest.raises(gridjit.ConfigError) as caught:
        while_handling()
    assert isinstance(caught.value.__context__, KeyError)
    assert "During handling of the above" in "".join(traceback.format_exception(caught.value))


@pytest.fixture
def on_the_host(restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    restart()


def test_all_is_shown_to_those_who_ask(
    on_the_host: None, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRIDJIT_TRACEBACK", "full")
    restart()
    with pytest.raises(CompileError) as caught:
        by_launch()
    error = caught.value
    assert any("numba" in path for path in files_of(error.__cause__ or error))
    assert error.__cause__ is error.original
    assert "'thresold' is not defined\n\n  " in str(error)
    assert "\n\nTypingError: " in str(error)


def test_an_unknown_way_to_show_tracebacks_is_refused() -> None:
    with pytest.raises(gridjit.ConfigError, match="GRIDJIT_TRACEBACK=long: give short or full"):
        type(settings()).of({"GRIDJIT_TRACEBACK": "long"})


def test_the_frames_of_the_users_own_code_between_ours_stay(on_the_host: None) -> None:
    """A hook launches a kernel that does not compile: the hook is in the traceback."""

    @gridjit.jit
    def fine(out: Any) -> None:
        out[0] = 1

    def hook(kernel: Any, config: Any) -> None:
        by_launch()

    configured = fine[1, 1]
    configured.pre_launch_callbacks.append(hook)
    with pytest.raises(CompileError) as caught:
        configured(np.zeros(1))
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert names[-2:] == ["hook", "by_launch"]
    assert users_files(caught.value) == {__file__}


def test_an_error_says_as_values_what_is_wrong(on_the_host: None) -> None:
    with pytest.raises(CompileError) as caught:
        by_launch()
    found = caught.value.diagnosis
    assert found is not None
    assert (found.kernel, found.target, found.sentence) == (
        "misspelled(float64[:])",
        "host",
        "'thresold' is not defined",
    )
    (step,) = found.steps
    line = misspelled.py_func.__code__.co_firstlineno + 2
    assert (step.path, step.line, step.function, step.columns) == (__file__, line, "misspelled", (13, 21))


def test_an_error_goes_to_another_process_without_what_it_was_raised_from(on_the_host: None) -> None:
    with pytest.raises(CompileError) as caught:
        by_launch()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.diagnosis) == (str(caught.value), caught.value.diagnosis)
    assert again.original is None


def test_a_default_is_not_used_and_the_error_says_so(on_the_host: None) -> None:
    @gridjit.jit
    def scaled(out: Any, factor: float = 2.0) -> None:
        out[0] = factor

    with pytest.raises(gridjit.ArgumentError, match="1 given; the defaults of its parameters are not used"):
        scaled[1, 1](np.zeros(1))


def test_what_is_told_of_a_function_outside_of_others_is_of_its_own_line(on_the_host: None, tmp_path: Path) -> None:
    path, text = tmp_path / "lambdas.py", "table = {}\nfor table in [{}]: pass\nmade = lambda x: x[table]\n"
    path.write_text(text)
    lambdas: dict[str, Any] = {}
    exec(compile(text, path, "exec"), lambdas)
    for signature, sentence in (
        ("void()", "it takes 1 argument, and 0 are given"),
        ("void(float32[::1])", "'table' is a dict, which kernels cannot use"),
    ):
        with pytest.raises(CompileError) as raised:
            cuda.jit(signature)(lambdas["made"])
        assert sentence in str(raised.value)
        assert "lambdas.py:3\n" in str(raised.value)


def test_parameters_of_any_number_are_refused_with_the_way_on(on_the_host: None) -> None:
    @gridjit.jit
    def first(*args: Any) -> None:
        args[0][0] = 1

    with pytest.raises(gridjit.ConfigError, match="give each argument a parameter of its own, or pass several as one"):
        first[1, 1](np.zeros(1))


def test_a_kernel_without_a_file_is_told_of_by_its_line(tmp_path: Path) -> None:
    """As what is typed into an interpreter before Python 3.13: there is a line, and no text of it."""
    namespace: dict[str, Any] = {"cuda": cuda}
    exec(compile("@cuda.jit\ndef typed(out):\n    out[0] = nowhere\n", "<stdin>", "exec"), namespace)
    with pytest.raises(CompileError) as caught:
        namespace["typed"].compile("void(float32[::1])", target="host")
    assert "typed(float32[:]) for host does not compile: " in str(caught.value)
    assert "\n  <stdin>:3" in str(caught.value)


def test_the_chain_of_calls_is_shown_by_its_ends_if_it_is_long(tmp_path: Path) -> None:
    functions = [f"@cuda.jit(device=True)\ndef f{i}(x):\n    return f{i + 1}(x)\n" for i in range(4)]
    text = "\n".join((*functions, "@cuda.jit(device=True)\ndef f4(x):\n    return x.nope\n", KERNEL))
    file = tmp_path / "chain.py"
    file.write_text(text)
    namespace: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, str(file), "exec"), namespace)
    with pytest.raises(CompileError) as caught:
        namespace["kernel"].compile("void(float32[::1])", target="host")
    told = str(caught.value)
    assert re.findall(r", in (\w+)|(\d+) more calls", told) == [
        *(("kernel", ""), ("f0", ""), ("", "2")),
        *(("f3", ""), ("f4", "")),
    ]
    assert len(told.splitlines()) <= SCREEN


KERNEL = "@cuda.jit\ndef kernel(out):\n    out[0] = f0(out)\n"


def test_no_part_of_telling_is_imported_by_what_compiles(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from gridjit import cuda\n"
        "@cuda.jit(target='host')\n"
        "def k(out):\n"
        "    out[0] = 1\n"
        "k[1, 1](np.zeros(1))\n"
        "print([name for name in sys.modules if name.startswith('gridjit.compiler.frontend.explained')])\n"
    )
    file = tmp_path / "program.py"
    file.write_text(program)
    assert run_python(file).stdout.strip() == "[]"


@gridjit.jit
def sets_first(out: Any) -> None:
    out[0] = 1


class Colour(enum.IntEnum):
    RED = 1


GIVEN = {
    "read-only": (np.broadcast_to(np.float32(1), 4), "'out' is a read-only array, and an item of it is assigned"),
    "texts": (np.array(["abc"]), "1 cannot be stored as <U3\n.*Assign a string"),
    "enum": (Colour.RED, "'out' is one enum Colour, not an array, and cannot be indexed"),
    "dtype": (np.dtype(np.float32), "'out' is one dtype\\(float32\\), not an array"),
}


@pytest.mark.parametrize("case", GIVEN)
def test_an_argument_that_cannot_be_written_is_told_of_as_what_it_is(
    case: str, on_the_host: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, said = GIVEN[case]
    monkeypatch.setitem(globals(), "out", np.zeros(1))  # a global of the same name, which is not meant
    with pytest.raises(CompileError, match=f"(?s){said}"):
        sets_first[1, 1](given)


def test_a_name_is_told_where_no_source_is(on_the_host: None) -> None:
    made: dict[str, Any] = {}
    exec("def scaled(out):\n    out[0] = factor", made)
    with pytest.raises(CompileError, match="'factor' is not defined"):
        gridjit.jit(made["scaled"])[1, 1](np.zeros(1))


@gridjit.jit(debug=True)
def outside(out: Any) -> None:
    out[cuda.grid(1) + 2] = 1


@gridjit.jit(debug=True)
def raising(out: Any) -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("launch", "kind"),
    [
        (lambda: outside[1, 4](np.zeros(4)), IndexError),
        (lambda: outside.forall(4, tpb=4)(np.zeros(4)), IndexError),
        (lambda: raising[1, 4](np.zeros(4)), ValueError),
    ],
)
def test_what_a_kernel_raises_shows_the_users_frames_and_no_others(
    launch: Callable[[], None], kind: type[Exception], on_the_host: None
) -> None:
    with pytest.raises(kind) as caught:
        launch()
    assert users_files(caught.value) == {__file__}


@gridjit.jit(debug=True)
def in_one_line(out: Any) -> None: out[cuda.grid(1) + 2] = 1  # fmt: skip


def test_an_exception_in_a_kernel_of_one_line_names_that_kernel(on_the_host: None) -> None:
    with pytest.raises(IndexError, match=r"In function 'in_one_line', file test_compile_errors\.py, line"):
        in_one_line[1, 4](np.zeros(4))


def test_an_error_in_a_hook_keeps_all_of_its_frames(on_the_host: None) -> None:
    def hook(kernel: Any, config: Any) -> None:
        raise IndexError("of the hook")

    configured = raising[1, 4]
    configured.pre_launch_callbacks.append(hook)
    with pytest.raises(IndexError, match="of the hook") as caught:
        configured(np.zeros(4))
    assert any("dispatch.py" in path for path in files_of(caught.value))


def test_a_record_whose_fields_lie_anywhere_is_told_of_with_how_to_make_others() -> None:
    def first(records: Any) -> None:
        records[0].mass = 1.0

    packed = np.zeros(2, np.dtype([("kind", np.uint8), ("mass", np.float64)]))
    with pytest.raises(CompileError, match=r"(?s)field 'mass', a float64, does not lie.*align=True") as caught:
        gridjit.jit(target="host")(first)[1, 1](packed)
    assert "records[0].mass = 1.0" in str(caught.value)


def test_an_interactive_shell_names_errors_as_users_do_and_speaks_of_a_value_that_it_has_no_text_of() -> None:
    lines = (
        "import gridjit",
        "@gridjit.jit(target='host')",
        "def kernel(x):",
        "    x[0] = 1",
        "",
        "kernel[1, 1](3)",
    )
    typed = "\n".join(lines) + "\n"
    shell = [sys.executable, "-i", "-q"]
    said = subprocess.run(shell, input=typed, capture_output=True, text=True, timeout=280, check=False).stderr
    assert "\ngridjit.CompileError: kernel(int64) for host does not compile: " in said
    known = sys.version_info >= (3, 13)  # since when a shell keeps the text of what is typed
    assert f"compile: {chr(39) + 'x' + chr(39) if known else 'a value'} is one int64, not an array" in said


@pytest.mark.parametrize("name", [name for name in gridjit.__all__ if name.endswith(("Error", "Warning"))])
def test_an_error_that_was_pickled_says_what_it_said(name: str) -> None:
    kind = getattr(gridjit, name)
    made = kind("said", *(("CUDA_ERROR_UNKNOWN", 999) if issubclass(kind, gridjit.DriverError) else ()))
    found = pickle.loads(pickle.dumps(made))
    assert (type(found), str(found), vars(found)) == (type(made), str(made), vars(made))
