#!/usr/bin/env python3
"""Writes the shell scripts of workflows and actions into files, for a linter, and checks that none has an expression in it.

    scripts_of.py FOLDER FILE...

An expression is replaced before the shell sees the script, so that a value would be run as code: it belongs into `env`. Needs PyYAML.
"""

import sys
from pathlib import Path

import yaml

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
written, wrong = 0, []
for name in sys.argv[2:]:
    document = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
    jobs = {"runs": document["runs"]} if "runs" in document else document["jobs"]
    for job, content in jobs.items():
        for number, step in enumerate(content.get("steps", []), 1):
            place = f"{name}: {job}, step {number}"
            uses = step.get("uses", "")
            if uses and not uses.startswith("./") and "@" not in uses:
                wrong.append(f"{place}: `{uses}` has no version")
            if "run" not in step:
                continue
            if "${{" in step["run"]:
                wrong.append(f"{place}: an expression in a script; pass it by `env`")
            script = folder / f"{Path(name).stem}-{job}-{number}.sh"
            script.write_text(f"#!/usr/bin/env bash\nset -e\n{step['run']}\n", encoding="utf-8")
            written += 1
    if "runs" not in document and "permissions" not in document:
        wrong.append(f"{name}: no `permissions` for all jobs")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{written} scripts of {len(sys.argv) - 2} files")
