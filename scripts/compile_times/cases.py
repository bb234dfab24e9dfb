"""The cases: each kernel of the set with its signature, and whether it is a checked-in module or made of text."""

from __future__ import annotations

from dataclasses import dataclass

from compile_times.chains import deep, wide

_KERNELS = "compile_times.kernels"
_FLOATS = "void(float64[::1], float64[::1])"
_INTEGERS = "void(int64[::1], int64[::1])"
_MATRICES = "void(float32[:,::1], float32[:,::1], float32[:,::1])"
_FIELDS = "float64[:,:,:,::1], float64[:,:,:,::1]"
# How many device functions a chain has.
LENGTHS = (1, 4, 16, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Kernels to compile one after the other in a process. text: the module's, if it is not a checked-in one."""

    name: str
    module: str
    kernels: tuple[str, ...]
    signature: str
    text: str = ""


def _checked_in(module: str, kernel: str, signature: str) -> Case:
    return Case(name=kernel, module=f"{_KERNELS}.{module}", kernels=(kernel,), signature=signature)


def _made(name: str, text: str, signature: str) -> Case:
    return Case(name=name, module=f"made_{name}", kernels=("kernel",), signature=signature, text=text)


CASES = (
    _checked_in("small", "saxpy", "void(float32, float32[::1], float32[::1])"),
    _checked_in("small", "mix", _INTEGERS),
    _checked_in("typical", "block_sum", "void(float32[::1], float32[::1])"),
    _checked_in("typical", "black_scholes", f"void({', '.join(['float64[::1]'] * 5)}, float64, float64)"),
    _checked_in("typical", "overloads", "void(float64[::1], float64[::1], float64[::1])"),
    _checked_in("typical", "matrix_product", _MATRICES),
    _checked_in("typical", "histogram", "void(int64[::1], int32[::1])"),
    _checked_in("typical", "stencil", f"void({_FIELDS}, float64, float64, float64)"),
    _checked_in("huge", "block_solver", f"void({_FIELDS}, float64[:,:,::1])"),
    _checked_in("huge", "jacobian", f"void({_FIELDS}, float64, float64, float64, float64)"),
    *(_made(f"deep_{count}", deep(count), _FLOATS) for count in LENGTHS),
    *(_made(f"wide_{count}", wide(count), _FLOATS) for count in LENGTHS),
    _made("deep_16_int", deep(16, "0", "3"), _INTEGERS),
    _made("wide_16_int", wide(16, "0", "3"), _INTEGERS),
)
