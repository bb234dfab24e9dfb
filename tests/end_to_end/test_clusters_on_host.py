"""Launches with clusters run on the host, within the limits of the GPU that it stands in for."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from llvmlite import ir

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.runtime.process.session import end_session

cuda = numba_cuda()
from numba.cuda import types  # noqa: E402
from numba.cuda.extending import intrinsic  # noqa: E402


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    end_session()
    yield
    end_session()


@gridjit.jit
def counted(out):
    cuda.atomic.add(out, cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y, 1)


@pytest.mark.parametrize("cluster", [1, 2, 8, (4, 2), (1, 4), 16])
def test_every_block_of_every_cluster_runs_once(cluster):
    out = np.zeros(64, np.int32)
    for _ in range(4):
        counted.configure((16, 4), 32, cluster=cluster)(out)
    assert (out == 4 * 32).all()


def test_a_grid_that_is_not_a_multiple_of_the_cluster_is_refused():
    with pytest.raises(gridjit.ConfigError, match=r"cluster 2.*the grid must be a multiple of the cluster"):
        counted.configure(3, 32, cluster=2)(np.zeros(3, np.int32))


def test_a_cluster_has_at_most_as_many_blocks_as_on_the_device(monkeypatch):
    out = np.zeros(32, np.int32)
    with pytest.raises(
        gridjit.LaunchError, match=r"H100.* allows 16 blocks in a cluster, not 32.*CLUSTER_SIZE"
    ) as caught:
        counted.configure(32, 32, cluster=32)(out)
    assert caught.value.code == 912
    monkeypatch.setenv("GRIDJIT_HOST_LIMITS", "0")
    end_session()
    counted.configure(32, 32, cluster=32)(out)
    assert (out == 32).all()


def test_a_device_without_clusters_launches_none(monkeypatch):
    monkeypatch.setenv("GRIDJIT_HOST_DEVICE", "a100")
    end_session()
    with pytest.raises(gridjit.LaunchError, match=r"A100.*does not launch clusters; GRIDJIT_HOST_LIMITS=0"):
        counted.configure(4, 32, cluster=2)(np.zeros(4, np.int32))


def ptx(text, *, result=False):
    """Return a function for kernels that is an instruction of PTX, as libraries write them."""

    @intrinsic
    def instruction(typingctx):
        def code(context, builder, signature, arguments):
            kind = ir.IntType(32) if result else ir.VoidType()
            asm = ir.InlineAsm(ir.FunctionType(kind, []), text, "=r" if result else "~{memory}", side_effect=not result)
            made = builder.call(asm, [])
            return made if result else context.get_dummy_value()

        return (types.int32 if result else types.void)(), code

    return instruction


def register(name):
    return ptx(f"mov.u32 $0, %{name};", result=True)


ctaid_x, ctaid_y, ctaid_z = (register(f"cluster_ctaid.{axis}") for axis in "xyz")
nctaid_x, nctaid_y, nctaid_z = (register(f"cluster_nctaid.{axis}") for axis in "xyz")
id_x, id_y, id_z = (register(f"clusterid.{axis}") for axis in "xyz")
nid_x, nid_y, nid_z = (register(f"nclusterid.{axis}") for axis in "xyz")
rank, ranks = register("cluster_ctarank"), register("cluster_nctarank")
arrive, wait = ptx("barrier.cluster.arrive.aligned;"), ptx("barrier.cluster.wait.aligned;")
both = ptx("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;")


@gridjit.jit
def placed(out):
    block = out[cuda.blockIdx.z, cuda.blockIdx.y, cuda.blockIdx.x]
    block[0], block[1], block[2] = ctaid_x(), ctaid_y(), ctaid_z()
    block[3], block[4], block[5] = nctaid_x(), nctaid_y(), nctaid_z()
    block[6], block[7], block[8] = id_x(), id_y(), id_z()
    block[9], block[10], block[11] = nid_x(), nid_y(), nid_z()
    block[12], block[13] = rank(), ranks()


@pytest.mark.some(3)
@pytest.mark.parametrize("cluster", [(1, 1, 1), (2, 1, 1), (2, 3, 1), (1, 1, 2), (4, 1, 2)])
def test_every_block_knows_its_place_in_its_cluster(cluster):
    grid = (4, 6, 2)
    out = np.zeros((*grid[::-1], 14), np.int32)
    placed.configure(grid, 1, cluster=cluster)(out)
    x, y, z = cluster
    for place in np.ndindex(grid):
        here = [at % size for at, size in zip(place, cluster, strict=True)]
        wanted = [*here, *cluster, *(at // size for at, size in zip(place, cluster, strict=True))]
        wanted += [size // of for size, of in zip(grid, cluster, strict=True)]
        assert out[place[::-1]].tolist() == [*wanted, here[0] + x * (here[1] + y * here[2]), x * y * z]


def test_without_a_cluster_a_block_is_one_and_code_is_compiled_for_the_cluster_that_it_asks_for():
    kernel = gridjit.jit(placed.py_func)
    out = np.zeros((1, 1, 8, 14), np.int32)
    for cluster in (None, 2, 4, 2):
        kernel.configure(8, 1, cluster=cluster)(out)
        assert (out[..., 13] == (cluster or 1)).all()
    assert kernel.stats.compiles == 3
    assert "cluster" in str(kernel.explain())


@gridjit.jit
def rotated(x, turns):
    i, step = cuda.grid(1), cuda.blockDim.x
    size = ranks() * step
    first = i - i % size
    for _ in range(turns + first // size):  # clusters wait more or less often
        value = x[first + (i + step) % size]
        arrive()
        wait()
        x[i] = value
        both()


@pytest.mark.some(3)
@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
def test_blocks_of_a_cluster_wait_for_each_other_and_for_no_others(cluster):
    wanted = np.arange(16 * 32).reshape(-1, cluster * 32)
    for number, part in enumerate(wanted):
        wanted[number] = np.roll(part, -32 * (2 + number))
    for _ in range(4):  # from Python, and then in machine code
        x = np.arange(16 * 32)
        rotated.configure(16, 32, cluster=cluster)(x, 2)
        np.testing.assert_array_equal(x.reshape(wanted.shape), wanted)


@gridjit.jit
def of_a_plane(x, out):
    i, j = cuda.grid(2)
    x[i, j] = rank() + 1
    arrive()
    wait()
    a, b = i ^ 1, j ^ 1
    out[i, j] = x[a, j] + x[i, b] + x[a, b]


def test_clusters_may_have_two_dimensions():
    x, out = np.zeros((4, 6), np.int32), np.zeros((4, 6), np.int32)
    of_a_plane.configure((4, 6), 1, cluster=(2, 2))(x, out)
    assert (out + x == 10).all()


def test_blocks_that_have_ended_are_not_waited_for():
    @gridjit.jit
    def first_leaves(x):
        if rank() == 0:
            return
        both()
        x[cuda.grid(1)] = 1

    x = np.zeros(8 * 32, np.int32)
    first_leaves.configure(8, 32, cluster=4)(x)
    assert x.reshape(8, 32).all(axis=1).tolist() == [False, True, True, True] * 2


def test_waits_for_the_cluster_and_for_the_grid_in_one_kernel_are_refused():
    @gridjit.jit
    def both_kinds(x):
        both()
        cuda.cg.this_grid().sync()
        x[cuda.grid(1)] = 1

    with pytest.raises(gridjit.UnsupportedError, match="both_kinds waits for its cluster and for the grid"):
        both_kinds.configure(4, 32, cluster=2)(np.zeros(128))
