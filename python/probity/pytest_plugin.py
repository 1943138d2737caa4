"""The fixture `probity_process` of pytest: parts of a run, started as a run starts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from .testing import FakeHost, Played, play


@pytest.fixture
def probity_process() -> Iterator[Callable[..., Played]]:
    """Starts the file of a part: `probity_process("judge.py", settings={}, host=FakeHost([...]))`. It is ended after the test."""
    with ExitStack() as started:
        def start(file: str | os.PathLike[str], settings: dict[str, Any] | None = None, host: FakeHost | None = None) -> Played:
            return started.enter_context(play(file, settings=settings, host=host))

        yield start
