"""Errors of this package. All of them are [`LasthopError`]."""

from __future__ import annotations

from collections.abc import Sequence


class LasthopError(Exception):
    """A command of lasthop failed.

    `message` is what the command printed, `status` its exit status (`None` if it did not run or
    did not end), and `command` its words.
    """

    def __init__(
        self, message: str, *, status: int | None = None, command: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.command = tuple(command)


class BinaryError(LasthopError):
    """The command `lasthop` is missing, or is of another version than this package."""


class RunDirectoryError(LasthopError):
    """A path is not a run directory, or a file in it cannot be read."""


class MissingLibraryError(LasthopError, ImportError):
    """A library that this package needs for tables is not installed."""
