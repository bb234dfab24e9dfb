"""sitecustomize: begins a Python process as its environment says, then runs the sitecustomize that this file hides.

Its folder is first on the PYTHONPATH of what `gridjit run` and the pytest plugin start, and leaves sys.path here.
Another interpreter may find it, which has no gridjit.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "sitecustomize"


def _begin() -> None:
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]
    wanted = os.environ.get("_GRIDJIT_START")
    if wanted and importlib.util.find_spec("gridjit") is not None:
        importlib.import_module(wanted).begin(os.environ)
    spec = importlib.machinery.PathFinder.find_spec(_NAME, sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules[_NAME] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == _NAME:
    _begin()
