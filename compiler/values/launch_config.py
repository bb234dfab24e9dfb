"""LaunchConfig: how one launch is shaped. A frozen value, normalized and checked when made."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeAlias, cast

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ConfigError, ConfigTypeError, LimitError, shown, switch

Dim3 = tuple[int, int, int]
DimLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]

# CUDA's limits, the same on every architecture since sm_30.
MAX_GRIDDIM: Dim3 = (2**31 - 1, 65535, 65535)
MAX_BLOCKDIM: Dim3 = (1024, 1024, 64)
MAX_BLOCK_THREADS = 1024
# What people write for the dimensions of a launch.
SHORT_NAMES = {"grid": "griddim", "block": "blockdim"}
_FORMS = "give grid and block, as in {'grid': 8, 'block': 64} or (8, 64)"
_USUAL = 256  # threads of a block that messages propose
# The most that a launch can ask for; devices have far less.
MAX_SHAREDMEM = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchConfig:
    """The shape of one launch.

    griddim, blockdim: blocks in the grid and threads in a block, as (x, y, z).
    sharedmem: dynamic shared memory of a block, in bytes.
    cluster: blocks in a thread-block cluster as (x, y, z), or None.
    cooperative: whether all blocks must be resident at once (grid-wide sync).
    programmatic: whether it may begin before the previous grid in its stream has ended; the kernel then waits for that
    grid (gridjit.griddepcontrol).
    preferred_cluster: blocks in a larger cluster, a multiple of cluster, to be used where it fits.
    Raises ConfigError naming the field and the limit for a value that no launch can have, however it is made.
    """

    griddim: Dim3
    blockdim: Dim3
    sharedmem: int = 0
    cluster: Dim3 | None = None
    cooperative: bool = False
    programmatic: bool = False
    preferred_cluster: Dim3 | None = None

    @classmethod
    def of(
        cls,
        griddim: DimLike,
        blockdim: DimLike,
        sharedmem: SupportsIndex = 0,
        *,
        cluster: DimLike | None = None,
        cooperative: bool = False,
        programmatic: bool = False,
        preferred_cluster: DimLike | None = None,
    ) -> LaunchConfig:
        """Return the configuration for dimensions given as an int or one to three ints.

        griddim, blockdim, sharedmem, cluster, cooperative, programmatic, preferred_cluster: the fields, as above.

            LaunchConfig.of(8, (16, 16), 4096).blockdim == (16, 16, 1)

        Raises ConfigError naming the dimension and the limit when a value is out of CUDA's range.
        """
        return cls(
            griddim=_dim3("griddim", griddim),
            blockdim=_dim3("blockdim", blockdim),
            sharedmem=_sharedmem(sharedmem),
            cluster=None if cluster is None else _dim3("cluster", cluster),
            cooperative=switch("cooperative", cooperative),
            programmatic=switch("programmatic", programmatic),
            preferred_cluster=None if preferred_cluster is None else _dim3("preferred_cluster", preferred_cluster),
        )

    def __post_init__(self) -> None:
        _check_dim3("griddim", self.griddim, MAX_GRIDDIM)
        _check_dim3("blockdim", self.blockdim, MAX_BLOCKDIM)
        threads = self.blockdim[0] * self.blockdim[1] * self.blockdim[2]
        if threads > MAX_BLOCK_THREADS:
            raise LimitError(
                f"blockdim {self.blockdim} has {threads} threads; a block holds at most {MAX_BLOCK_THREADS}"
            )
        if self.cluster is not None:
            _check_dim3("cluster", self.cluster, MAX_GRIDDIM)
        if self.preferred_cluster is not None:
            _check_preferred(self.preferred_cluster, self.cluster)
        _check_sharedmem(self.sharedmem)
        for name in ("cooperative", "programmatic"):
            if type(given := getattr(self, name)) is not bool:
                raise ConfigError(f"{name}={shown(given)}: give True or False")

    def __str__(self) -> str:
        parts = [f"grid {dim_text(self.griddim)}", f"block {dim_text(self.blockdim)}"]
        if self.sharedmem:
            parts.append(f"{self.sharedmem} bytes shared")
        if self.cluster:
            parts.append(f"cluster {dim_text(self.cluster)}")
        if self.preferred_cluster:
            parts.append(f"preferred cluster {dim_text(self.preferred_cluster)}")
        parts += (name for name in ("cooperative", "programmatic") if getattr(self, name))
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        return f"<div>launch of <b>{self}</b></div>"


def as_launch_config(name: str, given: object) -> LaunchConfig | None:
    """Return the configuration that is given as one or as (griddim, blockdim[, sharedmem]); None for None."""
    if given is None or isinstance(given, LaunchConfig):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ConfigError(f"{name}: config={shown(given)}: give (griddim, blockdim[, sharedmem])")
    return LaunchConfig.of(*given)


def declared_launches(where: str, given: object) -> tuple[LaunchConfig, ...]:
    """Return declared launches, each once: configurations, (griddim, blockdim[, sharedmem]), or fields by name.

    where: the declaration. Raises ConfigError naming it, the launch by its number, and the way on.
    """
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise ConfigError(f"{where}: {shown(given)}: give a list of launches, such as [{{'grid': 8, 'block': 64}}]")
    return tuple(dict.fromkeys(_declared_launch(f"{where}, launch {n}", one) for n, one in enumerate(given, 1)))


def _declared_launch(where: str, given: object) -> LaunchConfig:
    if isinstance(given, LaunchConfig):
        return given
    if isinstance(given, tuple | list) and 2 <= len(given) <= 3:
        given = dict(zip(("griddim", "blockdim", "sharedmem"), given, strict=False))
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: {shown(given)}: {_FORMS}")
    fields: dict[str, Any] = {SHORT_NAMES.get(str(name), str(name)): value for name, value in given.items()}
    if len(fields) < len(given) or not {"griddim", "blockdim"} <= fields.keys() <= {*LaunchConfig.__slots__}:
        names = ", ".join(("grid", "block", *LaunchConfig.__slots__[2:]))
        raise ConfigError(f"{where}: {shown(given)}: {_FORMS}; the fields are {names}")
    try:
        return LaunchConfig.of(**fields)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def way_on(name: str, griddim: DimLike, blockdim: DimLike) -> str:
    """Return how to launch a kernel whose block is too large: with grid and block swapped, or in more blocks."""
    grid, block = _dim3("griddim", griddim), _dim3("blockdim", blockdim)
    if not math.prod(block) > MAX_BLOCK_THREADS:
        return ""
    if 1 < math.prod(grid) <= MAX_BLOCK_THREADS and all(map(operator.le, block, MAX_GRIDDIM)):
        swapped = f"{name}[{_given(block)}, {_given(grid)}]"
        return f"; the number of blocks comes first, and then the threads of each: {swapped}, if these were swapped"
    return f"; launch more blocks of fewer threads, as in {name}[{-(-math.prod(block) // _USUAL)}, {_USUAL}]"


def _given(dim: Dim3) -> str:
    return str(dim[0]) if dim[1:] == (1, 1) else str(dim)


def dim_text(dim: tuple[int, ...]) -> str:
    """Return (128, 1, 1) as '128' and (8, 4, 1) as '8x4', the way people write dimensions."""
    text = "x".join(map(str, dim))
    while text.endswith("x1"):
        text = text[:-2]
    return text


def _dim3(name: str, value: DimLike) -> Dim3:
    """Return a dimension that is given as a number, or as one to three numbers."""
    items: Sequence[object] = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if not 1 <= len(items) <= 3:
        raise ConfigError(f"{name} must be a sequence of 1, 2 or 3 integers, got {shown(list(items))}")
    try:
        dims = [operator.index(item) for item in cast("Sequence[SupportsIndex]", items)]
    except TypeError:
        divided = "; divide with //, or round up with math.ceil" if any(isinstance(one, float) for one in items) else ""
        raise ConfigTypeError(f"{name} must be a sequence of integers, got {shown(list(items))}{divided}") from None
    dims += [1] * (3 - len(dims))
    return (dims[0], dims[1], dims[2])


def _check_dim3(name: str, dims: object, limits: Dim3) -> None:
    if type(dims) is not tuple or len(dims) != 3 or not all(type(dim) is int for dim in dims):
        raise ConfigTypeError(f"{name} is {shown(dims)}; give three integers, (x, y, z), or use LaunchConfig.of")
    for axis, dim, limit in zip("xyz", dims, limits, strict=True):
        if not 1 <= dim <= limit:
            raise LimitError(f"{name}.{axis} is {dim}; it must be from 1 to {limit}")


def _check_preferred(preferred: Dim3, cluster: Dim3 | None) -> None:
    _check_dim3("preferred_cluster", preferred, MAX_GRIDDIM)
    if cluster is None:
        raise ConfigError(f"preferred_cluster is {preferred}; give cluster too, the smallest one that will do")
    if any(many % few for many, few in zip(preferred, cluster, strict=True)):
        raise ConfigError(f"preferred_cluster {preferred} must be a multiple of cluster {cluster} in each dimension")


def _sharedmem(value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ConfigTypeError(f"sharedmem {shown(value)}: give a number of bytes") from None


def _check_sharedmem(size: object) -> None:
    if type(size) is not int:
        raise ConfigTypeError(f"sharedmem {shown(size)}: give a number of bytes")
    if size < 0:
        raise ConfigError(f"sharedmem is {size}; it must be 0 or more bytes")
    if size > MAX_SHAREDMEM:
        raise LimitError(f"sharedmem is {size} bytes; a launch takes at most {MAX_SHAREDMEM}")
