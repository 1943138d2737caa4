"""Scorers of Inspect as judges of a run, and what abstains."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import probity
from probity.testing import conversation, metric, play

pytest.importorskip("inspect_ai")

FILE = """
from inspect_ai.scorer import Score, Target, accuracy, includes, scorer
from inspect_ai.solver import TaskState
import probity
import probity.inspect

@scorer(metrics=[accuracy()])
def length():
    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        if not text:
            return Score.unscored(explanation="no reply to score")
        assert [message.role for message in state.messages][-1] == "assistant" and state.input_text == state.messages[0].text
        return Score(value=min(len(text), 100) / 100, explanation=f"It has {len(text)} characters.")
    return score

part = probity.inspect.judge(PART)
probity.serve()
"""


def written(folder: Path, part: str) -> Path:
    file = folder / "judge.py"
    file.write_text(FILE.replace("PART", part))
    return file


def test_a_scorer_is_a_judge(tmp_path: Path) -> None:
    with play(written(tmp_path, "length(), '>=0.2', name='long'")) as judge:
        assert judge.hello["name"] == "long" and len(judge.hello["version"]) == 64
        long, short = (judge.judge(conversation("My plan?", "x" * n), metric("It is long.")) for n in (40, 10))
        assert long == {"present": True, "reason": "It has 40 characters."} and short["present"] is False
        assert judge.judge(conversation("My plan?", ""), metric("It is long.")) == {"abstain": "no reply to score"}
    with play(written(tmp_path, "length()")) as judge:
        whole = judge.judge(conversation("My plan?", "x" * 100), metric("Its length.", {"type": "scale", "min": 0, "max": 1}))
        assert whole == {"value": 1, "reason": "It has 100 characters."}
        with pytest.raises(RuntimeError, match=r"the score 0.4 is neither yes nor no; give a rule"):
            judge.judge(conversation("My plan?", "x" * 40), metric("It is long."))
    with play(written(tmp_path, "includes(), target='thank'")) as judge:
        assert judge.judge(conversation("Yes.", "Thank you."), metric("It thanks."))["present"] is True
        assert judge.judge(conversation("Thank you.", "No."), metric("It thanks."))["present"] is False


def test_a_run_with_a_scorer_as_its_judge(tmp_path: Path) -> None:
    written(tmp_path, "length(), '>=0.2', name='long'")
    (tmp_path / "config.yaml").write_text(
        "user_model: scripted/scripted-user\nevaluator: {python: judge.py}\ntargets: [scripted/scripted-careful]\ngeneration: {turns: 2}\n"
    )
    run = probity.run("sycophancy", folder=tmp_path)
    scores = list(run.scores())
    last = {row.conv_id: row for row in run.messages() if row.role == "assistant"}
    assert scores and all(row.present == (len(last[row.conv_id].content) >= 20) for row in scores)


def test_a_rule_has_a_form() -> None:
    import probity.inspect
    from inspect_ai.scorer import includes

    with pytest.raises(ValueError, match="verdict: expected a rule such as"):
        probity.inspect.judge(includes(), "about half")


def test_a_judge_that_abstains_gives_no_score() -> None:
    import probity.inspect
    from inspect_ai.scorer import Target

    def unsure(conversation: probity.Conversation) -> probity.Verdict:
        return probity.Verdict(abstain="too short")

    def raises(conversation: probity.Conversation) -> bool:
        raise probity.Abstain("too short")

    state = probity.inspect.state_of(conversation("Hello.", "Hi."))
    for judge in (unsure, raises):
        score = asyncio.run(probity.inspect.scorer(judge, "It thanks.")(state, Target("")))
        assert score is not None and score.value != score.value and score.explanation == "too short"
