#!/usr/bin/env python3
"""Changes an export of Every Eval Ever in one place after the other, and holds `validate` to what the package and its schemas say.

    check_eee_validate.py PROBITY EXPORT [CASES]

EXPORT is the folder that holds `data/`.
"""

import copy
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
from every_eval_ever import schema as bundled
from every_eval_ever.validator.validation_core import validate_file

probity, export = sys.argv[1], Path(sys.argv[2])
count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
schemas = Path(bundled.__file__).parent / "schemas"
of_log, of_row = (
    jsonschema.Draft7Validator(json.loads((schemas / name).read_text(encoding="utf-8")))
    for name in ("eval.schema.json", "instance_level_eval.schema.json")
)
aggregate = sorted(export.glob("data/*/*/*/*.json"))[0]
samples = aggregate.with_name(f"{aggregate.stem}_samples.jsonl")
log = json.loads(aggregate.read_text(encoding="utf-8"))
rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def changed(value, draw):
    """The value with one change."""
    value = copy.deepcopy(value)
    path = draw.choice([path for path in places(value) if path])
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    new = draw.choice([None, 3, -1.5, 10**12, "x", True, {"a": "b"}, "remove", "list", "extra"])
    if new == "remove":
        del parent[key]
    elif new == "extra" and isinstance(parent, dict):
        parent["not_there"] = "x"
    else:
        parent[key] = [parent[key]] if new == "list" else new
    return value


def written(root, log, rows, folder=aggregate.relative_to(export).parent, name=aggregate.stem):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    details = log.get("detailed_evaluation_results")
    if isinstance(details, dict) and isinstance(details.get("checksum"), str) and len(details["checksum"]) == 64:
        log = copy.deepcopy(log)
        log["detailed_evaluation_results"]["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (root / folder).mkdir(parents=True)
    (root / folder / f"{name}.json").write_text(json.dumps(log), encoding="utf-8")
    (root / folder / f"{name}_samples.jsonl").write_text(text, encoding="utf-8")


def cases(root):
    draw = random.Random(1)
    for case in range(count):
        if case % 2:
            at = draw.randrange(len(rows))
            written(root / str(case), log, [*rows[:at], changed(rows[at], draw), *rows[at + 1 :]])
        else:
            written(root / str(case), changed(log, draw), rows)
    home = aggregate.relative_to(export).parent
    written(root / "few", log, rows[1:])
    written(root / "none", log, [])
    written(root / "upper", log, rows, name=aggregate.stem.upper())
    written(root / "named", log, rows, name="results")
    written(root / "deep", log, rows, folder=home / "more")
    written(root / "device", log, rows, folder=Path("data/con/x/y"))
    written(root / "alone", log, rows)
    (root / "alone" / home / samples.name).unlink()
    written(root / "headless", log, rows)
    (root / "headless" / home / aggregate.name).unlink()


def is_valid(root):
    """By the package and its schemas."""
    files = {str(path.relative_to(root)) for path in root.glob("data/**/*") if path.is_file()}
    for name in sorted(files):
        read = {"repo_path": name, "available_files": files, "read_repo_file": lambda other: (root / other).read_text(encoding="utf-8")}
        if not validate_file(root / name, run_semantic_checks=True, **read).valid:
            return False
        text = (root / name).read_text(encoding="utf-8")
        values = [json.loads(text)] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
        schema = of_log if name.endswith(".json") else of_row
        if not all(schema.is_valid(value) for value in values):
            return False
    return True


with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    cases(root)
    valid = 0
    for case in sorted(root.iterdir()):
        ran = subprocess.run([probity, "validate", str(case / "data")], capture_output=True, text=True)
        expected = is_valid(case)
        valid += expected
        if (ran.returncode == 0) != expected:
            sys.exit(f"{case.name}: the package says {expected}: {ran.stdout}{ran.stderr}")
print(f"check_eee_validate: {count + 8} files changed, {valid} of them still valid: `validate` and the package agree")
