"""A kernel decorated with options: their names and values are checked, and what is decorated is a Kernel."""

from typing import Any

from typing_extensions import assert_type

import gridjit


@gridjit.jit()
def plain(x: Any) -> None:
    x[0] = 1


@gridjit.jit(fastmath=True, max_registers=64, launch_bounds=(128, 2), specialize=("blockdim",), link=["code.cu"])
def tuned(x: Any) -> None:
    x[0] = 1


@gridjit.jit(device=False, debug=True, opt=False, target="host", cache=False, extensions=[object()])
def checked(x: Any) -> None:
    x[0] = 1


def undecorated(x: Any) -> None:
    x[0] = 1


assert_type(plain, gridjit.Kernel)
assert_type(tuned, gridjit.Kernel)
assert_type(checked, gridjit.Kernel)
assert_type(gridjit.jit(undecorated, lineinfo=True), gridjit.Kernel)
assert_type(gridjit.jit(plain, inline="always"), gridjit.Kernel)

gridjit.jit(fastmth=True)  # wrong: no such option
gridjit.jit(undecorated, fastmth=True)  # wrong: no such option
gridjit.jit(fastmath="yes")  # wrong: True, False or flags
gridjit.jit(target="gpu")  # wrong: "host" or "cuda"
gridjit.jit(max_specializations=None)  # wrong: a number
gridjit.jit("void(float32[::1])", background=True)
gridjit.jit(background="yes")  # wrong: True or False
gridjit.jit(launches=[(8, 64), ((8, 2), 64, 1024), {"grid": 8, "block": 64}, gridjit.LaunchConfig.of(8, 64)])
gridjit.jit(launches=(8, 64))  # wrong: a list of launches
gridjit.jit(specialize="blockdim", tiered=True)
gridjit.jit(specialize="blockdim", tiered="yes")  # wrong: True or False
gridjit.jit(specialize="blockDim")  # wrong: no such field
gridjit.jit(launch_bounds="128")  # wrong: numbers
gridjit.jit(undecorated, True)  # wrong: options have names
gridjit.jit(device="yes")  # wrong: True or False
gridjit.jit()(1)  # wrong: not a function
