#!/usr/bin/env python3
"""Makes archives of the command from wheels: the same program as in the wheel, with the licences.

    archives.py WHEELS FOLDER

Writes FOLDER/probity-VERSION-TARGET.tar.gz, or .zip for Windows, for each wheel of the folder WHEELS for which an archive is published. Of
Linux these are the wheels for musl, whose program runs with any C library. The same wheels give the same bytes.
"""

import gzip
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

TARGETS = [
    (r"musllinux_\w+_x86_64", "x86_64-unknown-linux-musl"),
    (r"musllinux_\w+_aarch64", "aarch64-unknown-linux-musl"),
    (r"macosx_\w+_x86_64", "x86_64-apple-darwin"),
    (r"macosx_\w+_arm64", "aarch64-apple-darwin"),
    (r"win_amd64", "x86_64-pc-windows-msvc"),
]
LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"]
# The earliest time that a zip can hold.
TIME = (1980, 1, 1, 0, 0, 0)


def program(wheel):
    """The name and the bytes of the command in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        [path] = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.data/scripts/probity(\.exe)?", name)]
        return path.rpartition("/")[2], archive.read(path)


def tar(path, folder, members):
    with path.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, content, mode in members:
                info = tarfile.TarInfo(f"{folder}/{name}")
                info.size, info.mode = len(content), mode
                archive.addfile(info, io.BytesIO(content))


def zipped(path, folder, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(f"{folder}/{name}", TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            archive.writestr(info, content)


wheels, out = Path(sys.argv[1]), Path(sys.argv[2])
root = Path(__file__).resolve().parents[2]
out.mkdir(parents=True, exist_ok=True)
made = 0
for wheel in sorted(wheels.glob("probity_eval-*.whl")):
    version, *_, platform = wheel.stem.split("-")[1:]
    for pattern, target in TARGETS:
        if re.fullmatch(pattern, platform):
            name, content = program(wheel)
            members = [(name, content, 0o755), *((file, (root / file).read_bytes(), 0o644) for file in LICENCES)]
            folder = f"probity-{version}-{target}"
            path = out / (folder + (".zip" if "windows" in target else ".tar.gz"))
            (zipped if path.suffix == ".zip" else tar)(path, folder, members)
            print(f"{path.name}: {path.stat().st_size} bytes")
            made += 1
if not made:
    sys.exit(f"{wheels}: no wheel of which an archive is made")
