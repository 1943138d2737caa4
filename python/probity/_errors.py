"""Errors of runs and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import Results


class Error(Exception):
    """Any error of this package that a caller may handle."""


class CommandMissing(Error):
    """The command `probity` was not found."""


@dataclass(frozen=True)
class ConfigProblem:
    """A mistake: in which file, line (from 1) and key it is, where that is known, and what is wrong."""

    file: str | None
    line: int | None
    key: str | None
    reason: str


class ConfigError(Error):
    """The command line or the configuration cannot be used: exit code 2. The text says what is wrong, and where; `problems` are its parts."""

    def __init__(self, text: str, problems: Sequence[ConfigProblem] = ()) -> None:
        super().__init__(text)
        self.problems = list(problems)


class RowsFailed(Error):
    """Some rows failed: exit code 1; or all of them: 3. `run` has the results of the others, `failures` says what failed."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.run: Results | None = None
        self.failures: list[str] = []


class GateFailed(Error):
    """A rule of a gate failed, or the rows do not decide one."""


class Interrupted(Error):
    """The run was stopped. The same call goes on from there."""
