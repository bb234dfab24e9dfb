"""A program of the tests: it prints the text of numba's own code, once a compile has looked at it."""

TEXT = """
import hashlib
from gridjit.compiler.numba_state.mark import numbas_own_text

@gridjit.jit(target="host", cache=False)
def kernel(x):
    x[0] = abs(x[0]) * 2 + 1

for kind in ("float64", "float32"):  # the second compile looks at what surrounds it
    kernel.compile(f"void({kind}[::1])")
print(hashlib.sha256(numbas_own_text().encode()).hexdigest())
"""
