"""Launches with clusters run on the host, within the limits of the GPU that it stands in for."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.session import end_session


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
