# Source this on a machine with a GPU and a Python of its own, but no network:  . scripts/gpu-env.sh
# Puts the checkout and the wheels in .whl/ (what that Python lacks) first on PYTHONPATH, and says what is there.
PYTHON="${PYTHON:-python3}"
if ls .whl/*.whl >/dev/null 2>&1; then
    "$PYTHON" -m pip install --quiet --no-index --no-deps --upgrade --target .site .whl/*.whl
fi
make --silent view
export PYTHONPATH="$PWD/.view:$PWD/.site${PYTHONPATH:+:$PYTHONPATH}"
"$PYTHON" - <<'PROGRAM'
import importlib.metadata as metadata
import sys
from gridjit.runtime.devices import presence

names = ("numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "torch", "cupy-cuda13x", "triton", "cuda-core")
installed = {d.metadata["Name"].lower(): d.version for d in metadata.distributions()}
print(sys.version.split()[0], presence.why_not() or f"{presence.device_count()} CUDA device(s)")
print(", ".join(f"{name} {installed.get(name, '-')}" for name in names))
PROGRAM
