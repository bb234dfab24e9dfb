"""A kernel decorated bare: it is a Kernel, whatever its parameters; launches take any arguments, in their order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import gridjit
from gridjit import cuda


@gridjit.jit
def scale(x: NDArray[np.float32], factor: float) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def through_cuda(x: Any) -> None:
    x[0] = add_one(x[0]) + gridjit.static.blockDim.x // 2 + gridjit.static.sharedmem // 4


@gridjit.jit
def add_one(x: float) -> float:
    return x + 1  # kernels may call what is decorated so, too


assert_type(scale, gridjit.Kernel)
assert_type(through_cuda, gridjit.Kernel)
assert_type(gridjit.jit(add_one), gridjit.Kernel)
assert_type(gridjit.static.gridDim.y, int)
assert_type(scale.__name__, str)
x = np.ones(1000, np.float32)
scale[8, 128](x, 2.0)
scale[8, 128](gridjit.InOut(x), np.float32(2))
scale[8, 128](cuda.to_device(x), 2.0)

y: int = scale[8, 128](x, 2.0)  # wrong: a launch returns nothing
scale[8, 128](x, factor=2.0)  # wrong: arguments go by their place
scale[8](x, 2.0)  # wrong: a launch has a grid and a block
scale[8, 128.0](x, 2.0)  # wrong: dimensions are whole numbers
scale.launch(x)  # wrong: there is no such method
print(gridjit.static.blockDim.w)  # wrong: x, y and z
gridjit.jit(1)  # wrong: neither a function nor a signature
gridjit.kernel(scale)  # wrong: no such name
