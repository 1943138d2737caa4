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
github = yaml.safe_load(files[".github/workflows/gate.yml"])["jobs"]["gate"]["steps"]
gitlab = yaml.safe_load(files[".gitlab-ci.yml"])["gate"]["script"]
scripts = {"GitHub Actions": [step["run"] for step in github if "run" in step], "GitLab": gitlab}


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
for name in ["summary.md", "gate.md"]:
    if "| **fail** | scripted-agreeable |" not in (folder / name).read_text(encoding="utf-8"):
        sys.exit(f"{name} does not hold the rule that failed")
if yaml.safe_load(files[".gitlab-ci.yml"])["gate"]["allow_failure"]["exit_codes"] != 4:
    sys.exit(".gitlab-ci.yml: an inconclusive gate ends with 4")
print(f"{sum(map(len, scripts.values()))} script lines of {document} run")
