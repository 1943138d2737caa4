#!/usr/bin/env python3
"""Checks that a tag names the version of the workspace.

    check_version.py v0.1.0
"""

import sys
import tomllib
from pathlib import Path

tag = sys.argv[1]
version = tomllib.loads(Path("Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
if tag != f"v{version}":
    sys.exit(f"the tag is {tag}, and Cargo.toml has the version {version}: it needs the tag v{version}")
