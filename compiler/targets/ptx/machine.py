"""machine: LLVM's NVPTX back end for one architecture, and its optimizer."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as binding

from gridjit.base.interrupts import uninterrupted
from gridjit.compiler.targets.ptx.toolkit import linker_version

TRIPLE = "nvptx64-nvidia-cuda"
# The newest PTX that LLVM writes, and the CUDA toolkit that first takes it.
_NEWEST = (13, 0), "+ptx90"

_machines: dict[tuple[str, int], Any] = {}


def machine_for(arch: str, level: int) -> Any:
    """Return the target machine of an architecture and a level of optimization, kept for the process."""
    key = (arch, level)
    if key not in _machines:
        newest, feature = _NEWEST
        features = feature if linker_version() >= newest else ""
        uninterrupted(lambda: _machines.setdefault(key, _made(arch, features, level)))
    return _machines[key]


def optimize(module: Any, machine: Any, level: int) -> None:
    """Optimize a module in place for a machine."""
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _made(arch: str, features: str, level: int) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=arch, features=features, opt=level)
