#!/usr/bin/env python3
"""Makes archives of wheels that hold a given program, and checks that they have it, can be run, and come out the same twice.

    try_archives.py COMMAND FOLDER
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

command, folder = Path(sys.argv[1]), Path(sys.argv[2])
for target, name in (("x86_64-unknown-linux-musl", "probity"), ("x86_64-pc-windows-msvc", "probity.exe")):
    (folder / "wheels" / f"wheel-{target}").mkdir(parents=True)
    with zipfile.ZipFile(folder / "wheels" / f"wheel-{target}" / "probity_eval-1.2.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("probity/__init__.py", "")
        wheel.write(command, f"probity_eval-1.2.3.data/scripts/{name}")
for out in ("first", "second"):
    subprocess.run([sys.executable, ".github/release/archives.py", folder / "wheels", folder / out], check=True, stdout=subprocess.DEVNULL)
names = sorted(os.listdir(folder / "first"))
assert names == ["probity-1.2.3-x86_64-pc-windows-msvc.zip", "probity-1.2.3-x86_64-unknown-linux-musl.tar.gz"], names
for name in names:
    assert (folder / "first" / name).read_bytes() == (folder / "second" / name).read_bytes(), name
with zipfile.ZipFile(folder / "first" / names[0]) as archive:
    assert archive.read("probity-1.2.3-x86_64-pc-windows-msvc/probity.exe") == command.read_bytes()
with tarfile.open(folder / "first" / names[1]) as archive:
    archive.extractall(folder)
program = folder / "probity-1.2.3-x86_64-unknown-linux-musl" / "probity"
subprocess.run([program.resolve(), "--version"], check=True)
assert (program.parent / "LICENSE-MIT").exists()
print("the archives are whole")
