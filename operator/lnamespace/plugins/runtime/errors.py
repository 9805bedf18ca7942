"""The errors of commands. They are caught in one place, `entry.run`."""

from __future__ import annotations


class PluginError(Exception):
    """An outcome to tell the user in words; the message needs no prefix and no stack trace."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(PluginError):
    """The command line itself is wrong; nothing was sent to the cluster."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=2)


class OtherApiGroup(PluginError):
    """The LNamespaces, or the one called ``name``, are not in the API group that was asked.

    ``cause`` is what to raise if they are in no other group either.
    """

    def __init__(self, cause: PluginError, connection: tuple[str, ...], name: str = "") -> None:
        super().__init__(str(cause), cause.exit_code)
        self.cause = cause
        self.connection = connection
        self.name = name


class KubectlError(PluginError):
    """A failure already in the words of kubectl or Kubernetes: shown as it is, nothing in front."""
