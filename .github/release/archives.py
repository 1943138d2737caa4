#!/usr/bin/env python3
"""Packs the command of each wheel into an archive: the file in the archive is the one that pip installs.

    archives.py WHEELS ARCHIVES

WHEELS has a folder `wheel-TARGET` with one wheel for each target. ARCHIVES gets `probity-VERSION-TARGET.tar.gz`, for Windows `.zip`.
The same wheels give the same bytes.
"""

import gzip
import io
import sys
import tarfile
import zipfile
from pathlib import Path

wheels, archives = Path(sys.argv[1]), Path(sys.argv[2])
archives.mkdir(parents=True, exist_ok=True)
folders = sorted(wheels.glob("wheel-*"))
if not folders:
    sys.exit(f"no folder wheel-TARGET in {wheels}")

for folder in folders:
    target = folder.name.removeprefix("wheel-")
    [wheel] = folder.glob("*.whl")
    version = wheel.name.split("-")[1]
    name = f"probity-{version}-{target}"
    files = {file: Path(file).read_bytes() for file in ("CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT")}
    with zipfile.ZipFile(wheel) as packed:
        [command] = [entry for entry in packed.namelist() if "/scripts/" in entry and Path(entry).stem == "probity"]
        executable = Path(command).name
        files[executable] = packed.read(command)
    if "windows" in target:
        written = archives / f"{name}.zip"
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, content in sorted(files.items()):
                archive.writestr(zipfile.ZipInfo(f"{name}/{file}"), content, zipfile.ZIP_DEFLATED)
    else:
        written = archives / f"{name}.tar.gz"
        with (
            written.open("wb") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for file, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"{name}/{file}")
                entry.size = len(content)
                entry.mode = 0o755 if file == executable else 0o644
                archive.addfile(entry, io.BytesIO(content))
    print(written)
