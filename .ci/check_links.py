#!/usr/bin/env python3
"""Checks that every relative link in the Markdown files of the repository leads to a file, and to a heading where it names one.

    check_links.py

Ends with 1 and a line for each broken link.
"""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote


def anchors(page):
    """The anchors that GitHub makes of the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        nth = sum(1 for other in found if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
        found.add(f"{anchor}-{nth}" if nth else anchor)
    return found


listed = subprocess.run(["git", "ls-files", "-z", "*.md"], capture_output=True, text=True, check=True)
pages = [Path(name) for name in listed.stdout.split("\0") if name]
broken = []
for page in pages:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / unquote(path) if path else page
        if not target.exists():
            broken.append(f"{page}: {link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            broken.append(f"{page}: {link}: no such heading")
if broken:
    sys.exit("\n".join(broken))
print(f"the links of {len(pages)} pages are whole")
