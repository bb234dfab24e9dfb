"""Modules of device functions that are called one by another (deep) or all by the kernel (wide), as source text.

They are written to a file and imported, so that one function can be edited before the next process.
"""

from __future__ import annotations

_HEAD = "from compile_times.vocabulary import cuda\n\n"


def deep(count: int, zero: str = "0.0", step: str = "1.25") -> str:
    """Return a kernel whose one device function calls the next, and so on, count functions deep."""
    functions = [_function(n, f"f{n - 1}(x * {step} + {n}, y)" if n else "x", zero) for n in range(count)]
    return _HEAD + "".join(functions) + _kernel(f"f{count - 1}(x[i], x[i])")


def wide(count: int, zero: str = "0.0", step: str = "1.25", edited: int = -1) -> str:
    """Return a kernel that calls count device functions. edited: the one that another constant is in."""
    functions = [_function(n, f"x * {step} + {n + 1000 * (n == edited)}", zero) for n in range(count)]
    total = "\n        ".join(f"total += f{n}(x[i], total)" for n in range(count))
    return _HEAD + "".join(functions) + _kernel("total", f"total = {zero}\n        {total}\n        ")


def ten() -> str:
    """Return ten kernels of tens of lines that use nothing but the vocabulary: kernel_0 to kernel_9."""
    return _HEAD + "import math\n\n" + "".join(_vocabulary_kernel(number) for number in range(10))


def _vocabulary_kernel(number: int) -> str:
    """Return one of them: a loop over the grid, mathematics, minima and maxima."""
    return (
        f"@cuda.jit\ndef kernel_{number}(x, out):\n    start = cuda.grid(1)\n    stride = cuda.gridsize(1)\n"
        f"    for i in range(start, x.size, stride):\n        value = math.sqrt(abs(x[i])) + {number}.5\n"
        f"        low = min(value, x[i])\n        high = max(value, x[0])\n"
        f"        out[i] = math.exp(low) * high - math.sin(value)\n\n"
    )


def _function(number: int, value: str, zero: str) -> str:
    """Return a device function of some lines."""
    return (
        f"@cuda.jit(device=True)\ndef f{number}(x, y):\n    z = {value}\n    if z > y:\n        z = z - y\n"
        f"    w = z * z + x\n    if w < {zero}:\n        w = -w\n    return w - z * x\n\n"
    )


def _kernel(value: str, before: str = "") -> str:
    return (
        f"@cuda.jit\ndef kernel(x, out):\n    i = cuda.grid(1)\n    if i < x.size:\n        {before}out[i] = {value}\n"
    )
