"""Holds the published JSON Schemas, and the files of benchmark folders to them, by a validator that is not ours.

    python check_schemas.py SCHEMAS FOLDER...

Each FOLDER holds `benchmarks/` and, where there were runs, `.probity/runs/`. There must be a file of each kind. Needs jsonschema and PyYAML.
"""

import json
import pathlib
import sys

import yaml
from jsonschema import Draft202012Validator

# Which schema is meant by which name of a file.
BY_NAME = {
    "benchmark.yaml": "benchmark",
    "scenarios.json": "scenarios",
    "conversations.json": "conversations",
    "scores.json": "scores",
    "cost.json": "cost",
    "results.json": "results",
    "statistics.json": "statistics",
    "baseline.json": "baseline",
    "safety-single-turn-baseline.json": "baseline",
    "gate.yaml": "gate",
    "safety-gate.yaml": "gate",
    "single-turn.json": "safety-single-turn",
    "multi-turn.json": "safety-multi-turn",
    "grades.json": "grades",
    "standards.json": "standards",
    "record.json": "record",
    "manifest.json": "manifest",
}


def documents(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line]
    return [yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)]


def main():
    schemas, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
    validators = {}
    for path in sorted(schemas.glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        validators[path.name.removesuffix(".schema.json")] = Draft202012Validator(schema)
    checked, problems, kinds = 0, 0, set()
    for folder in map(pathlib.Path, folders):
        for path in sorted(folder.rglob("*")):
            journal = path.name.startswith("journal-") and path.suffix == ".jsonl"
            kind = "journal" if journal else BY_NAME.get(path.name)
            if kind is None or not path.is_file():
                continue
            kinds.add(kind)
            for document in documents(path):
                checked += 1
                for error in validators[kind].iter_errors(document):
                    problems += 1
                    print(f"{path}: {error.json_path}: {error.message[:200]}", file=sys.stderr)
    print(f"{len(validators)} schemas, {checked} documents of {len(kinds)} kinds, {problems} problems")
    for kind in sorted(set(BY_NAME.values()) - kinds - {"standards"}):
        problems += 1
        print(f"no document of the kind {kind}", file=sys.stderr)
    # Nothing checked would prove nothing.
    sys.exit(1 if problems or not checked else 0)


main()
