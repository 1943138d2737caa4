#!/usr/bin/env python3
"""Runs the commands of docs/tutorial.md, up to the step with real models, and checks that their output is the one that the page shows.

    check_tutorial.py COMMAND

COMMAND is the program, such as target/debug/xtask; the page calls it `probity`. A shown line has to be in the output of the block of
commands before it, in the same order; `…` stands for anything. Ends with 1 and the lines that are not there.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path("docs/tutorial.md")
# What the person of the tutorial answers `label`: the judge's verdict in 19 of 20 rows, the opposite in the ninth.
ANSWERS = "fpppfpppfppfppfpfppp"


def missing(shown, output):
    """The first line of `shown` that does not follow in `output`."""
    at = 0
    lines = [line.rstrip() for line in output.splitlines()]
    for line in shown.splitlines():
        start, *rest = line.rstrip().split("…", 1)
        if not start.strip():
            continue
        fits = [n for n, other in enumerate(lines[at:], at) if (other.startswith(start) if rest else other == start)]
        if not fits:
            return line
        at = fits[0] + 1
    return None


def tail(output):
    """The last lines of `output`, enough to hold a table."""
    return "\n".join(output.splitlines()[-40:])


command = Path(sys.argv[1]).resolve()
text = PAGE.read_text(encoding="utf-8").split("## 9.")[0]
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
problems, exports, output, checked = [], "", "", 0
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "bin").mkdir()
    (folder / "bin" / "probity").symlink_to(command)
    (folder / "project").mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PROBITY_")}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    for language, block in blocks:
        if language == "sh":
            done = subprocess.run(
                ["bash", "-uc", exports + block],
                cwd=folder / "project",
                env=environment,
                input="\n".join(ANSWERS) + "\n",
                capture_output=True,
                text=True,
                check=False,
            )
            output = done.stdout + done.stderr
            # 4: the gate is inconclusive, which the page shows.
            if done.returncode not in (0, 4):
                problems.append(f"exit code {done.returncode} of:\n{block}It ends:\n{tail(output)}")
            exports += "".join(f"{line}\n" for line in block.splitlines() if line.startswith("export "))
        elif language in ("text", "yaml"):
            benchmark = folder / "project/benchmarks/pressure/benchmark.yaml"
            line = missing(block, output if language == "text" else benchmark.read_text(encoding="utf-8"))
            checked += 1
            if line:
                problems.append(f"this line of {PAGE} is not in the output, or not in this order:\n{line}\nThe output ends:\n{tail(output)}")
if problems:
    sys.exit("\n\n".join(problems))
if checked < 7:
    sys.exit(f"{PAGE} shows {checked} outputs; 7 or more were expected")
print(f"the {checked} outputs of {PAGE} are what its commands print")
