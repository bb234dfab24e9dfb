"""visible: a view as the current one of a thread for a block, as while_current makes it for a call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gridjit.compiler.view import recording
from gridjit.compiler.view.config import ConfigView, current_view


@contextlib.contextmanager
def visible(view: ConfigView | None) -> Iterator[None]:
    """Make view (None: no launch) the current one of this thread, and restore the previous one afterwards."""
    before = current_view()
    recording._visible.view = view
    try:
        yield
    finally:
        recording._visible.view = before
