"""Caches filled by the workers of Dask, Ray and MPI: each compile is made once for all of them."""

from __future__ import annotations

from gridjit.fleet.delivery import deliver as deliver
from gridjit.fleet.jobs import Job as Job
from gridjit.fleet.jobs import Plan as Plan
from gridjit.fleet.jobs import plan as plan
from gridjit.fleet.ranks import TorchComm as TorchComm
from gridjit.fleet.ranks import warm as warm
from gridjit.fleet.warmed import Warmed as Warmed
