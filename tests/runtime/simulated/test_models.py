"""Which GPU the host reports: a named one, one from a file, and nothing that is made up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gridjit.compiler.values.errors import ConfigError, DeviceError
from gridjit.runtime.environment.models import known, model

# What programs compute their grids from, and numba-cuda's detect() prints.
ASKED_OF_ANY = (
    "MAX_THREADS_PER_BLOCK",
    "MAX_BLOCK_DIM_X",
    "MAX_GRID_DIM_X",
    "MAX_SHARED_MEMORY_PER_BLOCK",
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "MAX_REGISTERS_PER_BLOCK",
    "MAX_THREADS_PER_MULTIPROCESSOR",
    "MAX_BLOCKS_PER_MULTIPROCESSOR",
    "MULTIPROCESSOR_COUNT",
    "WARP_SIZE",
    "CLOCK_RATE",
    "MEMORY_CLOCK_RATE",
    "GLOBAL_MEMORY_BUS_WIDTH",
    "L2_CACHE_SIZE",
    "COMPUTE_CAPABILITY_MAJOR",
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO",
    "KERNEL_EXEC_TIMEOUT",
    "TCC_DRIVER",
    "CAN_MAP_HOST_MEMORY",
    "COOPERATIVE_LAUNCH",
    "CLUSTER_LAUNCH",
)


@pytest.mark.parametrize("name", sorted(known()))
def test_a_named_device_answers_what_programs_ask_of_any(name: str) -> None:
    found = model(name)
    assert all(isinstance(found.attribute(asked), int) for asked in ASKED_OF_ANY)
    assert found.attribute("COMPUTE_CAPABILITY_MAJOR") == found.compute_capability[0]
    assert found.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") <= found.attribute(
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"
    )


@pytest.mark.parametrize("written", ["rtx4090", "RTX4090", "RTX 4090", "rtx-4090", "rtx_4090"])
def test_a_device_is_found_however_its_name_is_written(written: str) -> None:
    assert model(written).name == "NVIDIA GeForce RTX 4090"


@pytest.mark.parametrize("name", sorted(known()))
def test_a_device_is_found_by_the_name_that_it_reports(name: str) -> None:
    assert model(known()[name].name) == known()[name]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("RTX", "did you mean rtx4090? "),
        ("4090", "did you mean rtx4090? "),
        ("h", "did you mean h100 or h200? "),
        ("h1000", "did you mean h100? "),
        ("A100-80GB", "did you mean a100? "),
        ("a10", "did you mean a100? "),
        ("mi300", ""),
    ],
)
def test_an_unknown_or_ambiguous_device_is_refused_with_the_near_and_the_known_ones_named(
    text: str, meant: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        model(text)
    known_ones = "give one of h100, h200, a100, rtx4090, t4, or the path of a JSON file"
    assert str(refused.value) == f"GRIDJIT_HOST_DEVICE={text}: {meant}{known_ones}"


def test_what_is_not_known_of_a_device_is_an_error_that_says_how_to_give_it() -> None:
    assert model("h100").attribute("MEM_SYNC_DOMAIN_COUNT") == 4
    with pytest.raises(
        AttributeError, match=r'MEM_SYNC_DOMAIN_COUNT of the simulated Tesla T4 .*"attributes"'
    ) as found:
        model("t4").attribute("MEM_SYNC_DOMAIN_COUNT")
    assert isinstance(found.value, DeviceError)


def test_a_file_describes_what_differs_from_a_known_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps({"like": "a100", "name": "Mine", "memory_bytes": 1 << 30, "attributes": {"CLOCK_RATE": 7}})
    )
    found = model(str(path))
    assert (found.name, found.memory_bytes, found.compute_capability) == ("Mine", 1 << 30, (8, 0))
    assert (found.attribute("CLOCK_RATE"), found.attribute("MULTIPROCESSOR_COUNT")) == (7, 108)


@pytest.mark.parametrize("name", ["MULTIPROCESSOR_COUNT", "ECC_ENABLED", "LOCALITY_DOMAIN_COUNT", "NUMA_CONFIG"])
def test_a_file_gives_any_attribute_that_a_driver_has(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"like": "t4", "attributes": {name: 77}}))
    assert model(str(path)).attribute(name) == 77


def test_an_attribute_that_the_driver_has_two_names_for_may_be_given_by_either(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"attributes": {"SHARED_MEMORY_PER_BLOCK": 32 << 10}}))
    found = model(str(path))
    assert found.attribute("SHARED_MEMORY_PER_BLOCK") == found.attribute("MAX_SHARED_MEMORY_PER_BLOCK") == 32 << 10


def test_a_files_compute_capability_brings_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"like": "h100", "compute_capability": [8, 6]}))
    found = model(str(path))
    assert found.attribute("COMPUTE_CAPABILITY_MINOR") == 6
    assert found.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") == 99 << 10
    assert found.attribute("CLUSTER_LAUNCH") == 0


@pytest.mark.parametrize("text", ["{", '{"like": "h1000"}', '{"nmae": "x"}', '{"compute_capability": [1, 0]}', "[]"])
def test_a_file_that_makes_no_sense_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"GRIDJIT_HOST_DEVICE=.*mine\.json"):
        model(str(path))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[]", "the file: "),
        ("null", "the file: None"),
        ('{"like": "h1000"}', "like: 'h1000'; known are h100"),
        ('{"like": ["a100"]}', "like: "),
        ('{"name": 3}', "name: 3 is not a string"),
        ('{"memory_bytes": -1}', "memory_bytes: -1"),
        ('{"memory_bytes": 1.5}', "memory_bytes: 1.5"),
        ('{"memory_bytes": "1"}', "memory_bytes: '1'"),
        ('{"memory_bytes": NaN}', "memory_bytes: nan"),
        ('{"compute_capability": "8.6"}', "compute_capability: '8.6'"),
        ('{"compute_capability": [8]}', "compute_capability: "),
        ('{"compute_capability": [8.6, 0]}', "compute_capability: 8.6"),
        ('{"attributes": [1]}', "attributes: "),
        ('{"attributes": {"MULTIPROCESSOR_COUNT": true}}', "MULTIPROCESSOR_COUNT: True"),
        ('{"attributes": {"MULTIPROCESSOR_COUNT": -84}}', "MULTIPROCESSOR_COUNT: -84"),
        ('{"attributes": {"MULTIPROCESOR_COUNT": 84}}', "'MULTIPROCESOR_COUNT'"),
        ('{"attributes": {"MULTIPROCESOR_COUNT": 84}}', "did you mean MULTIPROCESSOR_COUNT"),
        ('{"attributes": {"multiprocessor_count": 84}}', "did you mean MULTIPROCESSOR_COUNT"),
        ('{"attributes": {"CU_DEVICE_ATTRIBUTE_WARP_SIZE": 64}}', "did you mean WARP_SIZE"),
        ('{"attributes": {"?": 1}}', "'?' is not one that a file can give (they have the driver's names"),
        ('{"attributes": {"PCI_BUS_ID": 1}}', "'PCI_BUS_ID' is not one that a file can give"),
        ("[" * 100_000, "recursion"),
    ],
    ids=range(22),
)
def test_a_file_with_a_wrong_value_is_refused_by_the_value_s_name(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "device.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(named)):
        model(str(path))


def test_an_attribute_that_is_misspelt_is_asked_after() -> None:
    with pytest.raises(
        AttributeError, match=r"WARP_SIZ of the simulated .* not known; did you mean WARP_SIZE\? Else give"
    ):
        model("h100").attribute("WARP_SIZ")
