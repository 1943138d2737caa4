#!/usr/bin/env python3
"""Runs the examples of docs/gate.md: its rules, its baseline, and the script lines of both CI configurations.

    run_gate_examples.py DOCUMENT FOLDER

FOLDER is empty, and `probity` is on the path. The models are scripted; of the demonstration's targets one fails the rules of the page.
Needs PyYAML.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

document, folder = Path(sys.argv[1]), Path(sys.argv[2])
blocks = re.findall(r"```(sh|yaml)\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
files = {text.splitlines()[0].removeprefix("# "): text for language, text in blocks if language == "yaml"}
commands = [text for language, text in blocks if language == "sh"]
github = yaml.safe_load(files[".github/workflows/gate.yml"])["jobs"]
gitlab = yaml.safe_load(files[".gitlab-ci.yml"])


def scripts_of(job):
    """The script lines of a job, by system."""
    steps = [step["run"] for step in github[job]["steps"] if "run" in step]
    return {"GitHub Actions": steps, "GitLab": gitlab[job]["script"]}


scripts = scripts_of("gate")


def run(script):
    """The exit code of a script, run as the runners of CI do."""
    variables = os.environ | {"GITHUB_STEP_SUMMARY": str((folder / "summary.md").resolve())}
    shell = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(shell, cwd=folder, env=variables, stdout=subprocess.DEVNULL, check=False).returncode


def expect(script, code):
    found = run(script)
    if found != code:
        sys.exit(f"{document}: this ends with {found}, not {code}:\n{script}")


(folder / "gate.yaml").write_text(files["gate.yaml"], encoding="utf-8")
expect("probity run sycophancy --quiet", 0)
[baseline] = [text for text in commands if "probity baseline" in text]
expect(baseline, 0)
# The page names the file relative to the rules.
(folder / "benchmarks/sycophancy/baseline.json").rename(folder / "baseline.json")
for system, (first, gate) in scripts.items():
    expect(first, 0)
    (folder / "gate.yaml").write_text(files["gate.yaml"], encoding="utf-8")
    expect(gate, 1)
    # Two scenarios of each metric do not decide it: a warning for GitHub, and what `allow_failure` names for GitLab.
    (folder / "gate.yaml").write_text("rules: [{metric: m01, require: lower >= 0.8}]", encoding="utf-8")
    expect(gate, 0 if system == "GitHub Actions" else 4)
    (folder / "gate.yaml").write_text("rules: [{require: missing <= 0}]", encoding="utf-8")
    expect(gate, 0)
(folder / "gate.yaml").write_text(files["gate.yaml"], encoding="utf-8")
safety = scripts_of("safety")
rules = folder / "safety-gate.yaml"
for system, (first, gate) in safety.items():
    for results in folder.glob("single*.json"):
        results.unlink()
    expect(first, 0)
    rules.write_text("rules: [{scope: seed, group: privacy, require: upper <= 0.4}]", encoding="utf-8")
    expect(gate, 0 if system == "GitHub Actions" else 4)
    rules.write_text("rules: [{require: missing <= 0}]", encoding="utf-8")
    expect(gate, 0)
    rules.write_text(files["safety-gate.yaml"], encoding="utf-8")
    expect(gate, 1)
[until] = [text for text in commands if "--until" in text]
(folder / "gate.yaml").write_text("rules: [{require: lower >= 0.1}]", encoding="utf-8")
expect(until, 0)
if not (folder / "benchmarks/sycophancy/sequence.json").exists():
    sys.exit(f"{document}: no order was written by\n{until}")
for name in ["summary.md", "gate.md", "safety.md"]:
    # The lines of a target follow its name.
    of_target = r"^\| \*\*scripted-agreeable\*\* \|[ |]*\n\| \*\*fail\*\* \|"
    if not re.search(of_target, (folder / name).read_text(encoding="utf-8"), re.MULTILINE):
        sys.exit(f"{name} does not hold the rule that failed")
for job in ["gate", "safety"]:
    if gitlab[job]["allow_failure"]["exit_codes"] != 4:
        sys.exit(f".gitlab-ci.yml, {job}: an inconclusive gate ends with 4")
lines = [*scripts.values(), *safety.values()]
print(f"{sum(map(len, lines))} script lines of {document} run")
