#!/usr/bin/env python3
"""Reads OTLP files with the messages of OpenTelemetry itself, and checks that spans and events belong together.

    check_otel.py FOLDER
"""

import base64
import json
import sys
from pathlib import Path

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData


def with_bytes(value):
    """OTLP writes ids in hexadecimal, where the JSON of protobuf has base64."""
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in ids else with_bytes(item)
        for key, item in value.items()
    }


def lines(path, message):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield ParseDict(with_bytes(json.loads(line)), message())


def attributes(owner):
    return {pair.key: pair.value for pair in owner.attributes}


folder = Path(sys.argv[1])
spans = {}
for data in lines(folder / "traces.jsonl", TracesData):
    [resource] = data.resource_spans
    assert {"service.name", "probity.target"} <= set(attributes(resource.resource))
    [scope] = resource.scope_spans
    [first, *calls] = scope.spans
    assert not first.parent_span_id and len(first.trace_id) == 16 and len(first.span_id) == 8
    for span in scope.spans:
        assert span.trace_id == first.trace_id and span.start_time_unix_nano <= span.end_time_unix_nano
        assert (span.trace_id, span.span_id) not in spans, "an id twice"
        spans[span.trace_id, span.span_id] = span
    for call in calls:
        assert call.parent_span_id == first.span_id
        found = attributes(call)
        assert found["gen_ai.operation.name"].string_value == "chat" and found["gen_ai.request.model"].string_value
        for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
            for message in json.loads(found[name].string_value) if name in found else ():
                assert message["role"] and isinstance(message["parts"], list)
assert spans, "no spans"
events = 0
for data in lines(folder / "logs.jsonl", LogsData):
    for record in data.resource_logs[0].scope_logs[0].log_records:
        assert record.event_name == "gen_ai.evaluation.result"
        assert (record.trace_id, record.span_id) in spans, "an event of no span"
        found = attributes(record)
        assert found["gen_ai.evaluation.name"].string_value
        assert "error.type" in found or found["gen_ai.evaluation.score.label"].string_value in ("pass", "fail")
        events += 1
assert events, "no events"
print(f"OTLP: {len(spans)} spans and {events} events are read by OpenTelemetry's own messages")
