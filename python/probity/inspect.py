"""For inspect_ai: clustered intervals at the end of a task, and judges as scorers."""

from __future__ import annotations

import json
import math
import operator
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser, ModelName, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, stderr
from inspect_ai.scorer import scorer as inspect_scorer
from inspect_ai.solver import TaskState
from inspect_ai.tool import ToolCall

from ._errors import Error
from ._results import from_inspect
from ._serve import judge as probity_judge
from ._types import Abstain, Conversation, Message, Metric, Verdict


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
    the messages of the user and the model. Where it abstains, the sample has no score. Judges that call models through a run cannot be used here."""

    @inspect_scorer(metrics=[accuracy(), stderr()], name=getattr(judge, "__name__", "judge"))
    def made() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            listed = [message for message in state.messages if message.role in ("user", "assistant")]
            messages = tuple(Message(n, message.role, message.text) for n, message in enumerate(listed, 1))
            given = {"conversation": Conversation("0" * 16, messages), "metric": Metric("m01", definition), "settings": {}}
            names = judge.__code__.co_varnames[: judge.__code__.co_argcount]
            try:
                result = judge(**{name: given[name] for name in names})
                if hasattr(result, "__await__"):
                    result = await result
            except Abstain as error:
                return Score.unscored(explanation=str(error))
            if isinstance(result, Verdict):
                if result.abstain is not None:
                    return Score.unscored(explanation=result.abstain)
                present, reason = bool(result.present), result.reason
            else:
                present, reason = result if isinstance(result, tuple) else (bool(result), "")
            return Score(value=CORRECT if present else INCORRECT, explanation=reason)

        return score

    return made()


RULE = re.compile(r"\s*(>=|<=|==|>|<)\s*(-?[0-9.]+)\s*")
COMPARED: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}


def judge(scorer: Scorer, verdict: str | None = None, *, target: str = "", name: str | None = None, version: str | None = None,
          max_concurrency: int | None = None) -> Callable[..., Any]:
    """A scorer of Inspect as a judge, in a file that ends with `probity.serve()`: it scores a sample whose messages are those of the conversation and whose target is `target`.

    `verdict` is a rule such as `">=0.5"` for scores that are numbers. Without it C, I, true, false, 1 and 0 are yes and no. For a metric with a scale or with
    categories the score is the value or the label. A sample without a score is an abstention. The name is that of the caller's file, the version a hash of it; give `version` where the scorer
    is in another one. What a scorer asks of models of its own is not counted by a run."""
    rule = RULE.fullmatch(verdict) if verdict is not None else None
    if verdict is not None and rule is None:
        raise ValueError(f"verdict: expected a rule such as '>=0.5', not {verdict!r}")
    file = sys._getframe(1).f_globals.get("__file__")

    async def judged(conversation: Conversation, metric: Metric) -> Verdict:
        score = await scorer(state_of(conversation), Target(target))
        if score is None or (isinstance(score.value, float) and math.isnan(score.value)):
            raise Abstain(str(score and (score.explanation or score.reason) or "the scorer gave no score"))
        reason = score.explanation or f"The score is {score.value}."
        form = metric.verdict["type"]
        if form == "scale":
            return Verdict(value=_whole(score.value), reason=reason)
        if form == "categories":
            return Verdict(label=str(score.value), reason=reason)
        return Verdict(present=_present(score.value, rule), reason=reason)

    options: dict[str, Any] = {"name": name or Path(file or "scorer").stem, "version": version, "max_concurrency": max_concurrency, "file": file}
    made: Callable[..., Any] = probity_judge(**options)(judged)
    return made


def _present(value: Any, rule: re.Match[str] | None) -> bool:
    if rule is not None and isinstance(value, (bool, int, float)):
        return COMPARED[rule[1]](float(value), float(rule[2]))
    if rule is None and value in (CORRECT, INCORRECT, True, False):
        return value in (CORRECT, True)
    raise ValueError(f"the score {value!r} is neither yes nor no" + ("" if rule else "; give a rule: probity.inspect.judge(scorer, '>=0.5')"))


def _whole(value: Any) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value):
        return int(value)
    raise ValueError(f"the score {value!r} is no whole number, which a scale asks for")


def state_of(conversation: Conversation) -> TaskState:
    """A conversation as Inspect's scorers see a sample: without a name of the model, which no judge sees."""
    messages = [_chat_message(message) for message in conversation.messages]
    replies, asked = conversation.said_by("assistant"), conversation.said_by("user")
    model = "probity/target"
    return TaskState(
        model=ModelName(model), sample_id=conversation.row, epoch=1, input=asked[0].content if asked else "", messages=messages, completed=True, metadata=conversation.wanted,
        output=ModelOutput.from_content(model, replies[-1].content if replies else ""),
    )


def _chat_message(message: Message) -> ChatMessage:
    if message.role == "system":
        return ChatMessageSystem(content=message.content)
    if message.role == "tool":
        return ChatMessageTool(content=message.content, tool_call_id=message.tool_call_id)
    if message.role == "user":
        return ChatMessageUser(content=message.content)
    calls = [ToolCall(id=call.id, function=call.name, arguments=_arguments(call.arguments)) for call in message.tool_calls]
    return ChatMessageAssistant(content=message.content, tool_calls=calls or None)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": text}
