#!/usr/bin/env python3
"""Holds JUnit reports to what the schema of the Jenkins xUnit plugin (junit-10) takes.

    check_junit.py FILE...

The rules are written down here: elements, their attributes and children, the attributes that must be there, and the form of times. Beyond
the schema, the counts must be those of the cases.
"""

import re
import sys
import xml.etree.ElementTree as tree

# Element: (attributes that must be there, others, children)
RULES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "system-out": (set(), set(), set()),
    "system-err": (set(), set(), set()),
}
TIME = re.compile(r"[0-9,]*(\.[0-9]*)?")


def faults(element, place):
    rule = RULES.get(element.tag)
    if rule is None:
        yield f"{place}: unknown element {element.tag}"
        return
    required, optional, children = rule
    place = f"{place}/{element.tag}[{element.get('name', '')}]"
    names = set(element.attrib)
    for name in sorted(names - required - optional):
        yield f"{place}: unknown attribute {name}"
    for name in sorted(required - names):
        yield f"{place}: missing attribute {name}"
    if element.tag in ("testsuite", "testsuites") and not TIME.fullmatch(element.get("time", "")):
        yield f"{place}: time {element.get('time')}"
    for child in element:
        if child.tag not in children:
            yield f"{place}: {child.tag} cannot stand here"
        else:
            yield from faults(child, place)
    if element.tag in ("testsuite", "testsuites"):
        cases = list(element.iter("testcase"))
        counts = {"tests": len(cases)}
        counts |= {f"{kind}s": sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error")}
        counts["skipped"] = sum(case.find("skipped") is not None for case in cases)
        for name, count in counts.items():
            if name in names and element.get(name) != str(count):
                yield f"{place}: {name} is {element.get(name)}, and there are {count}"


found = [fault for path in sys.argv[1:] for fault in faults(tree.parse(path).getroot(), path)]
print("\n".join(found[:20] or [f"check_junit: {len(sys.argv) - 1} reports fit the schema of Jenkins"]))
sys.exit(1 if found else 0)
