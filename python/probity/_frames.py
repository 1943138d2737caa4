"""Data frames of polars or pandas, with fixed types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, Union

from ._rows import ScoreRow, columns

Engine = Union[Literal["polars", "pandas"], None]

PANDAS = {"str": "string", "int": "Int64", "float": "Float64", "bool": "boolean"}


def library(engine: Engine) -> tuple[str, Any]:
    """The library, and its module: the one asked for, else the first that is installed."""
    import importlib

    for name in [engine] if engine else ["polars", "pandas"]:
        try:
            return name, importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"a data frame needs {engine or 'polars or pandas'}: pip install 'probity-eval[{engine or 'polars'}]'")


def frame(row: type[Any], rows: Iterator[Any], engine: Engine) -> Any:
    """A data frame of rows of one type. An `int` column may have nulls in pandas too."""
    types = columns(row)
    listed = [vars(found).copy() for found in rows]
    for name in [name for name, type_ in types.items() if type_.startswith("dict")]:
        del types[name]
        axes = sorted({axis for found in listed for axis in found[name]})
        types |= {f"{name}_{axis}": "str" for axis in axes}
        for found in listed:
            values = found.pop(name)
            found.update({f"{name}_{axis}": None if values.get(axis) is None else str(values[axis]) for axis in axes})
    return typed(listed, types, engine)


def batches(row: type[Any], rows: Iterator[Any], size: int, engine: Engine) -> Iterator[Any]:
    """Data frames of `size` rows each, one after the other; the last has the rest. No rows are one empty frame."""
    if size < 1:
        raise ValueError("size: expected a number of rows, 1 or more")
    part = list(islice(rows, size))
    yield frame(row, iter(part), engine)
    while part := list(islice(rows, size)):
        yield frame(row, iter(part), engine)


def typed(rows: list[dict[str, Any]], types: dict[str, str], engine: Engine) -> Any:
    name, module = library(engine)
    if name == "polars":
        polars = {"str": module.String, "int": module.Int64, "float": module.Float64, "bool": module.Boolean}
        return module.DataFrame(rows, schema={column: polars[type_] for column, type_ in types.items()}, strict=False)
    series = {column: module.Series([found.get(column) for found in rows], dtype=PANDAS[type_]) for column, type_ in types.items()}
    return module.DataFrame(series)


def samples(scores: Iterator[ScoreRow], engine: Engine) -> Any:
    """One row for each target, scenario and epoch, with its scores: 1 for a pass, 0 for a fail, null without a verdict."""
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    metrics: dict[str, str] = {}
    for found in scores:
        row = rows.setdefault((found.target, found.scenario_id, found.epoch), {"id": found.scenario_id, "epoch": found.epoch, "model": found.target, "error": None})
        metrics[f"score_{found.metric_id}"] = "float"
        row[f"score_{found.metric_id}"] = None if found.passed is None else float(found.passed)
        row["error"] = row["error"] or found.error
    return typed(list(rows.values()), {"id": "str", "epoch": "int", "model": "str", "error": "str", **metrics}, engine)


__all__ = ["Engine", "batches", "frame", "library", "samples", "typed"]
