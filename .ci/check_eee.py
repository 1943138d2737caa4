"""Holds Every Eval Ever exports to the checks of the real package, and to schemas by an independent validator.

    python check_eee.py EXPORT                         rows of 0.3.0
    python check_eee.py EXPORT --rows SCHEMA.json      rows of another version, by its schema

EXPORT is the folder that holds `data/`.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
from every_eval_ever import schema as bundled
from every_eval_ever.converters.common.publication import publish_evaluation_logs
from every_eval_ever.eval_types import EvaluationLog


def fail(text):
    sys.exit(f"check_eee: {text}")


def bundled_schema(name):
    path = pathlib.Path(bundled.__file__).parent / "schemas" / name
    return json.loads(path.read_text(encoding="utf-8"))


def hold(validator, value, place):
    errors = sorted(validator.iter_errors(value), key=str)
    if errors:
        first = errors[0]
        fail(f"{place}: {'/'.join(map(str, first.absolute_path))}: {first.message[:500]}")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        fail(f"duplicate key: {keys}")
    return dict(pairs)


def rows_of(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if lines != text.removesuffix("\n").split("\n"):
        fail(f"{path}: a character inside a row ends a line for some readers")
    return [json.loads(line, object_pairs_hook=unique) for line in lines]


def check_hash(row, place):
    reference = row["input"]["reference"]
    if isinstance(reference, list):
        text = json.dumps({"raw": row["input"]["raw"], "reference": reference}, sort_keys=True, separators=(",", ":"))
    else:
        text = row["input"]["raw"] + reference
    if row["sample_hash"] != hashlib.sha256(text.encode()).hexdigest():
        fail(f"{place}: sample_hash")


def main():
    export = pathlib.Path(sys.argv[1])
    other = json.loads(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")) if sys.argv[2:3] == ["--rows"] else None
    validate_aggregate = jsonschema.Draft7Validator(bundled_schema("eval.schema.json"))
    validate_row = jsonschema.Draft7Validator(other or bundled_schema("instance_level_eval.schema.json"))

    # 1. Schemas, and what no schema says.
    aggregates = sorted(export.glob("data/*/*/*/*.json"))
    if not aggregates:
        fail(f"{export}: there are no aggregates")
    logs, uuids, count = [], [], 0
    # By evaluation and sample: the hash is that of the sample, whichever the model.
    hashes = {}
    for path in aggregates:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
        hold(validate_aggregate, value, path)
        detail = value["detailed_evaluation_results"]
        samples = export / detail["file_path"]
        if hashlib.sha256(samples.read_bytes()).hexdigest() != detail["checksum"]:
            fail(f"{samples}: checksum")
        rows = rows_of(samples)
        if len(rows) != detail["total_rows"]:
            fail(f"{samples}: total_rows")
        metrics = {result["evaluation_result_id"]: result for result in value["evaluation_results"]}
        passed = {}
        for number, row in enumerate(rows, start=1):
            place = f"{samples}:{number}"
            hold(validate_row, row, place)
            check_hash(row, place)
            # Result files of safety evaluations may be of different cases under the same names.
            sample = (row["evaluation_name"], row["sample_id"])
            if not sample[0].startswith("safety-") and hashes.setdefault(sample, row["sample_hash"]) != row["sample_hash"]:
                fail(f"{place}: another model's row of this sample has another sample_hash")
            if row["interaction_type"] == "single_turn" and row["evaluation"]["num_turns"] != 1:
                fail(f"{place}: num_turns of a single turn")
            metric = metrics[row["evaluation_result_id"]]["metric_config"]
            if not metric["min_score"] <= row["evaluation"]["score"] <= metric["max_score"]:
                fail(f"{place}: the score is out of bounds")
            passed.setdefault(row["evaluation_result_id"], []).append(row["evaluation"]["is_correct"])
        for result, verdicts in passed.items():
            # Files of safety evaluations may hold failures only: the others are counted all the same.
            unlisted = int(metrics[result]["score_details"]["details"].get("n_passed_unlisted", 0))
            rate = (sum(verdicts) + unlisted) / (len(verdicts) + unlisted)
            if abs(metrics[result]["score_details"]["score"] - rate) > 1e-12:
                fail(f"{path}: {result}: the score is not that of the rows")
        count += len(rows)
        logs.append(EvaluationLog.model_validate(value))
        uuids.append(path.stem)
    if other:
        print(f"check_eee: {len(aggregates)} aggregates and {count} rows follow their schemas")
        return

    # 2. The package's own validator: any warning ends it with 2.
    files = [str(path.relative_to(export)) for path in sorted(export.glob("data/*/*/*/*.json*"))]
    subprocess.run([sys.executable, "-m", "every_eval_ever", "validate", *files], cwd=export, check=True)

    # 3. The publisher.
    with tempfile.TemporaryDirectory() as folder:
        published = publish_evaluation_logs(
            logs, pathlib.Path(folder) / "data", uuids, staged_output_dir=export / "data"
        )
        ours = {path.relative_to(export / "data") for path in aggregates}
        if {path.relative_to(pathlib.Path(folder) / "data") for path in published} != ours:
            fail("the publisher puts files elsewhere")
    print(f"check_eee: {len(aggregates)} aggregates and {count} rows pass the schemas, the validator and the publisher")


if __name__ == "__main__":
    main()
