"""The exceptions gridjit raises; every one derives from GridjitError."""

from __future__ import annotations


class GridjitError(Exception):
    """Base class of every error that gridjit raises on its own account."""


class ConfigError(GridjitError, ValueError):
    """A launch configuration, option or setting has a value that cannot be used."""


class CompileError(GridjitError):
    """A kernel could not be compiled; the message names the kernel, its argument types and the source line."""


class UnsupportedError(CompileError):
    """The kernel uses an operation that its target does not offer (yet)."""


class LinkError(CompileError):
    """What a kernel is linked with cannot be read, compiled or linked; the message names the file."""


class CompileDisabledError(CompileError):
    """A compile was needed while GRIDJIT_ASSERT_NO_COMPILE forbids it."""


class ArgumentError(GridjitError, TypeError):
    """A launch argument has a type, device or count that the kernel does not accept."""


class LaunchError(GridjitError):
    """A kernel could not be launched, or failed while it ran."""


class DeviceError(GridjitError):
    """The device or the driver is missing, or refused a call."""
