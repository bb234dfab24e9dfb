"""Launches, and all that a kernel tells: each has its type."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import gridjit
from gridjit import cuda, launchconfig


@gridjit.jit
def fill(x: Any, value: float) -> None:
    x[cuda.grid(1)] = value


def hook(kernel: gridjit.Kernel, config: gridjit.ConfiguredKernel) -> None:
    print(kernel.name, config.stream)


def needs(config: launchconfig.ConfigView) -> None:
    config.sharedmem = 8 * config.blockdim[0]


x, stream = np.zeros(1024), gridjit.create_stream()
configured = fill[8, 128]
assert_type(configured, gridjit.ConfiguredKernel)
assert_type(fill[(8, 1), (128, 1, 1), stream, 1024], gridjit.ConfiguredKernel)
assert_type(fill.configure(8, 128, stream, sharedmem=64, cluster=(2, 1, 1)), gridjit.ConfiguredKernel)
fill[np.int64(8), [64, 2], 0, np.int64(64)](x, 1.0)
fill[8, 128, cuda.default_stream()](x, 1.0)
fill.forall(x.size, tpb=64, stream=stream)(x, 1.0)
configured.pre_launch_callbacks.append(lambda kernel, config: print(kernel.entry_name, config.blockdim))
configured.pre_launch_callbacks.append(hook)
assert_type(configured.griddim, tuple[int, int, int])
assert_type(configured.config, gridjit.LaunchConfig)
assert_type(fill.specialize(x, 1.0), gridjit.Kernel)
assert_type(fill.compile("void(float64[::1], float64)", (8, 128), target="sm_90"), gridjit.Artifact)
assert_type(fill.compile((cuda.float64[::1], cuda.float64), gridjit.LaunchConfig.of(8, 128)), gridjit.Artifact)
assert_type(fill.stats.compiles, int)
assert_type(fill.stats.disk_hits, int)
assert_type(fill.explain(), str)
for specialization in fill.specializations:
    assert_type(specialization, gridjit.Specialization)
    assert_type(specialization.launch_config_sensitive, bool)
    assert_type(specialization.reused, tuple[str, ...])
for signature, overload in fill.overloads.items():
    assert_type(overload.regs_per_thread, int)
    assert_type(fill.overloads[signature].inspect_asm(), str)
    assert_type(fill.inspect_llvm(signature), str)
    assert_type(fill.get_regs_per_thread(signature), int)
    assert_type(fill.get_regs_per_thread(signature, config=(8, 128), target="sm_90"), int)
assert_type(fill.inspect_asm(fill.specializations[0]), str)
assert_type(fill.get_overload("void(float64[::1], float64)", target="sm_90").max_threads_per_block, int)
assert_type(fill.get_overload("void(float64[::1], float64)").footprint.sensitive, bool)
fill.mark_launch_config_sensitive("blockdim", "cluster")
assert_type(fill.nopython_signatures, list[Any])
fill.disable_compile()
assert_type((cuda.float64[::1], cuda.float64) in fill.overloads, bool)
for text in fill.inspect_asm().values():
    assert_type(text, str)
with launchconfig.capture_compile_config(fill) as capture:
    captured = capture["config"]
    plain: gridjit.LaunchConfig | None = captured
    assert_type(captured.dispatcher if captured else None, gridjit.Kernel | None)
if (config := gridjit.launchconfig.current_launch_config()) is not None:
    config.mark_kernel_as_launch_config_sensitive("blockdim")
    assert_type(config.blockdim, tuple[int, int, int])
    needs(config)
assert_type(launchconfig.ensure_current_launch_config().sharedmem, int)
with gridjit.graph(stream) as graph, graph.name("halo"):
    fill[8, 128, graph.stream](x, 1.0)
assert_type(graph, gridjit.Graph)
assert_type(graph.nodes["halo"].name, str)
assert_type(graph.nodes[0].config, gridjit.LaunchConfig | None)
graph.launch()
graph.launch(cuda.default_stream())
graph.update(graph.nodes[0], (x, 2.0))
graph.update("halo", [x, 2.0])

configured(x, value=1.0)  # wrong: arguments go by their place
configured.pre_launch_callbacks.append(fill.explain)  # wrong: a hook is called with kernel and configuration
fill.configure(8)  # wrong: a block is needed
fill.configure(8, 128, shared=64)  # wrong: no such argument
fill["8", 128](x, 1.0)  # wrong: dimensions are whole numbers
fill[8, 128, "stream"](x, 1.0)  # wrong: not a stream
fill[8, 128, stream, 64, 0](x, 1.0)  # wrong: too much
fill.forall("1024")(x, 1.0)  # wrong: a number of tasks
fill.forall(1024)[1, 2]  # wrong: it is called
fill.compile(1)  # wrong: not a signature
fill.compile("void(float64[::1], float64)", config=8)  # wrong: a grid and a block
fill.inspect_asm(config=8)  # wrong: a grid and a block
fill.get_regs_per_thread(grid=8)  # wrong: no such argument
print(fill.stats.compile_count)  # wrong: no such count
print(capture["confg"])  # wrong: no such key
gridjit.graph("stream")  # wrong: not a stream
graph.update(fill, (x, 1.0))  # wrong: not a node
graph.launch(8, 128)  # wrong: only a stream
fill.mark_launch_config_sensitive("blockDim")  # wrong: no such field
print(fill.get_overload("void(float64[::1], float64)").regs_per_thred)  # wrong: no such number
launchconfig.capture_compile_config(configured)  # wrong: not a kernel
configured.blockdim = (1, 1, 1)  # wrong: it is what it is
gridjit.LaunchConfig(griddim=8, blockdim=(1, 1, 1))  # wrong: of() takes numbers
