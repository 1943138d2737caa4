"""`python -m probity check FILE` holds a part of a run to the protocol; everything else is the command `probity`."""

from __future__ import annotations

import subprocess
import sys

from ._run import command

if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        from ._kit import main

        raise SystemExit(main(sys.argv[2:]))
    if sys.argv[1:] in (["--help"], ["-h"]):
        print("python -m probity check FILE: hold a judge, target, user, tools or generator in Python to the protocol", end="\n\n", flush=True)
    raise SystemExit(subprocess.call([command(), *sys.argv[1:]]))
