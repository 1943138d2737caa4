"""For inspect_ai: clustered intervals at the end of a task, and judges as scorers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.log import read_eval_log
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, stderr
from inspect_ai.scorer import scorer as inspect_scorer
from inspect_ai.solver import TaskState

from ._errors import Error
from ._results import from_inspect
from ._types import Conversation, Message, Metric, Verdict


@hooks(name="probity", description="Prints clustered intervals at the end of a task, where PROBITY_INSPECT is 1. PROBITY_CLUSTER names the key of the samples' metadata.")
class ProbityHooks(Hooks):
    """Prints the rates of a task with intervals that know which samples belong together."""

    def enabled(self) -> bool:
        return os.environ.get("PROBITY_INSPECT") == "1"

    async def on_task_end(self, data: TaskEnd) -> None:
        log = data.log if data.log.samples else read_eval_log(data.log.location)
        try:
            print(from_inspect(log, cluster=os.environ.get("PROBITY_CLUSTER") or None))
        except Error as error:
            # A report that fails is no reason to lose a task.
            print(f"probity: {error}")


def scorer(judge: Callable[..., Any], definition: str) -> Scorer:
    """A judge, a function that `@probity.judge` may have decorated, as a scorer of Inspect: it is correct where the behaviour of `definition` is there. It gets
    the messages of the user and the model. Judges that call models through a run cannot be used here."""

    @inspect_scorer(metrics=[accuracy(), stderr()], name=getattr(judge, "__name__", "judge"))
    def made() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            listed = [message for message in state.messages if message.role in ("user", "assistant")]
            messages = tuple(Message(n, message.role, message.text) for n, message in enumerate(listed, 1))
            given = {"conversation": Conversation("0" * 16, messages), "metric": Metric("m01", definition), "settings": {}}
            names = judge.__code__.co_varnames[: judge.__code__.co_argcount]
            result = judge(**{name: given[name] for name in names})
            if hasattr(result, "__await__"):
                result = await result
            if isinstance(result, Verdict):
                present, reason = bool(result.present), result.reason
            else:
                present, reason = result if isinstance(result, tuple) else (bool(result), "")
            return Score(value=CORRECT if present else INCORRECT, explanation=reason)

        return score

    return made()
