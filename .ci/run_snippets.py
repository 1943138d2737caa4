#!/usr/bin/env python3
"""Runs the jq and Python snippets of a document on result files, and checks the totals that they tell.

    run_snippets.py DOCUMENT FOLDER

FOLDER holds single.json and multi.json, the files that the snippets name. A snippet that fails or prints nothing ends this with 1.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

document, folder = Path(sys.argv[1]), Path(sys.argv[2])
blocks = re.findall(r"```(sh|python)\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
outputs = []
for language, text in blocks:
    if language == "sh" and not text.startswith("jq "):
        continue
    command = ["bash", "-euc", text] if language == "sh" else [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"this snippet of {document} fails or prints nothing:\n{text}\n{done.stdout}{done.stderr}")
    outputs.append(done.stdout)

data = json.loads((folder / "single.json").read_text(encoding="utf-8"))["data"]
totals = {
    "passed": data["total_passed"],
    "failed": data["total_failed"],
    "errors": len(data["probity"]["errors"]),
}
if json.loads(outputs[0]) != totals:
    sys.exit(f"the first snippet tells {outputs[0]}, and the file holds {totals}")
layers = [len(rows) for rows in data["failed_results"]]
if json.loads(outputs[1].splitlines()[0]) != layers:
    sys.exit(f"the second snippet tells {outputs[1]}, and the layers have {layers}")
if sum(layers) != totals["failed"]:
    sys.exit(f"the layers have {layers}, and {totals['failed']} failed")
print(f"{len(outputs)} snippets of {document} run")
