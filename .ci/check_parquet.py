#!/usr/bin/env python3
"""Reads an export in Parquet with pyarrow, polars and the library of the Hugging Face Hub, by its card.

    check_parquet.py FOLDER
"""

import sys
import tempfile
from pathlib import Path

import polars
import pyarrow.parquet
import yaml
from datasets import load_dataset

folder = Path(sys.argv[1])
card = folder.joinpath("README.md").read_text(encoding="utf-8")
_, head, _ = card.split("---\n", 2)
configs = {of["config_name"]: of["data_files"] for of in yaml.safe_load(head)["configs"]}
names = ("conversations", "turns", "scores", "statistics")
tables = {name: polars.read_parquet(folder / f"{name}.parquet") for name in names}
for name, table in tables.items():
    arrow = pyarrow.parquet.read_table(folder / f"{name}.parquet")
    assert polars.from_arrow(arrow).equals(table), name
    assert (len(table) > 0) == (name in configs), (name, configs)
    for column in table.columns:
        assert f"| `{column}` |" in card, (name, column)
with tempfile.TemporaryDirectory() as cache:
    for name in configs:
        loaded = load_dataset(str(folder), name, split="train", cache_dir=cache)
        assert loaded.num_rows == len(tables[name]), name

keys = ["benchmark", "target", "results", "conv_id"]
conversations = tables["conversations"]
assert not conversations.select(keys).is_duplicated().any()
for name in ("turns", "scores"):
    assert tables[name].join(conversations, on=keys, how="anti", nulls_equal=True).is_empty(), name
# The rates of the file are those of its rows, and of those that it only counts.
groups = ["benchmark", "target", "results", "metric_id"]
counted = tables["scores"].group_by(groups).agg(polars.col("passed").sum().alias("counted"))
rates = tables["statistics"].filter(polars.col("scope") == "metric").join(counted, on=groups, how="left", nulls_equal=True)
different = rates.filter(polars.col("passed") != polars.col("counted").fill_null(0) + polars.col("unlisted").fill_null(0))
assert different.is_empty(), different
print(f"check_parquet: {', '.join(f'{len(table)} {name}' for name, table in tables.items())}")
