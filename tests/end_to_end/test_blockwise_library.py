"""A cooperative library with every habit that such libraries have: its kernels are right, precise and stored."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.cooperative import LIBRARIES, Installed, install
from tests.toolkit import needs_toolkit

# Every case, in two processes, one after the other.
Runs = tuple[dict[str, Any], dict[str, Any]]
Begun = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="session")
def installed_once(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The library, installed; not to be changed."""
    return Installed(site=install(LIBRARIES / "blockwise", tmp_path_factory.mktemp("library") / "site"))


@pytest.fixture
def library(installed_once: Installed, tmp_path: Path) -> Installed:
    """The library, installed for this test alone."""
    return installed_once.copied_to(tmp_path / "site")


@pytest.fixture(scope="module")
def runs(installed_once: Installed, device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What became of every case in two processes that share a cache."""
    cache = {"GRIDJIT_CACHE_DIR": str(tmp_path_factory.mktemp("cooperative")), "GRIDJIT_TARGET": device_kind}
    first = installed_once.launch(**cache)
    return first, installed_once.launch(**cache)


# What tests begin with that change something after a process has launched these.
BEGUN = (
    "a_type_by_name",
    "a_type_made_while_compiling",
    "exclusive_sum int64",
    "guarded",
    "imported_late",
    "offset",
    "positioned",
    "scaled",
    "size_as_a_constant",
    "weighted",
)


@pytest.fixture(scope="module")
def begun(installed_once: Installed, device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    """The cache of a process that launched those cases, and what became of each."""
    cache = tmp_path_factory.mktemp("begun") / "cache"
    return cache, installed_once.launch(*BEGUN, GRIDJIT_CACHE_DIR=str(cache), GRIDJIT_TARGET=device_kind)


@pytest.fixture
def before(begun: Begun, target: str, cache_dir: Path) -> dict[str, Any]:
    """What became of those cases in a process that left what it compiled in the test's cache."""
    cache, report = begun
    shutil.copytree(cache, cache_dir, dirs_exist_ok=True)
    return report


@pytest.mark.slow
def test_every_kernel_of_a_cooperative_library_is_right_in_every_process(runs: Runs) -> None:
    for report in runs:
        assert {name: row["story"] for name, row in report.items() if not row["right"]} == {}


@pytest.mark.slow
def test_a_second_process_compiles_none_of_a_cooperative_librarys_kernels(runs: Runs) -> None:
    first, second = runs
    stored = [name for name, row in first.items() if row["stored"]]
    assert len(stored) >= 50 and all(first[name]["compiles"] == 1 for name in stored)
    assert {name: second[name]["story"] for name in stored if second[name]["compiles"]} == {}


@pytest.mark.slow
def test_hooks_of_a_cooperative_library_run_in_the_process_that_compiled_and_in_the_next(runs: Runs) -> None:
    for report in runs:
        expected = {name: row["hooks expected"] for name, row in report.items()}
        assert {name: len(row["hooks"]) for name, row in report.items()} == expected
    first, second = runs
    assert {name: row["hooks"] for name, row in first.items()} == {name: row["hooks"] for name, row in second.items()}


@pytest.mark.slow
def test_hooks_over_objects_keep_a_kernel_in_this_process_and_explain_says_so(runs: Runs) -> None:
    for report in runs:
        for name in ("with_a_method_of_a_node", "with_a_hook_over_a_node"):
            assert report[name]["compiles"] == 1 and report[name]["right"]
            assert "not stored on disk: the pre-launch hook" in report[name]["story"]


SHAPES = """
    import hashlib, json, sys
    import numpy as np
    from gridjit import cuda
    if "with" in sys.argv:
        import blockwise
        from blockwise import block
        blockwise.register()

    @cuda.jit
    def uses(x, out):
        i = cuda.grid(1)
        if cuda.threadIdx.x < x.size:
            out[cuda.threadIdx.x] = block.sum(x[cuda.threadIdx.x])

    @cuda.jit
    def has_nothing_to_do_with_it(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] + 1

    kernel = globals()[sys.argv[1]]
    grids, blocks = json.loads(sys.argv[2]), json.loads(sys.argv[3])
    right = True
    for threads in blocks:
        x = np.arange(float(threads))
        for grid in grids:
            out = np.zeros(threads)
            kernel[grid, threads](x, out)
            right = right and (out == (x.sum() if kernel.__name__ == "uses" else x + 1)).all()
    artifact = kernel.compile("void(float64[::1], float64[::1])", config=(grids[0], blocks[0]))
    print(json.dumps({
        "right": bool(right),
        "compiles": kernel.stats.compiles,
        # That there was a launch is recorded where somebody asked; it does not make a kernel depend on one's shape.
        "facts": [fact.field for fact in artifact.footprint.facts if fact.field != "launch"],
        "sensitive": artifact.footprint.sensitive,
        "image": hashlib.sha256(artifact.image).hexdigest(),
        "story": kernel.explain(),
    }))
"""


def launch_shapes(library: Installed, folder: Path, kernel: str, grids: list[int], blocks: list[int], *how: str) -> Any:
    """Return what became of launches of a kernel of SHAPES."""
    program = folder / "shapes.py"
    program.write_text(textwrap.dedent(SHAPES))
    report = library.run(program, kernel, json.dumps(grids), json.dumps(blocks), *how)
    assert report["right"]
    return report


GRIDS = list(range(1, 401))


@pytest.mark.usefixtures("target")
def test_a_kernel_of_a_cooperative_library_that_reads_the_block_is_compiled_once_for_400_grids(
    library: Installed, tmp_path: Path
) -> None:
    report = launch_shapes(library, tmp_path, "uses", GRIDS, [32], "with")
    assert (report["compiles"], report["facts"]) == (1, ["blockdim"]), report["story"]


@pytest.mark.usefixtures("target")
def test_a_kernel_of_a_cooperative_library_is_compiled_once_for_each_block_and_never_by_the_next_process(
    library: Installed, tmp_path: Path
) -> None:
    for compiles in (3, 0):
        report = launch_shapes(library, tmp_path, "uses", [1, 2, 3], [32, 64, 16], "with")
        assert report["compiles"] == compiles, report["story"]


@pytest.mark.usefixtures("target")
def test_a_kernel_that_does_not_use_a_loaded_library_is_compiled_once_for_all_shapes_and_stored(
    library: Installed, tmp_path: Path
) -> None:
    kernel = "has_nothing_to_do_with_it"
    for compiles in (1, 0):
        report = launch_shapes(library, tmp_path, kernel, GRIDS[::8], [32, 64, 96, 128], "with")
        assert (report["compiles"], report["facts"]) == (compiles, []), report["story"]
        assert not report["sensitive"]


@pytest.mark.usefixtures("target")
def test_a_kernel_that_does_not_use_a_loaded_library_has_the_code_that_it_has_without(
    library: Installed, tmp_path: Path
) -> None:
    kernel = "has_nothing_to_do_with_it"
    reports = [launch_shapes(library, tmp_path, kernel, [1, 2], [32], *how) for how in ((), ("with",))]
    assert reports[0]["image"] == reports[1]["image"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("file", "old", "new", "case"),
    [
        ("_thread.py", "strict and x < 0 else x", "strict and x < 2 else x", "guarded"),
        ("_late.py", "x + added", "x + added + 1", "imported_late"),
        ("_block.py", "total = x - x\n", "total = x + x\n", "exclusive_sum int64"),
        ("_extremes.py", "= args", "= reversed(args)", "a_type_made_while_compiling"),
        ("_records.py", "letters = len(", "letters = 1 + len(", "a_type_by_name"),
        ("_rewrite.py", "x * y * z, ", "x * y * z + 1, ", "size_as_a_constant"),
    ],
)
def test_a_hand_edited_file_of_a_library_of_equal_version_is_a_miss(
    library: Installed, before: dict[str, Any], file: str, old: str, new: str, case: str
) -> None:
    assert before[case]["right"] and library.launch(case)[case]["compiles"] == 0
    library.edit(file, old, new)
    after = library.launch(case)[case]
    assert after["compiles"] == 1 and after["out"] != before[case]["out"]


def test_a_library_that_is_installed_again_with_other_files_and_equal_version_is_a_miss(
    library: Installed, before: dict[str, Any], tmp_path: Path
) -> None:
    case = "imported_late"
    assert before[case]["right"] and library.launch(case)[case]["compiles"] == 0
    sources = tmp_path / "changed"
    shutil.copytree(LIBRARIES / "blockwise", sources)
    changed = sources / "src" / "blockwise" / "_late.py"
    changed.write_text(changed.read_text().replace("x + added", "x - added"))
    shutil.rmtree(library.site)
    install(sources, library.site)
    after = library.launch(case)[case]
    assert after["compiles"] == 1 and after["out"] != before[case]["out"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("setting", "value", "case"),
    [
        ("SCALE", 3.0, "scaled"),
        ("OFFSET", 4, "offset"),
        ("STRICT", False, "guarded"),
        ("LIMIT", 2, "guarded"),
        ("ORDER", "STRIPED", "positioned"),
        ("WEIGHTS", [1, 20, 100], "weighted"),
    ],
)
def test_a_changed_setting_that_registered_code_reads_is_a_miss_and_the_old_one_a_hit_again(
    library: Installed, before: dict[str, Any], setting: str, value: object, case: str
) -> None:
    after = library.launch(case, SETTINGS=json.dumps({setting: value}))[case]
    again = library.launch(case)[case]
    assert [run["compiles"] for run in (before[case], after, again)] == [1, 1, 0], again["story"]
    assert before[case]["right"] and again["right"] and before[case]["out"] != after["out"]


# Ways in which objects of the library differ in one process from those in the next, before the first compile.
IRRELEVANT = {
    "a counter": "next(_settings.COUNTER)",
    "a list that is only added to": "_settings.HISTORY.append('x')",
    "a memo table": "_settings.MEMO['x'] = object()",
    "a table with weak keys": "_settings.OWNERS[_settings.LOG] = 1",
    "statistics": "_settings.STATISTICS['x'] += 5",
    "a lock": "_settings.LOCK = threading.RLock()",
    "the numbers of nodes": "[next(_nodes._numbers) for _ in range(9)]",
    "what threads keep": "_settings.THREAD.x = 1",
    "what every compile changes": "_settings.nodes_made = 77",
}


CHANGES = f"""
import sys, threading
sys.path.insert(0, {os.fspath(LIBRARIES)!r})
import blockwise, cooperative_kernels
blockwise.register()
from blockwise import _nodes, _settings
exec(sys.argv[1])
sys.argv[1:] = ["offset", "remembered", "sum int64"]
cooperative_kernels.main()
"""


@pytest.fixture(scope="module")
def unchanged(installed_once: Installed, device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program that makes a change before it compiles, and the cache of one that made none."""
    folder = tmp_path_factory.mktemp("unchanged")
    (folder / "changes.py").write_text(CHANGES)
    where = {"GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": device_kind}
    report = installed_once.run(folder / "changes.py", "pass", **where)
    assert {row["compiles"] for row in report.values()} == {1}
    return folder


@pytest.mark.some(1)
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("change", IRRELEVANT.values(), ids=IRRELEVANT)
def test_objects_of_a_library_that_decide_nothing_do_not_count(
    library: Installed, unchanged: Path, cache_dir: Path, change: str
) -> None:
    shutil.copytree(unchanged / "cache", cache_dir, dirs_exist_ok=True)
    report = library.run(unchanged / "changes.py", change)
    assert {name: row["story"] for name, row in report.items() if row["compiles"] or not row["right"]} == {}


@pytest.mark.usefixtures("target")
def test_kernels_of_a_library_are_found_again_whatever_was_compiled_before_them(library: Installed) -> None:
    cases = ["sum int64", "a_type_made_while_compiling", "with_two_hooks", "remembered", "in_memory_it_did_not_ask_for"]
    library.launch(*cases)
    report = library.launch(*reversed(cases), "sort int64")
    assert {name: row["compiles"] for name, row in report.items()} == {**dict.fromkeys(cases, 0), "sort int64": 1}


@pytest.mark.usefixtures("target")
def test_the_order_in_which_a_library_is_imported_and_registered_does_not_matter(library: Installed) -> None:
    cases = ["sum int64", "scaled", "a_type_by_name"]
    library.launch(*cases, REGISTER="early")
    report = library.launch(*cases, REGISTER="late")
    assert {name: row["story"] for name, row in report.items() if row["compiles"] or not row["right"]} == {}


@pytest.mark.usefixtures("target")
def test_a_library_that_only_an_entry_point_names_is_found_before_the_first_compile(library: Installed) -> None:
    cases = ["scaled", "sum int64", "size_as_a_shape"]
    for compiles in (1, 0):
        report = library.launch(*cases, REGISTER="no")
        assert all(row["right"] for row in report.values()), report
        assert {row["compiles"] for row in report.values()} == {compiles}, report


@pytest.mark.usefixtures("target")
def test_an_argument_that_only_a_hook_of_the_compile_can_have_packed_is_taken_at_the_first_launch(
    library: Installed,
) -> None:
    cases = ["packed_by_the_library", "a_quantity", "a_sum_of_quantities", "a_type_by_name"]
    for compiles in (1, 0):
        report = library.launch(*cases)
        assert {name: row["story"] for name, row in report.items() if not row["right"]} == {}
        assert {row["compiles"] for row in report.values()} == {compiles}


@pytest.mark.usefixtures("target")
def test_an_object_that_a_library_looks_for_among_the_arguments_is_found_by_identity(library: Installed) -> None:
    report = library.launch("an_argument_by_identity")["an_argument_by_identity"]
    assert report["right"], report["story"]


@pytest.mark.usefixtures("target")
def test_shared_memory_that_a_library_requires_is_there_at_the_first_launch_and_in_the_next_process(
    library: Installed,
) -> None:
    case = "in_memory_it_did_not_ask_for"
    for compiles in (1, 0):
        report = library.launch(case)[case]
        assert report["right"] and report["compiles"] == compiles, report["story"]


LINKED = """
    import hashlib, json
    from gridjit import cuda
    from blockwise import linked

    @cuda.jit
    def kernel(out):
        out[0] = linked.triple(out[0])

    artifact = kernel.compile("void(float64[::1])", config=(1, 32), target="sm_90")
    print(json.dumps({
        "compiles": kernel.stats.compiles,
        "image": hashlib.sha256(artifact.image).hexdigest(),
        "story": kernel.explain(),
    }))
"""


def compiles_for_gpus(function: Any) -> Any:
    """Mark a test as one that compiles and links for GPUs."""
    for mark in needs_toolkit():
        function = mark(function)
    return function


@compiles_for_gpus
def test_code_that_a_library_links_as_lto_ir_is_stored_and_an_edit_of_it_is_a_miss(
    library: Installed, tmp_path: Path
) -> None:
    program = tmp_path / "linked.py"
    program.write_text(textwrap.dedent(LINKED))
    first, second = library.run(program), library.run(program)
    assert (first["compiles"], second["compiles"]) == (1, 0), second["story"]
    library.edit("_linked.py", "3.0 * x", "4.0 * x")
    third = library.run(program)
    assert third["compiles"] == 1 and third["image"] != first["image"] == second["image"]


REGISTRATIONS = """
    import blockwise, gridjit.cuda, json
    blockwise.register()
    from gridjit.compiler.key.registrations import registrations
    from gridjit.compiler.key.extensions import foreign_rewrites
    print(json.dumps({"registrations": len(registrations()), "rewrites": len(foreign_rewrites())}))
"""


def test_the_library_registers_as_much_as_real_ones_do(library: Installed, tmp_path: Path) -> None:
    program = tmp_path / "registrations.py"
    program.write_text(textwrap.dedent(REGISTRATIONS))
    report = library.run(program)
    assert report["registrations"] >= 150 and report["rewrites"] == 1
