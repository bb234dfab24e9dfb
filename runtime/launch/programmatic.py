"""programmatic: a launch that may begin before the previous grid has ended needs code that waits for that grid."""

from __future__ import annotations

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.errors import ConfigError
from gridjit.compiler.launch_config import LaunchConfig


def refuse_without_wait(artifact: Artifact, config: LaunchConfig) -> None:
    """Raise ConfigError for code that waits for no grid: it could read what the previous grid has not yet written."""
    if not artifact.metadata.get("waits_for_grids"):
        raise ConfigError(
            f"{artifact.kernel} [{config}]: with programmatic=True it may begin before the previous grid has ended, "
            "and it does not wait for it: call gridjit.griddepcontrol.wait() in the kernel, before it reads what "
            "others write, or launch it without programmatic"
        )
