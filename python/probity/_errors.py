"""Errors of runs and results."""

from __future__ import annotations


class Error(Exception):
    """Any error of this package that a caller may handle."""


class CommandMissing(Error):
    """The command `probity` was not found."""


class ConfigError(Error):
    """The command line or the configuration cannot be used: exit code 2. The text says what is wrong, and where."""


class RowsFailed(Error):
    """Some rows failed: exit code 1. The results of the others are there: `Results` of `load`."""


class GateFailed(Error):
    """A rule of a gate failed, or the rows do not decide one."""


class Interrupted(Error):
    """The run was stopped. The same call goes on from there."""
